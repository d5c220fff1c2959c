"""`poolwise evaluate`: how good a model is on labelled images, and how fast."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from poolwise.cli import options
from poolwise.cli.clusters import cluster, on_cluster
from poolwise.cli.model import open_classifier
from poolwise.cli.output import echo, print_json
from poolwise.cli.reading import Reading
from poolwise.support.progress import Stages

if TYPE_CHECKING:
    from poolwise.estimators import PooledFeatures
    from poolwise.estimators.linear_svm import LinearClassifier
    from poolwise.images import Images
    from poolwise.support.types import Array

_MOST_CLASSES_IN_MATRIX = 20  # of more, only the largest confusions are shown
_CONFUSIONS_SHOWN = 20


@click.command(
    "evaluate", cls=options.SpellingCommand, spellings={"labels": "`poolwise predict`"}, context_settings=options.SETTINGS
)
@options.model_file
@options.images
@options.jobs
@cluster
@options.as_json
@options.quiet
def command(model: Path, n_jobs: int | None, cluster: str | None, as_json: bool, quiet: bool, **given_options: Any) -> None:
    """Compare MODEL's labels with those of IMAGES.

    Shows accuracy, accuracy per class, which classes are confused, and images per second, reading and decoding included.
    IMAGES as in `poolwise fit`; of a data set the test part, unless another is named.

    \b
    Examples:
      poolwise evaluate photos.safetensors photos/test
      poolwise evaluate photos.safetensors data.npz --member x_test --json --quiet
      poolwise evaluate cifar.safetensors cifar10:test
    """
    reading = Reading.take(given_options)
    reading.check()
    stages = Stages(not quiet)
    images, features, classifier = open_classifier(model, reading, stages, labels=True, output=None, n_jobs=n_jobs)
    with on_cluster(cluster, stages, features):
        result = evaluate(features, classifier, images, stages, reading.images)
    if as_json:
        print_json(result)
    else:
        _show(result)


def evaluate(
    features: "PooledFeatures",
    classifier: "LinearClassifier",
    images: "Images",
    stages: Stages,
    where: Path | str = "images",
) -> dict[str, Any]:
    """What `--json` prints."""
    from poolwise.analysis.accuracy import measure_accuracy

    classes = classifier.classes_
    truth = numbers_of(images, classes, where)
    start = time.perf_counter()
    with stages.stage("predict", len(images)) as update:
        confusion = measure_accuracy(features, classifier, images, truth, update).confusion
    seconds = time.perf_counter() - start
    counts, hits = confusion.sum(axis=1).tolist(), confusion.diagonal().tolist()
    return {
        "accuracy": sum(hits) / len(images),
        "images": len(images),
        "skipped": len(images.skipped),
        "images_per_second": len(images) / seconds,
        "classes": classes.tolist(),
        "per_class": {
            str(name): {"accuracy": hit / n if n else None, "images": n}
            for name, hit, n in zip(classes.tolist(), hits, counts, strict=True)
        },
        "confusion": confusion.tolist(),
    }


def numbers_of(images: "Images", classes: "Array", where: Path | str) -> "Array":
    """(n,) which of the model's classes each image's label is; 3, 3.0 and "3" are the same label."""
    from poolwise.analysis.accuracy import class_numbers
    from poolwise.images import ImageError

    if images.labels is None:
        raise ImageError(
            where,
            "it has no labels to compare with; put the images into one folder per class, give a .csv with labels, or use "
            "`poolwise predict`",
        )
    try:
        return class_numbers(images.labels, classes)[0]
    except ValueError as error:
        raise ImageError(where, str(error)) from error


def _show(result: dict[str, Any]) -> None:
    confusion, names = result["confusion"], list(result["per_class"])
    right = sum(row[i] for i, row in enumerate(confusion))
    skipped = f", {result['skipped']:,} left out" if result["skipped"] else ""
    echo(f"accuracy  {100 * result['accuracy']:.1f} %, {right:,} of {result['images']:,} images{skipped}")
    echo(f"speed     {result['images_per_second']:,.0f} images/s, reading included\n")
    width = max(5, *(len(name) for name in names))
    echo(f"    {'class':<{width}}  images  accuracy")
    for number, (name, one) in enumerate(result["per_class"].items()):
        share = "-" if one["accuracy"] is None else f"{100 * one['accuracy']:.1f} %"
        echo(f"{number:>3} {name:<{width}}  {one['images']:>6,}  {share:>8}")
    if len(names) > _MOST_CLASSES_IN_MATRIX:
        _show_largest(confusion, names)
    else:
        _show_matrix(confusion)


def _show_matrix(confusion: list[list[int]]) -> None:
    echo("\nconfusion: a row per true class, a column per predicted one")
    cell = max(3, *(len(str(n)) for row in confusion for n in row)) + 1
    echo("    " + "".join(f"{number:>{cell}}" for number in range(len(confusion))))
    for number, row in enumerate(confusion):
        echo(f"{number:>3} " + "".join(f"{n or '.':>{cell}}" for n in row))


def _show_largest(confusion: list[list[int]], names: list[str]) -> None:
    wrong = [(n, i, j) for i, row in enumerate(confusion) for j, n in enumerate(row) if n and i != j]
    wrong.sort(key=lambda entry: (-entry[0], entry[1], entry[2]))
    echo(f"\nlargest of {len(wrong):,} kinds of confusion (--json has the whole matrix)")
    for n, i, j in wrong[:_CONFUSIONS_SHOWN]:
        echo(f"{n:>6,}  {names[i]} taken for {names[j]}, {100 * n / sum(confusion[i]):.0f} % of its images")
