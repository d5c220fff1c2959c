"""Text of strangers, such as labels, file names and what a server answers, before it reaches a terminal."""

import unicodedata

_STEERS = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"  # words of Persian and Hindi have them, and steer nothing


def plain(text: str, keep: str = "") -> str:
    """With control characters, escape sequences, marks of direction and bytes that are not text spelled out; `keep` stays.

    >>> plain("cat\\x1b[2J\\r\\u202e"), plain("a\\nb", keep="\\n"), plain("café\\xa0猫")
    ('cat\\\\x1b[2J\\\\r\\\\u202e', 'a\\nb', 'café\\xa0猫')
    """
    if text.isprintable():
        return text
    return "".join(_spelled(one) if one not in keep and _steers(one) else one for one in text)


def _steers(one: str) -> bool:
    return one not in _JOINERS and unicodedata.category(one) in _STEERS


def _spelled(one: str) -> str:
    return one.encode("unicode_escape", "backslashreplace").decode("ascii")


def file_size(n_bytes: int) -> str:
    """
    >>> file_size(41_234), file_size(553_776), file_size(170_000_000), file_size(12)
    ('41 KB', '0.6 MB', '170.0 MB', '1 KB')
    """
    return f"{n_bytes / 1e6:,.1f} MB" if n_bytes >= 50_000 else f"{max(1, round(n_bytes / 1e3))} KB"
