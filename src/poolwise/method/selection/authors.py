"""Affinity propagation with the quirks of the published experiment, for replication only."""

import numpy as np

from poolwise.engine.threads import Threads
from poolwise.method.selection.affinity import Messages, outcome
from poolwise.method.selection.choosing import Selection
from poolwise.method.selection.medoids import Exemplars
from poolwise.support.blocks import spans
from poolwise.support.progress import Update, silent
from poolwise.support.types import Array

_ROWS_PER_BLOCK = 64
_BISECTIONS = 20
_DAMPING = 0.8
_ROUNDS_PER_BISECTION = 200


def authors(C: Array, K: int, *, rng: np.random.Generator, engine: Threads, update: Update = silent) -> Selection:
    """Affinity propagation as in the published experiment, for replication only.

    s(i, j) = (R_ij - R_ii/2 - R_jj/2) (1 + u), R = C_ij / (s_i s_j), s_i = sqrt(C_ii² + 0.01), u uniform in 0..1; at most 20
    bisections of the preference between the least and the largest s, each from scratch; the last is brought to K.
    """
    scale = np.sqrt(np.diagonal(C) ** 2 + 0.01)
    half = np.diagonal(C) / scale**2 / 2
    S = np.empty(C.shape, np.float32)
    for rows in spans(len(C), _ROWS_PER_BLOCK):
        correlation = C[rows] / (scale[rows, None] * scale)
        S[rows] = np.minimum(correlation - half[rows, None] - half, 0) * (1 + rng.random(correlation.shape))
    low, high = float(S.min()), float(S.max())
    messages = Messages(S, engine, _DAMPING)
    for bisection in range(_BISECTIONS):
        preference = (low + high) / 2
        messages.forget()
        settled = messages.settle(preference, _ROUNDS_PER_BISECTION)
        count = int(messages.is_exemplar.sum())
        update(bisection + 1, f"{count} exemplars at a preference of {preference:.4g}")
        if count == K:
            break
        low, high = (preference, high) if count < K else (low, preference)
    chosen, net = np.flatnonzero(messages.is_exemplar), messages.net_similarity
    np.fill_diagonal(S, 0)
    exemplars = Exemplars(np.ascontiguousarray(S.T), chosen if count else np.zeros(1)).bring_to(K)
    found = outcome(messages, exemplars, net, preference, settled, bisection + 1)
    return Selection(found.exemplars, len(C), found.label, found)
