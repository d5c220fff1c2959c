"""Everything that a report tells of a model, as numbers and arrays: measured here, drawn elsewhere.

What cannot be known of a model (saved slim, without candidates, no images given) is None, and `missing` says why.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from poolwise.arrays import Array
from poolwise.engine import Threads, spans
from poolwise.estimators.images import check_images
from poolwise.nystrom import approximate_spectrum, leading_spectrum, spectrum, unexplained
from poolwise.patches import position_grid, sample_patches
from poolwise.progress import Stages
from poolwise.report.accuracy import Accuracy, class_numbers, measure_accuracy
from poolwise.report.clusters import (
    Sums,
    correlations_after,
    correlations_before,
    order_of_candidates,
    order_of_codes,
    similarity_picture,
)
from poolwise.report.cost import cost_of, milliseconds
from poolwise.report.excitation import Excitation, Sight, cut_regions, excite

PATCHES = 20_000
_IMAGES = 256
_POSITIONS = 200_000
_REGIONS = 6
_TIMED = 64
_PICTURE, _SMALL = 480, 640
_EXACT = 1024
_LEADING = 200
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
class Spectra:
    """whole : the largest eigenvalues of C, all of them if `is_exact`    approximate : (K,) of its Nyström approximation

    unexplained : trace(C - W C_SS⁺ Wᵀ) / trace(C)
    """

    whole: Array
    is_exact: bool
    approximate: Array
    unexplained: float


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
    """A model, what is known of it, and sentences on what is not."""

    features: Any
    classifier: Any
    milliseconds: float
    multiply_adds: dict[str, int]
    classes: list[str] = field(default_factory=list)
    clusters: Clusters | None = None
    spectra: Spectra | None = None
    regions: Regions | None = None
    accuracy: Accuracy | None = None
    n_images: int | None = None
    missing: dict[str, str] = field(default_factory=dict)


def study(model: Any, images: Any = None, labels: Any = None, *, names: Any = None, stages: Stages | None = None) -> Findings:
    """Measure all that can be known of a fitted PooledFeatures, or of a pipeline of one and a linear classifier.

    images : (n, H, W, c) or whatever `transform` takes; a sample is looked at, and all are classified if there are labels
    names : of the images, to be shown beside regions; by default a source's own names, or row numbers
    """
    stages = stages or Stages()
    features, classifier = _parts(model)
    missing: dict[str, str] = {}
    sample = _Sample.draw(features, images, labels, names, classifier) if images is not None else None
    clusters = _study_clusters(features, sample, missing, stages)
    spectra = None
    if features.covariance_ is None:
        missing["spectra"] = "The covariance of the candidates is not in this model, so there is no spectrum to draw."
    else:
        with stages.stage("spectra"):
            spectra = study_spectra(features)
    regions = _study_regions(features, sample, missing, stages)
    accuracy = None
    if sample is not None and sample.numbers is not None and classifier is not None:
        with stages.stage("accuracy", len(sample.source)) as update:
            accuracy = measure_accuracy(features, classifier, sample.source, sample.numbers, lambda done: update(done, ""))
    else:
        missing["accuracy"] = (
            "The model has no classifier, so there is no accuracy to tell: fit it with labelled images."
            if classifier is None
            else "Give labelled images to see how often the model is right, and what it takes for what."
        )
    with stages.stage("cost"):
        rng = np.random.default_rng(_SEED)
        H, W, c = features.image_shape_in_
        timed = (
            sample.pixels[:_TIMED]
            if sample is not None
            else rng.integers(0, 256, size=(min(_TIMED, _few(features)), H, W, c), dtype=np.uint8)
        )
        took = milliseconds(features, timed)
    return Findings(
        features,
        classifier,
        took,
        cost_of(features, classifier),
        sample.classes if sample is not None else [],
        clusters,
        spectra,
        regions,
        accuracy,
        None if sample is None else len(sample.source),
        missing,
    )


def _parts(model: Any) -> tuple[Any, Any]:
    """Features, and the classifier or None."""
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    if not hasattr(steps[0], "codes_") or len(steps) > 2:
        raise ValueError(f"a report is of a fitted PooledFeatures, or of a pipeline of one and a classifier; got {model!r:.99}")
    return steps[0], steps[1] if len(steps) == 2 else None


def _few(features: Any) -> int:
    """How many images to look at: fewer, if each has many patches."""
    h, w = position_grid(features.image_shape_in_[:2], features.patch_size_, features._pooling[0])
    return max(12, min(_IMAGES, _POSITIONS // (h * w)))


@dataclass(frozen=True)
class _Sample:
    """All images as a source, and some of them in memory.

    rows : (n,) which    numbers : the class of each of all images, or None    classes : their names
    """

    source: Any
    rows: Array
    pixels: Array
    names: list[str]
    numbers: Array | None
    classes: list[str]

    @classmethod
    def draw(cls, features: Any, images: Any, labels: Any, names: Any, classifier: Any) -> "_Sample":
        source, _ = check_images(features, images, reset=False)
        labels = getattr(images, "labels", None) if labels is None else labels
        names = getattr(images, "names", range(len(source))) if names is None else names
        if len(names) != len(source) or (labels is not None and len(labels) != len(source)):
            raise ValueError(f"there are {len(source)} images, but {len(names)} names or {len(labels)} labels")
        numbers: Array | None = None
        classes: list[str] = []
        if labels is not None:
            numbers, classes = class_numbers(labels, None if classifier is None else classifier.classes_)
        rng = np.random.default_rng(_SEED)
        rows = np.sort(rng.choice(len(source), min(_few(features), len(source)), replace=False))
        return cls(source, rows, source[rows], [str(names[row]) for row in rows], numbers, classes)


def _study_clusters(features: Any, sample: _Sample | None, missing: dict[str, str], stages: Stages) -> Clusters | None:
    if features.candidates_ is None:
        missing["clusters"] = "The model was saved slim, without its candidates, so it is not known what each code stands for."
    elif features.covariance_ is None:
        missing["clusters"] = "The model was fitted without candidates: plain K-means, where each code stands for itself alone."
    elif len(features.selected_) == len(features.candidates_):
        missing["clusters"] = "The model keeps all of its candidates, so each code stands for itself alone."
    if "clusters" in missing:
        return None
    C, M, selected, cluster = features.covariance_, len(features.candidates_), features.selected_, features.cluster_
    with stages.stage("clusters"):
        after = correlations_after(C, cluster)
        order = order_of_codes(C, M, selected)
        candidates = order_of_candidates(order, selected, cluster, after)
        picture = similarity_picture(C, M, candidates, M if M <= _SMALL else _PICTURE)
    before = None
    if sample is None:
        missing["before"] = "Give images to see how alike the candidates are before pooling."
    else:
        with stages.stage("responses before pooling"), Threads(features.n_jobs) as engine:
            before = _before(features, sample.pixels, engine)
    return Clusters(cluster, after, before, order, candidates, picture)


def _before(features: Any, images: Array, engine: Threads) -> Array:
    """Over random patches of the images, a block at a time on each thread."""
    sight, codes, cluster = Sight.of(features), features.candidates_, features.cluster_
    sides = 2 if features._encoding[2] else 1
    P = sample_patches(images, PATCHES, features.patch_size_, np.random.default_rng(_SEED), engine)
    blocks = spans(len(P), sight.block(codes))
    return correlations_before(
        engine.map(lambda rows: Sums.of(sight.activations(P[rows], codes), cluster, sides), blocks), cluster
    )


def study_spectra(features: Any) -> Spectra:
    """Of a model with candidates and their covariance; exact where C is small, else the largest eigenvalues nearly."""
    C = features.covariance_
    if C is None:
        raise ValueError("this model has no covariance: fit with n_candidates, and save without slim")
    outputs = np.concatenate([features.selected_ + start for start in range(0, len(C), len(features.candidates_))])
    is_exact = len(C) <= _EXACT
    if is_exact:
        whole = spectrum(C)
    else:
        with Threads(features.n_jobs) as engine:
            whole = leading_spectrum(C, _LEADING, np.random.default_rng(_SEED), engine)
    if len(outputs) == len(C):
        return Spectra(whole, is_exact, whole, 0.0)
    approximate = approximate_spectrum(C, outputs)
    return Spectra(whole, is_exact, approximate, unexplained(C, float(approximate.sum())))


def _study_regions(features: Any, sample: _Sample | None, missing: dict[str, str], stages: Stages) -> Regions | None:
    if sample is None:
        missing["regions"] = "Give images to see which of their regions excite each code most."
        return None
    with stages.stage("regions"), Threads(features.n_jobs) as engine:
        seen: Excitation = excite(Sight.of(features), sample.pixels, features.codes_, engine)
        top = seen.top(_REGIONS)
        cut, y, x = cut_regions(sample.pixels, seen, top, features.patch_size_)
    label = None if sample.numbers is None else sample.numbers[sample.rows]
    share = None if label is None else seen.by_class(label, len(sample.classes))
    return Regions(as_colours(cut, sample.pixels), y, x, top, sample.names, label, share)


def as_colours(pixels: Array, scale: Array) -> Array:
    """(..., c) pixels as (..., 3) uint8; what is not uint8 is stretched over the range of `scale`."""
    if pixels.dtype != np.uint8:
        low, high = float(scale.min()), float(scale.max())
        pixels = np.clip(255 * (pixels.astype(np.float32) - low) / (high - low if high > low else 1), 0, 255)
    if pixels.shape[-1] != 3:
        pixels = np.repeat(pixels.mean(axis=-1, keepdims=True), 3, axis=-1)
    return np.round(pixels).astype(np.uint8)
