"""MODEL of a command, and its work on images, block by block."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poolwise.cli.source import Reading, check_fits
from poolwise.progress import Stages

if TYPE_CHECKING:
    from poolwise.arrays import Array
    from poolwise.images import Images

_ROWS = 1024  # of features that are classified together,
_BYTES = 32 << 20  # or fewer


def describe_model(path: Path, *, classifier: bool = False) -> dict[str, Any]:
    """What a model file tells of itself, without its arrays; an error if it has no classifier where one is needed."""
    from poolwise.modelfile import ModelFileError, describe

    try:
        description = describe(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ModelFileError(f"{path} cannot be read: {reason}; expected a model that `poolwise fit` wrote") from error
    if classifier and description["kind"] != "pipeline":
        raise ModelFileError(
            f"{path} holds features without a classifier, so there are no labels to tell; fit with labelled images (class "
            f"folders) and --classifier svm, or use `poolwise transform`"
        )
    return description


def load_model(path: Path, n_jobs: int | None, stages: Stages) -> tuple[Any, Any]:
    """Features, and the classifier or None; with this number of threads."""
    from poolwise import load

    with stages.stage("load model"):
        model = load(path)
    features, classifier = (model, None) if not hasattr(model, "steps") else (step for _, step in model.steps)
    for part in (features, classifier):
        if part is not None:
            part.set_params(n_jobs=n_jobs, verbose=0)
    return features, classifier


def open_both(
    model: Path,
    reading: Reading,
    stages: Stages,
    *,
    labels: bool,
    output: Path | None,
    n_jobs: int | None,
    classifier: bool = False,
) -> tuple["Images", Any, Any]:
    """Images, features and classifier: images as the model was fitted, unless options say otherwise, and of its shape."""
    description = describe_model(model, classifier=classifier)
    reading = reading.as_fitted(description)
    images = reading.open(stages, labels=labels, output=output, n_jobs=n_jobs)
    check_fits(reading, images, description)
    return images, *load_model(model, n_jobs, stages)


def draw_clusters(features: Any) -> Any:
    """Each code kept above those that it stands for, the most alike after pooling first; a picture."""
    from poolwise import report

    return report.draw_clusters(features, whitened=True)


def each_block(features: Any, images: "Images", stages: Stages, take: Callable[[slice, "Array"], None]) -> None:
    """Call take(rows, features of these images) in order: what `features.transform` computes, never all of it at once."""
    from poolwise.engine import Threads
    from poolwise.estimators.images import check_images

    source, _ = check_images(features, images, reset=False)
    with Threads(features.n_jobs) as engine, stages.stage("transform", len(images)) as update:
        features._extractor.extract_into(source, engine, take, lambda done: update(done, ""), features._finish)


def each_margin(
    features: Any, classifier: Any, images: "Images", stages: Stages, take: Callable[[slice, "Array"], None]
) -> None:
    """Call take(rows, margins) in order, margins (rows, classes): for two classes minus and plus the one that there is."""
    import numpy as np

    waiting: list[Array] = []
    start = 0

    def classify() -> None:
        nonlocal start
        X = np.concatenate(waiting)
        waiting.clear()
        F = classifier.decision_function(X)
        take(slice(start, start + len(X)), np.stack([-F, F], axis=1) if F.ndim == 1 else F)
        start += len(X)

    def collect(rows: slice, X: "Array") -> None:
        waiting.append(X)
        if rows.stop - start >= _ROWS or (rows.stop - start) * X[0].nbytes >= _BYTES:
            classify()

    each_block(features, images, stages, collect)
    if waiting:
        classify()
