"""`poolwise report`: one self-contained page that shows what a model has learned."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from poolwise.cli import options
from poolwise.cli.model import describe_model, load_model, open_both
from poolwise.cli.output import check_report, echo, print_json
from poolwise.cli.reading import Reading
from poolwise.support.progress import Stages
from poolwise.support.text import file_size

if TYPE_CHECKING:
    from poolwise.estimators import PooledFeatures
    from poolwise.estimators.linear_svm import LinearClassifier
    from poolwise.report.study import Findings

_MOST_BYTES_OF_PLAN = 1 << 24


@click.command("report", cls=options.SpellingCommand, spellings={"labels": "--no-labels"}, context_settings=options.SETTINGS)
@options.model_file
@options.images_if_any
@options.output("Where the page goes: NAME.html.")
@click.option("--title", default=None, help="Its heading.  [default: the model's file name]")
@click.option(
    "--plan",
    default=None,
    metavar="FILE.json",
    type=click.Path(dir_okay=False, path_type=Path),
    help="What `poolwise plan --json` printed: draws accuracy over the number of codes.",
)
@click.option("--labels/--no-labels", default=True, help="Whether to use the labels of IMAGES, if they have any.")
@options.jobs
@options.as_json
@options.quiet
@click.pass_context
def command(ctx: click.Context, /, **given_options: Any) -> None:
    """Write a page that shows what MODEL has learned, with examples from IMAGES.

    One HTML file without a network: the codes, what each represents, which regions of IMAGES excite it, what is taken for
    what, spectra, cost. Without IMAGES it shows what the model alone contains. IMAGES as in `poolwise fit`; of a data set the
    test part, unless another is named.

    \b
    Examples:
      poolwise report photos.safetensors photos/test -o report.html
      poolwise report photos.safetensors -o report.html
      poolwise report cifar.safetensors cifar10 -o cifar.html
      poolwise plan photos/train --json > plan.json
      poolwise report photos.safetensors photos/test --plan plan.json -o report.html
    """
    model, output, n_jobs, quiet = (given_options[name] for name in ("model", "output", "n_jobs", "quiet"))
    plan, given_images = given_options["plan"], given_options["images"]
    check_report(output, "--output", tuple(path for path in (model, given_images, plan) if path is not None))
    description = describe_model(model)
    known = description.provenance
    budget = None if plan is None else _read_plan(plan)
    stages = Stages(not quiet)
    images = None
    if given_images is None:
        check_alone(ctx)
        features, classifier = load_model(model, n_jobs, stages)
        is_learned_from = False
    else:
        reading = Reading.take(given_options)
        reading.check()
        is_learned_from = known.get("source") == reading.source
        labels = given_options["labels"]
        images, features, classifier = open_both(model, reading, stages, labels=labels, output=None, n_jobs=n_jobs)
    found = _write(
        features,
        classifier,
        output,
        images,
        title=given_options["title"] or model.name,
        budget=budget,
        provenance={"saved": description.saved, **known},
        learned_from=is_learned_from,
        verbose=not quiet,
    )
    result = summarize(output, found)
    if given_options["as_json"]:
        print_json(result)
    else:
        _show(result)


def _write(
    features: "PooledFeatures", classifier: "LinearClassifier | None", output: Path, images: Any, **more: Any
) -> "Findings":
    from sklearn.pipeline import make_pipeline

    from poolwise.report import write_report

    return write_report(features if classifier is None else make_pipeline(features, classifier), output, images, **more)


def check_alone(ctx: click.Context) -> None:
    """Options that read images are a mistake where there are none."""
    from click.core import ParameterSource

    known = {parameter.name for parameter in ctx.command.params}
    for name in (
        "member",
        "columns",
        "resize",
        "crop",
        "grey",
        "channels",
        "page",
        "stack",
        "on_error",
        "skipped",
        "max_pixels",
        "labels",
    ):
        if name in known and ctx.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(
                f"--{name.replace('_', '-')} is for IMAGES, but there are none; give a folder, array or list"
            )


def _read_plan(path: Path) -> Any:
    """What a file of `poolwise plan --json` holds."""
    from poolwise.report.budget import read_budget
    from poolwise.support.files import open_regular

    try:
        with open_regular(path) as file:
            plan = json.loads(file.read(_MOST_BYTES_OF_PLAN))
        read_budget(plan)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a plan: {error}") from error
    return plan


def summarize(output: Path, found: "Findings") -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "report": str(output),
        "bytes": output.stat().st_size,
        "codes": len(found.features.codes_),
        "images": found.n_images,
        "accuracy": None if found.accuracy is None else found.accuracy.share,
        "milliseconds": found.milliseconds,
        "multiply_adds": found.multiply_adds,
        "unexplained": None if found.spectra is None else found.spectra.unexplained,
        "missing": found.missing,
    }


def _show(result: dict[str, Any]) -> None:
    echo(f"{result['report']}: {file_size(result['bytes'])}; open it in a browser")
    for reason in result["missing"].values():
        echo(f"  {reason}")
