"""The recipe of a fit: every parameter of learning, described once.

`PooledFeatures` has the same parameters with the same defaults, and the same checks; `poolwise fit` has an option for each of
them and for each parameter of a part; a model file holds them by these names.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from poolwise.method.descriptors import DESCRIPTORS, Descriptor
from poolwise.method.dictionaries import DICTIONARIES, Learner
from poolwise.method.encoders import ENCODERS, Encoder
from poolwise.method.pooling import POOLINGS, Pooling
from poolwise.method.scale import SCALES, Standardize
from poolwise.method.selection import WAYS, WayName
from poolwise.method.symmetry import SymmetryName, check_symmetry
from poolwise.method.whitening import WHITENINGS, ZCA
from poolwise.support.missing import Nodata, NodataKind
from poolwise.support.parameters import AUTO, Choice, Described, Family, Flag, ParameterError, Whole, parameter

BandsName = Literal["auto", "standardize"] | Sequence[tuple[float, float]] | None
ProjectionName = Literal["nystrom", "pca"] | None
_CANDIDATES_PER_CODE, _MOST_CANDIDATES = 4, 1600  # of "auto": more gain little, and selection takes their third power


@dataclass(frozen=True)
class Ranges(Choice):
    """One of some words, or a lower and an upper bound for each of several things."""

    def check(self, name: str, value: Any) -> Any:
        if value is None or isinstance(value, str):
            return super().check(name, value)
        try:
            pairs = tuple((float(low), float(high)) for low, high in value)
        except (TypeError, ValueError):
            pairs = ()
        if not pairs or not all(low < high and math.isfinite(high - low) for low, high in pairs):
            words = ", ".join(map(repr, self.words))
            raise ParameterError(f"{name} must be one of {words}, or some (low, high) with low below high; got {value!r}")
        return pairs


@dataclass(frozen=True)
class Recipe(Described):
    """What is learned, and how. It may be made with words in place of parts; `checked` makes them objects."""

    n_codes: int = parameter(200, Whole(), "Codes kept.", "--codes")
    n_candidates: int | str | None = parameter(
        AUTO, Whole(none=True, word=AUTO), "Codes to choose from; auto: 4 times --codes. none: K-means alone.", "--candidates"
    )
    descriptor: Descriptor = parameter("patches", DESCRIPTORS, "What images are described by.")
    whitening: ZCA | None = parameter("std", WHITENINGS, "How patches are whitened.")
    dictionary: Learner = parameter("kmeans", DICTIONARIES, "How codes are learned.")
    encoder: Encoder = parameter(AUTO, ENCODERS, "What a code's activation is.")
    pooling: Pooling = parameter(AUTO, POOLINGS, "How activations are pooled.", "--pool")
    scale: Standardize | None = parameter("shared", SCALES, "Standardise per code, or per code and cell.")
    selection: WayName = parameter(
        AUTO, Choice((AUTO, *WAYS)), "How codes are chosen from the candidates; auto: by labels, where there are any."
    )
    projection: ProjectionName = parameter(
        "nystrom", Choice(("nystrom", "pca", None)), "How the outputs of the codes chosen are combined."
    )
    symmetry: SymmetryName = parameter(
        AUTO, Choice((AUTO, None, "mirror", "dihedral")), "Average over the mirror image, or over all turns and mirrors."
    )
    bands: BandsName = parameter(
        AUTO,
        Ranges((AUTO, "standardize", None)),
        "Scale bands to the numbers of pixels; auto: if not of 8 bits.",
    )
    statistics: bool = parameter(
        False, Flag("--no-statistics"), "Also mean, spread, least and largest number of each band and cell."
    )
    nodata: Nodata = parameter(
        None, NodataKind(), "What pixels without data hold, which are left out: nan, or a number such as 0 or -9999."
    )
    n_patches: int = parameter(200_000, Whole(), "Random patches to learn from; fewer need less memory.", "--patches")
    n_super_patches: int | None = parameter(
        None, Whole(2, none=True), "Random windows for the covariance; none: every cell.", "--super-patches"
    )

    def checked(self) -> Self:
        """Every word a part, every number in its plain type; a ParameterError where a value has no meaning or two disagree."""
        values = {name: one.kind.check(one.key, getattr(self, name)) for name, one in self.parameters().items()}
        recipe = replace(self, **values)
        recipe = replace(recipe, encoder=recipe.encoder.decided(pairs=recipe.pooling.multiplies_all))
        recipe.check_choice()
        if recipe.nodata is not None:
            recipe.descriptor.check_nodata()
        if recipe.projection == "pca" and recipe.n_candidates is not None and recipe.pooling.first_order() != recipe.pooling:
            raise ParameterError(
                "{projection} projects one number of each output, and {pooling} has others; leave the projection out",
                projection="pca",
                pooling=recipe.pooling.word,
            )
        if recipe.selects_by_labels and recipe.n_super_patches is not None:
            raise ParameterError(
                "{selection} looks at whole images with their labels; give {n_super_patches}",
                selection=recipe.selection,
                n_super_patches=None,
            )
        size = "n_candidates" if isinstance(recipe.n_candidates, int) else "n_codes"
        form = None if recipe.scale is None else recipe.scale.form
        if recipe.n_super_patches is not None and form == "cell" and recipe.n_candidates is not None:
            raise ParameterError(
                "{scale} standardises each cell of the grid by itself, and a super-patch belongs to no cell; give "
                "{n_super_patches}, or one scale for all cells",
                scale="cell",
                n_super_patches=None,
            )
        if recipe.n_patches < getattr(recipe, size):
            raise ParameterError(
                f"{{n_patches}} patches cannot give {{{size}}} different codes",
                **{"n_patches": recipe.n_patches, size: getattr(recipe, size)},
            )
        return recipe

    def decided(self, with_labels: bool) -> Self:
        """Without "auto", as far as nothing has to be learned before: `suiting` chooses pooling and symmetry by labels.

        >>> recipe = Recipe(n_codes=300).checked().decided(with_labels=True)
        >>> recipe.n_candidates, recipe.selection
        (1200, 'supervised')
        >>> Recipe(n_codes=1600).checked().decided(with_labels=True).n_candidates is None
        True
        """
        M, K, selection, symmetry = self.n_candidates, self.n_codes, self.selection, self.symmetry
        if isinstance(M, str):
            M = min(_CANDIDATES_PER_CODE * K, _MOST_CANDIDATES, self.n_patches)
            M = M if M > K else None
        if selection == AUTO:
            selection = "supervised" if with_labels and self.n_super_patches is None else "affinity"
        if symmetry == AUTO and not with_labels:
            symmetry = None
        pooling = self.pooling.of_codes(K)
        return replace(self, n_candidates=M, selection=selection, symmetry=symmetry, pooling=pooling)

    def poolings(self, positions: tuple[int, int]) -> tuple[Pooling, ...]:
        """What an open pooling may become on (h, w) positions; the first where there are no labels to choose by."""
        return tuple(one.of_codes(self.n_codes) for one in self.pooling.choices(positions))

    @property
    def may_use_labels(self) -> bool:
        """Whether labels are used where there are any."""
        selects = self.selection == AUTO and self.n_candidates is not None
        return self.uses_labels or self.is_open or selects

    @property
    def is_open(self) -> bool:
        """Whether pooling or symmetry is chosen once there are codes."""
        return self.pooling.is_open or self.symmetry == AUTO

    @property
    def uses_labels(self) -> bool:
        """Whether labels are needed: codes are chosen with them, or directions learned from them."""
        return self.selects_by_labels or self.projects_by_labels

    @property
    def selects_by_labels(self) -> bool:
        way = WAYS.get(self.selection)
        return self.n_candidates is not None and self.projection != "pca" and way is not None and way.needs_labels

    @property
    def projects_by_labels(self) -> bool:
        """Whether directions are learned from labels: features that know these, so that folds of a classifier say nothing."""
        return self.pooling.needs_labels(self.encoder.sides * self.n_codes)

    def check_choice(self) -> None:
        """What `reselect` may change, once more together."""
        if isinstance(self.n_candidates, int) and self.n_candidates < self.n_codes:
            raise ParameterError(
                "{n_codes} codes cannot be selected from {n_candidates}; give at most as many codes as candidates",
                n_codes=self.n_codes,
                n_candidates=self.n_candidates,
            )

    def fitted_to(self, image_shape: tuple[int, int, int], *, clip: bool = False) -> Self:
        """Descriptor and pooling as they work on images of this shape; `clip`: made smaller where they would not fit."""
        descriptor = self.descriptor.fitted_to(image_shape, clip=clip)
        if not clip:
            self.encoder.check_dimension(descriptor.dimension(image_shape[2]))
        check_symmetry(self.symmetry, image_shape[:2])
        pooling = self.pooling.fitted_to(descriptor.positions(image_shape[:2]), clip=clip)
        symmetry = None if clip and self.symmetry == AUTO else self.symmetry
        return replace(self, descriptor=descriptor, pooling=pooling, symmetry=symmetry)


PARAMETERS = Recipe.parameters()
FAMILIES: dict[str, Family] = {name: one.kind for name, one in PARAMETERS.items() if isinstance(one.kind, Family)}  # type: ignore[type-arg]
