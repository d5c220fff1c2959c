"""What `PooledFeatures.fit` does: the rooms of the method's stages in their order, timed and with progress."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from poolwise.affinity import has_variance
from poolwise.arrays import Array, ImageSource
from poolwise.engine import Threads
from poolwise.extraction import Extractor
from poolwise.kmeans import Dictionary, learn_dictionary
from poolwise.nystrom import nystrom_transform, pca_transform
from poolwise.patches import normalize_contrast, sample_patches
from poolwise.progress import Stages
from poolwise.selection import Selection, Way, select
from poolwise.statistics import CovarianceStream, Moments
from poolwise.super_patches import extract_super_patches
from poolwise.whitening import Whitening, fit_whitening, whiten

Scale = Literal["shared", "cell"] | None
Transform = Literal["nystrom", "pca"] | None


def learn_codes(
    images: Array | ImageSource,
    n_codes: int,
    patch_size: tuple[int, int],
    params: dict[str, Any],
    rng: np.random.Generator,
    engine: Threads,
    stages: Stages,
) -> tuple[Dictionary, Whitening]:
    """Stages 1 to 4: patches, contrast, whitening, dictionary."""
    with stages.stage("patches"):
        P = sample_patches(images, int(params["n_patches"]), patch_size, rng, engine)

        def normalize(rows: slice) -> None:
            P[rows] = normalize_contrast(P[rows], params["contrast"], params["contrast_offset"])

        engine.each(normalize, len(P))
    with stages.stage("whitening"):
        white = fit_whitening(P, params["whitening"], params["whitening_offset"], engine)
        whiten(P, white, engine)
    max_iter = int(params["max_iter"])
    with stages.stage("dictionary", max_iter) as update:
        learned = learn_dictionary(
            P,
            n_codes,
            rng,
            engine,
            method=params["dictionary"],
            init=params["init"],
            max_iter=max_iter,
            tol=params["tol"],
            progress=lambda round, objective: update(round, f"objective {objective:.6g}"),
        )
    return learned, white


def standardize(pooled: Array, mean: Array, scale: Array) -> Array:
    """(n, cells · outputs) pooled activations to standardised ones; mean and scale are (outputs,) or (cells, outputs)."""
    cells = pooled.reshape(len(pooled), -1, mean.shape[-1])
    standard: Array = (cells - mean.astype(np.float32)) / scale.astype(np.float32)
    return standard.reshape(pooled.shape)


def learn_scale(
    extractor: Extractor,
    images: Array | ImageSource,
    scale: Scale,
    offset: float,
    engine: Threads,
    stages: Stages,
    keep: Array | None = None,
) -> tuple[Array, Array]:
    """Stages 5 to 8: encode and pool every image; mean and scale of the activations, which are written to `keep` if given."""
    outputs = extractor.dictionary.outputs
    shape = (outputs,) if scale == "shared" else (extractor.n_cells, outputs)
    if scale is None and keep is None:
        return np.zeros(shape), np.ones(shape)
    width = int(np.prod(shape))
    moments = Moments(width, diagonal=True)
    with stages.stage("pooling", len(images)) as update:

        def take(rows: slice, pooled: Array) -> None:
            if scale is not None:
                moments.update(pooled.reshape(-1, width))
            if keep is not None:
                keep[rows] = pooled

        extractor.extract_into(images, engine, take, lambda done: update(done, ""))
    if scale is None:
        return np.zeros(shape), np.ones(shape)
    # var with n - 1 for scale="cell", as in coates2011; std² with n for scale="shared", as in jia2012
    return moments.mean.reshape(shape), moments.scale(offset, int(scale == "cell")).reshape(shape)


def learn_covariance(
    extractor: Extractor,
    images: Array | ImageSource,
    scale: Scale,
    offset: float,
    n_super_patches: int | None,
    rng: np.random.Generator,
    engine: Threads,
    stages: Stages,
) -> tuple[Array, Array, Array]:
    """Stages 5 to 8 for selection: mean and scale as in `learn_scale`, and C, the covariance of the standardised samples.

    A sample is a cell of an image or, if `n_super_patches` is given, a super-patch. One pass over the images, or two if each
    cell has a scale of its own.
    """
    stream = CovarianceStream(extractor.dictionary.outputs, engine)
    mean, spread = learn_scale(extractor, images, scale, offset, engine, stages) if scale != "shared" else (None, None)
    samples = len(images) if n_super_patches is None else n_super_patches
    with stages.stage("covariance", samples) as update:

        def take(X: Array) -> None:
            stream.add(X.reshape(-1, extractor.dictionary.outputs))

        if n_super_patches is not None:
            extract_super_patches(extractor, images, n_super_patches, rng, engine, take, lambda done: update(done, ""))
        else:
            extractor.extract_into(
                images,
                engine,
                lambda rows, X: take(X),
                lambda done: update(done, ""),
                then=lambda X: standardize(X, mean, spread) if mean is not None and spread is not None else X,
            )
        moments = stream.moments()
    if mean is None or spread is None:
        mean, spread = moments.mean, moments.scale(offset)
        factor = spread
    else:
        factor = np.ones(len(moments.mean))
    C = moments.scatter  # in place: it may be large
    C /= moments.n * factor[:, None]
    C /= factor
    if not np.isfinite(C).all():
        raise ValueError("the pooled activations are too large for a float32 covariance; rescale the images to 0..255")
    return mean, spread, C


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """Whatever goes wrong inside, an interrupt too, leaves the estimator as it was."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def warn_if_restless(found: Selection) -> None:
    """Say so where affinity propagation did not converge; there are exactly K all the same."""
    messages = found.propagation
    if messages is not None and not messages.converged:
        warnings.warn(
            f"affinity propagation did not come to rest in {messages.rounds} rounds; the {len(found.selected)} exemplars are "
            f"its closest state after {messages.merges} merges, {messages.splits} splits and {messages.swaps} swaps. That is a "
            f"valid selection; selection='kmedoids' has the same objective and needs no messages.",
            ConvergenceWarning,
            stacklevel=2,
        )


