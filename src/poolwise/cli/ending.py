"""SIGTERM, and SIGHUP of a terminal that is closed, end a command as Ctrl-C does: nothing half written stays."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interrupted_by_signals() -> Iterator[list[int]]:
    """KeyboardInterrupt at the first such signal, which is then in the list; those that nohup made us ignore stay ignored."""
    received: list[int] = []
    before: dict[int, Any] = {}

    def interrupt(number: int, frame: Any) -> None:
        if not received:  # the clean-up that has begun is not interrupted again
            received.append(number)
            raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                before[number] = signal.signal(number, interrupt)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
