"""`poolwise reproduce`: the paper's tables and figures on the real data, resumable."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from poolwise.cli import options
from poolwise.cli.clusters import cluster, on_cluster
from poolwise.cli.output import check_report, echo, say
from poolwise.reproduction.catalogue import SUMMARIES
from poolwise.support.progress import Stages

if TYPE_CHECKING:
    from poolwise.reproduction.experiment import Experiment
    from poolwise.reproduction.results import Results

NAMES = {
    **SUMMARIES,
    "all": "all of these",
    "page": "no measuring: write STORE.md and its pictures from what is in the store",
}


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
    help="The folder of results.json and pictures; what it has already is not measured again.",
)
@click.option(
    "--quick", is_flag=True, help="Fewer images, patches and codes: minutes; results cannot be compared with the paper."
)
@options.report
@options.jobs
@cluster
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
    cluster: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Repeat the paper's experiments on the real data, and print its figures next to ours.

    Every accuracy is written to STORE/results.json as soon as it is known. If it is interrupted, the same command continues
    where it stopped.

    \b
    Examples:
      poolwise reproduce table1-cifar --codes 200 --runs 1
      poolwise reproduce all --quick
      poolwise reproduce all --cluster tcp://host:8786 --store /shared/reproduction
      poolwise reproduce page --store docs/reproduction
    """
    check_report(report)
    from poolwise.reproduction.catalogue import experiment, experiments
    from poolwise.reproduction.experiment import with_pictures
    from poolwise.reproduction.page import save_pictures, write_page
    from poolwise.reproduction.protocols import Settings, protocol_here
    from poolwise.reproduction.results import Results
    from poolwise.reproduction.running import cells_of, run
    from poolwise.reproduction.store import Store

    results_here = Store(store)
    if name == "page":
        if not results_here.path.exists():
            raise click.UsageError(f"{results_here.path} does not exist; run an experiment first, or give its --store")
        results = Results(results_here, quick=quick)
        say(f"wrote {write_page(results_here, results)}")
        if report is not None:
            _write_report(report, experiments(), results, store)
        return
    chosen = experiments() if name == "all" else [experiment(name)]
    runs = 1 if quick and runs is None else runs
    tell, stages = _silent if quiet else say, Stages(not quiet)
    try:
        with on_cluster(cluster, stages), _seen_by_workers(cluster, store) as folder:
            settings = Settings(data, n_jobs, verbose=not quiet, folder=folder)
            run(chosen, results_here, settings, tell, seed=seed, runs=runs, quick=quick, codes=codes)
    except KeyboardInterrupt:
        say(f"results until now are in {results_here.path}; run the same command to continue")
        raise
    results = Results(results_here, quick=quick, stl=protocol_here("stl10", data))
    for one in chosen:
        save_pictures(one.pictures(results), store)
    if report is not None:
        _write_report(report, chosen, results, store)
    if as_json:
        cells = cells_of(chosen, first_seed=seed, runs=runs, quick=quick, codes=codes, home=data)
        echo(json.dumps({"cells": {cell.key: results_here.get(cell) for cell in cells}}))
        return
    if quick:
        echo("Quick: few images and patches, and dictionaries a quarter as large as the tables name.\n")
    for one in chosen:
        text = with_pictures(one.section(results), lambda alt, name: f"{alt}: {store / name}")
        echo(f"{one.title}\n\n{text}")


@contextmanager
def _seen_by_workers(cluster: str | None, store: Path) -> Iterator[Path | None]:
    """A folder in the store for the images of a run; None without a cluster."""
    if cluster is None:
        yield None
        return
    store.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="images-", dir=store) as folder:
        yield Path(folder)


def _silent(text: str) -> None:
    """Nothing is said with --quiet."""


def _write_report(path: Path, chosen: "list[Experiment]", results: "Results", store: Path) -> None:
    """Sections and pictures of the experiments as one page."""
    from poolwise.report.story import Chapter, write_story
    from poolwise.reproduction.experiment import picture_names

    chapters = []
    for one in chosen:
        text = one.section(results)
        pictures = {name: (store / name).read_bytes() for name in picture_names(text) if (store / name).is_file()}
        chapters.append(Chapter(one.title, f"`poolwise reproduce {one.name}`\n\n{text}", pictures))
    write_story(path, "The paper, reproduced", chapters)
    say(f"wrote {path}")