def of_codes(C: Array, M: int) -> Array:
    """(M, M) covariance of codes, of that of outputs: a two-sided code's two outputs count as two samples of it."""
    return C if len(C) == M else C[:M, :M] + C[M:, M:]


@dataclass(frozen=True)
class Choice:
    """Stages 9 to 12: the candidates kept, the one that stands for each, the outputs of those kept, T, and how it went."""

    selected: Array
    cluster: Array
    outputs: Array
    transform: Array | None
    selection: Selection | None


def choose(
    C: Array, M: int, K: int, way: Way, transform: Transform, rng: np.random.Generator, engine: Threads, stages: Stages
) -> Choice:
    """K of the M candidates and T for their outputs, from the covariance C of all outputs: (M, M), two-sided (2M, 2M)."""
    sides = len(C) // M
    if transform == "pca":
        everything = np.arange(M)
        with stages.stage("projection"):
            return Choice(everything, everything, np.arange(len(C)), pca_transform(C, K * sides), None)
    with stages.stage("selection") as update:
        found = select(of_codes(C, M), K, way, rng, engine, update)
    warn_if_restless(found)
    alive = int(has_variance(C).sum()) // sides
    if alive < K:
        warnings.warn(
            f"only {alive} of the {M} candidates respond to any of the images, fewer than the {K} to select; lower alpha or "
            f"whitening_offset, or rescale the images to 0..255.",
            UserWarning,
            stacklevel=2,
        )
    outputs = np.concatenate([found.selected + side * M for side in range(sides)])
    with stages.stage("projection"):
        T = nystrom_transform(C, outputs) if transform == "nystrom" else None
    return Choice(found.selected, found.cluster, outputs, T, found)
