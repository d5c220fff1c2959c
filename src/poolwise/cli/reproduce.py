"""`poolwise reproduce`: the paper's tables and figures on the real data, resumable."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from poolwise.cli import options
from poolwise.cli.output import check_report, say

if TYPE_CHECKING:
    from poolwise.experiments.experiment import Experiment
    from poolwise.experiments.results import Results

NAMES = {
    "table1-cifar": "accuracy on CIFAR-10 with 200 and 1600 codes",
    "ablations": "beside it: ways of selection, with and without transform, three SVMs",
    "table1-stl": "accuracy on STL-10 with 200 and 1600 codes, all labels and folds",
    "table2-birds": "accuracy on CUB-200-2011 with 1600 codes",
    "fig-pairs": "two pairs of codes that pooling makes alike",
    "fig-codes": "256 of 3200 codes, and their clusters",
    "fig-statistics": "responses before and after pooling, and spectra",
    "fig-starting-size": "gain at 200 codes over the starting dictionary's size",
    "fig-curves": "accuracy over K for K-means, 2×, 4× and 8× PDL",
    "fig-pca": "the same with PCA, a bound",
    "law": "accuracy = a + b K^(-1/4)",
    "all": "all of these",
    "page": "no measuring: write STORE.md and its pictures from what is in the store",
}
_PICTURE = re.compile(r"!\[(.*?)\]\(reproduction/(.*?)\)")


class _Command(click.Command):
    """Lists what NAME may be, below the options."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Names"):
            formatter.write_dl(list(NAMES.items()))


@click.command("reproduce", cls=_Command, context_settings=options.SETTINGS)
@click.argument("name", metavar="NAME", type=click.Choice(list(NAMES)))
@click.option("--runs", default=None, type=click.IntRange(1, 1000), help="Seeds per cell.  [default: 5; birds and --quick 1]")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0, 2**31), help="The first seed.")
@click.option(
    "--codes", multiple=True, type=click.IntRange(1), help="Only cells with that many codes kept; may be given several times."
)
@click.option(
    "--data",
    default=None,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder that holds the data sets.  [default: POOLWISE_DATA, or scikit-learn's; downloaded if missing]",
)
@click.option(
    "--store",
    default="reproduction",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder of results.json and pictures; what is there already is not measured again.",
)
@click.option("--quick", is_flag=True, help="Fewer images, patches and codes: minutes, but nothing to compare with the paper.")
@options.report
@options.jobs
@options.as_json
@options.quiet
def command(
    name: str,
    runs: int | None,
    seed: int,
    codes: tuple[int, ...],
    data: Path | None,
    store: Path,
    quick: bool,
    report: Path | None,
    n_jobs: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Repeat the paper's experiments on the real data, and print its figures beside ours.

    Every accuracy is written to STORE/results.json as soon as it is known. Interrupted, the same command goes on where it was.

    \b
    Examples:
      poolwise reproduce table1-cifar --codes 200 --runs 1
      poolwise reproduce all --quick
      poolwise reproduce page --store docs/reproduction
    """
    check_report(report)
    from poolwise.experiments.catalogue import EXPERIMENTS, cells_of, run
    from poolwise.experiments.page import save_pictures, write_page
    from poolwise.experiments.protocols import stl10_here
    from poolwise.experiments.results import Results
    from poolwise.experiments.running import Settings
    from poolwise.experiments.store import Store

    results_here = Store(store)
    stl = stl10_here(data)
    if name == "page":
        if not results_here.path.exists():
            raise click.UsageError(f"{results_here.path} is not there; run an experiment first, or give its --store")
        results = Results(results_here, quick=quick, stl=results_here.stl())
        say(f"wrote {write_page(results_here, results)}")
        if report is not None:
            _write_report(report, list(EXPERIMENTS.values()), results, store)
        return
    chosen = list(EXPERIMENTS.values()) if name == "all" else [EXPERIMENTS[name]]
    tell = (lambda text: None) if quiet else say
    runs = 1 if quick and runs is None else runs
    settings = Settings(data, n_jobs, verbose=not quiet)
    try:
        run(chosen, results_here, settings, tell, stl=stl, seed=seed, runs=runs, is_quick=quick, codes=codes)
    except KeyboardInterrupt:
        say(f"what is done is in {results_here.path}; the same command goes on from there")
        raise
    results = Results(results_here, quick=quick, stl=stl)
    for experiment in chosen:
        save_pictures(experiment.pictures(results), store)
    if report is not None:
        _write_report(report, chosen, results, store)
    if as_json:
        cells = cells_of(chosen, stl, seed, runs, quick, codes)
        click.echo(json.dumps({"cells": {cell.key: results_here.get(cell) for cell in cells}}))
        return
    if quick:
        click.echo("Quick: few images and patches, and dictionaries a quarter as large as the tables name.\n")
    for experiment in chosen:
        text = _PICTURE.sub(lambda link: f"{link[1]}: {store / link[2]}", experiment.section(results))
        click.echo(f"{experiment.title}\n\n{text}")


def _write_report(path: Path, chosen: "list[Experiment]", results: "Results", store: Path) -> None:
    """Sections and pictures of the experiments as one page."""
    from poolwise.report.story import Chapter, write_story

    chapters = []
    for experiment in chosen:
        text = experiment.section(results)
        pictures = {name: (store / name).read_bytes() for _, name in _PICTURE.findall(text) if (store / name).is_file()}
        text = _PICTURE.sub(lambda link: f"![{link[1]}]({link[2]})", text)
        chapters.append(Chapter(experiment.title, f"`poolwise reproduce {experiment.name}`\n\n{text}", pictures))
    write_story(path, "The paper, reproduced", chapters)
    say(f"wrote {path}")
