"""Everything that a report shows of a model, as numbers and arrays: measured here, drawn elsewhere.

What cannot be known of a model (saved slim, without candidates, no images given) is None, and `missing` has the reason.
"""

import copy
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.pipeline import Pipeline

from poolwise.analysis.accuracy import Accuracy, class_numbers, measure_accuracy
from poolwise.analysis.clusters import (
    Sums,
    correlations_after,
    correlations_before,
    order_of_candidates,
    order_of_codes,
    similarity_picture,
)
from poolwise.analysis.cost import cost_of, milliseconds, nominal_milliseconds
from poolwise.analysis.excitation import cut_regions, excite, positions_per_block
from poolwise.analysis.spectra import Spectra, study_spectra
from poolwise.engine.threads import Threads
from poolwise.estimators import PooledFeatures, StackedFeatures
from poolwise.method.layer import Layer
from poolwise.method.masked import Masked
from poolwise.method.nodata import nan_pixels
from poolwise.support.progress import Stages
from poolwise.support.types import Array, ImageSource

PATCHES = 20_000
_MOST_IMAGES = 256
_MOST_POSITIONS = 200_000
_REGIONS_PER_CODE = 6
_IMAGES_TIMED = 64
_MOST_MILLISECONDS, _MOST_NUMBERS = 4000, 1 << 25  # of one round of timing
_PIXELS_OF_PICTURE, _CANDIDATES_DRAWN_WHOLE = 480, 640
_SEED = 0


@dataclass(frozen=True)
class Clusters:
    """cluster : (M,)    after, before : (M,) correlation with the exemplar; before is None without images

    order : (K,) ranks of codes, neighbours alike    candidates : (M,) in the order of the picture    picture : (size, size)
    """

    cluster: Array
    after: Array
    before: Array | None
    order: Array
    candidates: Array
    picture: Array


@dataclass(frozen=True)
class Regions:
    """What excites each code: pixels (count, K, h, w, 3) uint8, y and x of the patch inside, its image in the sample or -1

    names : of the sample's images    label : (n,) class of each, or None    share : (classes, K) or None, as `by_class`
    """

    pixels: Array
    y: Array
    x: Array
    image: Array
    names: list[str]
    label: Array | None
    share: Array | None


@dataclass(frozen=True)
class Findings:
    """A model, what is known of it, and sentences on what is not.

    features : of a stack, its first layer, which sees the images    above : a stack's other layers
    n_features : numbers per image, of all layers
    """

    features: PooledFeatures
    classifier: ClassifierMixin | None
    milliseconds: float
    multiply_adds: dict[str, int]
    classes: list[str] = field(default_factory=list)
    clusters: Clusters | None = None
    spectra: Spectra | None = None
    regions: Regions | None = None
    accuracy: Accuracy | None = None
    n_images: int | None = None
    missing: dict[str, str] = field(default_factory=dict)
    above: tuple[Layer, ...] = ()
    n_features: int = 0


def study(
    model: PooledFeatures | StackedFeatures | Pipeline,
    images: Any = None,
    labels: Any = None,
    *,
    names: Any = None,
    stages: Stages | None = None,
) -> Findings:
    """Measure all that can be known of fitted features, or of a pipeline of these and a linear classifier.

    Of a stack, codes are those of the first layer; accuracy and cost are those of all layers.

    images : (n, H, W, c) or whatever `transform` takes; a sample is looked at, and all are classified if there are labels
    names : of the images, to be shown next to regions; by default a source's own names, or row numbers
    """
    stages = stages or Stages()
    whole, classifier = _parts(model)
    features = _first(whole)
    missing: dict[str, str] = {}
    sample = _Sample.draw(features, images, labels, names, classifier) if images is not None else None
    clusters = _study_clusters(features, sample, missing, stages)
    spectra = None
    if features.candidates_ is None:
        missing["spectra"] = "The covariance of the candidates is not in this model, so there is no spectrum to draw."
    else:
        with stages.stage("spectra"):
            spectra = study_spectra(features)
    regions = _study_regions(features, sample, missing, stages)
    accuracy = None
    if sample is not None and sample.numbers is not None and classifier is not None:
        with stages.stage("accuracy", len(sample.source)) as update:
            accuracy = measure_accuracy(whole, classifier, sample.source, sample.numbers, update)
    else:
        missing["accuracy"] = (
            "The model has no classifier, so there is no accuracy to measure: fit it with labelled images."
            if classifier is None
            else "Give labelled images to see how often the model is right, and what it takes for what."
        )
    with stages.stage("cost"):
        passes = whole.passes_ if isinstance(whole, StackedFeatures) else [features.layer_]
        took = _milliseconds(whole, passes, None if sample is None else sample.pixels, missing)
    above = tuple(layer.layer_ for layer in getattr(whole, "layers_", [])[1:])
    return Findings(
        features,
        classifier,
        took,
        cost_of(*passes, classifier=_coefficients(classifier)),
        sample.classes if sample is not None else [],
        clusters,
        spectra,
        regions,
        accuracy,
        None if sample is None else len(sample.source),
        missing,
        above,
        whole.n_features_out_ if isinstance(whole, StackedFeatures) else features.layer_.n_features,
    )


