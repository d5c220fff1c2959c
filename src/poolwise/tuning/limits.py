"""Settings that are left out before anything is computed for them: too slow, too many features, too much memory."""

from collections.abc import Callable

from poolwise.support.memory import available_bytes, physical_bytes
from poolwise.tuning.cost import SHARE_OF_MEMORY, fit_bytes
from poolwise.tuning.result import LeftOut
from poolwise.tuning.settings import Setting

_SURE = 3.0  # an estimate that is that many times off the limit decides; others are measured
_USUAL_BYTES = 8 << 30  # of a machine that does not say what it has


class Limits:
    """milliseconds, max_features : None for no limit

    left_out : what was refused, with the reason
    """

    def __init__(self, milliseconds: float | None = None, max_features: int | None = None) -> None:
        self.milliseconds, self.max_features = milliseconds, max_features
        self.left_out: list[LeftOut] = []
        self._seen: dict[Setting, bool] = {}
        self._bytes = SHARE_OF_MEMORY * (physical_bytes() or available_bytes() or _USUAL_BYTES)

    def allow(
        self, setting: Setting, n_images: int, estimate: Callable[[Setting], float], measure: Callable[[Setting], float]
    ) -> bool:
        """Whether a setting may be tried; estimate, measure : its milliseconds per image"""
        if setting not in self._seen:
            reason = self._reason(setting, n_images, estimate, measure)
            self._seen[setting] = reason is None
            if reason is not None:
                self.refuse(setting, reason)
        return self._seen[setting]

    def refuse(self, setting: Setting, reason: str) -> None:
        self._seen[setting] = False
        self.left_out.append(LeftOut(setting, reason))

    def too_large(self, setting: Setting, n_images: int) -> bool:
        """Whether a fit of all images would take too much memory."""
        return fit_bytes(setting, n_images) > self._bytes

    def _reason(
        self, setting: Setting, n_images: int, estimate: Callable[[Setting], float], measure: Callable[[Setting], float]
    ) -> str | None:
        features, limit = setting.n_features, self.milliseconds
        if self.max_features is not None and features > self.max_features:
            return f"{features:,} features, more than {self.max_features:,}"
        if self.too_large(setting, n_images):
            needed = fit_bytes(setting, n_images) / 1e9
            return f"a fit of all {n_images:,} images needs {needed:.1f} GB, more than {self._bytes / 1e9:.1f} GB"
        if limit is not None:
            about = estimate(setting)
            if about > _SURE * limit:
                return f"about {about:.2g} ms per image, more than {limit:g}"
            if about > limit / _SURE:
                taken = measure(setting)
                if taken > limit:
                    return f"{taken:.2g} ms per image, more than {limit:g}"
        return None
