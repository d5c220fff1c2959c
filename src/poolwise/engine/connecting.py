"""`poolwise.cluster`: work on a Dask cluster for the length of a `with`."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from joblib import cpu_count

from poolwise.engine.current import current_client
from poolwise.support.addresses import n_local_workers
from poolwise.support.warning import warn_user

if TYPE_CHECKING:
    from distributed import Client

NEEDS_DASK = "a cluster needs Dask, which is not installed: pip install 'poolwise[dask]'"
_SECONDS_TO_CONNECT = 10
_LOST_AFTER = "1 week"
_WORKERS_NAMED = 3
_LOGS = ("distributed.client", "distributed.nanny", "distributed.scheduler", "distributed.core")


@contextmanager
def cluster(where: Client | str | None = None) -> Iterator[Client]:
    """Let estimators work on a cluster: `with poolwise.cluster("tcp://host:8786"): model.fit(images, labels)`.

    What grows with the images runs on the workers: reading files, patches, K-means, encoding, pooling, their statistics. What
    needs one memory runs here: selection, projection, the SVM. The same seed gives the same bits as without a cluster, whatever
    the number of workers, if all have one kind of CPU (docs/scale.md). Workers need poolwise, and must see files under the same
    names.

    Parameters
    ----------
    where : distributed.Client, str or None
        A client of yours, which stays open; an address such as "tcp://host:8786"; "local:4" for four processes of this machine
        that end with the `with`; None: one for each core.

    Yields
    ------
    distributed.Client

    Examples
    --------
    >>> import numpy as np
    >>> import poolwise
    >>> from distributed import Client
    >>> images = np.random.default_rng(0).integers(0, 256, size=(20, 16, 16, 3), dtype=np.uint8)
    >>> model = poolwise.PooledFeatures(4, None, n_patches=500, random_state=0)
    >>> here = model.fit_transform(images)
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0") as client, poolwise.cluster(client):
    ...     bool((model.fit_transform(images) == here).all())
    True
    """
    try:
        import distributed
    except ImportError as error:
        raise ImportError(NEEDS_DASK) from error
    with ExitStack() as opened:
        client = where if isinstance(where, distributed.Client) else _open(where, opened)
        _compare(client)
        token = current_client.set(client)
        try:
            yield client
        finally:
            current_client.reset(token)


@contextmanager
def _without_logs() -> Iterator[None]:
    """Without what Dask logs of a cluster that goes away: errors are raised, in words."""
    logs = [logging.getLogger(name) for name in _LOGS]
    levels = [log.level for log in logs]
    try:
        for log in logs:
            log.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for log, level in zip(logs, levels, strict=True):
            log.setLevel(level)


def _open(where: Any, opened: ExitStack) -> Client:
    import dask
    from distributed import Client, LocalCluster

    from poolwise.engine.errors import ClusterError

    if where is not None and not isinstance(where, str):
        raise TypeError(f"a cluster is a distributed.Client, an address, or None; got {type(where).__name__}")
    opened.enter_context(_without_logs())
    count = n_local_workers("local" if where is None else where)
    if count is not None:
        # its default, 15 s, gives up a worker that is starting again at that moment after a second end
        opened.enter_context(dask.config.set({"distributed.deploy.lost-worker-timeout": _LOST_AFTER}))
        workers = LocalCluster(n_workers=count or cpu_count(), threads_per_worker=1, processes=True, dashboard_address=":0")
        return opened.enter_context(Client(opened.enter_context(workers)))
    try:
        return opened.enter_context(Client(where, timeout=_SECONDS_TO_CONNECT))
    except (OSError, ValueError) as error:
        raise ClusterError(f"there is no scheduler at {where}: {error}. Start one with `dask scheduler`") from error


def _kind_of_machine() -> dict[str, str]:
    """What the last bits of results depend on."""
    import numpy
    import scipy.linalg  # noqa: F401  (its BLAS is shown too)
    from llvmlite.binding import get_host_cpu_name

    import poolwise
    from poolwise.engine.blas import kinds_of_blas

    return {
        "poolwise": poolwise.__version__,
        "NumPy": numpy.__version__,
        "CPU": get_host_cpu_name(),
        "BLAS": ", ".join(kinds_of_blas()),
    }


def _compare(client: Client) -> None:
    """An error where there are no workers with poolwise, a warning where they differ from this machine."""
    from poolwise.engine.errors import ClusterError, in_words
    from poolwise.engine.waiting import seconds_without_workers

    address = "?" if client.scheduler is None else str(client.scheduler.address)
    most = seconds_without_workers()
    try:
        client.wait_for_workers(1, timeout=most)
    except TimeoutError as error:
        raise ClusterError(
            f"the scheduler at {address} has had no workers for {most:g} s; start some with `dask worker {address}`"
        ) from error
    with in_words(address):
        try:
            found = client.run(_kind_of_machine)
        except ImportError as error:
            raise ClusterError(f"a worker of {address} cannot import poolwise ({error}); install it on all workers") from error
    own = _kind_of_machine()
    for name, value in own.items():
        others = {worker: kind[name] for worker, kind in found.items() if kind[name] != value}
        if others:
            some = ", ".join(f"{kind} on {worker}" for worker, kind in list(others.items())[:_WORKERS_NAMED])
            more = f" and {len(others) - _WORKERS_NAMED} more" if len(others) > _WORKERS_NAMED else ""
            warn_user(
                f"{name} is {value} here, but {some}{more}: results may differ in their last bits from those of machines that "
                f"are alike"
            )
