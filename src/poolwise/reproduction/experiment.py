"""What an experiment is: which cells it needs, what it says about them, what it draws."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from poolwise.reproduction.cells import Cell
from poolwise.reproduction.results import Results

if TYPE_CHECKING:
    from poolwise.reproduction.budget import Setting
    from poolwise.reproduction.parts import PartRow

Pictures = dict[str, Any]  # matplotlib's figures and Pillow's images, by file name

_PICTURE = re.compile(r"!\[(.*?)\]\((.*?)\)")


def _no_cells() -> list[Cell]:
    return []


def _no_pictures(results: Results) -> Pictures:
    return {}


@dataclass(frozen=True)
class Experiment:
    """One table or figure.

    name : on the command line    title : a line for people
    section : what came out, in Markdown; pictures in it by file name    pictures : by file name, drawn from the store alone
    cells : for the first run    variants : models to take apart, of `anatomy.VARIANTS`
    settings : rows of a budget, measured apart from cells    defaults : data sets that the defaults are measured on
    parts : rows with other parts    domains : data sets that others' features are measured on
    runs : as many as the paper's table has, unless another number is given
    """

    name: str
    title: str
    section: Callable[[Results], str]
    cells: Callable[[], list[Cell]] = _no_cells
    variants: tuple[str, ...] = ()
    settings: "tuple[Setting, ...]" = ()
    defaults: tuple[str, ...] = ()
    parts: "tuple[PartRow, ...]" = ()
    domains: tuple[str, ...] = ()
    pictures: Callable[[Results], Pictures] = _no_pictures
    runs: int = 5


def picture_names(section: str) -> list[str]:
    """The pictures that a section shows.

    >>> picture_names("![a chart](chart.png) and text")
    ['chart.png']
    """
    return [name for _, name in _PICTURE.findall(section)]


def with_pictures(section: str, spell: Callable[[str, str], str]) -> str:
    """A section with each picture as spell(description, file name) writes it."""
    return _PICTURE.sub(lambda link: spell(link[1], link[2]), section)
