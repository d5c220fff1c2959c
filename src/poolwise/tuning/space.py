"""What `tune` searches: the values of every factor that suit the images, and the settings made from them.

Settings of first order, of second order and of both have values of their own. A setting of first order is a view of a *bank*:
one dictionary and the responses of images to it. All grids, thresholds and sides are columns of the same pooled numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from poolwise.tuning.settings import FIRST_OFFSET, Order, Setting, fits

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
_GRIDS_OF_PRODUCTS = ((2,), (1,))  # there are many products
OF_DEFAULTS = (0.25, 1.0)  # thresholds
_PAIRS = (64, 100)


@dataclass(frozen=True)
class Space:
    """The values of each factor for images of one shape, for each order; the first value is the one of `base_of` it."""

    image_shape: tuple[int, int, int]
    values: dict[Order, dict[str, tuple[Any, ...]]]

    @property
    def base(self) -> Setting:
        return self.base_of("first")

    def base_of(self, order: Order) -> Setting:
        return Setting(**{name: values[0] for name, values in self.values[order].items()})

    def all_of(self, values: dict[str, tuple[Any, ...]]) -> Iterator[Setting]:
        """Every combination that the images allow."""
        for combined in product(*values.values()):
            setting = Setting(**dict(zip(values, combined, strict=True)))
            if self.allows(setting):
                yield setting

    def allows(self, setting: Setting) -> bool:
        """Whether the images do, and whether second order multiplies no more outputs than there may be codes."""
        most = max(self.values["second"]["n_codes"])
        small = not setting.is_second_order or setting.encoder.sides * setting.n_codes <= max(most, 2)
        return small and fits(setting, self.image_shape)

    def views(self, rng: np.random.Generator) -> tuple[list[Setting], list[Setting]]:
        """All settings of first order with the base's bank: those that differ in one factor, and the rest at random."""
        base = self.base
        fixed = {name: values[:1] if name in OF_BANKS else values for name, values in self.values["first"].items()}
        return _nearest_first(list(self.all_of(fixed)), base, rng)

    def beside(self, setting: Setting, name: str) -> list[Setting]:
        """The setting with every other value of one factor that the images allow.

        More codes of second order are also tried with one side: the same number of features.
        """
        values = self.values[setting.order][name]
        others = [setting.but(**{name: value}) for value in values if value != getattr(setting, name)]
        if name == "n_codes" and setting.is_second_order and setting.two_sided:
            others = [one.but(two_sided=False) for one in others if one.n_codes > setting.n_codes] + others
        return [other for other in others if self.allows(other)]

    def near(self, order: Order) -> list[Setting]:
        """The base of an order, and those that differ from it in one factor, but not in the bank or the codes."""
        base = self.base_of(order)
        names = [name for name in self.values[order] if name not in (*OF_BANKS, "n_codes")]
        return [base, *(other for name in names for other in self.beside(base, name))]


def make_space(image_shape: tuple[int, int, int], n_codes: int, *, with_labels: bool = True) -> Space:
    """The space of images of (H, W, c) and at most `n_codes` codes.

    with_labels : whether codes may be chosen with labels

    >>> space = make_space((32, 32, 3), 200)
    >>> space.base_of("both").words
    '200 codes, average and products of 64, grid 2, two sides, α 0.25,1, patches 6, whitening 0.1'
    >>> space.values["second"]["n_codes"], make_space((5, 4, 3), 200).values["first"]["patch_size"]
    ((50, 100, 200), (4, 3))
    """
    H, W, _ = image_shape
    side = min(H, W)
    largest = min(side, max(_LARGEST_SMALL_PATCH, side // _SHARE_OF_SIDE))
    sizes = [size for size in _PATCH_SIZES if size <= largest] or [side]
    middle = min(sizes, key=lambda size: (abs(size - 6), size))
    sizes = [middle, *(size for size in sizes if size != middle)]
    grids = [grid for grid in _GRIDS if max(grid) <= side - middle + 1]
    symmetries = (None, "mirror", "dihedral") if H == W else (None, "mirror")
    first: dict[str, tuple[Any, ...]] = {
        "n_codes": (n_codes,),
        "grid": tuple(grids),
        "pool": ("average", "max", "both"),
        "alpha": ((0.25,), (0.1,), OF_DEFAULTS),
        "two_sided": (False, True),
        "patch_size": tuple(sizes),
        "whitening_offset": (0.1, 0.03, 0.3),
        "symmetry": symmetries,
        "selection": ("kmeans", "supervised") if with_labels else ("kmeans",),
        "scale_offset": (FIRST_OFFSET,),
        "pairs": (None,),
    }
    few_cells = tuple(grid for grid in _GRIDS_OF_PRODUCTS if grid in grids)
    both = first | {
        "grid": few_cells,
        "pool": ("average", "max"),
        "alpha": (OF_DEFAULTS,),
        "two_sided": (True,),
        "pairs": tuple(dict.fromkeys(min(pairs, n_codes) for pairs in _PAIRS)),
    }
    second = first | {
        "n_codes": tuple(dict.fromkeys(max(1, count) for count in (n_codes // 4, n_codes // 2, n_codes))),
        "grid": few_cells,
        "pool": ("root", "power"),
        "alpha": ((0.25,), (0.1,)),
        "scale_offset": (1e-3, 1e-5),
    }
    return Space(image_shape, {"first": first, "both": both, "second": second})


def _nearest_first(settings: list[Setting], base: Setting, rng: np.random.Generator) -> tuple[list[Setting], list[Setting]]:
    """The base and those that differ from it in one factor; those that differ in several, in random order."""
    far = [changes(setting, base) for setting in settings]
    near = [settings[i] for distance in (0, 1) for i in range(len(settings)) if far[i] == distance]
    return near, [settings[i] for i in rng.permutation(len(settings)) if far[i] > 1]


def changes(a: Setting, b: Setting) -> int:
    """How many factors two settings differ in."""
    return sum(getattr(a, name) != getattr(b, name) for name in FACTORS)
