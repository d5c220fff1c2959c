"""The squared hinge of one-vs-all problems, as a function of their margins (stage 13 of the method).

    S⁻¹ Σₙ sₙ max(0, 1 - y f)²,   y = ±1,   S = Σₙ sₙ

F : (k, N) margins, one row a problem    label : (N,) classes 0, 1, ...    target : (k,) the class that is y = +1
weight : (folds, N) weights s of the samples, 0 where a sample is left out    fold : (k,) the row of `weight` that counts
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from poolwise.engine.threads import Threads
from poolwise.kernels import svm as loops
from poolwise.support.blocks import spans
from poolwise.support.types import Array

_SAMPLES_PER_SHARD = 16384


@dataclass(frozen=True)
class Problems:
    """k problems on the same samples.

    up, down : (k,) factors of s where y = +1 and -1: the weights of classes.

    >>> two = Problems(np.array([0, 1, 1]), np.array([0, 1]), np.ones((1, 3)), np.zeros(2, int), np.ones(2), np.ones(2))
    >>> two.best_bias()
    array([-0.33333333,  0.33333333])
    """

    label: Array
    target: Array
    weight: Array
    fold: Array
    up: Array
    down: Array

    def __len__(self) -> int:
        return len(self.target)

    def __getitem__(self, some: slice) -> "Problems":
        return Problems(self.label, self.target[some], self.weight, self.fold[some], self.up[some], self.down[some])

    @cached_property
    def totals(self) -> Array:
        """(k,) S of each problem."""
        return self.weight.sum(axis=1)[self.fold]

    def best_bias(self) -> Array:
        """(k,) the b that is best where W = 0: the mean of y, weighted."""
        positive = np.array([self.weight[f][self.label == c].sum() for f, c in zip(self.fold, self.target, strict=True)])
        p, q = self.up * positive, self.down * (self.totals - positive)
        return np.asarray((p - q) / np.maximum(p + q, np.finfo(np.float64).tiny))

    def slopes(self, F: Array, P: Array, t: Array, engine: Threads) -> tuple[Array, Array]:
        """(k,) first and second derivative by t of the loss at F + t P."""

        def add(rows: slice, out: Array) -> None:
            loops.line_slopes(F, P, t, *self._fields(), rows.start, rows.stop, out)

        out = self._sum(engine, add, (len(self), 2))
        return out[:, 0] / self.totals, out[:, 1] / self.totals

    def step(self, F: Array, P: Array, t: Array, R: Array, engine: Threads) -> Array:
        """F ← F + t P, R ← the loss's derivatives there, (k, N); gives the loss, (k,)."""

        def add(rows: slice, out: Array) -> None:
            loops.take_step(F, P, t, *self._fields(), rows.start, rows.stop, R, out)

        loss = self._sum(engine, add, (len(self),))
        R /= self.totals[:, None].astype(R.dtype)
        return np.asarray(loss / self.totals)

    def inside(self, c: int, some: Array | slice) -> tuple[Array, Array]:
        """y = ±1 and the weights of some samples in problem c."""
        positive = self.label[some] == self.target[c]
        weight = self.weight[self.fold[c], some] * np.where(positive, self.up[c], self.down[c])
        return np.where(positive, 1.0, -1.0), weight

    def dual(self, R: Array) -> tuple[Array, Array]:
        """Σ a - (S/4) Σ a²/s for a = |R|, (k,), after one side of R was made smaller so that Σ R = 0; and that R.

        The objective's minimum is at least this less |X_cᵀ R|² / 4γ, for any R with the signs of -y and the sum 0.
        """
        R, value, S = R.copy(), np.empty(len(self)), self.totals
        for c in range(len(self)):
            y, weight = self.inside(c, slice(None))
            positive = y > 0
            a = np.abs(R[c], dtype=np.float64)
            up, down = a[positive].sum(), a[~positive].sum()
            side = np.where(positive, min(1.0, down / up if up > 0 else 1.0), min(1.0, up / down if down > 0 else 1.0))
            a *= side
            R[c] *= side
            value[c] = a.sum() - S[c] / 4 * np.divide(a * a, weight, out=np.zeros_like(a), where=weight > 0).sum()
        return value, R

    def _fields(self) -> tuple[Array, ...]:
        return self.label, self.target, self.weight, self.fold, self.up, self.down

    def _sum(self, engine: Threads, add: Callable[[slice, Array], None], shape: tuple[int, ...]) -> Array:
        """Sums over the samples by shards, in their order."""

        def shard(rows: slice) -> Array:
            out = np.empty(shape)
            add(rows, out)
            return out

        total = np.zeros(shape)
        for part in engine.map(shard, spans(len(self.label), _SAMPLES_PER_SHARD)):
            total += part
        return total


def one_vs_all(label: Array, factors: Array, weight: Array) -> Problems:
    """Each class against the others, on each row of `weight`; two classes are one problem, the second against the first.

    factors : (classes,) or (folds, classes) of the loss of a class's own samples    weight : (folds, N)

    >>> one_vs_all(np.array([0, 1, 2]), np.ones(3), np.ones((2, 3))).target
    array([0, 1, 2, 0, 1, 2])
    """
    factors = np.broadcast_to(factors, (len(weight), np.shape(factors)[-1]))
    folds, classes = factors.shape
    binary = classes == 2
    target = np.array([1]) if binary else np.arange(classes)
    return Problems(
        label,
        np.tile(target, folds),
        np.ascontiguousarray(weight),
        np.repeat(np.arange(folds), len(target)),
        factors[:, target].ravel(),
        factors[:, 0].copy() if binary else np.ones(folds * classes),
    )
