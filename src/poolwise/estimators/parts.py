"""Parts as parameters: `encoder="threshold"` or `encoder=Threshold(alpha=0.1)`, and `encoder__alpha` for grid searches."""

from typing import Any, Self

from poolwise.method.recipe import FAMILIES
from poolwise.support.parameters import ParameterError, Part


class HasParts:
    """A mixin, to be put before BaseEstimator. Parts cannot change, so setting a parameter of one puts another in its place."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with `deep` also those of the parts, such as `encoder__alpha`."""
        params: dict[str, Any] = super().get_params(deep=False)  # type: ignore[misc]
        if deep:
            for name in FAMILIES:
                part = self._part(name)
                params |= {f"{name}__{inner}": value for inner, value in (part.get_params() if part else {}).items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, and parameters of parts: `set_params(encoder="threshold", encoder__alpha=0.1)`."""
        nested = {name: value for name, value in params.items() if name.partition("__")[0] in FAMILIES and "__" in name}
        super().set_params(**{name: value for name, value in params.items() if name not in nested})  # type: ignore[misc]
        for name, value in nested.items():
            place, _, inner = name.partition("__")
            part = self._part(place)
            if part is None or inner not in part.described():
                has = ", ".join(f"{place}__{known}" for known in (part.described() if part else ())) or "none"
                raise ValueError(
                    f"Invalid parameter {name!r} for {place}={getattr(self, place)!r}, whose parameters are: {has}."
                )
            setattr(self, place, part.but(**{inner: value}))
        return self

    def _part(self, name: str) -> Part | None:
        """The part in one place; None for nothing, and for what is not a part, which `fit` will refuse."""
        try:
            part: Part | None = FAMILIES[name].check(name, getattr(self, name))
        except ParameterError:
            value = getattr(self, name)
            part = value if isinstance(value, Part) else None
        return part
