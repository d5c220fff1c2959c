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
from dataclasses import replace

import numpy as np

from poolwise.engine.threads import Threads
from poolwise.kernels import affinity as loops
from poolwise.method.selection.choosing import Propagation, Selection, nearest_exemplar, similarity
from poolwise.method.selection.medoids import Exemplars
from poolwise.support.blocks import spans
from poolwise.support.progress import Update, silent
from poolwise.support.types import Array

_SHARDS = 16
_ROWS_PER_BLOCK = 64
_PATIENCE_ROUNDS = 15
_DECIDED_SHARE = 0.9  # of codes whose eq. 5 names an exemplar
_RETURNS = 5  # of a set of exemplars, until it counts as a cycle
_MOST_DAMPING = 0.98
_TIE_SHARE = 2e-6  # of the range of similarities
_TRIES = 10
_ROUNDS_PER_TRY = 300
_RESTLESS_TRIES = 3
_RESTLESS_PENALTY = 0.05  # in log(count / K)
_NARROW_SHARE = 1e-3  # of a bracket's cost


def affinity(C: Array, K: int, *, rng: np.random.Generator, engine: Threads, update: Update = silent) -> Selection:
    """Affinity propagation on eq. 1's similarity, searched for exactly K."""
    found = find_exemplars(similarity(C), K, rng=rng, engine=engine, update=update)
    return Selection(found.exemplars, len(C), found.label, found)


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
        self._shards = spans(M, max(_ROWS_PER_BLOCK, -(-M // _SHARDS)))
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
            net: float = loops.pass_messages(S, A, R, rows.start, total, own, mask, exemplars, self.damping, new_own, positive)
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
        return np.concatenate([(self.A[rows] + self.R[rows]).argmax(axis=1) for rows in spans(len(self.S), _ROWS_PER_BLOCK)])

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
                if rest % _PATIENCE_ROUNDS or not self.is_exemplar.any():
                    continue
                if self._net[-1] < self.one_for_all + preference:
                    returns = _RETURNS  # worse than one exemplar for all: a pendulum at its turning point
                elif self.is_exemplar[self.representatives()].mean() >= _DECIDED_SHARE:
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
    """Lower each similarity by up to 2e-6 of the range, in place: of two codes that could represent each other, one must."""
    amount = -_TIE_SHARE * float(S.min())
    for rows in spans(len(S), _ROWS_PER_BLOCK):
        S[rows] -= (amount * rng.random(S[rows].shape)).astype(np.float32)


def propagate(
    S: Array,
    preference: float,
    *,
    rng: np.random.Generator,
    engine: Threads,
    damping: float = 0.8,
    max_rounds: int = 400,
) -> Propagation:
    """Messages at one preference until the exemplars rest. S is used up; `rng` breaks ties. No exemplar at all is an error.

    >>> x = np.array([0.0, 0.1, 5.0, 5.2, 9.0])
    >>> with Threads(1) as engine:
    ...     found = propagate(-np.square(x[:, None] - x).astype(np.float32), -1.0, rng=np.random.default_rng(0), engine=engine)
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
    *,
    rng: np.random.Generator,
    engine: Threads,
    damping: float = 0.8,
    update: Update = silent,
) -> Propagation:
    """Exactly K exemplars: the preference that gives them is searched, warm, between one and all; S is used up.

    Where the count jumps over K, or does not come to rest at it, the closest one is brought to K by the best single merges or
    splits. At the end exemplars are swapped as long as one swap gains. All of it is under the same net similarity, and the
    result says how many steps there were.

    S : (M, M) symmetric, at most 0    rng : breaks ties    update : called with (try, what came of it)

    >>> x = np.array([0.0, 0.1, 5.0, 5.2, 9.0])
    >>> S, rng = -np.square(x[:, None] - x).astype(np.float32), np.random.default_rng(0)
    >>> with Threads(1) as engine:
    ...     found = find_exemplars(S, 2, rng=rng, engine=engine)
    >>> found.label
    array([0, 0, 1, 1, 1])
    """
    M = len(S)
    if not all(np.allclose(S[rows], S[:, rows].T, atol=1e-4) for rows in spans(M, _ROWS_PER_BLOCK)):
        raise ValueError(
            f"S is not symmetric: s(i, j) and s(j, i) differ by up to {float(np.abs(S - S.T).max()):.2g}; give (S + S.T) / 2"
        )
    break_ties(S, rng)
    messages = Messages(S, engine, damping)
    if K in (1, M):  # nothing to search: the best of all, or all
        found = _state(messages, np.arange(M), 0.0 if K == M else messages.one_for_all, settled=True)
    else:
        found = _search(messages, K, update)
    net = messages.net_similarity
    np.fill_diagonal(S, 0)
    exemplars = Exemplars(S, found.exemplars).bring_to(K)
    exemplars.improve()
    return outcome(messages, exemplars, net, found.preference, found.converged, found.tries)


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


def _state(messages: Messages, exemplars: Array, preference: float, *, settled: bool) -> Propagation:
    """What one preference gave, before it is brought to K."""
    return Propagation(exemplars, np.empty(0, np.int64), preference, messages.damping, settled, [], messages.oscillations)


def _search(messages: Messages, K: int, update: Update) -> Propagation:
    """Narrow a bracket of preferences until one gives K exemplars; the state closest to K.

    An exemplar has to be worth its cost, -preference. At a cost of the least distance of two codes all M are; where even a
    second one would save less than it costs, one represents all. In between, counts are nearly a power of the cost: the next
    cost is interpolated on logarithms, or halves the bracket where the last two lay on the same side.
    """
    S, M = messages.S, len(messages.S)
    two = Exemplars(S, np.zeros(1)).bring_to(1).bring_to(2)
    two.improve()
    few, many = (two.similarity - messages.one_for_all, 1.0), (_least_distance(S), float(M))
    closest = _state(messages, np.arange(M), -many[0], settled=False)
    distance, tries, restless, turn = math.log(M / K), 0, 0, 0
    while distance > 0 and tries < _TRIES and restless < _RESTLESS_TRIES and few[0] > many[0] * (1 + _NARROW_SHARE):
        share = 0.5 if abs(turn) > 1 else math.log(K / few[1]) / math.log(many[1] / few[1])
        cost = few[0] * (many[0] / few[0]) ** min(max(share, 0.05), 0.95)
        settled = messages.settle(-cost, _ROUNDS_PER_TRY)
        exemplars = np.flatnonzero(messages.is_exemplar)
        count, tries, restless = len(exemplars), tries + 1, restless + (not settled)
        update(tries, f"{count} exemplars at a preference of {-cost:.4g}")
        off = abs(math.log(count / K)) + (0 if settled else _RESTLESS_PENALTY) if count else math.inf
        if off < distance:
            closest, distance = _state(messages, exemplars, -cost, settled=settled), off
        if count < K:
            few, turn = (cost, max(count, 0.5)), max(turn, 0) + 1
        else:
            many, turn = (cost, float(count)), min(turn, 0) - 1
    return replace(closest, tries=tries, converged=closest.converged or tries == 0)


def _least_distance(S: Array) -> float:
    """The smallest distance -s of two codes, more than nothing."""
    np.fill_diagonal(S, -np.inf)
    largest = float(S.max())
    np.fill_diagonal(S, 0)
    return max(-largest, -_TIE_SHARE * float(S.min()), float(np.finfo(np.float32).tiny))
