"""Which engine is to be used: that of `with poolwise.cluster(...)`, else threads of this machine.

A context variable and not a parameter of estimators: a client inside an estimator would break clone, pickle and grid searches.
Threads that a program starts inside the `with` do not see it.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

from poolwise.engine.threads import Threads

if TYPE_CHECKING:
    from distributed import Client

    from poolwise.engine.cluster import Cluster

current_client: ContextVar[Client | None] = ContextVar("poolwise_client", default=None)


def here(n_jobs: int | None) -> Threads | Cluster:
    """The engine to work with, a context manager; n_jobs : threads of this machine, as in `thread_count`.

    >>> with here(1) as engine:
    ...     list(engine.map(abs, [-1, 2]))
    [1, 2]
    """
    client = current_client.get()
    if client is None:
        return Threads(n_jobs)
    from poolwise.engine.cluster import Cluster

    return Cluster(client, n_jobs)
