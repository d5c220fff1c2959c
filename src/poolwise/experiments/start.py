"""A starting dictionary of M codes and its features, from which all smaller ones are cut without looking at images again."""

import time
from functools import cached_property
from typing import Any

import numpy as np

from poolwise.arrays import Array
from poolwise.engine import Threads, spans
from poolwise.estimators.randomness import generators
from poolwise.experiments.cells import Cell
from poolwise.experiments.protocols import Data, Protocol
from poolwise.nystrom import approximation_error, nystrom_transform, pca_error, pca_transform
from poolwise.progress import Stages
from poolwise.selection import Selection, Way, select
from poolwise.statistics import CovarianceStream

_ROWS = 4096


class Start:
    """M codes learned by K-means, and the standardised pooled outputs of all of them for every image.

    The codes that `cut` keeps and the features that it gives are those of `PooledFeatures(K, M, selection=..., transform=...,
    random_state=seed)`, for any number of K, ways and transforms, while images are encoded once.

    model : the fitted PooledFeatures with M codes
    X_train, X_test : (n, cells · M) float32
    seconds : of `dictionary` (patches, whitening, K-means) and `features` (encoding of all images)
    """

    def __init__(
        self,
        protocol: Protocol,
        data: Data,
        M: int,
        seed: int,
        quick: bool = False,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.M, self.seed, self.n_jobs, self.verbose = M, seed, n_jobs, verbose
        self.model = protocol.features(M, seed, quick, n_jobs, verbose)
        self._learn = data.learn
        self._found: dict[tuple[int, Way], tuple[Selection, float]] = {}
        begun = time.perf_counter()
        if data.learn is None:
            self.X_train = self.model.fit_transform(data.train)
        else:
            self.X_train = self.model.fit(data.learn).transform(data.train)
        self.X_test = self.model.transform(data.test)
        of_dictionary = sum(self.model.timings_[stage] for stage in ("patches", "whitening", "dictionary"))
        self.seconds = {"dictionary": of_dictionary, "features": time.perf_counter() - begun - of_dictionary}

    @cached_property
    def covariance(self) -> Array:
        """C, (M, M), of the outputs, over every cell of every image that the dictionary was learned from."""
        with Stages(self.verbose, "").stage("covariance"), Threads(self.n_jobs) as engine:
            stream = CovarianceStream(self.M, engine)
            images = self.X_train if self._learn is None else self._learn
            for rows in spans(len(images), _ROWS):
                X = images[rows] if self._learn is None else self.model.transform(images[rows])
                stream.add(X.reshape(-1, self.M))
            moments = stream.moments()
        return moments.covariance()

    def select(self, K: int, way: Way) -> tuple[Selection, float]:
        """K of the M codes, and the seconds that it took; asked again, what was found the first time."""
        if (K, way) not in self._found:
            C, stages = self.covariance, Stages(self.verbose, f"{way} {K} of {self.M}: ")
            rng = np.random.default_rng(generators(self.seed)[1])
            with stages.stage("selection") as update, Threads(self.n_jobs) as engine:
                found = select(C, K, way, rng, engine, update)
            self._found[K, way] = found, stages.seconds["selection"]
        return self._found[K, way]

    def cut(self, cell: Cell) -> tuple[Array, Array, dict[str, Any]]:
        """A cell's features of the training and of the test images, and what is known of them: `unexplained`, `seconds`."""
        seconds = dict(self.seconds)
        if cell.selection is None and cell.transform is None:
            return self.X_train, self.X_test, {"seconds": seconds}
        C = self.covariance
        T: Array | None
        if cell.selection is None:
            begun = time.perf_counter()
            codes, T = np.arange(self.M), pca_transform(C, cell.K)
            unexplained = pca_error(C, T)
            seconds["selection"] = time.perf_counter() - begun
        else:
            found, seconds["selection"] = self.select(cell.K, cell.selection)
            codes, unexplained = found.selected, approximation_error(C, found.selected)
            T = nystrom_transform(C, codes) if cell.transform == "nystrom" else None
        right = None if T is None else np.ascontiguousarray(T.T, np.float32)
        train, test = (cut_features(X, self.M, codes, right) for X in (self.X_train, self.X_test))
        return train, test, {"unexplained": unexplained, "seconds": seconds}


def cut_features(X: Array, M: int, codes: Array, right: Array | None) -> Array:
    """Outputs of some codes, transformed cell by cell if `right` = Tᵀ is given: (n, cells · M) to (n, cells · K) float32.

    >>> cut_features(np.arange(8, dtype=np.float32).reshape(1, 8), 4, np.array([1, 3]), None)
    array([[1., 3., 5., 7.]], dtype=float32)
    """
    cells = X.reshape(len(X), -1, M)
    width = len(codes) if right is None else right.shape[1]
    out = np.empty((len(X), cells.shape[1], width), np.float32)
    for rows in spans(len(X), _ROWS):
        some = cells[rows] if len(codes) == M else cells[rows][:, :, codes]
        out[rows] = some if right is None else some @ right
    return out.reshape(len(X), -1)
