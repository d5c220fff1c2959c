"""`PooledFeatures`: images to standardised, pooled activations of a learned dictionary."""

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from poolwise.arrays import Array, ImageSource
from poolwise.encoding import Encoder, fold_dictionary
from poolwise.engine import Threads, spans
from poolwise.estimators.images import check_choice, check_images
from poolwise.estimators.learning import (
    Scale,
    choose,
    learn_codes,
    learn_covariance,
    learn_scale,
    standardize,
    unchanged_on_failure,
)
from poolwise.estimators.method_and_parameter import TransformIsAParameterToo
from poolwise.estimators.notebook import ShowsItsCodes
from poolwise.estimators.parameters import check_parameters, check_selection, fit_to_images
from poolwise.estimators.presets import PRESETS
from poolwise.estimators.randomness import generators
from poolwise.extraction import Extractor
from poolwise.kmeans import Init, Method
from poolwise.nystrom import project
from poolwise.patches import Contrast
from poolwise.pooling import Grid, Pool
from poolwise.progress import Stages
from poolwise.selection import Selection, Way
from poolwise.whitening import Kind, Whitening

_BLOCK = 16384


class PooledFeatures(ShowsItsCodes, TransformIsAParameterToo, TransformerMixin, BaseEstimator):
    """Learn a dictionary of codes from images without labels, and turn images into pooled features.

    Patches p are contrast-normalised and whitened; K-means gives codes d_k; a code's activation max(0, d_k·p - α) is
    averaged over each cell of a grid on the image and standardised. With `n_candidates`, K-means gives more codes than are
    wanted, and those are kept that differ in what they say after pooling. The features suit a linear classifier.

    Parameters
    ----------
    n_codes : int, default=200
        K, the codes kept. Features per image: K × cells (2K × cells if `two_sided`).
    n_candidates : int or None, default=None
        M, the codes that K-means learns and the K are selected from; 4 to 8 times K is a good choice. None: plain K-means.
    selection : {"affinity", "kmedoids", "greedy", "cholesky", "random", "authors"}, default="affinity"
        How the K are chosen, from the covariance of the candidates' pooled activations; see `poolwise.selection`.
    transform : {"nystrom", "pca", None}, default="nystrom"
        What is made of the selected codes' outputs: the Nyström transform, by which distances become those of all M outputs as
        far as the K can tell; or the outputs as they are. "pca" selects nothing: it projects all M outputs on their K largest
        directions, as a bound for any selection, and computes all M codes for every image. Nothing without candidates.
    n_super_patches : int or None, default=None
        Samples for the covariance: that many random windows of a pooling cell's size, or every cell of every image.
    patch_size : int or (height, width), default=6
    stride : int, default=1
        Distance between neighbouring patches.
    dictionary : {"kmeans", "centroids", "spherical", "omp1", "patches", "gaussian"}, default="kmeans"
        How codes are learned. K-means with codes of unit norm, or its centres as they are; spherical K-means; OMP-1,
        spherical with sign; random patches; random directions.
    init : {"patches", "noise"}, default="patches"
        Where its rounds start: random patches, or 0.1 × Gaussian noise.
    n_patches : int, default=400_000
        Random patches to learn from. Memory of `fit`: n_patches × patch height × width × channels × 4 bytes and, with
        candidates, about 25 M² bytes.
    max_iter : int, default=100
        Most rounds of K-means.
    tol : float, default=1e-4
        Rounds stop when the centres' summed squared movement is at most tol × the patches' mean variance.
    contrast : {"std", "variance", None}, default="std"
        (p - mean) / (std + offset), or (p - mean) / sqrt(var + offset).
    contrast_offset : float, default=10.0
        For pixels in 0..255.
    whitening : {"std", "variance", None}, default="std"
        ZCA with 1 / (sqrt(λ) + offset), or 1 / sqrt(λ + offset).
    whitening_offset : float, default=0.1
    encoder : {"threshold", "triangle", "vq"}, default="threshold"
        max(0, d_k·p - α); max(0, mean distance - distance); or 1 for the nearest code alone.
    alpha : float, default=0.25
        α of the threshold encoder.
    two_sided : bool, default=False
        Also max(0, -d_k·p - α): 2K activations. For the threshold encoder.
    pool : {"average", "max", "sum", "rms"}, default="average"
    grid : int, (rows, columns) or list of these, default=2
        Cells to pool over; a list is a pyramid.
    scale : {"shared", "cell", None}, default="shared"
        Standardise with one mean and sqrt(std² + offset) per code for all cells, or per code and cell (var with n - 1).
    scale_offset : float, default=0.01
    image_shape : (height, width[, channels]) or None, default=None
        For images given as flattened rows. Without it a row is an image of 1 × n pixels and patch and grid are clipped to it.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int or None, default=None
        Threads; None: as many as BLAS may use, -1: every core. Results do not depend on it.
    verbose : int, default=0
        Show progress on stderr.

    Attributes
    ----------
    codes_ : (K, d) float32, (M, d) for transform="pca"
        The codes that are computed, in the space of whitened patches.
    candidates_ : (M, d) float32
        What they were selected from; None, as cluster_ and covariance_, in a model that was saved with `slim`.
    selected_ : (K,) and cluster_ : (M,)
        Indices of candidates: those kept, ascending (all M for "pca"), and for each candidate the one that stands for it.
    covariance_ : (M, M) or None
        C of the candidates' standardised pooled activations (2M for `two_sided`).
    transform_ : (K, K), (K, M) for "pca", or None
        T: features are T x in every cell (2K and 2M for `two_sided`).
    selection_ : poolwise.selection.Selection or None
        How selection went.
    whitening_mean_, whitening_matrix_ : (d,), (d, d)
        m and W: a patch p is whitened to W (p - m).
    pooled_mean_, pooled_scale_ : (K or 2K,) if scale="shared", else (cells, K or 2K)
    objective_ : list of float
        The K-means objective per round.
    n_iter_, converged_
        Its rounds, and whether it stopped by itself.
    patch_size_, grids_, image_shape_in_, n_features_in_
        As used.
    timings_ : dict of str to float
        Seconds per stage of `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from poolwise import PooledFeatures
    >>> images = np.random.default_rng(0).integers(0, 256, size=(20, 16, 16, 3), dtype=np.uint8)
    >>> features = PooledFeatures(n_codes=8, n_patches=2000, random_state=0).fit(images)
    >>> features.transform(images).shape
    (20, 32)
    """

    covariance_: Any
    selection_: Selection | None
    transform_: Array | None
    _right: Array | None

    def __init__(
        self,
        n_codes: int = 200,
        n_candidates: int | None = None,
        *,
        selection: Way = "affinity",
        transform: Literal["nystrom", "pca"] | None = "nystrom",
        n_super_patches: int | None = None,
        patch_size: int | tuple[int, int] = 6,
        stride: int = 1,
        dictionary: Method = "kmeans",
        init: Init = "patches",
        n_patches: int = 400_000,
        max_iter: int = 100,
        tol: float = 1e-4,
        contrast: Contrast = "std",
        contrast_offset: float = 10.0,
        whitening: Kind = "std",
        whitening_offset: float = 0.1,
        encoder: Encoder = "threshold",
        alpha: float = 0.25,
        two_sided: bool = False,
        pool: Pool = "average",
        grid: Grid = 2,
        scale: Scale = "shared",
        scale_offset: float = 0.01,
        image_shape: tuple[int, ...] | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_codes = n_codes
        self.n_candidates = n_candidates
        self.selection = selection
        self.__dict__["transform"] = transform
        self.n_super_patches = n_super_patches
        self.patch_size = patch_size
        self.stride = stride
        self.dictionary = dictionary
        self.init = init
        self.n_patches = n_patches
        self.max_iter = max_iter
        self.tol = tol
        self.contrast = contrast
        self.contrast_offset = contrast_offset
        self.whitening = whitening
        self.whitening_offset = whitening_offset
        self.encoder = encoder
        self.alpha = alpha
        self.two_sided = two_sided
        self.pool = pool
        self.grid = grid
        self.scale = scale
        self.scale_offset = scale_offset
        self.image_shape = image_shape
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """The published settings `jia2012` or `coates2011`; keywords change or add to them.

        >>> PooledFeatures.preset("coates2011", n_codes=1600).pool
        'sum'
        """
        check_choice("preset", name, tuple(PRESETS))
        return cls(**{**PRESETS[name], **changes})

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn codes, select among them, and learn the scale of their pooled activations from images.

        X : (n, H, W, c), (n, H, W) or (n, H·W·c), uint8 or float in 0..255; may be a read-only memory map
        or a source from `open_images`. y is ignored.
        """
        self._fit(X, keep=False)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """`fit(X).transform(X)`; without candidates each image is encoded once instead of twice. The same numbers."""
        if fit_params:
            raise TypeError(f"fit_transform takes no {', '.join(fit_params)}")
        return self._fit(X, keep=True)

    def transform(self, X: Any) -> Array:
        """Features of images, (n, H, W, c) to (n, cells · K or 2K) float32. Memory beyond the result does not grow with n."""
        check_is_fitted(self)
        images, _ = check_images(self, X, reset=False)
        with Threads(self.n_jobs) as engine:
            return self._features(images, engine, Stages(bool(self.verbose), "PooledFeatures "))

    def reselect(self, **changes: Any) -> Self:
        """Choose again from the same candidates, without the images: a new fitted model.

        changes : any of n_codes, selection, transform, random_state. The same as a fit with them, for encoder="threshold"; the
        others' activations depend on all codes together, so they need the images.

        >>> images = np.random.default_rng(0).integers(0, 256, size=(20, 16, 16, 3), dtype=np.uint8)
        >>> model = PooledFeatures(4, 16, n_patches=2000, random_state=0).fit(images)
        >>> model.reselect(n_codes=8, selection="greedy").transform(images).shape
        (20, 32)
        """
        check_is_fitted(self)
        unknown = set(changes) - {"n_codes", "selection", "transform", "random_state"}
        if unknown:
            raise TypeError(
                f"reselect changes n_codes, selection, transform and random_state; got {', '.join(sorted(unknown))}"
            )
        if self.candidates_ is None:
            raise ValueError("this model was saved with slim=True, without its candidates; load one that was saved whole")
        if self.covariance_ is None:
            raise ValueError("this model was fitted without candidates; give n_candidates to select from")
        if self._encoding[0] != "threshold":
            raise ValueError(f"encoder={self._encoding[0]!r} has activations that depend on all codes together; fit again")
        twin = copy.copy(self).set_params(**changes)
        check_selection({**twin.get_params(), "n_candidates": len(self.candidates_)})
        if "random_state" in changes:
            twin._choice_seed = generators(twin.random_state)[1]
        stages = Stages(bool(self.verbose), "PooledFeatures ")
        with Threads(self.n_jobs) as engine:
            twin._choose(engine, stages)
        twin.timings_ = {**self.timings_, **stages.seconds}
        return twin

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names such as `pool2x2_r0c1_code17` (two-sided: `_pos`, `_neg`); after a transform `pool2x2_r0c1_nystrom17`."""
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        kinds: Sequence[str] = ("code{}_pos", "code{}_neg") if self._extractor.dictionary.two_sided else ("code{}",)
        count = len(self.codes_)
        if self.transform_ is not None:
            kinds, count = (f"{self._transform}{{}}",), len(self.transform_)
        names = [
            f"pool{rows}x{columns}_r{i}c{j}_{kind.format(k)}"
            for rows, columns in self.grids_
            for i in range(rows)
            for j in range(columns)
            for kind in kinds
            for k in range(count)
        ]
        return np.asarray(names, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def _fit(self, X: Any, *, keep: bool) -> Array:
        """Learn everything; the features of X if `keep`, else an empty array. A fit that fails leaves the model as it was."""
        with unchanged_on_failure(self):
            params = self.get_params()
            check_parameters(params)
            images, is_rows = check_images(self, X, reset=True)
            self.patch_size_, self.grids_ = fit_to_images(params, self.image_shape_in_, is_rows)
            rng, self._choice_seed = generators(self.random_state)
            stages = Stages(bool(self.verbose), "PooledFeatures ")
            with Threads(self.n_jobs) as engine:
                size = int(self.n_codes if self.n_candidates is None else self.n_candidates)
                learned, white = learn_codes(images, size, self.patch_size_, params, rng, engine, stages)
                self.candidates_, self.whitening_mean_, self.whitening_matrix_ = learned.codes, white.m, white.W
                self.objective_, self.n_iter_, self.converged_ = learned.objective, learned.n_iter, learned.converged
                self._encoding = self.encoder, float(self.alpha), bool(self.two_sided)
                self._pooling = int(self.stride), self.contrast, float(self.contrast_offset), self.pool
                self._extractor = self._extract_with(self.candidates_)
                if self.n_candidates is None:
                    features = self._keep_all(images, engine, stages, keep)
                else:
                    features = self._keep_some(images, rng, engine, stages, keep)
            self.timings_ = stages.seconds
        return features

    def _extract_with(self, codes: Array) -> Extractor:
        """As fitted, whatever set_params changes before the next fit."""
        white, (stride, contrast, offset, pool) = Whitening(self.whitening_mean_, self.whitening_matrix_), self._pooling
        folded = fold_dictionary(codes, white, *self._encoding)
        return Extractor(self.patch_size_, stride, contrast, offset, folded, pool, self.grids_)

    @cached_property
    def _extractor(self) -> Extractor:
        """Of a model from a file, when it is first needed: loading takes no more memory than the file."""
        return self._extract_with(self.codes_)

    def _keep_all(self, images: Array | ImageSource, engine: Threads, stages: Stages, keep: bool) -> Array:
        """Plain K-means: every code is kept, and nothing is known of their covariance."""
        self.codes_ = self.candidates_
        self.selected_ = self.cluster_ = np.arange(len(self.codes_))
        self.covariance_ = self.selection_ = self.transform_ = self._right = None
        features = np.empty((len(images) if keep else 0, self._extractor.n_features), np.float32)
        self.pooled_mean_, self.pooled_scale_ = learn_scale(
            self._extractor, images, self.scale, self.scale_offset, engine, stages, features if keep else None
        )
        for rows in spans(len(features), _BLOCK):
            features[rows] = self._finish(features[rows])
        return features

    def _keep_some(
        self, images: Array | ImageSource, rng: np.random.Generator, engine: Threads, stages: Stages, keep: bool
    ) -> Array:
        """Stages 5 to 12 for the candidates; the features come from the codes kept, in a pass of their own."""
        self._candidate_mean, self._candidate_scale, self.covariance_ = learn_covariance(
            self._extractor, images, self.scale, self.scale_offset, self.n_super_patches, rng, engine, stages
        )
        self._choose(engine, stages)
        if self.encoder != "threshold" and len(self.codes_) < len(self.candidates_):  # fewer codes, other activations
            self.pooled_mean_, self.pooled_scale_ = learn_scale(
                self._extractor, images, self.scale, self.scale_offset, engine, stages
            )
        return self._features(images, engine, stages) if keep else np.empty((0, 0), np.float32)

    def _choose(self, engine: Threads, stages: Stages) -> None:
        """Stages 9 to 12: which candidates are kept, and the transform of their outputs."""
        rng = np.random.default_rng(self._choice_seed)
        self._transform = self.__dict__["transform"]
        chosen = choose(
            self.covariance_, len(self.candidates_), int(self.n_codes), self.selection, self._transform, rng, engine, stages
        )
        self.selected_, self.cluster_, self.selection_ = chosen.selected, chosen.cluster, chosen.selection
        self.transform_ = chosen.transform
        self._right = None if chosen.transform is None else np.ascontiguousarray(chosen.transform.T, np.float32)
        self.codes_ = self.candidates_[self.selected_]
        self.pooled_mean_ = self._candidate_mean[..., chosen.outputs]
        self.pooled_scale_ = self._candidate_scale[..., chosen.outputs]
        self._extractor = self._extract_with(self.codes_)

    def _features(self, images: Array | ImageSource, engine: Threads, stages: Stages) -> Array:
        """Images to features; memory beyond the result does not grow with their number."""
        width = self._extractor.n_features if self._right is None else self._extractor.n_cells * self._right.shape[1]
        features = np.empty((len(images), width), np.float32)
        with stages.stage("transform", len(images)) as update:

            def take(rows: slice, X: Array) -> None:
                features[rows] = X

            self._extractor.extract_into(images, engine, take, lambda done: update(done, ""), self._finish)
        return features

    def _finish(self, pooled: Array) -> Array:
        """(n, cells · outputs) pooled activations to features: standardised and, cell by cell, transformed."""
        standard = standardize(pooled, self.pooled_mean_, self.pooled_scale_)
        if self._right is None:
            return standard
        return project(standard.reshape(-1, len(self._right)), self._right).reshape(len(pooled), -1)
