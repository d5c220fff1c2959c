"""A graph as it grows: nodes in the order in which they are computed, and the numbers that they need.

Nothing here needs the package `onnx`; `writing` brings the result into its form.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from poolwise.support.types import Array

Value = str | Array | np.generic  # the name of a tensor, or a constant
_SHARED_BYTES = 64  # constants of up to that many are stored once


@dataclass(frozen=True)
class Node:
    op: str
    inputs: tuple[str, ...]
    output: str
    attributes: dict[str, Any]


@dataclass
class Graph:
    """Call it with an operator, its inputs and attributes: it gives the name of the output.

    >>> graph = Graph()
    >>> graph("Add", "x", np.float32([1]))
    'Add_1'
    >>> graph.nodes[0].inputs, graph.constants["constant_0"].tolist()
    (('x', 'constant_0'), [1.0])
    """

    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)
    _names: dict[tuple[Any, ...], str] = field(default_factory=dict)

    def __call__(self, op: str, *inputs: Value, to: str | None = None, **attributes: Any) -> str:
        """`to` : what the output is called, for those of the whole graph"""
        names = tuple(one if isinstance(one, str) else self.constant(one) for one in inputs)
        output = to or f"{op}_{len(self.nodes) + 1}"
        self.nodes.append(Node(op, names, output, attributes))
        return output

    def constant(self, value: Array | np.generic) -> str:
        value = np.asarray(value)
        name = f"constant_{len(self.constants)}"
        if value.nbytes <= _SHARED_BYTES:
            name = self._names.setdefault((value.dtype.str, value.shape, value.tobytes()), name)
        self.constants.setdefault(name, value)
        return name

    @property
    def nbytes(self) -> int:
        """Of all constants."""
        return sum(value.nbytes for value in self.constants.values())

    def cast(self, x: str, dtype: type) -> str:
        return self("Cast", x, to_type=np.dtype(dtype))

    def reshape(self, x: str, *shape: int) -> str:
        """0: as it is; -1: what is left."""
        return self("Reshape", x, whole(*shape))

    def part(self, x: str, axes: tuple[int, ...], start: tuple[int, ...], end: tuple[int, ...], step: int = 1) -> str:
        return self("Slice", x, whole(*start), whole(*end), whole(*axes), whole(*[step] * len(axes)))

    def join(self, parts: list[str], axis: int) -> str:
        return parts[0] if len(parts) == 1 else self("Concat", *parts, axis=axis)


def real(*numbers: float) -> Array:
    """A scalar of one number, or a vector."""
    return np.array(numbers[0] if len(numbers) == 1 else numbers, np.float32)


def whole(*numbers: int) -> Array:
    return np.array(numbers, np.int64)
