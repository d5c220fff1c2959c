"""L-BFGS in the metric of a shared quadratic, all problems at once, each with its own step.

Minimises, for each of k problems,  S⁻¹ Σₙ sₙ max(0, 1 - y (w·x + b))² + γ |w|²,  b free.

Given          rows (X less its mean, by products), problems (which class is +1, weights), γ, and a space (`spaces`) with its M
Starts         from W = 0 and the best b, or from the result of another γ
Stops when     for every problem |∇|_M is at most tol times that at W = 0, where |g|²_M = g·M⁻¹g. Then the margins are computed
               anew from W, so that nothing that rounding has added up counts, and there |∇|_M and the plain |∇| must be at
               most tol times those at W = 0, and the duality gap, which bounds how far the objective is above its minimum,
               at most tol times the objective; else it goes on from there to a smaller |∇|_M. A gap of tol² is always
               small enough, and where rounding hides the gap (columns of very different size), so is a step of Newton's
               that would gain less than 1e-12 of the objective
Or when        `max_iter` rounds are over, or rounding lets no problem go down any more: `converged` is then False
Newton         takes over from L-BFGS (`newton`) where few samples are inside the margin, or the problem is small
A round is     one product with X_cᵀ, one solution with M's factor, one product with X_c, and a search for the lowest point of a
               piecewise quadratic along a line, which costs N k a look
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from poolwise.support.progress import Update, silent
from poolwise.support.steps import current
from poolwise.support.types import Array
from poolwise.svm.keeping import MEMORY, keep_rounds, keep_solution, known_solution, resume_rounds
from poolwise.svm.loss import Problems
from poolwise.svm.spaces import Space

_PATIENCE, _NOTHING = 10, 1e7
_STEPS_OF_LINE_SEARCH = 12
_FLAT_SHARE_OF_SLOPE = 0.01
_LONGEST_STEP = 16.0
_MOST_REFRESHES = 20


@dataclass(frozen=True)
class Solution:
    """W : (k, d) and b : (k,) for X as it came    F : (k, N) margins of the samples
    objective : (k,)    gradient : (k,) |∇| relative to that at W = 0    gap : (k,) the duality gap relative to the objective
    rounds : int    converged : bool
    vector : where another γ can start from
    """

    W: Array
    b: Array
    F: Array
    objective: Array
    gradient: Array
    gap: Array
    rounds: int
    converged: bool
    vector: Array


def solve(
    space: Space,
    problems: Problems,
    gamma: float,
    *,
    tol: float = 1e-4,
    max_iter: int = 1000,
    start: Array | None = None,
    update: Update = silent,
) -> Solution:
    """Solve all problems of `problems` for one γ.

    >>> from poolwise.engine.threads import Threads
    >>> from poolwise.svm import CentredRows, make_space
    >>> X, label = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> one = Problems(label, np.array([1]), np.ones((1, 4)), np.zeros(1, int), np.ones(1), np.ones(1))
    >>> with Threads(1) as engine:
    ...     found = solve(make_space(CentredRows(X, np.ones(4), engine)), one, 0.005)
    >>> (found.W * X[:, 0] + found.b[:, None] > 0).tolist(), found.converged
    ([[False, False, True, True]], True)
    """
    work = current()
    name, rounds = work.number("solve"), work.number("rounds")
    known = known_solution(work, name, space, problems)
    if known is not None:
        return Solution(**known)
    space.prepare(gamma)
    run = _Run(space, problems, gamma)
    if not resume_rounds(work, rounds, run, _MOST_REFRESHES):
        run.begin(start, tol)

    def keep() -> None:
        if work.is_due(rounds):
            keep_rounds(work, rounds, run)

    for number in range(run.refreshes, _MOST_REFRESHES):
        run.refreshes = number
        finished = run.descend(max_iter, update, keep)
        gradient, gap = run.refresh()
        norm = run.norm / run.norm0
        excess = np.maximum(np.maximum(norm, gradient) / tol, np.sqrt(np.where(run.ended, 0, np.abs(gap)) / tol))
        excess = np.where(np.abs(gap) <= tol**2, 0, excess)
        worst = float(excess.max(initial=0))
        if worst <= 1 and not run.newton and run.newton_pays(np.ones(len(problems), np.bool_)):
            run.newton, run.target = True, np.zeros(len(problems))  # to the last digit, since that is cheap
            continue
        if worst <= 1 or run.rounds >= max_iter or not (finished or worst < 0.5 * run.least):
            break
        run.least = min(run.least, worst)
        run.target = np.where(excess > 1, np.minimum(run.target, norm / np.maximum(2 * excess, 1)), run.target)
    W = space.weights(run.V)
    b = run.V[0, :, -1].astype(np.float64)
    objective = run.objective_of(W, b)
    exact = np.abs(run.objective - objective) <= max(tol, 1e-4) * objective  # else the samples' space has lost its digits
    found = Solution(
        W, b - W @ space.rows.mean, run.F, objective, gradient, gap, run.rounds, worst <= 1 and bool(exact.all()), run.V
    )
    keep_solution(work, name, found, ends=rounds)
    return found


class _Run:
    """The state of k problems on their way down."""

    def __init__(self, space: Space, problems: Problems, gamma: float) -> None:
        self.space, self.problems, self.gamma = space, problems, gamma
        self.rounds, self.refreshes, self.newton = 0, 0, False
        self.ended = np.zeros(len(problems), np.bool_)
        self.engine, self.least = space.rows.engine, np.inf
        # what L-BFGS remembers, and rounds in a row that did not lower a problem's objective; None before a descent
        self.history: deque[tuple[Array, Array, Array, Array]] | None = None
        self.idle = np.zeros(len(problems), np.int64)

    def begin(self, start: Array | None, tol: float) -> None:
        """From W = 0 and the best b, or from the result of another γ."""
        space, problems, k, N = self.space, self.problems, len(self.problems), self.space.rows.shape[0]
        self.target = np.full(k, tol)
        self.R = np.empty((k, N), space.margin_dtype)
        self.V: Array = np.zeros((space.parts, k, space.size + 1), space.dtype)
        self.V[:, :, -1] = problems.best_bias()
        self.F = np.repeat(self.V[0, :, -1:].astype(space.margin_dtype), N, axis=1)
        self.penalty = np.zeros(k)
        self._look(None, np.zeros(k))
        tiny = np.finfo(np.float64).tiny
        self.norm0, self.plain0 = np.maximum(self.norm, tiny), np.maximum(space.gradient_norm(self.g), tiny)
        if start is not None:
            self.V = start.copy()
            self.F = space.margins(self.V)
            self.penalty = _dot(self.V[0, :, :-1], self.V[-1, :, :-1])
            self._look(None, np.zeros(k))

    def descend(self, max_iter: int, update: Update, keep: Callable[[], None]) -> bool:
        """Rounds until the norm is small; False if they are over or rounding ends them. keep() is called after each."""
        if self.history is None:
            self.history, self.idle = deque(maxlen=MEMORY), np.zeros(len(self.problems), np.int64)
        history, tol = self.history, self.target
        least = 1e-9 if self.F.dtype == np.float32 else 1e-15
        while True:
            open_ = self.norm > tol * self.norm0
            moving = open_ & (self.idle < 3)
            if not moving.any() or self.rounds >= max_iter:
                self.history = None
                return not open_.any()
            if not self.newton and self.newton_pays(moving):
                self.newton = True
                self._renew()
            P = self._newton_step(moving) if self.newton else self._direction(history)
            slope = _dot(self.g, P[0])
            if self.newton:  # what is left to gain, as far as the samples inside the margin stay the same
                self.ended = moving & (np.abs(slope) <= 1e-12 * self.objective) | ~moving & self.ended
            wrong = ~(slope < 0)
            if wrong.any():
                P[:, wrong] = -self.h[:, wrong]
                slope = _dot(self.g, P[0])
            change = self.space.margins(P)
            WP, PP = self._products(P)
            t = np.where(moving, self._search(change, slope, WP, PP), 0.0)
            before, penalty, g, h = self.objective, self.penalty, self.g, self.h
            P *= t[:, None].astype(P.dtype)
            self.V += P
            self.penalty = penalty + 2 * t * WP + t * t * PP
            self._look(change, t)
            worse = self.objective > before * (1 + 100 * least)
            if worse.any():  # rounding: such a problem goes back and rests
                self.V[:, worse] -= P[:, worse]
                self.penalty = np.where(worse, penalty, self.penalty)
                P[:, worse] = 0
                self._look(change, np.where(worse, -t, 0.0))
            y, z = self.g - g, self.h - h
            curvature = _dot(P[0], y)  # the Hessian is at most about 2M, so this is at least half of y·M⁻¹y, but for rounding
            inverse = np.where(curvature > 1e-3 * _dot(y, z[0]), _inverse(curvature), 0.0)
            if not self.newton:
                short = self.space.history_dtype
                history.append((P.astype(short), y.astype(short), z.astype(short), inverse))
            self.rounds += 1
            self.idle = np.where(worse, 3, np.where(before - self.objective > least * before, 0, self.idle + moving))
            update(self.rounds, f"gradient {float((self.norm / self.norm0).max()):.1e} of the first")
            keep()

    def refresh(self) -> tuple[Array, Array]:
        """Compute the margins from W; gives (k,) the plain norm of the gradient relative to that at W = 0, and the gap."""
        self._renew()
        gradient = self.space.gradient_norm(self.g) / self.plain0
        value, balanced = self.problems.dual(self.R)
        value -= self.space.norm(balanced) ** 2 / (4 * self.gamma)
        gap = (self.objective - value) / np.maximum(self.objective, np.finfo(np.float64).tiny)
        return gradient, gap

    def objective_of(self, W: Array, b: Array) -> Array:
        """(k,) as it is written, from W and b alone."""
        F = self.space.rows.times(W)
        F += b[:, None].astype(F.dtype)
        loss = self.problems.step(F, F, np.zeros(len(W)), np.empty_like(F), self.engine)
        return np.asarray(loss + self.gamma * _dot(W, W))

    def _renew(self) -> None:
        """Compute the margins from W, so that what rounding has added up is gone."""
        self.V, self.F = self.space.refresh(self.V)
        self.penalty = _dot(self.V[0, :, :-1], self.V[-1, :, :-1])
        self._look(None, np.zeros(len(self.problems)))

    def _look(self, change: Array | None, t: Array) -> None:
        """Step t along `change`; the objective, its gradient g and h = M⁻¹ g there."""
        loss = self.problems.step(self.F, self.F if change is None else change, t, self.R, self.engine)
        self.objective = loss + self.gamma * self.penalty
        self.g = self.space.gradient(self.R)
        self.g[:, :-1] += 2 * self.gamma * self.V[-1, :, :-1]
        self.h = self.space.precondition(self.g)
        self.norm = np.sqrt(np.maximum(_dot(self.g, self.h[0]), 0))

    def _direction(self, history: "deque[tuple[Array, Array, Array, Array]]") -> Array:
        """L-BFGS's two loops; h = M⁻¹ g and z = M⁻¹ y are known, so that M⁻¹ is not needed again."""
        q, r = self.g, self.h
        factors = []
        if history:
            q, r = q.copy(), r.copy()
        for P, y, z, inverse in reversed(history):
            a = inverse * _dot(P[0], q)
            q -= a[:, None].astype(y.dtype) * y
            r -= a[:, None].astype(y.dtype) * z
            factors.append(a)
        if history:
            P, y, z, _ = history[-1]
            curvature = _dot(y, z[0])
            r *= np.where(curvature > 0, _dot(P[0], y) * _inverse(curvature), 1.0)[:, None].astype(r.dtype)
        for (P, y, _, inverse), a in zip(history, reversed(factors), strict=True):
            r += (a - inverse * _dot(y, r[0]))[:, None].astype(P.dtype) * P
        return -r

    def newton_pays(self, moving: Array) -> bool:
        """Whether a step of Newton's costs next to nothing, or, after some rounds, no more than all of them."""
        cost = sum(map(self.space.newton_flops, np.count_nonzero(self.R[moving], axis=1)))
        spent = self.rounds * self.space.round_flops() * len(moving) if self.rounds >= _PATIENCE else 0.0
        return bool(cost <= max(_NOTHING, spent))

    def _newton_step(self, moving: Array) -> Array:
        """Newton's step for the problems that move and have the memory for it; the others stay."""
        B, S = self.V[-1].astype(np.float64), self.problems.totals
        for c in np.flatnonzero(moving).tolist():
            inside = np.flatnonzero(self.R[c])
            if len(inside) == 0:  # only |w|² is left, and it wants 0
                B[c, :-1] = 0
            elif np.isfinite(self.space.newton_flops(len(inside))):
                B[c] = self.space.newton(inside, *self.problems.inside(c, inside), self.gamma * S[c])
        return self.space.complete(B - self.V[-1])

    def _products(self, P: Array) -> tuple[Array, Array]:
        """(k,) W·P and |P|² without the bias."""
        WP, PP = (_dot(B[:, :-1], P[0, :, :-1]) for B in (self.V[-1], P[-1]))
        return WP, np.maximum(PP, 0)  # rounding, where P is next to nothing

    def _search(self, change: Array, slope: Array, WP: Array, PP: Array) -> Array:
        """(k,) the step to the lowest point of the objective along P: Newton on a slope that only rises, held in a bracket."""
        t, low, high = np.ones(len(slope)), np.zeros(len(slope)), np.full(len(slope), np.inf)
        for _ in range(_STEPS_OF_LINE_SEARCH):
            first, second = self.problems.slopes(self.F, change, t, self.engine)
            first = first + 2 * self.gamma * (WP + t * PP)
            second = second + 2 * self.gamma * PP
            if (np.abs(first) <= _FLAT_SHARE_OF_SLOPE * np.abs(slope)).all():
                break
            low, high = np.where(first < 0, t, low), np.where(first < 0, high, t)
            guess = t - first * _inverse(second)
            middle = np.where(np.isfinite(high), (low + high) / 2, np.where(t < _LONGEST_STEP, 2 * t, t))
            guess = np.where((guess > low) & (guess < high), guess, middle)
            t = np.where(np.abs(first) <= _FLAT_SHARE_OF_SLOPE * np.abs(slope), t, guess)
        return t


def _dot(A: Array, B: Array) -> Array:
    """(k,) scalar products of rows, in float64."""
    return np.einsum("ij,ij->i", A, B, dtype=np.float64)


def _inverse(x: Array) -> Array:
    return np.divide(1, x, out=np.zeros_like(x), where=x > 0)
