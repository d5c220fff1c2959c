"""What an experiment is: which cells it needs, what it says of them, what it draws."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from poolwise.experiments.cells import Cell
from poolwise.experiments.results import Results

Pictures = dict[str, Any]  # matplotlib's figures and Pillow's images, by file name


def _no_cells(stl: str) -> list[Cell]:
    return []


def _no_pictures(results: Results) -> Pictures:
    return {}


@dataclass(frozen=True)
class Experiment:
    """One table or figure.

    name : on the command line    title : a line for people
    section : what came out, in Markdown    pictures : by file name, drawn from the store alone
    cells : for the first run, given the protocol of STL-10    variants : models to take apart, of `anatomy.VARIANTS`
    runs : as many as the paper's table has, unless told otherwise
    """

    name: str
    title: str
    section: Callable[[Results], str]
    cells: Callable[[str], list[Cell]] = _no_cells
    variants: tuple[str, ...] = ()
    pictures: Callable[[Results], Pictures] = _no_pictures
    runs: int = 5
