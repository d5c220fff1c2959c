"""Affinity propagation with exactly K exemplars (paper, section 3.1, eqs. 1-5).

    s(i, j) = 2 C_ij / sqrt(C_ii C_jj) - 2                                            (1)
    r(i, k) ← s(i, k) - max_{k' ≠ k} (a(i, k') + s(i, k'))                            (2)
    a(i, k) ← min(0, r(k, k) + Σ_{i' ∉ {i, k}} max(0, r(i', k)))    for i ≠ k         (3)
    a(k, k) ← Σ_{i' ≠ k} max(0, r(i', k))                                             (4)
    𝒮 = {argmax_k a(i, k) + r(i, k)}                                                  (5)

Objective : net similarity, Σ_i s(i, its exemplar) + the preference once per exemplar, to be large
Given     : S (M, M) float32, at most 0; s(k, k), the preference, is what K follows from: the higher, the more exemplars
Stops     : when the exemplars have not changed for 15 rounds and eq. 5 gives them for nine in ten codes; or after `max_rounds`
Written   : A and R in place, and S's diagonal; there is no fourth M×M array

S : similarity    R : responsibility    A : availability, all (M, M)    K : exemplars wanted
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from poolwise import kernels
from poolwise.arrays import Array
from poolwise.engine import Threads, spans
from poolwise.medoids import Exemplars

_SHARDS = 16
_ROWS = 64
_PATIENCE = 15
_DECIDED = 0.9
_RETURNS = 5
_MOST_DAMPING = 0.98
_NO_VARIANCE = 1e-12
_TIE = 2e-6
_TRIES = 10
_TRY_ROUNDS = 300
_RESTLESS = 3
_UNREST = 0.05
_NARROW = 1e-3


def has_variance(C: Array) -> Array:
    """(M,) which codes vary at all: C_ii above 1e-12 of the largest."""
    variance = np.diagonal(C)
    return variance > _NO_VARIANCE * variance.max()


def similarity(C: Array) -> Array:
    """Eq. 1, minus the squared distance of two codes' standardised outputs: (M, M) covariance to (M, M) float32.

    A code without variance says nothing: it counts as uncorrelated with all that vary (-2), and as equal to its like (0).

    >>> similarity(np.array([[1.0, 1.0, 0.0], [1.0, 4.0, 0.0], [0.0, 0.0, 0.0]]))
    array([[ 0., -1., -2.],
           [-1.,  0., -2.],
           [-2., -2.,  0.]], dtype=float32)
    """
    varies = has_variance(C)
    inverse = np.where(varies, 1 / np.sqrt(np.where(varies, np.diagonal(C), 1)), 0)
    S = np.empty(C.shape, np.float32)
    for rows in spans(len(C), _ROWS):
        S[rows] = np.minimum(2 * (C[rows] * inverse[rows, None] * inverse) - 2, 0)
    S[np.ix_(~varies, ~varies)] = 0
    np.fill_diagonal(S, 0)
    return S


def nearest_exemplar(S: Array, exemplars: Array) -> Array:
    """(M,) for each code the rank of the exemplar most similar to it, the first of equals; each exemplar stands for itself.

    S : (M, M)    exemplars : (K,) ascending
    """
    label = np.concatenate([S[rows][:, exemplars].argmax(axis=1) for rows in spans(len(S), _ROWS)])
    label[exemplars] = np.arange(len(exemplars))
    return label


@dataclass(frozen=True)
class Propagation:
    """What came of it, and how.

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


