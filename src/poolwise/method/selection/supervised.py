"""Codes chosen with labels: those whose pooled outputs predict the targets and, for few labels, also the other codes.

The outputs of a code in all cells are a group of columns. Of a selection S counts

    J(S) = θ tr(B_Sᵀ (G_SS + λI)⁻¹ B_S) / tr(YᵀY) + (1 - θ) tr(C_:S (C_SS + λI)⁻¹ C_S:) / tr(C)

how much of the targets' variance ridge regression on its groups explains, and which share of the codes' own covariance, what
`greedy` maximises. The second trace is estimated: C times some random signs takes the place of C_:S. θ = n / (n + n₀) rises
with the number of images, since a few labels fit chance; where it is nearly 1, the first part alone counts. Forward, the code
with the largest gain is taken until there are more than are wanted; backward, those with the least loss are dropped in rounds.
All of it comes from G, B and C, so no image is looked at.

G : (p, p) covariance of the outputs    B : (p, targets)    p = cells · M, column cell · M + k is an output of code k
C : (M, M) covariance of codes    E = A - Lᵀ L : what the codes taken leave of A = G + λI, or of C + λI
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from poolwise.method.selection.choosing import Selection
from poolwise.method.selection.pivots import with_nearest
from poolwise.support.progress import Update, silent
from poolwise.support.types import Array

LABELLED_GRID = 2  # cells a side, at most
RIDGE = 1e-3  # λ, as a share of the mean variance of an output
IMAGES_FOR_HALF = 500  # n₀
_MORE_FORWARD = 2.5  # times as many groups as are wanted
_SHARE_DROPPED = 0.1  # of the groups left, in one round
_NEGLIGIBLE = 0.02  # share of the second part of J
_DIRECTIONS = 64  # random signs that estimate it
_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Labelled:
    """What the images and their targets say together.

    gram : (p, p) covariance of standardised outputs    products : (p, targets) covariance with centred targets
    variance : the sum of the targets' variances    n : images
    """

    gram: Array
    products: Array
    variance: float
    n: int

    def keep(self, codes: Array, M: int) -> "Labelled":
        """Of some codes."""
        columns = (np.arange(len(self.gram) // M)[:, None] * M + codes).ravel()
        return Labelled(self.gram[np.ix_(columns, columns)], self.products[columns], self.variance, self.n)


def supervised(C: Array, K: int, *, labelled: Labelled, update: Update = silent, **unused: Any) -> Selection:
    """Forward to more than K codes, backward to K."""
    try:
        chosen = choose_codes(labelled, C, K, update)
    except np.linalg.LinAlgError as error:
        raise ValueError("the outputs' covariance is not one: it has negative eigenvalues; fit again") from error
    return with_nearest(C, chosen)


def choose_codes(labelled: Labelled, C: Array, K: int, update: Update = silent) -> Array:
    """(K,) the codes chosen, ascending."""
    theta, M = label_share(labelled.n), len(C)
    products = np.asarray(labelled.products, np.float64)
    terms = [Term(_ridged(labelled.gram), products, M, theta / max(labelled.variance, _TINY))]
    if 1 - theta > _NEGLIGIBLE:
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (M, _DIRECTIONS))  # the same for everybody
        terms.append(Term(_ridged(C), C @ signs, M, (1 - theta) / max(float(np.trace(C)) * _DIRECTIONS, _TINY)))
    forward = min(M, int(np.ceil(_MORE_FORWARD * K)))
    taken = np.arange(M) if forward == M else go_forward(terms, forward, update)
    return go_backward(terms, taken, K, update)


def label_share(n: int) -> float:
    """θ for that many images.

    >>> label_share(IMAGES_FOR_HALF)
    0.5
    """
    return n / (n + IMAGES_FOR_HALF)


def _ridged(A: Array) -> Array:
    """A + λI."""
    A = np.array(A, np.float64)
    A.ravel()[:: len(A) + 1] += RIDGE * np.trace(A) / len(A)
    return A


@dataclass(frozen=True)
class Term:
    """A part of J: weight · tr(B_Sᵀ A_SS⁻¹ B_S).

    A : (p, p), positive definite    B : (p, targets)    M : groups, of g = p / M columns each
    """

    A: Array
    B: Array
    M: int
    weight: float

    @property
    def columns(self) -> Array:
        """(M, g) of every group."""
        return np.arange(len(self.A)).reshape(-1, self.M).T


def go_forward(terms: list[Term], count: int, update: Update = silent) -> Array:
    """The first `count` groups, in the order in which they were taken: each has the largest gain in J given those before it."""
    runs = [_Forward(term, count) for term in terms]
    free = np.ones(terms[0].M, np.bool_)
    taken = np.empty(count, np.int64)
    for t in range(count):
        gain = sum(run.gains() for run in runs)
        j = int(np.where(free, gain, -np.inf).argmax())
        taken[t], free[j] = j, False
        for run in runs:
            run.take(j)
        update(t + 1, "forward")
    return taken


class _Forward:
    """Block Cholesky factorisation of a term's A, group by group; its blocks of E and its residual B are kept up to date."""

    def __init__(self, term: Term, count: int) -> None:
        self.term, self.columns = term, term.columns
        g = self.columns.shape[1]
        self.L = np.zeros((count * g, len(term.A)))
        self.done = 0
        self.B = term.B.copy()
        self.blocks = term.A[self.columns[:, :, None], self.columns[:, None, :]]  # (M, g, g)

    def gains(self) -> Array:
        """(M,) what each group would add to J; of those taken it means nothing."""
        right = self.B[self.columns]
        return self.term.weight * np.einsum("jab,jab->j", right, np.linalg.solve(self.blocks, right))

    def take(self, j: int) -> None:
        rows = self.columns[j]
        L, done, g = self.L, self.done, len(rows)
        E = self.term.A[rows] - L[:done, rows].T @ L[:done]  # (g, p)
        root = scipy.linalg.cholesky(E[:, rows], lower=True)
        c = scipy.linalg.solve_triangular(root, E, lower=True)
        self.B -= c.T @ scipy.linalg.solve_triangular(root, self.B[rows], lower=True)
        L[done : done + g] = c
        self.done += g
        own = c[:, self.columns].transpose(1, 2, 0)  # (M, g, g)
        self.blocks -= own @ own.transpose(0, 2, 1)
        self.blocks[j] = np.eye(g)  # nothing is left of it
        self.B[rows] = 0