def _milliseconds(
    whole: PooledFeatures | StackedFeatures, passes: list[Layer], pixels: Array | None, missing: dict[str, str]
) -> float:
    """Per image: measured, or estimated where a file describes images so large that measuring would take long."""
    estimated, layer = sum(map(nominal_milliseconds, passes)), passes[0]
    numbers = math.prod(layer.image_shape) + sum(one.n_features for one in passes)
    most = int(min(_MOST_MILLISECONDS / max(estimated, 1e-9), _MOST_NUMBERS / numbers))
    few = min(_IMAGES_TIMED, _few(layer), most)
    if few < 1:
        missing["time"] = "Images of this size take long: their time is estimated from the multiplications, not measured."
        return estimated
    if pixels is None:
        pixels = np.random.default_rng(_SEED).integers(0, 256, size=(few, *layer.image_shape), dtype=np.uint8)
    return milliseconds(whole, pixels[:few])


def _parts(model: Any) -> tuple[PooledFeatures | StackedFeatures, ClassifierMixin | None]:
    """Features, and the classifier or None."""
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    if not (hasattr(steps[0], "layer_") or hasattr(steps[0], "layers_")) or len(steps) > 2:
        raise ValueError(f"a report is of a fitted PooledFeatures, or of a pipeline of one and a classifier; got {model!r:.99}")
    return steps[0], steps[1] if len(steps) == 2 else None


def _first(whole: PooledFeatures | StackedFeatures) -> PooledFeatures:
    """The features that see images: of a stack its first layer, with the stack's threads."""
    if not isinstance(whole, StackedFeatures):
        return whole
    first = copy.copy(whole.layers_[0])
    if whole.n_jobs is not None:
        first.n_jobs = whole.n_jobs
    return first


def _coefficients(classifier: ClassifierMixin | None) -> tuple[int, int] | None:
    """The shape of a linear classifier's coefficients; others are not counted."""
    coef = getattr(classifier, "coef_", None)
    if coef is None:
        return None
    rows, columns = np.atleast_2d(coef).shape
    return rows, columns


