"""Memory that a computation will need, compared with what the machine has before anything is computed."""

import os


def available_bytes() -> int | None:
    """What the machine could still give; None where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def physical_bytes() -> int | None:
    """All memory of the machine, which does not change from run to run; None where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def in_bytes(count: float) -> str:
    """
    >>> in_bytes(3_200_000_000), in_bytes(48_000), in_bytes(12)
    ('3.2 GB', '48.0 kB', '12 bytes')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count:.0f} bytes"


def check_memory(needed: int, what: str, remedy: str) -> None:
    """A MemoryError with numbers and a remedy where `needed` bytes are more than are available.

    >>> check_memory(10**18, "the Gram matrix", "Give fewer candidates.")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    MemoryError: the Gram matrix needs 1,000,000,000.0 GB, and this machine has ... GB left. Give fewer candidates.
    """
    here = available_bytes()
    if here is not None and needed > here:
        raise MemoryError(f"{what} needs {in_bytes(needed)}, and this machine has {in_bytes(here)} left. {remedy}")