def go_backward(terms: list[Term], taken: Array, K: int, update: Update = silent) -> Array:
    """K of the groups taken, ascending: in each round those go whose loss is least, given all that are left."""
    kept = np.sort(taken)
    runs = [_Backward(term, kept) for term in terms]
    while len(kept) > K:
        loss = sum(run.losses() for run in runs)
        drop = min(len(kept) - K, max(1, int(_SHARE_DROPPED * len(kept))))
        gone = np.argsort(loss, kind="stable")[:drop]
        for run in runs:
            run.drop(gone)
        kept = np.delete(kept, gone)
        update(len(kept), "backward")
    return kept


class _Backward:
    """H = A_SS⁻¹ of what is left of a term; without a group, H of the rest follows from H."""

    def __init__(self, term: Term, kept: Array) -> None:
        self.term, self.g = term, term.columns.shape[1]
        self.columns = term.columns[kept].ravel()  # group after group
        self.H = scipy.linalg.inv(term.A[np.ix_(self.columns, self.columns)], overwrite_a=True, check_finite=False)

    def losses(self) -> Array:
        """(groups,) tr(wⱼᵀ Hⱼⱼ⁻¹ wⱼ) with w = H B_S: what J loses without each."""
        n, g = len(self.columns) // self.g, self.g
        own = self.H.reshape(n, g, n, g)[np.arange(n), :, np.arange(n)]
        w = (self.H @ self.term.B[self.columns]).reshape(n, g, -1)
        return self.term.weight * np.einsum("jab,jab->j", w, np.linalg.solve(own, w))

    def drop(self, gone: Array) -> None:
        out = (gone[:, None] * self.g + np.arange(self.g)).ravel()
        stay = np.setdiff1d(np.arange(len(self.H)), out)
        cross = self.H[np.ix_(stay, out)]
        H = self.H[np.ix_(stay, stay)] - cross @ np.linalg.solve(self.H[np.ix_(out, out)], cross.T)
        self.H, self.columns = (H + H.T) / 2, self.columns[stay]
