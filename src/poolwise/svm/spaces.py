"""Where the weights of the SVM live: among the features, or, where these are more than the samples, among the samples.

The quadratic M = S⁻¹ X_cᵀ diag(s) X_c + 2γ I is close to the Hessian of every one-vs-all problem, and shared by all: what
multiplying a gradient by M⁻¹ leaves is nearly round, and L-BFGS needs few rounds there. That is the change of variables by M's
Cholesky factor, without the change. The bias b belongs to centred features, so that M has no entry between it and W.

A vector (weights, a step, a direction) is `parts`, (parts, k, p + 1): the first part is what a gradient, (k, p + 1), is
multiplied with to give a slope, the last one is what W is made of; the last column is the bias.

    FeatureSpace:  p = d   one part, W itself          a gradient is X_cᵀ r            M⁻¹ by a factor of (d, d)
    SampleSpace:   p = N   X_c W and B, W = X_cᵀ B     a gradient is X_cᵀ r, kept as r    M⁻¹ by a factor of (N, N)

In the samples' space M⁻¹ X_cᵀ a = X_cᵀ D v S/τ with (K + ρ I) v = D⁻¹ a, K = D X_c X_cᵀ D / τ, D = diag(√s), ρ = 2γS/τ; and
X_c X_cᵀ D v S/τ = S D⁻¹ (D⁻¹ a - ρ v): the factor is all that is needed of K, and a round costs one solution with it.

K may be singular: B then has parts that W does not show, no step along a line feels them, and they would grow without bound. So
a thousandth of ρ counts as part of K in the steps, which makes them felt; margins computed anew from W (`refresh`) are without
it, and each time the rest shrinks a thousandfold.
"""

from collections.abc import Callable

import numpy as np

from poolwise.support.blocks import spans
from poolwise.support.steps import current
from poolwise.support.types import Array
from poolwise.svm import newton
from poolwise.svm.factor import Factor
from poolwise.svm.rows import CentredRows

_ROWS_PER_TILE = 1024
_ROWS_PER_PANEL = 256
_NEWTON_SHARE = 0.5  # of the memory of X, for a step of Newton's
_ROWS_PER_NEWTON_BLOCK, _COLUMNS_PER_NEWTON_BLOCK = 1024, 256
_VISIBLE_SHARE = 1e-3  # see the docstring
_SAMPLES_IN_FLOAT64 = 16384  # samples whose kernel is float64: float32 lets no gradient fall below 1e-4 of the first
_FEATURES_IN_FLOAT64 = 8192
_LARGEST_ADDED = 1e30  # to M's diagonal: its square root is still a float32
_ROUNDING_OF_CORRELATIONS = 1e-6  # of correlations that were summed up in float32


def make_space(rows: CentredRows) -> "Space":
    """The smaller of the two."""
    N, d = rows.shape
    return FeatureSpace(rows) if d <= N else SampleSpace(rows)


