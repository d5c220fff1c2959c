"""`poolwise fit --mirror-training`: a classifier that learns from images and from their mirror images.

rows 0 .. n of what it learns from are the features of the images, rows n .. 2n those of their mirror images
"""

from typing import TYPE_CHECKING

import click

from poolwise.support.parameters import AUTO
from poolwise.support.progress import Stages

if TYPE_CHECKING:
    from poolwise.estimators import PooledFeatures
    from poolwise.estimators.linear_svm import LinearClassifier
    from poolwise.images import Images
    from poolwise.support.types import Array


def check_mirror(mirror: bool, features: "PooledFeatures", classifier: str | None) -> None:
    """Usage errors of --mirror-training, before any work."""
    if not mirror:
        return
    if classifier == "none":
        raise click.UsageError("--mirror-training is for the classifier; got --classifier none")
    if features.symmetry == AUTO:
        features.set_params(symmetry=None)  # what it would do is asked for in another way
    if features.symmetry is not None:
        raise click.UsageError(
            f"with --symmetry {features.symmetry} an image and its mirror image have the same features, so --mirror-training "
            f"gains nothing; leave out one of the two"
        )


def fit_mirrored(features: "PooledFeatures", svm: "LinearClassifier", images: "Images", *, stages: Stages) -> None:
    """Learn features from the images, and a classifier from their features and those of their mirror images.

    Memory: both, once; the images stay where they are. Folds keep an image and its mirror image together.
    """
    import numpy as np

    from poolwise.estimators import LinearSVMCV
    from poolwise.estimators.linear_svm_cv import FOLDS
    from poolwise.images.mirrored import Mirrored

    X, labels = features.fit_transform(images, images.labels), np.asarray(images.labels)
    n = len(X)
    both = np.empty((2 * n, X.shape[1]), X.dtype)
    both[:n] = X
    del X
    with stages.stage("mirror images", n) as update:
        for rows, block in features.transform_blocks(Mirrored(images)):
            both[n + rows.start : n + rows.stop] = block
            update(rows.stop)
    if isinstance(svm, LinearSVMCV):
        folds = svm.cv
        svm.set_params(cv=mirrored_folds(labels, FOLDS if folds == AUTO else folds)).fit(both, np.concatenate([labels, labels]))
        svm.set_params(cv=folds)  # what the file remembers, in place of row numbers
    else:
        svm.fit(both, np.concatenate([labels, labels]))


def mirrored_folds(labels: "Array", folds: int) -> "list[tuple[Array, Array]]":
    """Stratified (train, test) rows for n images that are followed by their mirror images, which have the rows n .. 2n.

    Mirror images are learned from, with their images, and not tested on: nobody will ask for their labels.

    >>> import numpy as np
    >>> train, test = mirrored_folds(np.array(list("aabb")), 2)[0]
    >>> test.tolist()
    [0, 2]
    >>> train.tolist()
    [1, 3, 5, 7]
    """
    import numpy as np
    from sklearn.model_selection import StratifiedKFold

    n = len(labels)
    parts = StratifiedKFold(folds).split(np.zeros(n), labels)
    return [(np.concatenate([train, train + n]), test) for train, test in parts]
