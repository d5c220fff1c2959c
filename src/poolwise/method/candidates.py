"""What K codes are chosen from, and choosing them: one implementation for `fit`, `reselect` and `poolwise reproduce`.

M : candidates    C : covariance of their outputs, (M, M), or (sides · M, sides · M) where a code has several
"""

from dataclasses import dataclass, replace

import numpy as np

from poolwise.engine.threads import Threads
from poolwise.method.layer import Layer
from poolwise.method.nystrom import Projection, nystrom_projection, pca_projection
from poolwise.method.pooling import Pooling
from poolwise.method.recipe import ProjectionName
from poolwise.method.scale import Scale
from poolwise.method.selection import WayName
from poolwise.method.selection.choosing import Selection, has_variance, select
from poolwise.method.selection.supervised import Labelled
from poolwise.support.parameters import Choice
from poolwise.support.progress import Stages
from poolwise.support.randomness import choosing_generator
from poolwise.support.types import Array


@dataclass(frozen=True)
class Statistics:
    """covariance : C of the candidates' standardised outputs    n : samples it was computed from; 0 if that is not known

    labelled : what images and targets say together, where they were chosen with labels; C is then of one output a code
    """

    covariance: Array
    n: int
    labelled: Labelled | None = None


@dataclass(frozen=True)
class Candidates:
    """M codes, and how they respond after pooling.

    layer : of all M, with first-order pooling and without projection    seed : of the draws that choosing makes
    pooling : that of the codes kept, where it is not the layer's own; its scale has then to be learned from images
    """

    layer: Layer
    statistics: Statistics
    seed: int
    pooling: Pooling | None = None

    @property
    def codes(self) -> Array:
        """(M, d)."""
        return self.layer.codes

    @property
    def unknown(self) -> str | None:
        """Why the scale of fewer codes does not follow from that of all, so that it needs images; None where it does."""
        if self.layer.encoder.coupled:
            return f"encoder={self.layer.encoder.word!r} has activations that depend on all codes together"
        return None if self.pooling is None else f"pooling={self.pooling.word!r} has numbers that selection has not seen"

    @property
    def n_alive(self) -> int:
        """How many candidates respond to anything."""
        C = self.statistics.covariance
        return int(has_variance(C).sum()) * len(self.codes) // len(C)

    def covariance_of_codes(self) -> Array:
        """(M, M): a code's outputs count as that many samples of it."""
        C, M = self.statistics.covariance, len(self.codes)
        total = C[:M, :M]
        for side in range(1, len(C) // M):
            total = total + C[side * M : (side + 1) * M, side * M : (side + 1) * M]
        return total

    def choose(
        self, K: int, way: WayName, projection: ProjectionName, *, engine: Threads, stages: Stages
    ) -> tuple[Layer, Selection | None]:
        """Stages 9 to 12: the layer of K codes, and how they were selected; for "pca" of all M codes, and None."""
        if Choice(("nystrom", "pca", None)).check("projection", projection) == "pca":
            with stages.stage("projection"):
                return self.kept(np.arange(len(self.codes)), self.pca(K)), None
        found = self.select(K, way, engine=engine, stages=stages)
        with stages.stage("projection"):
            return self.kept(found.selected, self.project(found, projection)), found

    def kept(self, selected: Array, projection: Projection | None) -> Layer:
        """The layer of some codes, as `choose` gives it."""
        layer = self.layer.keep(selected, projection)
        if self.pooling is None:
            return layer
        pooling = self.pooling.of_codes(len(selected))
        return replace(layer, pooling=pooling, scale=Scale.none(pooling.n_cells, pooling.width(layer.n_outputs)))

    def way_of(self, way: WayName) -> WayName:
        """The way itself, or what "auto" means for these candidates."""
        if way != "auto":
            return way
        return "affinity" if self.statistics.labelled is None else "supervised"

    def select(self, K: int, way: WayName, *, engine: Threads, stages: Stages) -> Selection:
        """Stages 9 and 10: K of the M codes; first those that would be kept if the pooling had to do with its leading ones."""
        C, rng, labelled = self.covariance_of_codes(), choosing_generator(self.seed), self.statistics.labelled
        way, leading = self.way_of(way), K if self.pooling is None else self.pooling.leading(K)
        with stages.stage("selection") as update:
            found = select(C, K, way, labelled=labelled, rng=rng, engine=engine, update=update)
            if leading == K:
                return found
            own = found.selected
            part = None if labelled is None else labelled.keep(own, len(C))
            first = select(C[np.ix_(own, own)], leading, way, labelled=part, rng=rng, engine=engine, update=update)
            return found.led_by(first.selected)

    def project(self, found: Selection, projection: ProjectionName) -> Projection | None:
        """Stage 11: how the outputs of the codes kept are combined; left as they are where C is not theirs."""
        if projection is None or self.pooling is not None or self.statistics.labelled is not None:
            return None
        return nystrom_projection(self.statistics.covariance, self.layer.outputs_of(found.selected))

    def pca(self, K: int) -> Projection:
        """Stage 12: the largest directions of all outputs, as many as K codes have outputs."""
        if self.statistics.labelled is not None:
            raise ValueError("codes were chosen with labels, from one output each; for projection='pca' fit again with it")
        return pca_projection(self.statistics.covariance, K * self.layer.encoder.sides)
