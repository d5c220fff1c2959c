"""What `tune` searches: the values of every factor that suit the images, and the settings made from them.

A setting of first order is a view of a *bank*: one dictionary and the responses of images to it. All grids, thresholds and
sides are columns of the same pooled numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from poolwise.tuning.settings import FIRST_OFFSET, Setting, fits

FACTORS = {
    "grid": "grid",
    "pool": "pooling",
    "alpha": "threshold",
    "two_sided": "sides",
    "patch_size": "patch size",
    "whitening_offset": "whitening offset",
    "symmetry": "symmetry",
    "selection": "selection",
    "n_codes": "codes",
    "pairs": "products",
    "scale_offset": "scale offset",
}
OF_BANKS = ("patch_size", "symmetry", "whitening_offset", "selection")  # in the order in which they are searched
_PATCH_SIZES = (3, 4, 6, 8, 12, 16, 24, 32)
_LARGEST_SMALL_PATCH, _SHARE_OF_SIDE = 8, 8
_GRIDS = ((2,), (1,), (3,), (4,), (5,), (1, 2), (1, 2, 4))
_SECOND_GRIDS = ((2,), (1,))
OF_DEFAULTS = (0.25, 1.0)  # thresholds
_HOW = ("average", "max", "both")
_PAIRS, _GRIDS_OF_PAIRS, _HOW_OF_PAIRS = (64, 100), ((1,), (2,)), ("average", "max")


@dataclass(frozen=True)
class Space:
    """The values of each factor for images of one shape; the first value is the one of `base`.

    values, second : of settings of first and of second order
    """

    image_shape: tuple[int, int, int]
    values: dict[str, tuple[Any, ...]]
    second: dict[str, tuple[Any, ...]]

    @property
    def base(self) -> Setting:
        return Setting(**{name: values[0] for name, values in self.values.items()})

    @property
    def second_base(self) -> Setting:
        return Setting(**{name: values[0] for name, values in self.second.items()})

    def values_of(self, setting: Setting) -> dict[str, tuple[Any, ...]]:
        return self.second if setting.is_second_order else self.values

    def all_of(self, values: dict[str, tuple[Any, ...]]) -> Iterator[Setting]:
        """Every combination that the images allow."""
        for combined in product(*values.values()):
            setting = Setting(**dict(zip(values, combined, strict=True)))
            if self.allows(setting):
                yield setting

    def allows(self, setting: Setting) -> bool:
        """Whether the images do, and whether second order multiplies no more outputs than there may be codes.

        Products next to first order are for few cells: there are many of them.
        """
        if setting.pairs is not None and (setting.grid not in _GRIDS_OF_PAIRS or setting.pool not in _HOW_OF_PAIRS):
            return False
        most = max(self.second["n_codes"])
        small = not setting.is_second_order or setting.encoder.sides * setting.n_codes <= max(most, 2)
        return small and fits(setting, self.image_shape)

    def views(self, rng: np.random.Generator) -> tuple[list[Setting], list[Setting]]:
        """All settings of first order with the base's bank: those that differ in one factor, and the rest at random."""
        base = self.base
        fixed = {name: values[:1] if name in (*OF_BANKS, "pairs") else values for name, values in self.values.items()}
        return _nearest_first(list(self.all_of(fixed)), base, rng)

    def beside(self, setting: Setting, name: str) -> list[Setting]:
        """The setting with every other value of one factor that the images allow.

        More codes of second order are also tried with one side: the same number of features.
        """
        others = [setting.but(**{name: value}) for value in self.values_of(setting)[name] if value != getattr(setting, name)]
        if name == "n_codes" and setting.is_second_order and setting.two_sided:
            others = [one.but(two_sided=False) for one in others if one.n_codes > setting.n_codes] + others
        return [other for other in others if self.allows(other)]

    def both_orders(self, like: Setting) -> list[Setting]:
        """Settings of both orders: as the defaults have them, with other grids and pooling, and with more products.

        like : of first order, whose pooling and bank are tried first
        """
        most = {name: getattr(like, name) for name in (*OF_BANKS, "n_codes", "scale_offset")}
        hows = dict.fromkeys(how for how in (like.pool, *_HOW_OF_PAIRS) if how in _HOW_OF_PAIRS)
        grids = dict.fromkeys(grid for grid in (like.grid, *_GRIDS_OF_PAIRS) if grid in _GRIDS_OF_PAIRS)
        found = [
            Setting(**most, grid=grid, pool=how, alpha=OF_DEFAULTS, two_sided=True, pairs=pairs)
            for pairs in self.values["pairs"][1:]
            for how in hows
            for grid in grids
        ]
        return [setting for setting in found if self.allows(setting)]

    def second_order(self) -> list[Setting]:
        """Settings of second order with the base's patches and symmetry: the base, and those that differ in one factor."""
        names = [name for name in self.second if name not in (*OF_BANKS, "n_codes", "pairs")]
        return [self.second_base, *(other for name in names for other in self.beside(self.second_base, name))]


