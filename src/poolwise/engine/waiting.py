"""Waiting for results of a cluster, but not for ever: where nothing can come any more, an error says so.

Dask waits for workers that may yet join, and does not say that it waits. Here somebody looks every few seconds:

    no worker is there        a warning; after `poolwise.no-workers-timeout` of Dask's config, 60 s, an error
    workers, none at work     an error after two minutes: they are paused, or Dask has lost a task
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import dask.config
from dask.utils import parse_timedelta
from distributed import Client, Future

from poolwise.engine.errors import ClusterError
from poolwise.support.warning import warn_user

_SECONDS_BETWEEN_LOOKS = 5.0
_SECONDS_UNTIL_ASKED, _SECONDS_STILL = 30.0, 120.0
_SECONDS_TO_ANSWER = 10.0


def seconds_without_workers() -> float:
    """How long work waits for a worker to join: `poolwise.no-workers-timeout`, as "10 minutes".

    >>> with dask.config.set({"poolwise.no-workers-timeout": "5 minutes"}):
    ...     seconds_without_workers()
    300.0
    """
    return float(parse_timedelta(dask.config.get("poolwise.no-workers-timeout", 60), default="s"))


def gathered(client: Client, futures: Sequence[Future]) -> list[Any]:
    """What the tasks gave, in their order, or the first error; ClusterError where nothing goes on any more."""
    begun: list[asyncio.Task[list[Any]]] = []
    watch = None
    try:
        while True:
            results = client.sync(_for_some_seconds, client, futures, begun, _SECONDS_BETWEEN_LOOKS)
            if results is not None:
                return list(results)
            watch = watch or _Watch(client)
            watch.look(sum(future.done() for future in futures))
    except BaseException:
        with suppress(Exception):  # the scheduler may be gone
            client.cancel(list(futures))  # so that no worker begins them, and nothing here waits for them
        raise


async def _for_some_seconds(
    client: Client, futures: Sequence[Future], begun: list["asyncio.Task[list[Any]]"], seconds: float
) -> list[Any] | None:
    """The results, if they come in that time."""
    if not begun:
        task = asyncio.ensure_future(client.gather(list(futures), asynchronous=True))
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # else asyncio prints it
        begun.append(task)
    done, _ = await asyncio.wait(begun, timeout=seconds)
    return begun[0].result() if done else None


class _Watch:
    """Looks at a cluster from time to time, while results do not come."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._done = 0
        self._alive = self._moved = time.monotonic()
        self._warned = False

    def look(self, done: int) -> None:
        """ClusterError where nothing can come; `done` of the awaited tasks are."""
        now = time.monotonic()
        if not self._client.nthreads():
            self._wait_for_workers(now - self._alive)
            self._moved = now
            return
        self._alive, self._warned = now, False
        if done != self._done:
            self._done, self._moved = done, now
        if now - self._moved > _SECONDS_UNTIL_ASKED and self._is_at_work():
            self._moved = now
        if now - self._moved > _SECONDS_STILL:
            raise ClusterError(
                f"{self._address} has {len(self._client.nthreads())} workers, but none has been at work for "
                f"{_SECONDS_STILL:g} s, though tasks wait: all are paused for want of memory, or Dask has lost a task. Run "
                f"this again, after client.restart() if it stays"
            )

    def _wait_for_workers(self, seconds: float) -> None:
        most = seconds_without_workers()
        if seconds > most:
            raise ClusterError(
                f"{self._address} has had no workers for {most:g} s; start some with `dask worker`, and run this again. Where "
                f"workers take longer to join, set poolwise.no-workers-timeout in Dask's configuration, or "
                f"DASK_POOLWISE__NO_WORKERS_TIMEOUT='10 minutes'"
            )
        if not self._warned:
            self._warned = True
            warn_user(f"{self._address} has no workers; waiting up to {most:g} s for one to join")

    def _is_at_work(self) -> bool:
        """Whether any worker computes anything; also where one does not answer, which the scheduler sees after a while."""
        try:
            return bool(self._client.sync(self._client.scheduler.call_stack, keys=None, callback_timeout=_SECONDS_TO_ANSWER))
        except (OSError, TimeoutError, KeyError):
            return True

    @property
    def _address(self) -> str:
        return f"the scheduler at {self._client.scheduler.address}"
