"""A starting dictionary of M codes and its features, from which all smaller ones are cut without looking at images again."""

import time
from functools import cached_property
from typing import Any

import numpy as np

from poolwise.engine.threads import Threads
from poolwise.method.candidates import Candidates, Statistics
from poolwise.method.nystrom import Projection, approximation_error, pca_error
from poolwise.method.selection import WayName
from poolwise.method.selection.choosing import Selection
from poolwise.method.statistics import CovarianceStream
from poolwise.reproduction.cells import Cell
from poolwise.reproduction.protocols import Data, Protocol
from poolwise.support.blocks import spans
from poolwise.support.progress import Stages
from poolwise.support.randomness import seed_of
from poolwise.support.types import Array

_ROWS_PER_BLOCK = 4096


class Start:
    """M codes learned by K-means, and the standardised pooled outputs of all of them for every image.

    The codes that a cell keeps and its features are those of `PooledFeatures(K, M, selection=..., projection=...,
    random_state=seed)`, for any number of K, ways and projections, while images are encoded once.

    model : the fitted PooledFeatures with M codes
    X_train, X_test : (n, cells · outputs) float32
    seconds : of `dictionary` (patches, whitening, K-means) and `features` (encoding of all images)
    """

    def __init__(
        self,
        protocol: Protocol,
        data: Data,
        M: int,
        *,
        seed: int,
        quick: bool = False,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.seed, self.n_jobs, self.verbose = seed, n_jobs, verbose
        self.model = protocol.features(M, seed=seed, quick=quick, n_jobs=n_jobs, verbose=verbose)
        encoder = self.model.recipe.encoder
        if encoder.coupled:
            raise ValueError(
                f"{encoder!r} has activations that depend on all codes together: fewer codes cannot be cut from the features "
                f"of all"
            )
        self._learn = data.learn
        self._found: dict[tuple[int, WayName], tuple[Selection, float]] = {}
        begun = time.perf_counter()
        if data.learn is None:
            self.X_train = self.model.fit_transform(data.train)
        else:
            self.X_train = self.model.fit(data.learn).transform(data.train)
        self.X_test = self.model.transform(data.test)
        of_dictionary = sum(self.model.timings_[stage] for stage in ("patches", "whitening", "dictionary"))
        self.seconds = {"dictionary": of_dictionary, "features": time.perf_counter() - begun - of_dictionary}

    @cached_property
    def candidates(self) -> Candidates:
        """All M codes, with C over every cell of every image that the dictionary was learned from."""
        layer = self.model.layer_
        with Stages(self.verbose, "").stage("covariance"), Threads(self.n_jobs) as engine:
            stream = CovarianceStream(layer.n_outputs, engine)
            images = self.X_train if self._learn is None else self._learn
            for rows in spans(len(images), _ROWS_PER_BLOCK):
                X = images[rows] if self._learn is None else self.model.transform(images[rows])
                stream.add(X.reshape(-1, layer.n_outputs))
            moments = stream.moments()
        return Candidates(layer, Statistics(moments.covariance(), moments.n), seed_of(self.seed))

    def select(self, K: int, way: WayName) -> tuple[Selection, float]:
        """K of the M codes, and the seconds that it took; asked again, what was found the first time."""
        if (K, way) not in self._found:
            candidates, stages = self.candidates, Stages(self.verbose, f"{way} {K} of {len(self.model.codes_)}: ")
            with Threads(self.n_jobs) as engine:
                found = candidates.select(K, way, engine=engine, stages=stages)
            self._found[K, way] = found, stages.seconds["selection"]
        return self._found[K, way]

    def features_of(self, cell: Cell) -> tuple[Array, Array, dict[str, Any]]:
        """A cell's features of the training and of the test images, and what is known of them: `unexplained`, `seconds`."""
        seconds = dict(self.seconds)
        if cell.selection is None and cell.projection is None:
            return self.X_train, self.X_test, {"seconds": seconds}
        layer, C = self.candidates.layer, self.candidates.statistics.covariance
        projection: Projection | None
        if cell.selection is None:
            begun = time.perf_counter()
            outputs, bound = np.arange(layer.n_outputs), self.candidates.pca(cell.K)
            unexplained, projection = pca_error(C, bound.T), bound
            seconds["selection"] = time.perf_counter() - begun
        else:
            found, seconds["selection"] = self.select(cell.K, cell.selection)
            outputs, projection = layer.outputs_of(found.selected), self.candidates.project(found, cell.projection)
            unexplained = approximation_error(C, outputs)
        train, test = (cut_features(X, layer.n_outputs, outputs, projection) for X in (self.X_train, self.X_test))
        return train, test, {"unexplained": unexplained, "seconds": seconds}


def cut_features(X: Array, n_outputs: int, outputs: Array, projection: Projection | None) -> Array:
    """Some outputs, projected cell by cell if there is a projection: (n, cells · n_outputs) to (n, cells · K) float32.

    >>> cut_features(np.arange(8, dtype=np.float32).reshape(1, 8), 4, np.array([1, 3]), None)
    array([[1., 3., 5., 7.]], dtype=float32)
    """
    cells = X.reshape(len(X), -1, n_outputs)
    width = len(outputs) if projection is None else len(projection.T)
    out = np.empty((len(X), cells.shape[1], width), np.float32)
    for rows in spans(len(X), _ROWS_PER_BLOCK):
        kept = cells[rows] if len(outputs) == n_outputs else cells[rows][:, :, outputs]
        out[rows] = kept if projection is None else kept @ projection.right
    return out.reshape(len(X), -1)
