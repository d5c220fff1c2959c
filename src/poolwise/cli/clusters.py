"""--cluster: the same command, with what grows with the images on a Dask cluster."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

import click

from poolwise.cli.output import say
from poolwise.support.addresses import n_local_workers
from poolwise.support.memory import in_bytes
from poolwise.support.progress import Stages

if TYPE_CHECKING:
    from poolwise.estimators import PooledFeatures, StackedFeatures
    from poolwise.images import Images

Command = TypeVar("Command", bound=Callable[..., Any])
_MOST_BYTES_HERE = 1 << 30  # of features: with fewer, the network takes longer than the products of a classifier's round
_FEW_IMAGES = 10_000  # whose features are few: they are computed while the scale is learned


def _check(ctx: click.Context, param: click.Parameter, where: str | None) -> str | None:
    if where is None:
        return None
    try:
        n_local_workers(where)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from error
    if find_spec("distributed") is None:
        raise click.UsageError("--cluster needs Dask, which is not installed: pip install 'poolwise[dask]'", ctx)
    return where


def cluster(command: Command) -> Command:
    """The option."""
    return click.option(
        "--cluster",
        default=None,
        metavar="ADDRESS",
        callback=_check,
        help="Work on a Dask cluster, tcp://HOST:8786, or on N processes, local:N; the same results. Needs poolwise[dask].",
    )(command)


@contextmanager
def on_cluster(where: str | None, stages: Stages, fitted: Any = None) -> Iterator[None]:
    """Connect for the length of the `with`; nothing for None.

    fitted : features to compute, if that is all there is to do: those of layers on layers are computed here
    """
    if where is not None and hasattr(fitted, "layers_"):
        say("warning: features of layers on layers are computed on this machine alone; --cluster is not used")
        where = None
    if where is None:
        yield
        return
    from poolwise import cluster

    connection = cluster(where)
    with stages.stage("cluster"):
        connection.__enter__()
    try:
        yield
    finally:
        connection.__exit__(None, None, None)


def learned_features(features: "PooledFeatures | StackedFeatures", images: "Images") -> Any:
    """`fit_transform`; on a cluster, features of more than a gigabyte stay on the workers."""
    if len(images) < _FEW_IMAGES or not hasattr(features, "hold"):
        return features.fit_transform(images, images.labels)
    features.fit(images, images.labels)
    size = 4 * len(images) * features.n_features_out_
    if size <= _MOST_BYTES_HERE:
        return features.transform(images)
    say(f"the features, {in_bytes(size)}, stay on the workers for the classifier")
    return features.hold(images)
