"""What goes wrong with a cluster, in words."""

from collections.abc import Iterator
from contextlib import contextmanager


class ClusterError(OSError):
    """A cluster that cannot be reached or used, or that cannot do what was asked."""


@contextmanager
def in_words(address: str) -> Iterator[None]:
    """Dask's errors of communication as a ClusterError; those of tasks as they are."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.client import ClosedClientError
    from distributed.comm import CommClosedError

    try:
        yield
    except (CancelledError, ClosedClientError) as error:
        raise ClusterError(
            f"the scheduler at {address} cannot be reached any more, or has cancelled the work; nothing was stored. Start it, "
            f"and run this again ({type(error).__name__})"
        ) from error
    except KilledWorker as error:
        raise ClusterError(
            f"a task has ended {error.allowed_failures + 1} workers, the last at {error.last_worker.address}: mostly they have "
            f"too little memory. Give workers more of it, or set distributed.scheduler.allowed-failures higher where workers "
            f"are often stopped"
        ) from error
    except (CommClosedError, TimeoutError) as error:
        raise ClusterError(f"the scheduler at {address} does not answer ({error}); is it running?") from error
