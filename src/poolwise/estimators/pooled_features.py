"""`PooledFeatures`: images to standardised, pooled activations of a learned dictionary."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from poolwise.engine.blas import thread_count
from poolwise.engine.current import here
from poolwise.estimators.checks import warn_if_restless
from poolwise.estimators.held import HoldsFeatures
from poolwise.estimators.images import look_at, remember, warn_of_small_cells
from poolwise.estimators.keeping import kept_fit, kept_seed
from poolwise.estimators.learned import WhatWasLearned
from poolwise.estimators.missing import counted, warned
from poolwise.estimators.notebook import ShowsItsCodes
from poolwise.estimators.parts import HasParts
from poolwise.estimators.targets import targets_for
from poolwise.method.bands import Bands
from poolwise.method.candidates import Candidates
from poolwise.method.descriptors import Descriptor
from poolwise.method.dictionaries import Learner, TooFewPatchesError
from poolwise.method.encoders import Encoder
from poolwise.method.extraction import extract, feature_blocks, prepare
from poolwise.method.extraction.base import Pass
from poolwise.method.fitting import Learned, learn
from poolwise.method.layer import Layer
from poolwise.method.learning import learn_outputs
from poolwise.method.pooling import Pooling
from poolwise.method.presets import PRESETS
from poolwise.method.recipe import PARAMETERS, BandsName, ProjectionName, Recipe
from poolwise.method.scale import Standardize
from poolwise.method.selection import WayName
from poolwise.method.selection.choosing import Selection
from poolwise.method.symmetry import SymmetryName
from poolwise.method.whitening import ZCA
from poolwise.support.missing import Nodata
from poolwise.support.parameters import AUTO, Choice
from poolwise.support.progress import Stages
from poolwise.support.randomness import seed_of
from poolwise.support.types import Array, ImageSource
from poolwise.support.warning import warn_user

_RESELECTED = ("n_codes", "selection", "projection", "random_state")


class PooledFeatures(ShowsItsCodes, WhatWasLearned, HoldsFeatures, HasParts, TransformerMixin, BaseEstimator):
    """Learn a dictionary of codes from images, with or without labels, and turn images into pooled features.

    Patches p are contrast-normalised and whitened; K-means gives codes d_k; a code's activation max(0, d_k·p - α) is
    pooled over each cell of a grid on the image and standardised. K-means gives more codes than are wanted, the candidates,
    and those are kept whose responses differ after pooling or, with labels, predict these. The features suit a linear
    classifier. Defaults are those of docs/defaults.md; `PooledFeatures.preset("jia2012")` has the paper's.

    A part of the method is a word or an object with parameters of its own: `encoder="threshold"` or
    `encoder=Threshold(alpha=0.1, two_sided=True)`. A grid search reaches these as `encoder__alpha`.

    Parameters
    ----------
    n_codes : int, default=200
        K, the codes kept. Features per image: K × cells × outputs of a code, of which the default encoder has four.
    n_candidates : int, "auto" or None, default="auto"
        M, the codes that K-means learns and the K are selected from; 4 to 8 times K is a good choice. "auto": 4 K, at most
        1,600, and none where that is not more than K, or where images have fewer different patches. None: plain K-means.
    descriptor : {"patches", "sift", "hog"}, Patches, Sift, Hog or a function, default="patches"
        What images are described by: `Patches(size=6, stride=1, contrast="std", offset=10.0)`. `Sift(bins=4, stride=2)` and
        `Hog(cell=4, block=2)` are histograms of gradients; a function of your own takes images (n, H, W, c) to local vectors
        (n, h, w, d).
    whitening : {"std", "variance", None} or ZCA, default="std"
        ZCA with 1 / (sqrt(λ) + offset), or 1 / sqrt(λ + offset): `ZCA("std", offset=0.1)`.
    dictionary : a word of `poolwise.method.dictionaries.DICTIONARIES` or a Learner, default="kmeans"
        How codes are learned: `KMeans("kmeans", init="patches", max_iter=100, tol=1e-4)` or "centroids", "spherical", "omp1";
        `RandomCodes("patches")`; `OnlineDictionary()` for sparse codes; `ConvolutionalKMeans()`, at every shift of a patch.
    encoder : a word of `poolwise.method.encoders.ENCODERS` or an Encoder, default="auto"
        What a code's activation is. `Threshold(alpha=0.25, two_sided=False)` is the paper's, the fastest, and the one that can
        choose again without images; `Triangle()` has nothing to tune; `Nearest()` is a bag of visual words;
        `LLC()`, `OMP()` and `Lasso()` make a sum of few codes for every patch, far slower. "auto":
        `Threshold((0.25, 1.0), two_sided=True)`, four outputs from one product; with second-order pooling `Threshold()`.
    pooling : a word of `poolwise.method.pooling.POOLINGS` or a Pooling, default="auto"
        How activations are pooled over the cells of a grid: `Pool("average", grid=2)`. "auto": the average or the maximum,
        over 1 to 4 cells a side, whichever predicts the labels best when each image is left out in turn; else the average over
        2×2. Average suits small images, max large ones with a fine grid; `SecondOrder(grid=2)` is the most accurate.
    scale : {"shared", "cell", None} or Standardize, default="shared"
        Standardise with one mean and scale per code for all cells, or per code and cell: `Standardize("shared", offset=0.01)`.
    selection : {"auto", "affinity", "kmedoids", "greedy", "cholesky", "random", "authors", "supervised"}, default="auto"
        How the K are chosen, from the covariance of the candidates' pooled activations. `supervised` also looks at the labels
        given to `fit`, and is the most accurate; `affinity` is the paper's; `greedy` explains the most variance and is fast;
        `random` is the baseline; see `poolwise.method.selection`. "auto": `supervised` with labels, else `affinity`.
    projection : {"nystrom", "pca", None}, default="nystrom"
        How the outputs of the selected codes are combined. "nystrom": so that distances become those of all M outputs, as far
        as the K determine them; None: as they are. "pca" selects nothing: it projects all M outputs on their K largest
        directions, as a bound for any selection, and computes all M codes for every image. Unused without candidates and with
        second-order pooling; "nystrom" also where selection is supervised.
    symmetry : {"auto", None, "mirror", "dihedral"}, default="auto"
        Average pooled statistics over an image and its mirror image, or over the eight turns and mirrors of a square one: two
        or eight times the cost, and features that do not change with these. For images in which left and right, or all
        directions, are alike; not for digits and text. "auto": "mirror" where labels show that it pays, by the same error as
        "auto" pooling; else, and without labels, None.
    bands : {"auto", "standardize", None} or a (low, high) for each channel, default="auto"
        Scale each band to the numbers that pixels have, since the contrast's offset is for these: "standardize" to mean 128 and
        standard deviation 40 of the images seen in `fit`, or a range to 0..255. "auto": standardised where pixels are whole
        numbers beyond 0..255, or files have more than 8 bits. None: as they are.
    statistics : bool, default=False
        Beside the codes, mean, spread, least and largest number of each band in each cell, standardised: 4 × channels × cells
        more features, at hardly any cost. For images in which brightness or colour itself says something, such as
        reflectances: contrast normalisation takes these out of patches.
    nodata : "nan", float or None, default=None
        Pixels of which any band holds this number, or is not finite, have no data: patches that touch one are left out in `fit`
        and `transform`; a cell without any other gets zeros, the mean of all. None: NaN is refused. See docs/files.md.
    n_patches : int, default=200_000
        Random patches to learn from. Memory of `fit`: n_patches × patch height × width × channels × 4 bytes and, with
        candidates, about 25 M² bytes.
    n_super_patches : int or None, default=None
        Samples for the covariance: that many random windows of a pooling cell's size, or every cell of every image.
    image_shape : (height, width[, channels]) or None, default=None
        For images given as flattened rows. Without it a row is an image of 1 × n pixels and patch and grid are clipped to it.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int or None, default=None
        Threads; None: as many as BLAS may use, -1: every core. Results do not depend on it.
    verbose : int, default=0
        Show progress on stderr.

    Attributes
    ----------
    layer_ : poolwise.method.layer.Layer
        What was learned: descriptor, whitening, codes, encoder, pooling, scale, projection.
    candidates_ : poolwise.method.candidates.Candidates or None
        What the codes were selected from, with the covariance of its outputs; None without candidates, and in a model that was
        saved with `slim`.
    selection_ : poolwise.method.selection.choosing.Selection or None
        How selection went; None where nothing was selected.
    codes_ : (K, d) float32, (M, d) for projection="pca"
        The codes that are computed, in the space of whitened patches.
    selected_ : (K,), cluster_ : (M,)
        Indices of candidates: those kept, ascending (all M for "pca"), and for each candidate the one that represents it (None
        in a slim model).
    covariance_ : (M, M) or None
        C of the candidates' standardised pooled activations (2M for two sides).
    projection_ : (K, K), (K, M) for "pca", or None
        T: features are T x in every cell (2K and 2M for two sides).
    whitening_mean_, whitening_matrix_ : (d,), (d, d)
        m and W: a patch p is whitened to W (p - m).
    pooled_mean_, pooled_scale_ : (K or 2K,) if scale="shared", else (cells, K or 2K)
    objective_ : list of float
        The K-means objective per round.
    n_iter_, converged_
        Its rounds, 0 of a dictionary that has none such as "gaussian", and whether it stopped by itself.
    image_shape_in_, n_features_in_
        As seen in `fit`.
    bands_ : Bands or None
        How the bands of images are scaled, if they are.
    timings_ : dict of str to float
        Seconds per stage of `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from poolwise import PooledFeatures
    >>> images = np.random.default_rng(0).integers(0, 256, size=(20, 16, 16, 3), dtype=np.uint8)
    >>> features = PooledFeatures(n_codes=8, n_patches=2000, random_state=0).fit(images)
    >>> features.layer_.pooling, features.transform(images).shape
    (Pool(grid=[(2, 2)]), (20, 128))
    """

    objective_: list[float]
    n_iter_: int
    converged_: bool
    image_shape_in_: tuple[int, int, int]
    n_features_in_: int
    timings_: dict[str, float]
    bands_: Bands | None
    _pixel_range: float

    def __init__(
        self,
        n_codes: int = 200,
        n_candidates: int | str | None = "auto",
        *,
        descriptor: str | Descriptor | Callable[[Any], Any] = "patches",
        whitening: str | ZCA | None = "std",
        dictionary: str | Learner = "kmeans",
        encoder: str | Encoder = "auto",
        pooling: str | Pooling = "auto",
        scale: str | Standardize | None = "shared",
        selection: WayName = "auto",
        projection: ProjectionName = "nystrom",
        symmetry: SymmetryName = "auto",
        bands: BandsName = "auto",
        statistics: bool = False,
        nodata: Nodata = None,
        n_patches: int = 200_000,
        n_super_patches: int | None = None,
        image_shape: tuple[int, ...] | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_codes = n_codes
        self.n_candidates = n_candidates
        self.descriptor = descriptor
        self.whitening = whitening
        self.dictionary = dictionary
        self.encoder = encoder
        self.pooling = pooling
        self.scale = scale
        self.selection = selection
        self.projection = projection
        self.symmetry = symmetry
        self.bands = bands
        self.statistics = statistics
        self.nodata = nodata
        self.n_patches = n_patches
        self.n_super_patches = n_super_patches
        self.image_shape = image_shape
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """The published settings `jia2012` or `coates2011`; keywords change or add to them, `encoder__alpha` among them.

        >>> PooledFeatures.preset("coates2011", n_codes=1600, pooling__grid=4).pooling
        Pool(how='sum', grid=4)
        """
        Choice(tuple(PRESETS)).check("preset", name)
        return cls(**PRESETS[name]).set_params(**changes)

    @property
    def recipe(self) -> Recipe:
        """The parameters of learning, checked; parts as objects."""
        return Recipe(**{name: getattr(self, name) for name in PARAMETERS}).checked()

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn codes, select among them, and learn the scale of their pooled activations from images.

        X : (n, H, W, c), (n, H, W) or (n, H·W·c), uint8, float in 0..255, or anything with `bands`; may be a
        read-only memory map
        or a source from `open_images`. A fit that fails leaves the model as it was.
        y : (n,) labels or (n,) or (n, t) real numbers, for what is chosen by labels: codes, pooling, directions. Without y
        everything but selection="supervised" and SecondOrder(directions_by="labels") is learned from the images alone.
        """
        self._fit(X, y, keep_features=False)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """`fit(X).transform(X)`; without candidates each image is encoded once instead of twice. The same numbers."""
        if fit_params:
            raise TypeError(f"fit_transform takes no {', '.join(fit_params)}")
        features = self._fit(X, y, keep_features=True)
        return np.empty((0, 0), np.float32) if features is None else features

    def _fit(self, X: Any, y: Any, *, keep_features: bool) -> Array | None:
        recipe, seed, stages = self.recipe, seed_of(self.random_state), Stages(bool(self.verbose), "PooledFeatures ")
        thread_count(self.n_jobs)
        seen = look_at(self, X, recipe.descriptor.pixel_offset)
        clip, asked = seen.is_rows and self.image_shape is None, recipe.pooling
        recipe = recipe.fitted_to(seen.shape, clip=clip)
        if not clip and getattr(asked, "grid", None) != AUTO:
            warn_of_small_cells(asked, recipe.descriptor, seen.shape)
        targets = targets_for(recipe, y, len(seen.images))
        recipe = recipe.decided(targets is not None)
        labels = [] if y is None else [y]
        with kept_fit(self, seen.images, labels, getattr(X, "names", None)) as work, here(self.n_jobs) as engine:
            seed = kept_seed(work, seed)

            def learned_by(recipe: Recipe) -> Learned:
                return learn(
                    recipe, seen.images, seed=seed, keep_features=keep_features, targets=targets, engine=engine, stages=stages
                )

            try:
                learned = learned_by(recipe)
            except TooFewPatchesError:
                if self.n_candidates != AUTO or recipe.n_candidates is None:
                    raise
                learned = learned_by(replace(recipe, n_candidates=None))
        twin, rounds = copy.copy(self), learned.dictionary
        remember(twin, seen)
        twin._store(learned.layer, learned.candidates, learned.selection)
        twin.objective_, twin.n_iter_, twin.converged_ = rounds.objective, rounds.n_iter, rounds.converged
        twin.timings_ = stages.seconds
        twin._warn_of_selection()  # a warning may be an error
        _ = twin._ready
        self.__dict__ = twin.__dict__  # in one step: whenever an interrupt comes, the model is the old one or the new one
        return learned.features

    def _store(self, layer: Layer, candidates: Candidates | None, selection: Selection | None) -> None:
        self.__dict__.pop("_ready", None)
        self.layer_, self.candidates_, self.selection_ = layer, candidates, selection

    def _warn_of_selection(self) -> None:
        layer, candidates = self.layer_, self.candidates_
        if self.selection_ is None or candidates is None:
            return
        warn_if_restless(self.selection_)
        if candidates.n_alive < len(layer.codes):
            warn_user(
                f"only {candidates.n_alive} of the {len(candidates.codes)} candidates respond to any of the images, fewer than "
                f"the {len(layer.codes)} to select; lower alpha or the whitening's offset, or rescale the images to 0..255.",
            )

    @cached_property
    def _ready(self) -> Pass:
        """The layer's pass. After loading it is made when it is first needed: loading takes no more memory than the file."""
        return prepare(self.layer_)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_ready"}

    def transform(self, X: Any) -> Array:
        """Features of images, (n, H, W, c) to (n, n_features) float32. Memory beyond the result does not grow with n."""
        images, stages = self.look_at(X), Stages(bool(self.verbose), "PooledFeatures ")
        with here(self.n_jobs) as engine:
            found = extract(self._ready, images, engine=engine, stages=stages)
        return warned(self.layer_, images, found)

    def transform_blocks(self, X: Any) -> Iterator[tuple[slice, Array]]:
        """What `transform` computes, block after block and never all of it at once: (rows, features of these images).

        >>> images = np.random.default_rng(0).integers(0, 256, size=(20, 16, 16, 3), dtype=np.uint8)
        >>> model = PooledFeatures(4, n_patches=2000, random_state=0).fit(images)
        >>> [(rows.start, rows.stop, X.shape) for rows, X in model.transform_blocks(images)]
        [(0, 20, (20, 64))]
        """
        return self._blocks(self.look_at(X))

    def _blocks(self, images: Array | ImageSource) -> Iterator[tuple[slice, Array]]:
        with here(self.n_jobs) as engine:
            yield from counted(self.layer_, images, feature_blocks(self._ready, images, engine))

    def look_at(self, X: Any) -> Array | ImageSource:
        """Images as (n, H, W, c), checked against those seen in `fit`; a source stays as it is."""
        check_is_fitted(self)
        return look_at(self, X, self.layer_.descriptor.pixel_offset, fitted=self.image_shape_in_).images

    def reselect(self, images: Any = None, **changes: Any) -> Self:
        """Choose again from the same candidates: a new fitted model.

        images : where the codes kept need a scale of their own, those of the fit or others like them: if pooling multiplies
            outputs, or with an encoder whose activations depend on all codes together; else it does without
        changes : any of n_codes, selection, projection, random_state. The same as a fit with them (but for another selection
            after a supervised one, which has standardised outputs in its own way).

        >>> images = np.random.default_rng(0).integers(0, 256, size=(20, 16, 16, 3), dtype=np.uint8)
        >>> model = PooledFeatures(4, 16, n_patches=2000, random_state=0).fit(images)
        >>> model.reselect(n_codes=8, selection="greedy").transform(images).shape
        (20, 128)
        """
        unknown = set(changes) - set(_RESELECTED)
        if unknown:
            raise TypeError(f"reselect changes {', '.join(_RESELECTED)}; got {', '.join(sorted(unknown))}")
        candidates = self.require_candidates()
        if self.layer_.pooling.needs_labels(self.layer_.n_outputs):
            raise ValueError(f"{self.layer_.pooling!r} has directions that labels predict; fit again")
        if images is None and candidates.unknown:
            raise ValueError(f"{candidates.unknown}; their scale needs images: reselect(images, ...)")
        twin = copy.copy(self).set_params(**changes)
        for name in _RESELECTED[:3]:
            PARAMETERS[name].kind.check(name, getattr(twin, name))
        recipe = Recipe(n_codes=twin.n_codes, n_candidates=len(candidates.codes))
        recipe.check_choice()
        if "random_state" in changes:
            candidates = replace(candidates, seed=seed_of(twin.random_state))
        stages, seen = Stages(bool(self.verbose), "PooledFeatures "), self.look_at(images) if candidates.unknown else None
        with here(self.n_jobs) as engine:
            layer, selection = candidates.choose(
                int(twin.n_codes), twin.selection, twin.projection, engine=engine.local, stages=stages
            )
            if seen is not None:
                learned = replace(recipe, scale=self.recipe.scale)
                layer, _ = learn_outputs(learned, layer, seen, False, seed=candidates.seed, engine=engine, stages=stages)
        twin._store(layer, candidates, selection)
        twin.timings_ = {**self.timings_, **stages.seconds}
        twin._warn_of_selection()
        return twin

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names such as `pool2x2_r0c1_code17` (two-sided: `_pos`, `_neg`; second order `code3*code17`); projected
        `pool2x2_r0c1_nystrom17`; statistics of bands `pool2x2_r0c1_band3_mean`, behind all others."""
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        return np.asarray(self.layer_.names, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        tags.input_tags.allow_nan = self.nodata is not None
        return tags
