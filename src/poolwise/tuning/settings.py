"""A setting: one choice for every factor that `tune` searches, in Python and as options of `poolwise fit`."""

import json
import math
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal

from poolwise.estimators import PooledFeatures
from poolwise.method.descriptors import Patches
from poolwise.method.encoders import Threshold
from poolwise.method.pooling import POOLINGS, BothOrders, Pool, Pooling, SecondOrder
from poolwise.method.recipe import Recipe
from poolwise.method.scale import Standardize
from poolwise.method.symmetry import SymmetryName
from poolwise.method.whitening import ZCA
from poolwise.support.parameters import AUTO

CANDIDATES_PER_CODE = 4
FIRST_OFFSET = 0.01  # of the scale of first-order features
Order = Literal["first", "both", "second"]
ORDERS: tuple[Order, ...] = ("first", "both", "second")
_SECOND = ("root", "power")
_PRODUCTS = " and products of "
BANK = ("n_codes", "patch_size", "whitening_offset", "selection", "symmetry")  # what codes and images' responses depend on

_SPELLED: dict[str, tuple[str, Any]] = {
    "grid": ("grid", lambda text: tuple(map(int, text.split(",")))),
    "α": ("alpha", lambda text: tuple(map(float, text.split(",")))),
    "patches": ("patch_size", int),
    "whitening": ("whitening_offset", float),
    "scale": ("scale_offset", float),
}  # what a word is followed by