class Messages:
    """A and R for one S, kept from one preference to the next: a warm start.

    Each round is one pass over the rows: the availabilities due to the round before, then the responsibilities. The rows are
    in shards, whose number does not depend on the threads.
    """

    def __init__(self, S: Array, engine: Threads, damping: float) -> None:
        M = len(S)
        self.S, self.A, self.R = S, np.empty_like(S), np.empty_like(S)
        self.engine, self._first_damping = engine, damping
        self.oscillations = 0
        np.fill_diagonal(S, 0)
        self.one_for_all = float(S.sum(axis=0, dtype=np.float64).max())
        self._shards = spans(M, max(_ROWS, -(-M // _SHARDS)))
        self._positive = np.empty((len(self._shards), M), np.float32)
        self._net: list[float] = []
        self._open = False  # a round's net similarity comes with the next pass
        self.forget()

    def forget(self) -> None:
        """Start from scratch: no messages, no exemplars, the damping of the beginning."""
        M = len(self.S)
        self._net, self._open = self.net_similarity, False
        self.damping = self._first_damping
        self.A[:] = 0
        self.R[:] = 0
        self.is_exemplar = np.zeros(M, np.bool_)
        self._total, self._own = np.zeros(M, np.float32), np.zeros(M, np.float32)

    @property
    def net_similarity(self) -> list[float]:
        """Of the exemplars after each round; -inf where there were none."""
        return [*self._net, self._net_of_now()] if self._open else self._net

    def _net_of_now(self) -> float:
        chosen = np.flatnonzero(self.is_exemplar)
        if len(chosen) == 0:
            return -math.inf
        label = nearest_exemplar(self.S, chosen)
        return float(self.S[np.arange(len(self.S)), chosen[label]].sum(dtype=np.float64))

    def round(self) -> None:
        """Eqs. 3 and 4 for the round before, eq. 2 for this one; then the exemplars are those with a(k, k) + r(k, k) > 0."""
        mask, exemplars, total, own = self.is_exemplar, np.flatnonzero(self.is_exemplar), self._total, self._own
        self._own = np.empty_like(own)

        def pass_shard(number: int) -> float:
            rows, positive = self._shards[number], self._positive[number]
            S, A, R, new_own = self.S[rows], self.A[rows], self.R[rows], self._own[rows]
            net: float = kernels.pass_messages(
                S, A, R, rows.start, total, own, mask, exemplars, self.damping, new_own, positive
            )
            return net

        net = sum(self.engine.map(pass_shard, range(len(self._shards))))
        if self._open:
            self._net.append(net)
        self._open = True
        self._total = self._positive.sum(axis=0, dtype=np.float64).astype(np.float32)
        available = self.damping * np.diagonal(self.A) + (1 - self.damping) * self._total
        self.is_exemplar = available + self._own > 0

    def representatives(self) -> Array:
        """Eq. 5: argmax_k a(i, k) + r(i, k) of each code i, (M,), with the availabilities of the round before."""
        return np.concatenate([(self.A[rows] + self.R[rows]).argmax(axis=1) for rows in spans(len(self.S), _ROWS)])

    def settle(self, preference: float, max_rounds: int) -> bool:
        """Rounds until the exemplars rest; whether they did. Sets of exemplars that keep coming back are damped away."""
        self._net, self._open = self.net_similarity, False
        np.fill_diagonal(self.S, preference)
        seen: set[bytes] = set()
        rest = returns = 0
        for _ in range(max_rounds):
            before = self.is_exemplar
            self.round()
            if np.array_equal(before, self.is_exemplar):
                rest += 1
                if rest % _PATIENCE or not self.is_exemplar.any():
                    continue
                if self._net[-1] < self.one_for_all + preference:
                    returns = _RETURNS  # worse than one exemplar for all: a pendulum at its turning point
                elif self.is_exemplar[self.representatives()].mean() >= _DECIDED:
                    return True
            else:
                rest = 0
                state = np.packbits(self.is_exemplar).tobytes()
                returns += state in seen
                seen.add(state)
            if returns >= _RETURNS and self.damping < _MOST_DAMPING:
                self.damping = min(_MOST_DAMPING, (1 + self.damping) / 2)
                self.oscillations += 1
                rest = returns = 0
                seen.clear()
        return False


def break_ties(S: Array, rng: np.random.Generator) -> None:
    """Lower each similarity by up to 2e-6 of the range, in place: of two codes that could stand for each other, one must."""
    amount = -_TIE * float(S.min())
    for rows in spans(len(S), _ROWS):
        S[rows] -= (amount * rng.random(S[rows].shape)).astype(np.float32)


def propagate(
    S: Array,
    preference: float,
    engine: Threads,
    rng: np.random.Generator,
    *,
    damping: float = 0.8,
    max_rounds: int = 400,
) -> Propagation:
    """Messages at one preference until the exemplars rest. S is used up; `rng` breaks ties. No exemplar at all is an error.

    >>> x = np.array([0.0, 0.1, 5.0, 5.2, 9.0])
    >>> with Threads(1) as engine:
    ...     found = propagate(-np.square(x[:, None] - x).astype(np.float32), -1.0, engine, np.random.default_rng(0))
    >>> found.label, found.converged
    (array([0, 0, 1, 1, 2]), True)
    """
    break_ties(S, rng)
    messages = Messages(S, engine, damping)
    converged = messages.settle(preference, max_rounds)
    chosen = np.flatnonzero(messages.is_exemplar)
    if len(chosen) == 0:
        raise ValueError(f"no exemplars after {max_rounds} rounds at a preference of {preference:g}; give a higher one")
    label, net = nearest_exemplar(S, chosen), messages.net_similarity
    return Propagation(chosen, label, preference, messages.damping, converged, net, messages.oscillations)


def find_exemplars(
    S: Array,
    K: int,
    engine: Threads,
    rng: np.random.Generator,
    *,
    damping: float = 0.8,
    progress: Callable[[int, str], None] | None = None,
) -> Propagation:
    """Exactly K exemplars: the preference that gives them is searched, warm, between one and all; S is used up.

    Where the count jumps over K, or does not come to rest at it, the closest one is brought to K by the best single merges or
    splits. At the end exemplars are swapped as long as one swap gains. All of it is under the same net similarity, and the
    result says how many steps there were.

    S : (M, M) symmetric, at most 0    rng : breaks ties    progress : called with (try, what came of it)

    >>> x = np.array([0.0, 0.1, 5.0, 5.2, 9.0])
    >>> with Threads(1) as engine:
    ...     found = find_exemplars(-np.square(x[:, None] - x).astype(np.float32), 2, engine, np.random.default_rng(0))
    >>> found.label
    array([0, 0, 1, 1, 1])
    """
    M = len(S)
    if not all(np.allclose(S[rows], S[:, rows].T, atol=1e-4) for rows in spans(M, _ROWS)):
        raise ValueError("S is not symmetric")
    break_ties(S, rng)
    messages = Messages(S, engine, damping)
    if K in (1, M):  # nothing to search: the best of all, or all
        found = _State(np.arange(M), 0.0 if K == M else messages.one_for_all, True, 0)
    else:
        found = _search(messages, K, progress)
    net = messages.net_similarity
    np.fill_diagonal(S, 0)
    exemplars = Exemplars(S, found.exemplars).bring_to(K)
    exemplars.improve()
    return outcome(messages, exemplars, net, found.preference, found.settled, found.tries)


def outcome(
    messages: Messages, exemplars: Exemplars, net: list[float], preference: float, settled: bool, tries: int
) -> Propagation:
    """What a search found: the exemplars as single steps left them, and how the messages went."""
    return Propagation(
        exemplars=np.sort(exemplars.chosen),
        label=exemplars.labels(),
        preference=preference,
        damping=messages.damping,
        converged=settled,
        net_similarity=net,
        oscillations=messages.oscillations,
        tries=tries,
        merges=exemplars.merges,
        splits=exemplars.splits,
        swaps=exemplars.swaps,
    )


@dataclass(frozen=True)
class _State:
    """The exemplars that a preference gave, whether they came to rest, and the number of preferences tried."""

    exemplars: Array
    preference: float
    settled: bool
    tries: int


def _search(messages: Messages, K: int, progress: Callable[[int, str], None] | None) -> _State:
    """Narrow a bracket of preferences until one gives K exemplars; the state closest to K.

    An exemplar has to be worth its cost, -preference. At a cost of the least distance of two codes all M are; where even a
    second one would save less than it costs, one stands for all. In between, counts are nearly a power of the cost: the next
    cost is interpolated on logarithms, or halves the bracket where the last two lay on the same side.
    """
    S, M = messages.S, len(messages.S)
    two = Exemplars(S, np.zeros(1)).bring_to(1).bring_to(2)
    two.improve()
    few, many = (two.similarity - messages.one_for_all, 1.0), (_least_distance(S), float(M))
    closest, distance, tries, restless, turn = _State(np.arange(M), -many[0], False, 0), math.log(M / K), 0, 0, 0
    while distance > 0 and tries < _TRIES and restless < _RESTLESS and few[0] > many[0] * (1 + _NARROW):
        share = 0.5 if abs(turn) > 1 else math.log(K / few[1]) / math.log(many[1] / few[1])
        cost = few[0] * (many[0] / few[0]) ** min(max(share, 0.05), 0.95)
        settled = messages.settle(-cost, _TRY_ROUNDS)
        exemplars = np.flatnonzero(messages.is_exemplar)
        count, tries, restless = len(exemplars), tries + 1, restless + (not settled)
        if progress is not None:
            progress(tries, f"{count} exemplars at a preference of {-cost:.4g}")
        off = abs(math.log(count / K)) + (0 if settled else _UNREST) if count else math.inf
        if off < distance:
            closest, distance = _State(exemplars, -cost, settled, tries), off
        if count < K:
            few, turn = (cost, max(count, 0.5)), max(turn, 0) + 1
        else:
            many, turn = (cost, float(count)), min(turn, 0) - 1
    return replace(closest, tries=tries, settled=closest.settled or tries == 0)


def _least_distance(S: Array) -> float:
    """The smallest distance -s of two codes, more than nothing."""
    np.fill_diagonal(S, -np.inf)
    largest = float(S.max())
    np.fill_diagonal(S, 0)
    return max(-largest, -_TIE * float(S.min()), float(np.finfo(np.float32).tiny))
