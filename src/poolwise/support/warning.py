"""Warnings that point at the user's line, however deep in the package they arise."""

import sys
import warnings

_OURS = ("poolwise", "sklearn")  # scikit-learn wraps `transform`


def warn_user(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the nearest caller outside of this package; a message that is a warning has its own category."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in _OURS:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
