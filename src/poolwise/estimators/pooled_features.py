"""`PooledFeatures`: images to standardised, pooled activations of a learned dictionary."""

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from poolwise.arrays import Array
from poolwise.encoding import ENCODERS, Encoder, fold_dictionary
from poolwise.engine import Threads, spans, thread_count
from poolwise.estimators.images import check_choice, check_images, check_pair, check_real, check_whole
from poolwise.estimators.presets import PRESETS
from poolwise.extraction import Extractor
from poolwise.kmeans import METHODS, Dictionary, Init, Method, learn_dictionary
from poolwise.patches import Contrast, normalize_contrast, position_grid, sample_patches
from poolwise.pooling import POOLS, Grid, Pool, as_grids, cut_cells
from poolwise.progress import Stages
from poolwise.statistics import Moments
from poolwise.whitening import Kind, Whitening, fit_whitening, whiten

_BLOCK = 16384


class PooledFeatures(TransformerMixin, BaseEstimator):
    """Learn a dictionary of codes from images without labels, and turn images into pooled features.

    Patches p are contrast-normalised and whitened; K-means gives codes d_k; a code's activation max(0, d_k·p - α) is
    averaged over each cell of a grid on the image and standardised. The features suit a linear classifier.

    Parameters
    ----------
    n_codes : int, default=200
        K, the codes kept. Features per image: K × cells (2K × cells if `two_sided`).
    n_candidates : None
        Plain K-means. Selection from M candidates after pooling is not part of this version.
    patch_size : int or (height, width), default=6
    stride : int, default=1
        Distance between neighbouring patches.
    dictionary : {"kmeans", "centroids", "spherical", "omp1", "patches", "gaussian"}, default="kmeans"
        How codes are learned. K-means with codes of unit norm, or its centres as they are; spherical K-means; OMP-1,
        spherical with sign; random patches; random directions.
    init : {"patches", "noise"}, default="patches"
        Where its rounds start: random patches, or 0.1 × Gaussian noise.
    n_patches : int, default=400_000
        Random patches to learn from. Memory of `fit`: n_patches × patch height × width × channels × 4 bytes, and little more.
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
    codes_ : (K, d) float32
        The dictionary, in the space of whitened patches.
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

    def __init__(
        self,
        n_codes: int = 200,
        n_candidates: None = None,
        *,
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
        scale: Literal["shared", "cell"] | None = "shared",
        scale_offset: float = 0.01,
        image_shape: tuple[int, ...] | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_codes = n_codes
        self.n_candidates = n_candidates
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
        """Learn codes and the scale of their pooled activations from images.

        X : (n, H, W, c), (n, H, W) or (n, H·W·c), uint8 or float in 0..255; may be a read-only memory map. y is ignored.
        """
        self._fit(X, keep=False)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """`fit(X).transform(X)`, with each image encoded once instead of twice; the same numbers."""
        if fit_params:
            raise TypeError(f"fit_transform takes no {', '.join(fit_params)}")
        return self._fit(X, keep=True)

    def transform(self, X: Any) -> Array:
        """Features of images, (n, H, W, c) to (n, cells · K or 2K) float32. Memory beyond the result does not grow with n."""
        check_is_fitted(self)
        images, _ = check_images(self, X, reset=False)
        extractor = self._extractor
        with Threads(self.n_jobs) as engine:
            features = np.empty((len(images), extractor.n_features), np.float32)
            stages = Stages(bool(self.verbose), "PooledFeatures ")
            with stages.stage("transform", len(images)) as update:

                def take(rows: slice, pooled: Array) -> None:
                    features[rows] = self._standardize(pooled)

                extractor.extract_into(images, engine, take, lambda done: update(done, ""))
        return features

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names such as `pool2x2_r0c1_code17`; two-sided ones end in `_pos` or `_neg`."""
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        signs: Sequence[str] = ("_pos", "_neg") if self._extractor.dictionary.two_sided else ("",)
        names = [
            f"pool{rows}x{columns}_r{i}c{j}_code{k}{sign}"
            for rows, columns in self.grids_
            for i in range(rows)
            for j in range(columns)
            for sign in signs
            for k in range(len(self.codes_))
        ]
        return np.asarray(names, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def _fit(self, X: Any, *, keep: bool) -> Array:
        """Learn everything; the features of X if `keep`, else an empty array. A fit that fails leaves the model as it was."""
        before = dict(self.__dict__)
        try:
            self._check_parameters()
            images, is_rows = check_images(self, X, reset=True)
            self._clip_to_images(is_rows)
            rng = self._rng()
            stages = Stages(bool(self.verbose), "PooledFeatures ")
            with Threads(self.n_jobs) as engine:
                learned = self._learn_codes(images, rng, engine, stages)
                self.codes_ = learned.codes
                self.objective_ = learned.objective
                self.n_iter_ = learned.n_iter
                self.converged_ = learned.converged
                features = self._learn_scale(images, engine, stages, keep)
            self.timings_ = stages.seconds
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return features

    def _rng(self) -> np.random.Generator:
        try:
            random = check_random_state(self.random_state)
        except ValueError as error:
            raise ValueError(f"random_state must be an int, a RandomState or None; got {self.random_state!r}") from error
        return np.random.default_rng(int(random.randint(2**32, dtype=np.uint64)))

    def _learn_codes(self, images: Array, rng: np.random.Generator, engine: Threads, stages: Stages) -> Dictionary:
        """Stages 1 to 4: patches, contrast, whitening, dictionary."""
        with stages.stage("patches"):
            P = sample_patches(images, int(self.n_patches), self.patch_size_, rng)

            def normalize(rows: slice) -> None:
                P[rows] = normalize_contrast(P[rows], self.contrast, self.contrast_offset)

            engine.each(normalize, len(P))
        with stages.stage("whitening"):
            white = fit_whitening(P, self.whitening, self.whitening_offset, engine)
            whiten(P, white, engine)
            self.whitening_mean_, self.whitening_matrix_ = white.m, white.W
        with stages.stage("dictionary", int(self.max_iter)) as update:
            return learn_dictionary(
                P,
                int(self.n_codes),
                rng,
                engine,
                method=self.dictionary,
                init=self.init,
                max_iter=int(self.max_iter),
                tol=self.tol,
                progress=lambda round, objective: update(round, f"objective {objective:.6g}"),
            )

    def _learn_scale(self, images: Array, engine: Threads, stages: Stages, keep: bool) -> Array:
        """Stages 5 to 8: encode and pool every image, take the moments; the pooled activations are kept only if asked."""
        white = Whitening(self.whitening_mean_, self.whitening_matrix_)
        folded = fold_dictionary(self.codes_, white, self.encoder, self.alpha, bool(self.two_sided))
        extractor = Extractor(
            self.patch_size_, int(self.stride), self.contrast, self.contrast_offset, folded, self.pool, self.grids_
        )
        outputs = extractor.dictionary.outputs
        width = outputs if self.scale == "shared" else extractor.n_features
        moments = Moments(width, diagonal=True)
        features = np.empty((len(images) if keep else 0, extractor.n_features), np.float32)
        with stages.stage("pooling", len(images)) as update:

            def take(rows: slice, pooled: Array) -> None:
                if self.scale is not None:
                    moments.update(pooled.reshape(-1, width))
                if keep:
                    features[rows] = pooled

            if keep or self.scale is not None:
                extractor.extract_into(images, engine, take, lambda done: update(done, ""))
        # var with n - 1 for scale="cell", as in coates2011; std² with n for scale="shared", as in jia2012
        mean = np.zeros(width) if self.scale is None else moments.mean
        spread = np.ones(width) if self.scale is None else moments.scale(self.scale_offset, int(self.scale == "cell"))
        shape = (outputs,) if self.scale == "shared" else (extractor.n_cells, outputs)
        self.pooled_mean_, self.pooled_scale_ = mean.reshape(shape), spread.reshape(shape)
        self._extractor = extractor  # what was fitted stays, whatever set_params changes before the next fit
        for rows in spans(len(features), _BLOCK):
            features[rows] = self._standardize(features[rows])
        return features

    def _standardize(self, pooled: Array) -> Array:
        """(n, cells · outputs) pooled activations to features."""
        cells = pooled.reshape(len(pooled), -1, self.pooled_mean_.shape[-1])
        standard: Array = (cells - self.pooled_mean_.astype(np.float32)) / self.pooled_scale_.astype(np.float32)
        return standard.reshape(pooled.shape)

    def _check_parameters(self) -> None:
        if self.n_candidates is not None:
            raise ValueError(
                f"n_candidates={self.n_candidates!r}: choosing codes after pooling is not in this version of poolwise; "
                f"leave n_candidates=None for plain K-means"
            )
        for name in ("n_codes", "stride", "n_patches", "max_iter"):
            check_whole(name, getattr(self, name), 1)
        for name in ("tol", "contrast_offset", "whitening_offset", "alpha", "scale_offset"):
            check_real(name, getattr(self, name))
        check_choice("dictionary", self.dictionary, METHODS)
        check_choice("init", self.init, ("patches", "noise"))
        check_choice("contrast", self.contrast, ("std", "variance", None))
        check_choice("whitening", self.whitening, ("std", "variance", None))
        check_choice("encoder", self.encoder, ENCODERS)
        check_choice("pool", self.pool, POOLS)
        check_choice("scale", self.scale, ("shared", "cell", None))
        if not isinstance(self.two_sided, bool | np.bool_):
            raise ValueError(f"two_sided must be True or False; got {self.two_sided!r}")
        if self.two_sided and self.encoder != "threshold":
            raise ValueError(f"two_sided=True is for encoder='threshold'; got encoder={self.encoder!r}")
        if self.n_patches < self.n_codes:
            raise ValueError(f"n_patches={self.n_patches} patches cannot give n_codes={self.n_codes} different codes")
        thread_count(self.n_jobs)

    def _clip_to_images(self, is_rows: bool) -> None:
        """Patch and grid as they fit the images; only rows without an image_shape are worth clipping silently."""
        H, W, c = self.image_shape_in_
        patch, grids = check_pair("patch_size", self.patch_size), as_grids(self.grid)
        if is_rows and self.image_shape is None:
            patch = 1, min(patch[1], W)
            _, w = position_grid((H, W), patch, int(self.stride))
            grids = tuple(dict.fromkeys((1, min(columns, w)) for _, columns in grids))
        if patch[0] * patch[1] * c == 1 and self.contrast is not None:
            raise ValueError(
                f"a patch of a single number has no contrast; images are {H}×{W} (n_features = {self.n_features_in_}) and "
                f"the patch is 1×1. Give larger images, a larger patch_size, or contrast=None"
            )
        cut_cells(position_grid((H, W), patch, int(self.stride)), grids)
        self.patch_size_, self.grids_ = patch, grids
