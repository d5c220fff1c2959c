"""`select`: one function for all ways to choose K of M codes.

C : (M, M) covariance of pooled activations    selected : (K,)    cluster : (M,)
"""

from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from poolwise.engine.threads import Threads
from poolwise.method.selection import WAYS, WayName
from poolwise.support.blocks import spans
from poolwise.support.parameters import Choice
from poolwise.support.progress import Update, silent
from poolwise.support.types import Array

if TYPE_CHECKING:
    from poolwise.method.selection.supervised import Labelled

_NO_VARIANCE = 1e-12  # of the largest
_ROWS_PER_BLOCK = 64


@dataclass(frozen=True)
class Propagation:
    """How affinity propagation went, and what came of it.

    exemplars : (K,) ascending    label : (M,) the rank among them of the one most similar to each code
    preference, damping : at the end    converged : the exemplars came to rest    tries : preferences tried
    net_similarity : after each round, at its preference    oscillations : cycles that were met and damped
    merges, splits : single steps to K where no preference gave it    swaps : those that gained, at the end
    """

    exemplars: Array
    label: Array
    preference: float
    damping: float
    converged: bool
    net_similarity: list[float] = field(repr=False)
    oscillations: int
    tries: int = 1
    merges: int = 0
    splits: int = 0
    swaps: int = 0

    @property
    def rounds(self) -> int:
        """Rounds in all."""
        return len(self.net_similarity)


@dataclass(frozen=True)
class Selection:
    """K of M codes.

    selected : (K,) indices, ascending but for some that lead    n_candidates : M
    label : (M,) for each code the rank in `selected` of the one that represents it; None in a model that was saved slim
    propagation : how the messages went, for `affinity` and `authors`; None where there was nothing to choose
    """

    selected: Array
    n_candidates: int
    label: Array | None
    propagation: Propagation | None = None

    @property
    def cluster(self) -> Array | None:
        """(M,) for each code the index of the one that represents it."""
        return None if self.label is None else self.selected[self.label]

    def led_by(self, ranks: Array) -> "Selection":
        """The same with some of the codes selected before the others, by their ranks in `selected`.

        >>> found = Selection(np.array([2, 5, 7]), 8, np.array([0, 0, 0, 1, 1, 1, 2, 2])).led_by(np.array([1]))
        >>> found.selected, found.cluster
        (array([5, 2, 7]), array([2, 2, 2, 5, 5, 5, 7, 7]))
        """
        order = np.concatenate([ranks, np.delete(np.arange(len(self.selected)), ranks)])
        label = None if self.label is None else np.argsort(order)[self.label]
        return replace(self, selected=self.selected[order], label=label)


def has_variance(C: Array) -> Array:
    """(M,) which codes vary at all: C_ii above 1e-12 of the largest."""
    variance = np.diagonal(C)
    return variance > _NO_VARIANCE * variance.max()


def similarity(C: Array) -> Array:
    """Eq. 1, minus the squared distance of two codes' standardised outputs: (M, M) covariance to (M, M) float32.

    A code without variance counts as uncorrelated with all that vary (-2), and as equal to its like (0).

    >>> similarity(np.array([[1.0, 1.0, 0.0], [1.0, 4.0, 0.0], [0.0, 0.0, 0.0]]))
    array([[ 0., -1., -2.],
           [-1.,  0., -2.],
           [-2., -2.,  0.]], dtype=float32)
    """
    varies = has_variance(C)
    inverse = np.where(varies, 1 / np.sqrt(np.where(varies, np.diagonal(C), 1)), 0)
    S = np.empty(C.shape, np.float32)
    for rows in spans(len(C), _ROWS_PER_BLOCK):
        S[rows] = np.minimum(2 * (C[rows] * inverse[rows, None] * inverse) - 2, 0)
    S[np.ix_(~varies, ~varies)] = 0
    np.fill_diagonal(S, 0)
    return S


def nearest_exemplar(S: Array, exemplars: Array) -> Array:
    """(M,) for each code the rank of the exemplar most similar to it, the first of equals; each exemplar represents itself.

    S : (M, M)    exemplars : (K,) ascending
    """
    label = np.concatenate([S[rows][:, exemplars].argmax(axis=1) for rows in spans(len(S), _ROWS_PER_BLOCK)])
    label[exemplars] = np.arange(len(exemplars))
    return label


def select(
    C: Array,
    K: int,
    way: WayName,
    *,
    labelled: "Labelled | None" = None,
    rng: np.random.Generator,
    engine: Threads,
    update: Update = silent,
) -> Selection:
    """Choose exactly K of the M codes whose pooled responses have covariance C; `labelled` is for ways that need labels.

    Codes without variance are selected last; each is represented by a selected one of its kind or, if there is none, by the
    first.

    >>> C = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> with Threads(1) as engine:
    ...     found = select(C, 2, "greedy", rng=np.random.default_rng(0), engine=engine)
    >>> found.selected, found.cluster
    (array([0, 2]), array([0, 0, 2]))
    """
    M = len(C)
    Choice(tuple(WAYS)).check("selection", way)
    if not 1 <= K <= M:
        raise ValueError(f"{K} codes cannot be selected from {M} candidates; give 1 to {M}")
    _, module, function, needs_labels = WAYS[way]
    if needs_labels and labelled is None:
        raise ValueError(f"selection={way!r} needs what images and labels say together; fit with it, and with labels y")
    function_of_way: Any = getattr(import_module(f"poolwise.method.selection.{module}"), function)

    def choose(C: Array, codes: Array) -> Selection:
        more = {"labelled": labelled.keep(codes, M)} if labelled is not None and needs_labels else {}
        found: Selection = function_of_way(C, K, rng=rng, engine=engine, update=update, **more)
        return found

    varies = np.flatnonzero(has_variance(C))
    if len(varies) == M:
        return choose(C, varies)
    if len(varies) <= K:
        dead = np.setdiff1d(np.arange(M), varies)
        selected = np.sort(np.concatenate([varies, dead[: K - len(varies)]]))
        return Selection(selected, M, nearest_exemplar(similarity(C), selected))
    part = choose(C[np.ix_(varies, varies)], varies)
    label = np.zeros(M, np.int64)
    label[varies] = np.asarray(part.label)
    return Selection(varies[part.selected], M, label, part.propagation)