@dataclass(frozen=True)
class Setting:
    """One choice for every factor.

    grid : levels of the pyramid, (2,) or (1, 2, 4)    alpha : thresholds
    pool : "average", "max" or "both" of first order; "root" or "power", the normalisation of second order
    selection : "kmeans" for K-means with n_codes codes, "supervised" for n_codes of 4 n_codes candidates, chosen with labels
    scale_offset : added to the variances that features are divided by the roots of
    directions : of second order, numbers that each cell is projected on; None for all
    pairs : of first order, codes whose products are pooled too; None for first order alone

    >>> Setting(50, grid=(1,), pool="max", symmetry="mirror").options
    '--codes 50 --candidates none --pool max --grid 1 --alpha 0.25 --one-sided --patch-size 6 --whitening-offset 0.1
    --scale-offset 0.01 --symmetry mirror'
    """

    n_codes: int
    grid: tuple[int, ...] = (2,)
    pool: str = "average"
    alpha: tuple[float, ...] = (0.25,)
    two_sided: bool = False
    patch_size: int = 6
    whitening_offset: float = 0.1
    symmetry: SymmetryName = None
    selection: str = "kmeans"
    scale_offset: float = FIRST_OFFSET
    directions: int | None = None
    pairs: int | None = None

    @property
    def order(self) -> Order:
        """Of its pooling: outputs by themselves, products, or products beside outputs."""
        if self.pool in _SECOND:
            return "second"
        return "first" if self.pairs is None else "both"

    @property
    def is_second_order(self) -> bool:
        return self.order == "second"

    @property
    def bank(self) -> tuple[Any, ...]:
        """What the codes and the responses to them depend on."""
        return tuple(getattr(self, name) for name in BANK)

    @cached_property
    def encoder(self) -> Threshold:
        return Threshold(self.alpha if len(self.alpha) > 1 else self.alpha[0], self.two_sided)

    @cached_property
    def pooling(self) -> Pooling:
        grid = list(self.grid) if len(self.grid) > 1 else self.grid[0]
        if self.is_second_order:
            return SecondOrder(grid, self.pool, directions=self.directions)  # type: ignore[arg-type]
        if self.pairs is not None:
            return BothOrders(grid, self.pairs, self.pool)  # type: ignore[arg-type]
        return Pool(self.pool, grid)  # type: ignore[arg-type]

    @property
    def multiplied(self) -> int:
        """How many outputs are multiplied with each other."""
        return self.pooling.multiplied(self.encoder.sides * self.n_codes)

    @property
    def n_candidates(self) -> int | None:
        return CANDIDATES_PER_CODE * self.n_codes if self.selection == "supervised" else None

    @cached_property
    def n_features(self) -> int:
        outputs = self.encoder.sides * self.n_codes
        return self.pooling.n_cells * (self.pooling.directions_kept(outputs) or self.pooling.width(outputs))

    def features(self, **more: Any) -> PooledFeatures:
        """The estimator, not fitted; every factor is given, so that it does not depend on defaults.

        >>> Setting(50, (1, 2), "max").features(random_state=0).pooling
        Pool(how='max', grid=[1, 2])
        """
        return PooledFeatures(
            self.n_codes,
            self.n_candidates,
            descriptor=Patches(self.patch_size),
            whitening=ZCA(offset=self.whitening_offset),
            encoder=self.encoder,
            pooling=self.pooling,
            scale=Standardize(offset=self.scale_offset),
            symmetry=self.symmetry,
            selection="supervised" if self.selection == "supervised" else "auto",
            **more,
        )

    def recipe(self, **more: Any) -> Recipe:
        """The same for the rooms of the method."""
        return self.features(**more).recipe

    @property
    def options(self) -> str:
        """The same for `poolwise fit`, with every factor, whatever its defaults are."""
        return " ".join(text for text, _ in self._options())

    @property
    def short_options(self) -> str:
        """The same without those that `poolwise fit` takes anyway."""
        return " ".join(text for text, is_default in self._options() if not is_default)

    def _options(self) -> list[tuple[str, bool]]:
        """Each option with its value, and whether that is the default."""
        own, usual = self.recipe(), PooledFeatures().recipe
        word = self.pooling.word
        pooling = POOLINGS.switched(usual.pooling, word)
        encoder = Threshold.of_word(AUTO).decided(pairs=self.is_second_order)
        M = self.n_candidates
        found = [(f"--codes {self.n_codes}", self.n_codes == usual.n_codes)]
        found.append((f"--candidates {'none' if M is None else M}", M == usual.n_candidates))
        if M is not None:
            found.append(("--selection supervised", usual.selection == "supervised"))
        found.append((f"--pool {word}", usual.pooling.word == word))
        if isinstance(pooling, SecondOrder):
            found.append((f"--normalize {self.pool}", pooling.normalize == self.pool))
            directions = "none" if self.directions is None else self.directions
            found.append((f"--directions {directions}", pooling.directions == self.directions))
        if isinstance(pooling, BothOrders):
            found.append((f"--pairs {self.pairs}", pooling.pairs == self.pairs))
            found.append((f"--first-order {self.pool}", pooling.first == self.pool))
        same_grid = not pooling.is_open and pooling.grids == own.pooling.grids
        found.append((f"--grid {','.join(map(str, self.grid))}", same_grid))
        found.append((f"--alpha {','.join(f'{alpha:g}' for alpha in self.alpha)}", encoder.thresholds == self.alpha))
        found.append(("--two-sided" if self.two_sided else "--one-sided", encoder.two_sided == self.two_sided))
        found.append((f"--patch-size {self.patch_size}", usual.descriptor == own.descriptor))
        found.append((f"--whitening-offset {self.whitening_offset:g}", usual.whitening == own.whitening))
        found.append((f"--scale-offset {self.scale_offset:g}", usual.scale == own.scale))
        found.append((f"--symmetry {self.symmetry or 'none'}", usual.symmetry == self.symmetry))
        return found

    @property
    def words(self) -> str:
        """The same in short, for a table.

        >>> Setting(50, (1, 2), "max", two_sided=True, selection="supervised").words
        '50 of 200 codes, max, grid 1,2, two sides, α 0.25, patches 6, whitening 0.1'
        """
        chosen = "" if self.n_candidates is None else f" of {self.n_candidates}"
        kind = f"second order ({self.pool})" if self.is_second_order else self.pool
        kind += f"{_PRODUCTS}{self.pairs}" * (self.pairs is not None)
        parts = [f"{self.n_codes}{chosen} codes", kind, f"grid {','.join(map(str, self.grid))}"]
        parts += [f"{self.directions} directions"] * (self.directions is not None)
        parts += ["two sides"] * self.two_sided
        parts += [f"α {','.join(f'{alpha:g}' for alpha in self.alpha)}", f"patches {self.patch_size}"]
        parts += [f"whitening {self.whitening_offset:g}"]
        parts += [f"scale {self.scale_offset:g}"] * self.is_second_order
        parts += [self.symmetry] if self.symmetry is not None else []
        return ", ".join(parts)

    @classmethod
    def of_words(cls, words: str) -> "Setting":
        """The setting that `words` spells, without the offset of the scale of first order, which they leave out.

        >>> Setting.of_words("50 of 200 codes, max, grid 1,2, two sides, α 0.25, patches 6, whitening 0.1").options
        '--codes 50 --candidates 200 --selection supervised --pool max --grid 1,2 --alpha 0.25 --two-sided --patch-size 6
        --whitening-offset 0.1 --scale-offset 0.01 --symmetry none'
        """
        codes, kind, *parts = words.split(", ")
        kind, _, pairs = kind.partition(_PRODUCTS)
        found: dict[str, Any] = {
            "n_codes": int(codes.split()[0]),
            "selection": "supervised" if " of " in codes else "kmeans",
            "pool": kind.removeprefix("second order (").removesuffix(")"),
            "pairs": int(pairs) if pairs else None,
        }
        for part in parts:
            name, _, value = part.partition(" ")
            if part == "two sides":
                found["two_sided"] = True
            elif value == "directions":
                found["directions"] = int(name)
            elif name in _SPELLED:
                field, read = _SPELLED[name]
                found[field] = read(value)
            else:
                found["symmetry"] = part
        return cls(**found)

    @property
    def key(self) -> str:
        """Its name in a store."""
        return json.dumps(asdict(self), sort_keys=True)

    def but(self, **changes: Any) -> "Setting":
        return replace(self, **changes)


def fits(setting: Setting, image_shape: tuple[int, int, int]) -> bool:
    """Whether images of this shape have patches of this size, a position for every cell, and turns where they are asked for.

    >>> fits(Setting(8, grid=(5,)), (9, 9, 3)), fits(Setting(8, grid=(5,)), (10, 10, 3))
    (False, True)
    """
    H, W, c = image_shape
    h, w = H - setting.patch_size + 1, W - setting.patch_size + 1
    if min(h, w) < max(setting.grid) or (setting.symmetry == "dihedral" and H != W):
        return False
    return math.prod((setting.patch_size, setting.patch_size, c)) > 1