def _few(layer: Layer) -> int:
    """How many images to look at: fewer, if each has many positions."""
    h, w = layer.positions
    return max(12, min(_MOST_IMAGES, _MOST_POSITIONS // (h * w)))


@dataclass(frozen=True)
class _Sample:
    """All images as a source, and some of them in memory.

    rows : (n,) which    numbers : the class of each of all images, or None    classes : their names
    """

    source: Array | ImageSource
    rows: Array
    pixels: Array
    names: list[str]
    numbers: Array | None
    classes: list[str]

    @classmethod
    def draw(
        cls, features: PooledFeatures, images: Any, labels: Any, names: Any, classifier: ClassifierMixin | None
    ) -> "_Sample":
        source = features.look_at(images)
        labels = getattr(images, "labels", None) if labels is None else labels
        names = getattr(images, "names", range(len(source))) if names is None else names
        for what, given in (("names", names), ("labels", labels)):
            if given is not None and len(given) != len(source):
                raise ValueError(f"there are {len(source)} images, but {len(given)} {what}; give one for each")
        numbers: Array | None = None
        classes: list[str] = []
        if labels is not None:
            numbers, classes = class_numbers(labels, None if classifier is None else classifier.classes_)
        rng = np.random.default_rng(_SEED)
        rows = np.sort(rng.choice(len(source), min(_few(features.layer_), len(source)), replace=False))
        return cls(source, rows, source[rows], [str(names[row]) for row in rows], numbers, classes)


def _study_clusters(
    features: PooledFeatures, sample: _Sample | None, missing: dict[str, str], stages: Stages
) -> Clusters | None:
    candidates, selection, cluster = features.candidates_, features.selection_, features.cluster_
    if candidates is None and features.n_candidates_ is not None:
        missing["clusters"] = "The model was saved slim, without its candidates, so it is not known what each code represents."
    elif candidates is None:
        missing["clusters"] = "The model was fitted without candidates: plain K-means, where each code represents itself alone."
    elif selection is None or len(selection.selected) == selection.n_candidates:
        missing["clusters"] = "The model keeps all of its candidates, so each code represents itself alone."
    if candidates is None or selection is None or cluster is None or "clusters" in missing:
        return None
    C, M, selected = candidates.statistics.covariance, selection.n_candidates, selection.selected
    with stages.stage("clusters"):
        after = correlations_after(C, cluster)
        order = order_of_codes(C, M, selected)
        in_order = order_of_candidates(order, selected, cluster, after)
        picture = similarity_picture(C, M, in_order, M if M <= _CANDIDATES_DRAWN_WHOLE else _PIXELS_OF_PICTURE)
    before = None
    if sample is None:
        missing["before"] = "Give images to see how alike the candidates are before pooling."
    else:
        with stages.stage("responses before pooling"), Threads(features.n_jobs) as engine:
            before = _before(candidates.layer, cluster, len(C) // M, sample.pixels, engine)
    return Clusters(cluster, after, before, order, in_order, picture)


def _before(layer: Layer, cluster: Array, sides: int, images: Array, engine: Threads) -> Array:
    """Correlations with the exemplar over random local vectors of the images, a block at a time on each thread.

    sides : of each code that count, as in the covariance after pooling
    """
    source = images if nan_pixels(images) is None else Masked(images, "nan")
    P = layer.descriptor.sample(source, PATCHES, rng=np.random.default_rng(_SEED), engine=engine)
    sums = P.map(_sums, layer, cluster, sides, size=positions_per_block(layer.n_outputs))
    return correlations_before(sums, cluster)


def _sums(P: Array, layer: Layer, cluster: Array, sides: int) -> Sums:
    return Sums.of(layer.activations(P)[:, : sides * len(cluster)], cluster, sides)


def _study_regions(features: PooledFeatures, sample: _Sample | None, missing: dict[str, str], stages: Stages) -> Regions | None:
    if sample is None:
        missing["regions"] = "Give images to see which of their regions excite each code most."
        return None
    layer = features.layer_
    with stages.stage("regions"), Threads(features.n_jobs) as engine:
        seen = excite(layer, sample.pixels, engine)
        top = seen.top(_REGIONS_PER_CODE)
        cut, y, x = cut_regions(sample.pixels, seen, top, layer.descriptor.window(1, 1))
    label = None if sample.numbers is None else sample.numbers[sample.rows]
    share = None if label is None else seen.by_class(label, len(sample.classes))
    return Regions(as_colours(cut, sample.pixels), y, x, top, sample.names, label, share)


def as_colours(pixels: Array, scale: Array) -> Array:
    """(..., c) pixels as (..., 3) uint8; what is not uint8 is stretched over the range of `scale`."""
    if pixels.dtype != np.uint8:
        seen = scale[np.isfinite(scale)]
        low, high = (float(seen.min()), float(seen.max())) if seen.size else (0.0, 0.0)
        pixels = np.nan_to_num(pixels, nan=low)  # what has no data is black
        pixels = np.clip(255 * (pixels.astype(np.float32) - low) / (high - low if high > low else 1), 0, 255)
    if pixels.shape[-1] != 3:
        pixels = np.repeat(pixels.mean(axis=-1, keepdims=True), 3, axis=-1)
    return np.round(pixels).astype(np.uint8)