class FeatureSpace:
    """d ≤ N. Cost: N d² once, d³/3 for each γ, N d k and d² k a round. Memory: d² numbers, float64 up to d = 8192.

    M only leads the way down, and what is reached is certified without it: beyond that, float32 is exact enough.
    """

    parts = 1
    dtype: type = np.float64
    history_dtype: type = np.float64

    def __init__(self, rows: CentredRows) -> None:
        self.rows, self.size, self.margin_dtype = rows, rows.shape[1], rows.dtype
        dtype = "float64" if self.size <= _FEATURES_IN_FLOAT64 else "float32"
        A = _kept_square("covariance", self.size, dtype, lambda: self._correlations(dtype))
        self._std = np.where(rows.constant, 1.0, rows.std)
        self._factor = Factor(A)

    def _correlations(self, dtype: str) -> Array:
        """Of columns with variance 1, so that their scales do no harm: M = std (A + 2γ / std²) std."""
        N, S = self.rows.shape[0], self.rows.weight.sum()
        moments = self.rows.standard_moments(dtype)
        A = moments.scatter
        for part in spans(len(A), _ROWS_PER_PANEL):
            A[part] += np.outer(N * moments.mean[part], moments.mean).astype(
                dtype
            )  # about 0, not about the mean of the weighted rows
            A[part] /= S
        return A

    def prepare(self, gamma: float) -> None:
        """Factor M for this γ."""
        least = max(_ROUNDING_OF_CORRELATIONS, _rounding(self._factor.dtype, self.size))
        added = np.minimum(2 * gamma / self._std**2, _LARGEST_ADDED)  # M only leads the way
        self._factor.add_to_diagonal(added, self.rows.engine, least)

    def gradient(self, R: Array) -> Array:
        """Of the loss: X_cᵀ r and, for the bias, Σ r. R : (k, N), the loss's derivatives by the margins."""
        return np.column_stack([self.rows.transposed_times(R), R.sum(axis=1, dtype=np.float64)])

    def precondition(self, g: Array) -> Array:
        """M⁻¹ g as a vector."""
        W = self._factor.solve(g[:, :-1] / self._std, self.rows.engine) / self._std
        return np.column_stack([W, g[:, -1]])[None]

    def margins(self, V: Array) -> Array:
        """(k, N) X_c W + b of a vector."""
        F = self.rows.times(V[0, :, :-1])
        F += V[0, :, -1:].astype(F.dtype)
        return F

    def weights(self, V: Array) -> Array:
        """(k, d) W of a vector."""
        return V[0, :, :-1]

    def refresh(self, V: Array) -> tuple[Array, Array]:
        """The vector and its margins, without what rounding has added up."""
        return V, self.margins(V)

    def norm(self, R: Array) -> Array:
        """(k,) |X_cᵀ r|."""
        return np.linalg.norm(self.rows.transposed_times(R), axis=1)

    def gradient_norm(self, g: Array) -> Array:
        """(k,) |X_cᵀ r + 2γ W|, and the bias's."""
        return np.linalg.norm(g, axis=1)

    def round_flops(self) -> float:
        """Of one problem's part in a round."""
        return 4.0 * self.rows.shape[0] * self.size + 2.0 * self.size**2

    def newton_flops(self, a: int) -> float:
        """Of Newton's step for a problem with a samples inside the margin; infinite where it would take too much memory."""
        d, rows = self.size, self.rows
        needed = 8 * min(a, d) ** 2 + (rows.dtype.itemsize * a * d if a <= d else 0)
        large = needed > max(_NEWTON_SHARE * rows.nbytes, 1 << 24)
        return np.inf if large else newton.flops(a, d, kernel_known=False)

    def newton(self, inside: Array, y: Array, s: Array, gamma_S: float) -> Array:
        """(p + 1,) where Newton's step ends: the last part. inside : (a,) indices of samples    y, s : (a,)"""
        rows, a = self.rows, len(inside)
        if a > self.size:
            W, b = newton.ridge_by_features(
                (rows.centred(inside[part]) for part in spans(a, _ROWS_PER_NEWTON_BLOCK)), y, s, gamma_S
            )
            return np.append(W, b)
        X = rows.centred(inside, rows.dtype.type)
        columns = spans(self.size, _COLUMNS_PER_NEWTON_BLOCK)

        def product(some: slice) -> Array:
            part = X[:, some].astype(np.float64, copy=False)
            return np.asarray(part @ part.T)

        K = np.zeros((a, a))
        for part in rows.engine.map(product, columns):
            K += part
        beta, b = newton.ridge_by_samples(K, y, s, gamma_S)
        W = np.concatenate([beta @ X[:, some].astype(np.float64, copy=False) for some in columns])
        return np.append(W, b)

    def complete(self, B: Array) -> Array:
        """The vectors of which B, (k, p + 1), is the last part."""
        return B[None]


