"""Every parameter of `PooledFeatures` as an option of `poolwise fit`. Nothing is imported from there, so that help is quick."""

from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from poolwise.cli.options import Choice, ChoiceOrNone, Command, Grids, OrNone, Pair


def _choice(*words: str) -> Choice:
    return Choice(list(words))


_WHOLE = click.IntRange(1)
_OPTIONS: list[tuple[str, str, Any, str]] = [
    ("--codes", "n_codes", _WHOLE, "Codes kept.  [default: 200]"),
    (
        "--candidates",
        "n_candidates",
        OrNone(_WHOLE),
        "Codes to learn and choose from, 4 to 8 times --codes.  [default: none, plain K-means]",
    ),
    (
        "--selection",
        "selection",
        _choice("affinity", "kmedoids", "greedy", "cholesky", "random", "authors"),
        "How they are chosen.",
    ),
    ("--transform", "transform", ChoiceOrNone("nystrom", "pca"), "What is made of the outputs of those chosen."),
    ("--super-patches", "n_super_patches", OrNone(_WHOLE), "Random windows for the covariance, instead of every cell."),
    ("--patch-size", "patch_size", Pair(), "Pixels of a patch: 6, or height x width as 6x8."),
    ("--stride", "stride", _WHOLE, "Pixels from one patch to the next."),
    (
        "--dictionary",
        "dictionary",
        _choice("kmeans", "centroids", "spherical", "omp1", "patches", "gaussian"),
        "How codes are learned.",
    ),
    ("--init", "init", _choice("patches", "noise"), "Where K-means starts."),
    ("--patches", "n_patches", _WHOLE, "Random patches to learn from; fewer need less memory."),
    ("--max-iter", "max_iter", _WHOLE, "Most rounds of K-means."),
    ("--tol", "tol", float, "When its rounds stop."),
    ("--contrast", "contrast", ChoiceOrNone("std", "variance"), "What a patch's contrast is divided by."),
    ("--contrast-offset", "contrast_offset", float, "Added to that, for pixels in 0..255."),
    ("--whitening", "whitening", ChoiceOrNone("std", "variance"), "How patches are whitened."),
    ("--whitening-offset", "whitening_offset", float, "Against noise in whitening."),
    ("--encoder", "encoder", _choice("threshold", "triangle", "vq"), "What a code's activation is."),
    ("--alpha", "alpha", float, "The threshold."),
    ("--two-sided/--one-sided", "two_sided", None, "Activations of a code's negative, too."),
    ("--pool", "pool", _choice("average", "max", "sum", "rms"), "How activations are pooled."),
    ("--grid", "grid", Grids(), "Cells to pool over: 2, 2x3, or a pyramid 1,2,4 (also by giving it repeatedly)."),
    ("--scale", "scale", ChoiceOrNone("shared", "cell"), "Standardise per code, or per code and cell."),
    ("--scale-offset", "scale_offset", float, "Against noise in that."),
]
NAMES = tuple(name for _, name, _, _ in _OPTIONS)


def parameters(command: Command) -> Command:
    """Add them all; those that are not given stay as the preset has them."""
    for spelling, name, kind, help in reversed(_OPTIONS):
        more: dict[str, Any] = {"multiple": True} if name == "grid" else {"default": None}
        add: Callable[[Command], Command] = click.option(spelling, name, type=kind, help=help, **more)
        command = add(command)
    return command


def given(ctx: click.Context, options: dict[str, Any]) -> dict[str, Any]:
    """Take them out of a command's options; only those that the user wrote, `none` among them."""
    values = {name: options.pop(name) for name in NAMES}
    written = {name: value for name, value in values.items() if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT}
    if "grid" in written:
        levels = [level for part in written["grid"] for level in part]
        written["grid"] = levels[0] if len(levels) == 1 else levels
    return written
