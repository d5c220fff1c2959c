"""A parameter that has the name of a method: `PooledFeatures(transform="nystrom").transform(images)`."""

from collections.abc import Callable
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)


class _Both:
    """Gives the method when read; keeps the parameter, which `get_params` gives, in the instance's dictionary when written."""

    def __init__(self, name: str, method: Any) -> None:
        self.name, self.method = name, method

    def __get__(self, instance: Any, owner: type) -> Any:
        return self.method.__get__(instance, owner)

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self.name] = value


def method_and_parameter(name: str) -> Callable[[Class], Class]:
    """Let a class have both; after scikit-learn has wrapped the method, so it must be the outermost decorator of the class."""

    def decorate(cls: Class) -> Class:
        setattr(cls, name, _Both(name, cls.__dict__[name]))
        return cls

    return decorate
