"""`poolwise predict`: images to labels."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import click

from poolwise.cli import options
from poolwise.cli.clusters import cluster, on_cluster
from poolwise.cli.model import open_classifier
from poolwise.cli.output import check_output, echo, text_file
from poolwise.cli.reading import Reading
from poolwise.support.progress import Stages

_FORMATS = ("csv", "jsonl")


@click.command("predict", context_settings=options.SETTINGS)
@options.model_file
@options.images_or_files
@options.output("Where the labels go: NAME.csv or NAME.jsonl.  [default: stdout]", required=False)
@click.option("--format", "form", default=None, type=click.Choice(_FORMATS), help="[default: by the output's name, or csv]")
@options.jobs
@cluster
@options.quiet
def command(
    model: Path,
    output: Path | None,
    form: str | None,
    n_jobs: int | None,
    cluster: str | None,
    quiet: bool,
    **given_options: Any,
) -> None:
    """Predict the label of each of IMAGES, with its margin for every class; the largest wins.

    CSV has the columns path, label and margin_CLASS; JSON lines have path, label and margins. Paths are those within IMAGES, or
    row numbers of an array or data set. Memory does not grow with the number of images. IMAGES as in `poolwise fit`, or
    one or more image files; of a data set the test part, unless another is named.

    \b
    Examples:
      poolwise predict photos.safetensors photos/new
      poolwise predict photos.safetensors photos/new -o labels.csv
      poolwise predict photos.safetensors one.jpg two.png
      poolwise predict cifar.safetensors cifar10 -o labels.csv
      poolwise predict photos.safetensors photos/new --format jsonl --quiet | head -3
    """
    reading = Reading.take(given_options)
    if output is not None:
        check_output(output, () if form else tuple(f".{name}" for name in _FORMATS), inputs=(model, *reading.inputs))
        ending = output.suffix.lower().removeprefix(".")
        if form and ending in _FORMATS and ending != form:
            raise click.BadParameter(f"{form} contradicts the name {output}", param_hint="--format")
        form = form or ending
    reading.check()
    stages = Stages(not quiet)
    images, features, classifier = open_classifier(model, reading, stages, labels=False, output=output, n_jobs=n_jobs)
    from poolwise.analysis.accuracy import margin_blocks

    with on_cluster(cluster, stages, features), text_file(output) as file, stages.stage("predict", len(images)) as update:
        write = _writer(file, form or "csv", classifier.classes_.tolist())
        for rows, margins in margin_blocks(features, classifier, images):
            for name, best, row in zip(images.names[rows], margins.argmax(axis=1), margins.tolist(), strict=True):
                write(name, int(best), row)
            update(rows.stop)
    if output is not None:
        echo(f"{output}: labels of {len(images):,} images")


def _writer(file: TextIO, form: str, classes: list[Any]) -> Callable[[Any, int, list[float]], None]:
    """A function that writes path, label and margins of one image."""
    if form == "csv":
        writer = csv.writer(file)
        writer.writerow(["path", "label", *(f"margin_{name}" for name in classes)])

        def write(name: Any, best: int, margins: list[float]) -> None:
            writer.writerow([name, classes[best], *map("{:.6g}".format, margins)])
    else:

        def write(name: Any, best: int, margins: list[float]) -> None:
            by_label = {str(label): float(f"{margin:.6g}") for label, margin in zip(classes, margins, strict=True)}
            file.write(json.dumps({"path": name, "label": classes[best], "margins": by_label}) + "\n")

    return write
