"""The recipe of a fit: every parameter of learning, described once.

`PooledFeatures` has the same parameters with the same defaults, and the same checks; `poolwise fit` has an option for each of
them and for each parameter of a part; a model file holds them by these names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self

from poolwise.method.descriptors import DESCRIPTORS, Descriptor
from poolwise.method.dictionary import DICTIONARIES, KMeans, RandomCodes
from poolwise.method.encoders import ENCODERS, Encoder
from poolwise.method.pooling import POOLINGS, Pooling
from poolwise.method.scale import SCALES, Standardize
from poolwise.method.selection import WAYS, WayName
from poolwise.method.symmetry import SymmetryName, check_symmetry
from poolwise.method.whitening import WHITENINGS, ZCA
from poolwise.support.parameters import Choice, Described, Family, ParameterError, Whole, parameter

ProjectionName = Literal["nystrom", "pca"] | None


@dataclass(frozen=True)
class Recipe(Described):
    """What is learned, and how. It may be made with words in place of parts; `checked` makes them objects."""

    n_codes: int = parameter(200, Whole(), "Codes kept.", "--codes")
    n_candidates: int | None = parameter(
        None, Whole(none=True), "Codes to choose from: 4 to 8 times --codes. none: K-means alone.", "--candidates"
    )
    descriptor: Descriptor = parameter("patches", DESCRIPTORS, "What images are described by.")
    whitening: ZCA | None = parameter("std", WHITENINGS, "How patches are whitened.")
    dictionary: KMeans | RandomCodes = parameter("kmeans", DICTIONARIES, "How codes are learned.")
    encoder: Encoder = parameter("threshold", ENCODERS, "What a code's activation is.")
    pooling: Pooling = parameter("average", POOLINGS, "How activations are pooled.", "--pool")
    scale: Standardize | None = parameter("shared", SCALES, "Standardise per code, or per code and cell.")
    selection: WayName = parameter("affinity", Choice(tuple(WAYS)), "How codes are chosen from the candidates.")
    projection: ProjectionName = parameter(
        "nystrom", Choice(("nystrom", "pca", None)), "How the outputs of the codes chosen are combined."
    )
    symmetry: SymmetryName = parameter(
        None, Choice((None, "mirror", "dihedral")), "Average over the mirror image, or over all turns and mirrors."
    )
    n_patches: int = parameter(400_000, Whole(), "Random patches to learn from; fewer need less memory.", "--patches")
    n_super_patches: int | None = parameter(
        None, Whole(2, none=True), "Random windows for the covariance; none: every cell.", "--super-patches"
    )

    def checked(self) -> Self:
        """Every word a part, every number in its plain type; a ParameterError where a value has no meaning or two disagree."""
        values = {name: one.kind.check(one.key, getattr(self, name)) for name, one in self.parameters().items()}
        recipe = replace(self, **values)
        recipe.check_choice()
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
        size = "n_codes" if recipe.n_candidates is None else "n_candidates"
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

    @property
    def uses_labels(self) -> bool:
        """Whether codes are chosen with labels, or directions learned from them."""
        return self.selects_by_labels or self.pooling.needs_labels(self.encoder.sides * self.n_codes)

    @property
    def selects_by_labels(self) -> bool:
        return self.n_candidates is not None and self.projection != "pca" and WAYS[self.selection].needs_labels

    def check_choice(self) -> None:
        """What `reselect` may change, once more together."""
        if self.n_candidates is not None and self.n_candidates < self.n_codes:
            raise ParameterError(
                "{n_codes} codes cannot be selected from {n_candidates}; give at most as many codes as candidates",
                n_codes=self.n_codes,
                n_candidates=self.n_candidates,
            )

    def fitted_to(self, image_shape: tuple[int, int, int], *, clip: bool = False) -> Self:
        """Descriptor and pooling as they work on images of this shape; `clip`: made smaller where they would not fit."""
        descriptor = self.descriptor.fitted_to(image_shape, clip=clip)
        check_symmetry(self.symmetry, image_shape[:2])
        pooling = self.pooling.fitted_to(descriptor.positions(image_shape[:2]), clip=clip)
        return replace(self, descriptor=descriptor, pooling=pooling)


PARAMETERS = Recipe.parameters()
FAMILIES: dict[str, Family] = {name: one.kind for name, one in PARAMETERS.items() if isinstance(one.kind, Family)}  # type: ignore[type-arg]
