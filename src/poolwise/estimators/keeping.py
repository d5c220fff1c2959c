"""What a fit depends on, so that checkpoints of another one are refused.

Of images and features sixteen are looked at, spread evenly; of labels and weights all.
"""

import hashlib
import os
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from poolwise.engine.shards import Shards
from poolwise.support.steps import Work, are_kept, begun
from poolwise.support.types import Array, ImageSource

_LOOKED_AT = 16
_WITHOUT = ("n_jobs", "verbose")  # no result depends on these
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def kept_fit(
    estimator: BaseEstimator,
    data: Array | ImageSource | Shards,
    beside: Sequence[Any],
    names: Any = None,
    without: Sequence[str] = (),
) -> AbstractContextManager[Work]:
    """The work that a fit is; beside : labels, weights, folds    without : parameters that `beside` says better"""
    name = type(estimator).__name__
    if not are_kept():
        return begun(name, None)
    params = {key: value for key, value in estimator.get_params(deep=False).items() if key not in (*_WITHOUT, *without)}
    some = np.unique(np.linspace(0, len(data) - 1, min(len(data), _LOOKED_AT)).astype(np.intp))
    content = data.take(some) if isinstance(data, Shards) else np.asarray(data[some])
    about = {
        "parameters": _ADDRESS.sub("", repr(sorted(params.items()))),
        "shape": " ".join(map(str, data.shape)),
        "content": _digest([content, *([] if names is None else [names])]),
        "labels": _digest(beside),
    }
    return begun(name, about)


def kept_seed(work: Work, seed: int) -> int:
    """The seed, or the one that was drawn before."""
    known = work.load("seed", {})
    if known is None:
        work.save("seed", {}, {"seed": seed})
        return seed
    return int(known.fact("seed", int))


def _digest(values: Sequence[Any]) -> str:
    found = hashlib.sha256()
    for value in values:
        array = np.asarray(value)
        found.update(f"{array.dtype.kind}{array.shape}".encode())
        if array.dtype.kind in "OUS":
            for entry in array.ravel().tolist():
                found.update(os.fsencode(str(entry)) + b"\n")
        else:
            found.update(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
    return found.hexdigest()
