"""`poolwise tune`: a search for the settings that suit labelled images, and a model with the best of them."""

import shlex
import warnings
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from poolwise.cli import options, parameters
from poolwise.cli.clusters import cluster, on_cluster
from poolwise.cli.commands.fit import check_labels, fit, has_folds, show, write_report_of
from poolwise.cli.output import check_output, check_report, echo, print_json, say
from poolwise.cli.reading import Reading, spell_columns
from poolwise.cli.spelling import option_value
from poolwise.method.recipe import PARAMETERS
from poolwise.support.files import replacing
from poolwise.support.progress import Stages

if TYPE_CHECKING:
    from poolwise.estimators.linear_svm import LinearClassifier
    from poolwise.images import Images
    from poolwise.tuning.result import Search

_SECONDS = 120
_ROWS_SHOWN = 10
_LEFT_OUT_SHOWN = 4
_INTERRUPTED = 130


@click.command(
    "tune",
    cls=options.SpellingCommand,
    spellings={"labels": "`poolwise fit --classifier none`"},
    context_settings=options.SETTINGS,
)
@options.output("Fit the best setting to all images, and save it: NAME.safetensors.  [default: no model]", required=False)
@click.option(
    "--codes", "n_codes", default=200, show_default=True, type=click.IntRange(1), metavar="N", help="At most this many codes."
)
@click.option(
    "--seconds",
    default=None,
    type=click.FloatRange(0, min_open=True),
    metavar="F",
    help=f"How long to search; fitting the best comes on top.  [default: {_SECONDS}; with --trials no limit]",
)
@click.option(
    "--trials",
    default=None,
    type=click.IntRange(1),
    metavar="N",
    help="How many trials; without --seconds the same seed gives the same result.  [default: no limit]",
)
@click.option(
    "--milliseconds",
    default=None,
    type=click.FloatRange(0, min_open=True),
    metavar="F",
    help="Leave out settings that take longer for an image.",
)
@click.option(
    "--max-features", default=None, type=click.IntRange(1), metavar="N", help="Leave out settings with more features."
)
@parameters.nodata
@click.option("--target", default=None, metavar="COLUMN", help="A column of numbers of a .csv file to predict, by R².")
@click.option(
    "--store",
    default=None,
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder in which trials are remembered: the same search goes on from there.",
)
@click.option(
    "--plot",
    default=None,
    metavar="FILE.png",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw score over milliseconds; needs poolwise[report].",
)
@options.report
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0, 2**32 - 1), metavar="N", help="Of all that is random."
)
@options.jobs
@cluster
@options.as_json
@options.quiet
@options.images_to_fit
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Search for the settings that suit your labelled IMAGES best.

    Tries grids, pooling of first and second order, patch sizes, thresholds, sides, whitening, symmetry and selection on
    images that it holds out: many settings on few images, then few settings on many. Shows the best with their accuracy
    and cost, which choices mattered, and the `poolwise fit` that gives the best; with -o it fits and saves that.

    \b
    Examples:
      poolwise tune photos/train
      poolwise tune photos/train -o best.safetensors --report best.html --plot tune.png
      poolwise tune cifar10 --codes 100 --seconds 300 --milliseconds 0.5 --store search/
      poolwise tune tiles.csv --target biomass
      poolwise tune photos/train --cluster local:4
    """
    nodata = PARAMETERS["nodata"].kind.check("nodata", given["nodata"])
    reading = replace(_reading(Reading.take(given, part="train"), given["target"]), nodata=nodata)
    _check(reading, given)
    output, quiet, n_jobs, seed = (given[name] for name in ("output", "quiet", "n_jobs", "seed"))
    stages = Stages(not quiet, "tune ")
    images = reading.open(stages, labels=True, output=output, n_jobs=n_jobs, again=True)
    numbers = _numbers(images, reading, given["target"])

    from poolwise.tuning.budget import Budget
    from poolwise.tuning.limits import Limits
    from poolwise.tuning.search import search_task
    from poolwise.tuning.task import as_task

    task = as_task(images, numbers=numbers, nodata=nodata)
    if output is not None and not task.numbers:
        check_labels(images, reading.images, _classifier(n_jobs, quiet, cv=has_folds(images.labels)))
    seconds = given["seconds"] if given["seconds"] is not None or given["trials"] is not None else _SECONDS
    with on_cluster(given["cluster"], stages):
        search = search_task(
            task,
            given["n_codes"],
            Budget(seconds, given["trials"]),
            Limits(given["milliseconds"], given["max_features"]),
            random_state=seed,
            n_jobs=n_jobs,
            store=given["store"],
            stages=stages,
        )
        if given["plot"] is not None:
            from poolwise.tuning.plot import draw_search

            with replacing(given["plot"]) as temporary:
                draw_search(search).savefig(temporary, format="png")
        result = search.to_json() | {"fit": _fit_line(reading, search, seed, given["target"])}
        result["plot"] = None if given["plot"] is None else str(given["plot"])
        if not given["as_json"]:
            _show(search, result)
        if search.interrupted:
            if given["as_json"]:
                print_json(result)
            say("interrupted: this is the best so far" + ", and no model was fitted" * (output is not None))
            ctx.exit(_INTERRUPTED)
        if output is not None:
            fitted = _fit(search, images, reading, given, ctx.obj or "poolwise tune", result, stages)
            if not given["as_json"]:
                echo()
                show(fitted)
            result["model"] = fitted
        if given["as_json"]:
            print_json(result)


def _reading(reading: Reading, target: str | None) -> Reading:
    """With the column of --target in place of labels."""
    if target is None:
        return reading
    if reading.images.suffix.lower() != ".csv":
        raise click.UsageError(f"--target {target} names a column of a .csv file; {reading.images} is not one")
    path, label = reading.columns or ("path", None)
    if label is not None:
        raise click.UsageError(
            f"--target {target} takes the place of labels; give --columns {spell_columns((path, None))} alone"
        )
    return replace(reading, columns=(path, target))


def _check(reading: Reading, given: dict[str, Any]) -> None:
    """Usage errors, before any work."""
    output, plot, report = (given[name] for name in ("output", "plot", "report"))
    reading.check()
    if output is not None:
        check_output(output, (".safetensors",), inputs=(reading.images,))
    if plot is not None:
        check_output(plot, (".png",), "--plot", (reading.images,))
        if find_spec("matplotlib") is None:
            raise click.UsageError("--plot needs matplotlib, which is not installed: pip install 'poolwise[report]'")
    if report is not None and output is None:
        raise click.UsageError("--report is the page of the model that -o saves; give that too")
    check_report(report, inputs=tuple(path for path in (reading.images, output) if path is not None))


def _numbers(images: "Images", reading: Reading, target: str | None) -> bool | None:
    """Whether labels are numbers to predict, which they are with --target; None for what they look like."""
    import numpy as np

    from poolwise.images import ImageError

    if images.labels is None:
        raise ImageError(
            reading.images,
            "it has no labels, and settings cannot be compared without; put the images into one folder per class, or give a "
            ".csv with a column of labels, or of numbers with --target",
        )
    if target is None:
        if images.labels.dtype.kind != "f" and len(np.unique(images.labels)) < 2:
            one = images.labels[0].item()
            raise ImageError(reading.images, f"all its images have one label, {one!r}; expected at least two")
        return None
    found = []
    for row, text in enumerate(images.labels.tolist()):
        try:
            found.append(float(text))
        except ValueError as error:
            raise ImageError(
                reading.images, f"row {row + 1} has {text!r} in the column {target!r}, which is not a number"
            ) from error
    images.labels = np.array(found)
    if not np.isfinite(images.labels).all():
        row = int(np.flatnonzero(~np.isfinite(images.labels))[0]) + 1
        raise ImageError(reading.images, f"row {row} has no finite number in the column {target!r}; remove it, or fill it in")
    return True


def _fit_line(reading: Reading, search: "Search", seed: int, target: str | None) -> str | None:
    """The `poolwise fit` that gives the best setting; None where it cannot read the numbers that codes were chosen by."""
    if search.numbers and search.chosen.setting.n_candidates is not None:
        return None
    words = ["poolwise", "fit", str(reading.images), "-o", "best.safetensors"]
    if reading.member is not None:
        words += ["--member", reading.member]
    columns = reading.columns and (reading.columns[0], None if target is not None else reading.columns[1])
    if columns is not None:
        words += ["--columns", spell_columns(columns)]
    words += reading.words
    words += ["--on-error", "skip"] * (reading.on_error == "skip")
    words += ["--max-pixels", f"{reading.max_pixels}"] * (reading.max_pixels != Reading.max_pixels)
    words += [] if reading.nodata is None else ["--nodata", option_value(reading.nodata)]
    words += ["--classifier", "none"] * search.numbers
    return f"{shlex.join(words)} {search.chosen.setting.options} --seed {seed}"


def _classifier(n_jobs: int | None, quiet: bool, *, cv: bool) -> "LinearClassifier":
    from poolwise import LinearSVM, LinearSVMCV

    verbose = int(not quiet)
    return LinearSVMCV(n_jobs=n_jobs, verbose=verbose) if cv else LinearSVM(n_jobs=n_jobs, verbose=verbose)


def _fit(
    search: "Search",
    images: "Images",
    reading: Reading,
    given: dict[str, Any],
    called: str,
    result: dict[str, Any],
    stages: Stages,
) -> dict[str, Any]:
    """The best setting fitted to all images as `poolwise fit` would, and its report."""
    from poolwise.estimators.images import GridWarning

    output, report, quiet, n_jobs = (given[name] for name in ("output", "report", "quiet", "n_jobs"))
    features = search.best.set_params(verbose=int(not quiet))
    svm = None
    if search.numbers:
        say("what is predicted are numbers, not classes: the model is saved without a classifier")
    else:
        svm = _classifier(n_jobs, quiet, cv=has_folds(images.labels))
    provenance = {
        "command": called,
        "source": reading.source,
        "images": len(images),
        "skipped": len(images.skipped),
        "seed": given["seed"],
        **reading.told,
        "mirrored": False,
        "tuned": f"the best of {len({trial.setting for trial in search.trials})} settings in {len(search.trials)} trials",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GridWarning)  # held-out images have chosen this grid
        clustered = given["cluster"] is not None
        fitted = fit(features, svm, images, output, stages, provenance=provenance, clustered=clustered)
    if report is not None:
        write_report_of(
            features, svm, images, report, output.name, provenance, n_jobs, quiet=quiet, search={**result, "plot": None}
        )
        fitted["report"] = str(report)
    return fitted


def _show(search: "Search", result: dict[str, Any]) -> None:
    """The table, what mattered, what was left out, and how to fit the best."""
    from poolwise.tuning.words import left_out_lines, table_lines, what_mattered

    for line in table_lines(search, _ROWS_SHOWN):
        echo(line)
    echo()
    lines = {"mattered": what_mattered(search, True), "did not": what_mattered(search, False)}
    for number, text in enumerate(left_out_lines(search, _LEFT_OUT_SHOWN)):
        lines["left out" if number == 0 else " " * number] = text
    lines["tried"] = (
        f"{len({trial.setting for trial in search.trials}):,} settings in {len(search.trials):,} trials; the score of the best "
        f"is a little high, since it was chosen by it"
    )
    lines["fit"] = result["fit"] or "give -o: its codes were chosen by the numbers, which `poolwise fit` cannot read"
    if result["plot"] is not None:
        lines["plot"] = result["plot"]
    for name, text in lines.items():
        if text:
            echo(f"{name:<10}{text}")
