"""Progress of long work, on stderr: a bar on a terminal, plain lines elsewhere; and how long each stage took."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol, TextIO, cast

from poolwise.support.text import plain

_QUIET_SECONDS = 2.0  # a stage that takes no longer has no line


class Update(Protocol):
    """Called as work goes on, with how much is done and a short note about it."""

    def __call__(self, done: int, note: str = "") -> None: ...


def silent(done: int, note: str = "") -> None:
    """The `Update` of work that nobody watches."""


def tell(line: str) -> None:
    """A line on stderr. Where nobody reads it any more, as in `fit ... 2>&1 | head -1`, or it is full, the work goes on."""
    if sys.stderr is None:
        return
    try:
        print(plain(line), file=sys.stderr, flush=True)
    except (OSError, ValueError):  # a broken pipe, a full disk, a closed file
        silence(sys.stderr)
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (for the rest of the process)


def silence(stream: TextIO) -> None:
    """What waits in a stream that cannot be written to goes nowhere; Python would try again at the end, and exit with 120."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class Forgiving:
    """stderr for the bar, which is drawn from a thread too: if the terminal has gone away, the work goes on."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self._stream = sys.stderr

    def write(self, text: str) -> int:
        try:
            self._stream.write(text)
        except (OSError, ValueError):
            silence(self._stream)
        return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except (OSError, ValueError):
            silence(self._stream)

    def isatty(self) -> bool:
        return True


class Stages:
    """Times the stages of a piece of work, and shows them where `verbose` is set.

    Attributes
    ----------
    seconds : dict of stage name to seconds

    Examples
    --------
    >>> stages = Stages(verbose=False)
    >>> with stages.stage("k-means", total=100) as update:
    ...     update(1, "objective 3.2")
    >>> list(stages.seconds)
    ['k-means']
    """

    def __init__(self, verbose: bool = False, prefix: str = "") -> None:
        self.verbose = verbose and sys.stderr is not None
        self.prefix = prefix
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[Update]:
        """Run one stage; the body calls update(done, note) as often as it likes."""
        start = time.perf_counter()
        title = f"{self.prefix}{name}"
        if not self.verbose:
            yield silent
        elif getattr(sys.stderr, "isatty", bool)():
            with _bar(title, total) as update:
                yield update
        elif total is None:
            with _announced(title):
                yield _lines(title, None)
        else:
            yield _lines(title, total)
        seconds = time.perf_counter() - start
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        if self.verbose and seconds >= _QUIET_SECONDS:
            tell(f"{title}: {seconds:.1f} s")


@contextmanager
def _bar(title: str, total: int | None) -> Iterator[Update]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = ("{task.description}", BarColumn(), "{task.percentage:>3.0f}%", TimeElapsedColumn())
    console = Console(file=cast(TextIO, Forgiving()))
    note = TextColumn("{task.fields[note]}", markup=False)
    with Progress(*columns, TimeRemainingColumn(), note, console=console, transient=True) as bar:
        task = bar.add_task(title, total=total, note="")

        def update(done: int, note: str = "") -> None:
            bar.update(task, completed=done, note=plain(note))

        yield update


@contextmanager
def _announced(title: str) -> Iterator[None]:
    """Says once that work of unknown length goes on, when it has gone on for a while."""
    timer = threading.Timer(_QUIET_SECONDS, tell, (f"{title} ...",))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # its line does not come after what follows


def _lines(title: str, total: int | None) -> Update:
    last = time.perf_counter()

    def update(done: int, note: str = "") -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last >= _QUIET_SECONDS:
            last = now
            of = f" of {total:,}" if total is not None else ""
            tell(f"{title}: {done:,}{of}{', ' + note if note else ''}")

    return update
