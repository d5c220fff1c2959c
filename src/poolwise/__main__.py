"""`poolwise` and `python -m poolwise`: Ctrl-C ends it without a traceback from the first import on."""

import os
import signal
import sys
from typing import Any


def _leave(number: int, frame: Any) -> None:
    os._exit(128 + number)  # nothing has been opened yet


def run() -> int:
    """The command and its exit code."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    from poolwise.cli import main

    try:
        signal.signal(signal.SIGINT, before)
        return main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(run())
