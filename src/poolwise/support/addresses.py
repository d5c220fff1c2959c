"""Where a cluster is: `tcp://HOST:8786`, or `local:4` for four processes of this machine."""


def n_local_workers(where: str) -> int | None:
    """How many processes of this machine are asked for, 0 for one a core; None for the address of a cluster.

    >>> n_local_workers("local:4"), n_local_workers("tcp://host:8786")
    (4, None)
    """
    kind, _, count = where.partition(":")
    if where == "local":
        return 0
    if kind == "local" and count.isascii() and count.isdigit() and len(count) < 5 and int(count) > 0:
        return int(count)
    if kind != "local" and "://" in where:
        return None
    raise ValueError(f"a cluster is an address such as tcp://HOST:8786, or local:4 for 4 processes here; got {where!r}")
