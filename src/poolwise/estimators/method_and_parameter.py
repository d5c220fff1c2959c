"""A parameter that has the name of a method: `PooledFeatures(transform="nystrom").transform(images)`."""

from typing import Any


class _Both:
    """Gives the method when read; keeps the parameter, which `get_params` gives, in the instance's dictionary when written."""

    def __init__(self, name: str, method: Any) -> None:
        self.name, self.method = name, method

    def __get__(self, instance: Any, owner: type) -> Any:
        return self.method.__get__(instance, owner)

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self.name] = value


class TransformIsAParameterToo:
    """A mixin, to stand before scikit-learn's: they wrap `transform` when a class is made, and this goes around all of it."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "transform" in cls.__dict__:
            cls.transform = _Both("transform", cls.__dict__["transform"])  # type: ignore[attr-defined]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        return {**super().get_params(deep), "transform": self.__dict__["transform"]}  # type: ignore[misc]