def make_space(image_shape: tuple[int, int, int], n_codes: int, *, with_labels: bool = True) -> Space:
    """The space of images of (H, W, c) and at most `n_codes` codes.

    with_labels : whether codes may be chosen with labels

    >>> space = make_space((32, 32, 3), 200)
    >>> space.values["patch_size"], space.second["n_codes"]
    ((6, 3, 4, 8), (50, 100, 200))
    >>> make_space((5, 4, 3), 200).values["patch_size"]
    (4, 3)
    """
    H, W, _ = image_shape
    side = min(H, W)
    largest = min(side, max(_LARGEST_SMALL_PATCH, side // _SHARE_OF_SIDE))
    sizes = [size for size in _PATCH_SIZES if size <= largest] or [side]
    middle = min(sizes, key=lambda size: (abs(size - 6), size))
    sizes = [middle, *(size for size in sizes if size != middle)]
    grids = [grid for grid in _GRIDS if max(grid) <= side - middle + 1]
    symmetries = (None, "mirror", "dihedral") if H == W else (None, "mirror")
    values: dict[str, tuple[Any, ...]] = {
        "n_codes": (n_codes,),
        "grid": tuple(grids),
        "pool": _HOW,
        "alpha": ((0.25,), (0.1,), OF_DEFAULTS),
        "two_sided": (False, True),
        "patch_size": tuple(sizes),
        "whitening_offset": (0.1, 0.03, 0.3),
        "symmetry": symmetries,
        "selection": ("kmeans", "supervised") if with_labels else ("kmeans",),
        "scale_offset": (FIRST_OFFSET,),
        "pairs": (None, *dict.fromkeys(min(pairs, n_codes) for pairs in _PAIRS)),
    }
    fewer = dict.fromkeys(max(1, count) for count in (n_codes // 4, n_codes // 2, n_codes))
    second = values | {
        "n_codes": tuple(fewer),
        "grid": tuple(grid for grid in _SECOND_GRIDS if grid in grids),
        "pool": ("root", "power"),
        "alpha": ((0.25,), (0.1,)),
        "scale_offset": (1e-3, 1e-5),
        "pairs": (None,),
    }
    return Space(image_shape, values, second)


def _nearest_first(settings: list[Setting], base: Setting, rng: np.random.Generator) -> tuple[list[Setting], list[Setting]]:
    """The base and those that differ from it in one factor; those that differ in several, in random order."""
    far = [changes(setting, base) for setting in settings]
    near = [settings[i] for distance in (0, 1) for i in range(len(settings)) if far[i] == distance]
    return near, [settings[i] for i in rng.permutation(len(settings)) if far[i] > 1]


def changes(a: Setting, b: Setting) -> int:
    """How many factors two settings differ in."""
    return sum(getattr(a, name) != getattr(b, name) for name in FACTORS)
