"""Every parameter of `PooledFeatures` as an option of `poolwise fit`, and of `poolwise plan` but for the numbers of codes.

Nothing is imported from there, so that help is quick.
"""

from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from poolwise.cli.options import Choice, ChoiceOrNone, Command, Grids, OrNone, Pair


def _choice(*words: str) -> Choice:
    return Choice(list(words))


_WHOLE, _REAL = click.INT, click.FLOAT
_OPTIONS: list[tuple[str, str, Any, str, str]] = [  # spelling, parameter, type, its default as it is written, help
    ("--codes", "n_codes", _WHOLE, "200", "Codes kept."),
    (
        "--candidates",
        "n_candidates",
        OrNone(_WHOLE),
        "none",
        "Codes to choose from: 4 to 8 times --codes. none: K-means alone.",
    ),
    (
        "--selection",
        "selection",
        _choice("affinity", "kmedoids", "greedy", "cholesky", "random", "authors"),
        "affinity",
        "How they are chosen.",
    ),
    ("--transform", "transform", ChoiceOrNone("nystrom", "pca"), "nystrom", "What is made of the outputs of those chosen."),
    ("--super-patches", "n_super_patches", OrNone(_WHOLE), "none", "Random windows for the covariance; none: every cell."),
    ("--patch-size", "patch_size", Pair(), "6", "Pixels of a patch: 6, or height x width as 6x8."),
    ("--stride", "stride", _WHOLE, "1", "Pixels from one patch to the next."),
    (
        "--dictionary",
        "dictionary",
        _choice("kmeans", "centroids", "spherical", "omp1", "patches", "gaussian"),
        "kmeans",
        "How codes are learned.",
    ),
    ("--init", "init", _choice("patches", "noise"), "patches", "Where K-means starts."),
    ("--patches", "n_patches", _WHOLE, "400000", "Random patches to learn from; fewer need less memory."),
    ("--max-iter", "max_iter", _WHOLE, "100", "Most rounds of K-means."),
    ("--tol", "tol", _REAL, "0.0001", "How little movement ends them."),
    ("--contrast", "contrast", ChoiceOrNone("std", "variance"), "std", "What a patch's contrast is divided by."),
    ("--contrast-offset", "contrast_offset", _REAL, "10", "Added to that, for pixels in 0..255."),
    ("--whitening", "whitening", ChoiceOrNone("std", "variance"), "std", "How patches are whitened."),
    ("--whitening-offset", "whitening_offset", _REAL, "0.1", "Added there, against noise."),
    ("--encoder", "encoder", _choice("threshold", "triangle", "vq"), "threshold", "What a code's activation is."),
    ("--alpha", "alpha", _REAL, "0.25", "The threshold."),
    ("--two-sided/--one-sided", "two_sided", click.BOOL, "one-sided", "Activations of a code's negative, too."),
    ("--pool", "pool", _choice("average", "max", "sum", "rms"), "average", "How activations are pooled."),
    ("--grid", "grid", Grids(), "2", "Cells to pool over: 2, 2x3, or a pyramid 1,2,4; may be repeated."),
    ("--scale", "scale", ChoiceOrNone("shared", "cell"), "shared", "Standardise per code, or per code and cell."),
    ("--scale-offset", "scale_offset", _REAL, "0.01", "Added there, against noise."),
]
_METAVARS = {_WHOLE: "N", _REAL: "F"}
NAMES = tuple(name for _, name, *_ in _OPTIONS)


def first_parameters(command: Command) -> Command:
    """Those that nearly everybody sets."""
    return _add(command, _OPTIONS[:2])


def other_parameters(command: Command) -> Command:
    """The rest."""
    return _add(command, _OPTIONS[2:])


def _add(command: Command, table: list[tuple[str, str, Any, str, str]]) -> Command:
    """Options that stay as the preset has them where they are not given: the defaults told are for reading alone."""
    for spelling, name, kind, default, help in reversed(table):
        more: dict[str, Any] = {"multiple": True} if name == "grid" else {"default": None}
        text = f"{help}  [default: {default}]"
        add: Callable[[Command], Command] = click.option(
            spelling, name, type=None if kind is click.BOOL else kind, metavar=_METAVARS.get(kind), help=text, **more
        )
        command = add(command)
    return command


def given(ctx: click.Context, options: dict[str, Any]) -> dict[str, Any]:
    """Take them out of a command's options; only those that the user wrote, `none` among them."""
    values = {name: options.pop(name) for name in NAMES if name in options}
    written = {name: value for name, value in values.items() if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT}
    if "grid" in written:
        levels = [level for part in written["grid"] for level in part]
        written["grid"] = levels[0] if len(levels) == 1 else levels
    return written
