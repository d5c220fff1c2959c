"""MODEL of a command: described, loaded, and opened together with IMAGES."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from poolwise.cli.names import PARTS
from poolwise.cli.reading import Reading, check_fits
from poolwise.support.progress import Stages

if TYPE_CHECKING:
    from poolwise.estimators import PooledFeatures
    from poolwise.estimators.linear_svm import LinearClassifier
    from poolwise.images import Images
    from poolwise.modelfile import Description


def describe_model(path: Path, *, classifier: bool = False) -> "Description":
    """What a model file's header says, without its arrays; an error if it has no classifier where one is needed."""
    from poolwise.modelfile import ModelFileError, describe

    try:
        description = describe(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ModelFileError(f"{path} cannot be read: {reason}; expected a model that `poolwise fit` wrote") from error
    if classifier and description.classifier is None:
        raise ModelFileError(
            f"{path} holds features without a classifier, so it predicts no labels; fit with labelled images (class "
            f"folders), or use `poolwise transform`"
        )
    return description


def shared_provenance(description: "Description") -> dict[str, Any]:
    """What a file that leaves this machine says of how its model was made; of its images, the name of a data set alone."""
    from poolwise.export.origin import shareable

    source = description.provenance.get("source")
    name, _, part = source.partition(":") if isinstance(source, str) else ("", "", "")
    named = {"data set": source} if part in PARTS.get(name, ()) else {}
    return {"saved": description.saved, **named, **shareable(description.provenance)}


def load_model(path: Path, n_jobs: int | None, stages: Stages) -> "tuple[PooledFeatures, LinearClassifier | None]":
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
) -> "tuple[Images, PooledFeatures, LinearClassifier | None]":
    """Images, features and classifier: images as the model was fitted, unless options say otherwise, and of its shape."""
    description = describe_model(model, classifier=classifier)
    reading = reading.as_fitted(description)
    images = reading.open(stages, labels=labels, output=output, n_jobs=n_jobs)
    check_fits(reading, images, description)
    return images, *load_model(model, n_jobs, stages)


def open_classifier(
    model: Path, reading: Reading, stages: Stages, *, labels: bool, output: Path | None, n_jobs: int | None
) -> "tuple[Images, PooledFeatures, LinearClassifier]":
    """The same of a model that has a classifier; an error if it has none."""
    images, features, classifier = open_both(
        model, reading, stages, labels=labels, output=output, n_jobs=n_jobs, classifier=True
    )
    if classifier is None:
        raise AssertionError("describe_model has checked it")
    return images, features, classifier