class SampleSpace:
    """d > N. Cost: N² d once, N³/3 for each γ, N² k a round. Memory: N² numbers of X's precision, float64 up to N = 16384."""

    parts = 2

    def __init__(self, rows: CentredRows) -> None:
        self.rows, self.size = rows, rows.shape[0]
        self.dtype: type = np.float64 if self.size <= _SAMPLES_IN_FLOAT64 else rows.dtype.type
        self.margin_dtype = np.dtype(self.dtype)
        self.history_dtype: type = np.float64 if self.size <= 4096 else np.float32  # a direction needs no more digits
        self._S, self._tau = rows.weight.sum(), float((rows.std**2).sum()) or 1.0
        self._D = np.sqrt(rows.weight)
        self._inverse_D = np.divide(1, self._D, out=np.zeros_like(self._D), where=self._D > 0)
        name = np.dtype(self.dtype).name
        self._factor = Factor(_kept_square("kernel", self.size, name, lambda: _kernel(rows, self._tau, self.dtype)))

    def prepare(self, gamma: float) -> None:
        rho = max(2 * gamma * self._S / self._tau, _rounding(self.dtype, self.size))
        self._factor.add_to_diagonal(np.full(self.size, rho), self.rows.engine)
        self._rho = rho + self._factor.extra

    def gradient(self, R: Array) -> Array:
        return np.column_stack([R, R.sum(axis=1, dtype=np.float64).astype(R.dtype)])

    def precondition(self, g: Array) -> Array:
        a = g[:, :-1] * self._inverse_D
        v = self._factor.solve(a, self.rows.engine)
        out = np.empty((2, *g.shape), self.dtype)
        out[0, :, :-1] = self._S * self._inverse_D * (a - (1 - _VISIBLE_SHARE) * self._rho * v)
        out[1, :, :-1] = (self._S / self._tau) * self._D * v
        out[:, :, -1] = g[:, -1]
        return out

    def margins(self, V: Array) -> Array:
        return V[0, :, :-1] + V[0, :, -1:]

    def weights(self, V: Array) -> Array:
        return self.rows.transposed_times(V[1, :, :-1])

    def refresh(self, V: Array) -> tuple[Array, Array]:
        V = self.complete(V[1])
        return V, self.margins(V)

    def norm(self, R: Array) -> Array:
        KR = self._tau * self._inverse_D * self._factor.times(R * self._inverse_D, self.rows.engine)
        return np.sqrt(np.maximum(np.einsum("ij,ij->i", R, KR, dtype=np.float64), 0))

    def gradient_norm(self, g: Array) -> Array:
        return np.hypot(self.norm(g[:, :-1]), g[:, -1])

    def round_flops(self) -> float:
        return 2.0 * self.size**2

    def newton_flops(self, a: int) -> float:
        large = 16 * a * a > max(0.05 * self.rows.nbytes, 1 << 24)
        return np.inf if large else newton.flops(a, self.rows.shape[1], kernel_known=True)

    def newton(self, inside: Array, y: Array, s: Array, gamma_S: float) -> Array:
        K, scale = self._factor.below(inside), np.sqrt(self._tau) / self._D[inside]
        K *= scale[:, None]
        K *= scale
        B = np.zeros(self.size + 1)
        B[inside], B[-1] = newton.ridge_by_samples(K, y, s, gamma_S)
        return B

    def complete(self, B: Array) -> Array:
        out = np.empty((2, *B.shape), self.dtype)
        out[1] = B
        out[0, :, :-1] = self._tau * self._inverse_D * self._factor.times(B[:, :-1] * self._inverse_D, self.rows.engine)
        out[0, :, -1] = B[:, -1]
        return out


Space = FeatureSpace | SampleSpace


def _kept_square(name: str, size: int, dtype: str, compute: Callable[[], Array]) -> Array:
    """A matrix that is kept, since it takes more than all rounds."""
    work = current()
    known = work.load(name := work.number(name), {"A": (dtype, (size, size))})
    if known is not None:
        return known["A"]
    A = compute()
    work.save(name, {"A": A})
    return A


def _rounding(dtype: type, size: int) -> float:
    """What products in this precision may add to an eigenvalue of a matrix of this size."""
    return float(np.finfo(dtype).eps * 4 * np.sqrt(size))


def _kernel(rows: CentredRows, tau: float, dtype: type) -> Array:
    """K = D X_c X_cᵀ D / τ, (N, N), by slices of the features and tiles of the result."""
    X = rows.array()
    N, d = X.shape
    K = np.zeros((N, N), dtype)
    scale: Array = np.sqrt(rows.weight / tau)[:, None].astype(dtype)
    tiles = spans(N, _ROWS_PER_TILE)
    pairs = [(a, b) for j, a in enumerate(tiles) for b in tiles[: j + 1]]
    for columns in spans(d, max(64, d // 32)):
        part = np.subtract(X[:, columns], rows.mean[columns], dtype=dtype, casting="same_kind")
        part[:, rows.constant[columns]] = 0
        part *= scale

        def multiply(tile: tuple[slice, slice], part: Array = part) -> None:
            a, b = tile
            K[a, b] += part[a] @ part[b].T

        rows.engine.run(multiply, pairs)
    for a, b in pairs:
        if a != b:
            K[b, a] = K[a, b].T
    return K
