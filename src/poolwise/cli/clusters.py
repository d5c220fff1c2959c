"""--cluster: the same command, with what grows with the images on a Dask cluster."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, TypeVar

import click

from poolwise.cli.output import say
from poolwise.support.addresses import n_local_workers
from poolwise.support.progress import Stages

Command = TypeVar("Command", bound=Callable[..., Any])


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
