"""`poolwise evaluate`: how good a model is on labelled images, and how fast."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from poolwise.cli import options
from poolwise.cli.model import each_margin, open_both
from poolwise.cli.output import print_json
from poolwise.cli.source import Reading
from poolwise.progress import Stages

if TYPE_CHECKING:
    from poolwise.arrays import Array
    from poolwise.images import Images

_MATRIX = 20  # classes; of more, only the largest confusions are told
_LARGEST = 20


@click.command("evaluate", context_settings=options.SETTINGS)
@options.model_file
@options.images
@options.jobs
@options.as_json
@options.quiet
def command(model: Path, n_jobs: int | None, as_json: bool, quiet: bool, **given_options: Any) -> None:
    """Compare MODEL's labels with those of IMAGES.

    Tells accuracy, accuracy per class, what is taken for what, and images per second, reading and decoding included. IMAGES as
    in `poolwise fit`; of a data set the test part, unless another is named.

    \b
    Examples:
      poolwise evaluate photos.safetensors photos/test
      poolwise evaluate photos.safetensors data.npz --member x_test --json --quiet
      poolwise evaluate cifar.safetensors cifar10:test
    """
    reading = Reading.take(given_options)
    reading.check()
    stages = Stages(not quiet)
    images, features, classifier = open_both(model, reading, stages, labels=True, output=None, n_jobs=n_jobs, classifier=True)
    result = evaluate(features, classifier, images, stages, reading.images)
    if as_json:
        print_json(result)
    else:
        _show(result)


def evaluate(features: Any, classifier: Any, images: "Images", stages: Stages, where: Path | str = "images") -> dict[str, Any]:
    """What `--json` prints."""
    import numpy as np

    classes = classifier.classes_
    truth = class_numbers(images, classes, where)
    confusion = np.zeros((len(classes), len(classes)), np.int64)

    def take(rows: slice, margins: "Array") -> None:
        np.add.at(confusion, (truth[rows], margins.argmax(axis=1)), 1)

    start = time.perf_counter()
    each_margin(features, classifier, images, stages, take)
    seconds = time.perf_counter() - start
    counts, right = confusion.sum(axis=1).tolist(), confusion.diagonal().tolist()
    return {
        "accuracy": sum(right) / len(images),
        "images": len(images),
        "skipped": len(images.skipped),
        "images_per_second": len(images) / seconds,
        "classes": classes.tolist(),
        "per_class": {
            str(name): {"accuracy": hits / n if n else None, "images": n}
            for name, hits, n in zip(classes.tolist(), right, counts, strict=True)
        },
        "confusion": confusion.tolist(),
    }


def class_numbers(images: "Images", classes: "Array", where: Path | str) -> "Array":
    """(n,) which of the model's classes each image's label is; 3, 3.0 and "3" are the same label."""
    import numpy as np

    from poolwise.images import ImageError
    from poolwise.report.accuracy import spelled

    if images.labels is None:
        raise ImageError(
            where,
            "it has no labels to compare with; put the images into one folder per class, give a .csv with labels, or use "
            "`poolwise predict`",
        )
    numbers = {spelled(name): number for number, name in enumerate(classes.tolist())}
    labels, place = np.unique(images.labels, return_inverse=True)
    unknown = [spelled(label) for label in labels.tolist() if spelled(label) not in numbers]
    if unknown:
        raise ImageError(
            where,
            f"the model does not know the label{'s' * (len(unknown) > 1)} {_few(unknown)}; it was fitted on "
            f"{_few(list(numbers))}. Remove or rename those images, or fit with them",
        )
    return np.array([numbers[spelled(label)] for label in labels.tolist()], np.int64)[place]


def _few(names: list[str]) -> str:
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return ", ".join(map(ascii if any(not name.isprintable() for name in names) else repr, names[:10])) + more


def _show(result: dict[str, Any]) -> None:
    confusion, names = result["confusion"], list(result["per_class"])
    right = sum(row[i] for i, row in enumerate(confusion))
    skipped = f", {result['skipped']:,} left out" if result["skipped"] else ""
    click.echo(f"accuracy  {100 * result['accuracy']:.1f} %, {right:,} of {result['images']:,} images{skipped}")
    click.echo(f"speed     {result['images_per_second']:,.0f} images/s, reading included\n")
    width = max(5, *(len(name) for name in names))
    click.echo(f"    {'class':<{width}}  images  accuracy")
    for number, (name, told) in enumerate(result["per_class"].items()):
        share = "-" if told["accuracy"] is None else f"{100 * told['accuracy']:.1f} %"
        click.echo(f"{number:>3} {name:<{width}}  {told['images']:>6,}  {share:>8}")
    if len(names) > _MATRIX:
        _show_largest(confusion, names)
    else:
        _show_matrix(confusion)


def _show_matrix(confusion: list[list[int]]) -> None:
    click.echo("\nconfusion: a row per true class, a column per predicted one")
    cell = max(3, *(len(str(n)) for row in confusion for n in row)) + 1
    click.echo("    " + "".join(f"{number:>{cell}}" for number in range(len(confusion))))
    for number, row in enumerate(confusion):
        click.echo(f"{number:>3} " + "".join(f"{n or '.':>{cell}}" for n in row))


def _show_largest(confusion: list[list[int]], names: list[str]) -> None:
    wrong = [(n, i, j) for i, row in enumerate(confusion) for j, n in enumerate(row) if n and i != j]
    wrong.sort(key=lambda entry: (-entry[0], entry[1], entry[2]))
    click.echo(f"\nlargest of {len(wrong):,} kinds of confusion (--json has the whole matrix)")
    for n, i, j in wrong[:_LARGEST]:
        click.echo(f"{n:>6,}  {names[i]} taken for {names[j]}, {100 * n / sum(confusion[i]):.0f} % of its images")
