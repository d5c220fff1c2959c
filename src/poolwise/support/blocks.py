"""Consecutive pieces of a range: how work is cut into shards and blocks."""


def spans(n: int, size: int) -> list[slice]:
    """Cut range(n) into consecutive slices of `size`, the last one shorter.

    >>> spans(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(start, min(n, start + size)) for start in range(0, n, size)]
