"""A parameter is described once: its kind (bounds or choices), its default and one line of help.

Checks, options of the command line, help, keys of the model file and the wording of errors follow from that. A *part* is a
small frozen object that owns its parameters, such as `Threshold(alpha=0.25)`; a *family* is what may take one place in the
method, each part by its word or as an object: `encoder="threshold"` or `encoder=Threshold(alpha=0.1)`.

Nothing here imports NumPy or scikit-learn: the help of commands is made from it.
"""

import dataclasses
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from numbers import Integral, Real
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

MOST_WHOLE = 2**31 - 1
MOST_NUMBERS = 16
LARGEST_REAL = 1e18  # its square is still a float32
AUTO = "auto"  # decided from the images, their labels, or other parameters


class _Mention(Enum):
    NAME = "a parameter that is mentioned without a value"


NAME = _Mention.NAME  # the value of such a parameter in a ParameterError

Spell = Callable[[str, Any], str]


@dataclass(frozen=True)
class Example:
    """A value in a ParameterError that is written differently in Python and on the command line."""

    python: str
    option: str

    def __repr__(self) -> str:
        return self.python


def as_keyword(name: str, value: Any) -> str:
    """A parameter in Python; `name` may be "Patches.offset".

    >>> as_keyword("n_codes", 5), as_keyword("Patches.offset", 0.5), as_keyword("Patches.offset", NAME)
    ('n_codes=5', 'Patches(offset=0.5)', 'offset')
    """
    owner, _, name = name.rpartition(".")
    if value is NAME:
        return name
    return f"{owner}({name}={value!r})" if owner else f"{name}={value!r}"


class Spelled:
    """A message whose parameters stay names, so that a command can spell them."""

    tail = ""  # what follows the text as it is, whatever is in it

    def __init__(self, text: str, **values: Any) -> None:
        self.text, self.values = text, values
        super().__init__(self.spelled(as_keyword))  # type: ignore[call-arg]  # an exception

    def spelled(self, spell: Spell) -> str:
        """The message with each parameter as spell(name, value) has it."""

        def one(found: re.Match[str]) -> str:
            return spell(found[1], self.values[found[1]]) if found[1] in self.values else found[0]

        return re.sub(r"\{([^{}]+)\}", one, self.text) + self.tail


class ParameterError(Spelled, ValueError):
    """A value that has no meaning, or contradicts another.

    >>> error = ParameterError("{n_codes} codes cannot be selected from {n_candidates}", n_codes=5, n_candidates=3)
    >>> print(error)
    n_codes=5 codes cannot be selected from n_candidates=3
    >>> error.spelled(lambda name, value: f"--{name} {value}")
    '--n_codes 5 codes cannot be selected from --n_candidates 3'
    """


class ParameterWarning(Spelled, UserWarning):
    """A value that has a meaning, and looks like a mistake."""


class Kind(Protocol):
    """What a parameter may be."""

    def check(self, name: str, value: Any) -> Any:
        """The value, in its plain type; a ParameterError where it has no meaning."""
        ...


def _refuse(name: str, expected: str, value: Any) -> ParameterError:
    error = ParameterError(f"{{{name}}} must be {expected}; got ", **{name: NAME})
    error.tail = repr(value)
    error.args = (error.spelled(as_keyword),)
    return error


@dataclass(frozen=True)
class Whole:
    """A whole number of at least `least`; or None, where `none` is set; or the word `word`, where that is given."""

    least: int = 1
    none: bool = False
    word: str = ""
    most: int = MOST_WHOLE

    def check(self, name: str, value: Any) -> Any:
        if (value is None and self.none) or (self.word and isinstance(value, str) and value == self.word):
            return value
        if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < self.least:
            also = f", or {self.word!r}" * bool(self.word)
            raise _refuse(name, f"a whole number of at least {self.least}{also}", value)
        if int(value) > self.most:
            raise _refuse(name, f"at most {self.most}", value)
        return int(value)


@dataclass(frozen=True)
class Number:
    """A finite number of at least `least`; or None, where `none` is set."""

    least: float = 0.0
    none: bool = False

    def check(self, name: str, value: Any) -> Any:
        if value is None and self.none:
            return None
        try:
            number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
        except OverflowError:
            number = math.inf
        if not self.least <= number <= LARGEST_REAL:
            also = f" and at most {LARGEST_REAL:g}" * (LARGEST_REAL < number < math.inf)
            raise _refuse(name, f"a finite number of at least {self.least:g}{also}", value)
        return number


@dataclass(frozen=True)
class Numbers:
    """A number as above, or a tuple of different ones, which comes back ascending; or the word `word`, where that is given."""

    least: float = 0.0
    word: str = ""

    def check(self, name: str, value: Any) -> Any:
        if self.word and isinstance(value, str) and value == self.word:
            return value
        if not isinstance(value, tuple | list):
            return Number(self.least).check(name, value)
        numbers = sorted(Number(self.least).check(name, one) for one in value)
        if not 1 <= len(numbers) <= MOST_NUMBERS or len(set(numbers)) < len(numbers):
            raise _refuse(name, f"a number, or 1 to {MOST_NUMBERS} different ones", value)
        return tuple(numbers)


@dataclass(frozen=True)
class Wholes:
    """A whole number of at least `least`, or a tuple of different ones, which comes back ascending."""

    least: int = 1

    def check(self, name: str, value: Any) -> Any:
        if not isinstance(value, tuple | list):
            return Whole(self.least).check(name, value)
        numbers = sorted(Whole(self.least).check(name, one) for one in value)
        if not 1 <= len(numbers) <= MOST_NUMBERS or len(set(numbers)) < len(numbers):
            raise _refuse(name, f"a whole number, or 1 to {MOST_NUMBERS} different ones", value)
        return tuple(numbers)


@dataclass(frozen=True)
class Choice:
    """One of some words; None may be among them."""

    words: tuple[str | None, ...]

    def check(self, name: str, value: Any) -> Any:
        if not (value is None or isinstance(value, str)) or value not in self.words:
            raise _refuse(name, f"one of {', '.join(map(repr, self.words))}", value)
        return value


@dataclass(frozen=True)
class Flag:
    """True or False; or the word `word`, where that is given. `off` is the option for False, next to the parameter's own."""

    off: str = ""
    word: str = ""

    def check(self, name: str, value: Any) -> Any:
        if self.word and isinstance(value, str) and value == self.word:
            return value
        is_numpys = str(getattr(value, "dtype", "")) == "bool" and getattr(value, "shape", None) == ()
        if not isinstance(value, bool) and not is_numpys:
            raise _refuse(name, "True or False", value)
        return bool(value)


@dataclass(frozen=True)
class Size:
    """A height and a width, or one number for both."""

    def check(self, name: str, value: Any) -> tuple[int, int]:
        pair = tuple(value) if isinstance(value, tuple | list) else (value, value)
        if len(pair) != 2:
            raise _refuse(name, "a whole number or (height, width)", value)
        for length in pair:
            Whole(1).check(name, length)
        return int(pair[0]), int(pair[1])


@dataclass(frozen=True)
class Grids:
    """A grid of cells, 2 or (2, 3), or a list of them, a pyramid; or the word `word`, where that is given."""

    word: str = ""

    def check(self, name: str, value: Any) -> Any:
        if self.word and isinstance(value, str) and value == self.word:
            return value
        also = f", or {self.word!r}" * bool(self.word)
        levels = value if isinstance(value, list) else [value]
        grids = tuple(level if isinstance(level, tuple) else (level, level) for level in levels)
        for pair in grids:
            if len(pair) != 2 or not all(isinstance(n, Integral) and not isinstance(n, bool) and int(n) >= 1 for n in pair):
                raise _refuse(name, f"a whole number, (rows, columns), or a list of these{also}", value)
        if not grids or len(set(grids)) < len(grids):
            raise _refuse(name, "at least one grid and, in a pyramid, each a different one", value)
        return tuple((int(rows), int(columns)) for rows, columns in grids)


@dataclass(frozen=True)
class Anything:
    """Whatever is given: its part looks at it itself."""

    def check(self, name: str, value: Any) -> Any:
        return value


@dataclass(frozen=True)
class Parameter:
    """One parameter as it was described.

    name : as in Python, "n_codes"    key : the same with its part's name, "Patches.offset"    option : "--contrast-offset"
    """

    name: str
    key: str
    kind: Kind
    default: Any
    help: str
    option: str


def parameter(default: Any, kind: Kind, help: str, option: str | None = None) -> Any:
    """A field of a part or recipe. `option` is its spelling on the command line, by default that of its name."""
    return dataclasses.field(default=default, metadata={"kind": kind, "help": help, "option": option})


class Described:
    """A frozen dataclass whose fields are all made by `parameter`."""

    @classmethod
    def parameters(cls, owner: str = "") -> dict[str, Parameter]:
        """Its parameters by name."""
        described = {}
        for field in dataclasses.fields(cls):  # type: ignore[arg-type]
            key = f"{owner}.{field.name}" if owner else field.name
            option = field.metadata["option"] or f"--{field.name.replace('_', '-')}"
            kind, help = field.metadata["kind"], field.metadata["help"]
            described[field.name] = Parameter(field.name, key, kind, field.default, help, option)
        return described

    def but(self, **changes: Any) -> Self:
        """A copy with some values changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]


class Part(Described):
    """A piece of the method that owns its parameters; scikit-learn's `clone`, `get_params` and grid searches know it.

    words : what it is called; if there are several, the field `word_field` holds the one it is
    """

    words: ClassVar[tuple[str, ...]]
    word_field: ClassVar[str | None] = None

    @classmethod
    def described(cls) -> dict[str, Parameter]:
        """Its parameters by name."""
        return cls.parameters(cls.__name__)

    @classmethod
    def of_word(cls, word: str) -> Self:
        """The part that a word names, with its defaults."""
        return cls() if cls.word_field is None else cls(**{cls.word_field: word})

    @property
    def word(self) -> str:
        """What this one is called."""
        return self.words[0] if self.word_field is None else str(getattr(self, self.word_field))

    def checked(self) -> Self:
        """Itself; a ParameterError where a value has no meaning."""
        for name, one in self.described().items():
            one.kind.check(one.key, getattr(self, name))
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Its parameters and their values."""
        return {name: getattr(self, name) for name in self.described()}

    def plain_params(self) -> dict[str, Any]:
        """The same as a file can hold them."""
        return self.get_params()

    def __sklearn_clone__(self) -> Self:
        return self  # it cannot change

    def __repr__(self) -> str:
        changed = [f"{name}={getattr(self, name)!r}" for name, one in self.described().items() if self._is_changed(one)]
        return f"{type(self).__name__}({', '.join(changed)})"

    def _is_changed(self, one: Parameter) -> bool:
        value = getattr(self, one.name)
        return type(value) is not type(one.default) or value != one.default


P = TypeVar("P", bound=Part)


class Family(Generic[P]):
    """What may take one place in the method: parts by their words.

    Parameters
    ----------
    name : str
        Of the place, as a parameter: "encoder".
    parts : classes, the default one first
    none : bool
        Whether None is a choice too: nothing takes that place.
    of_function : class
        The part that a function given in its place becomes; it has no word, and no option on the command line.
    """

    def __init__(self, name: str, *parts: type[P], none: bool = False, of_function: type[P] | None = None) -> None:
        self.name, self.parts, self.none, self.of_function = name, parts, none, of_function
        self.by_word: dict[str, type[P]] = {word: part for part in parts for word in part.words}
        every = parts if of_function is None else (*parts, of_function)
        self.by_class: dict[str, type[P]] = {part.__name__: part for part in every}

    def check(self, name: str, value: Any) -> P | None:
        """As a `Kind`: a word or an object to a part that was checked."""
        if isinstance(value, self.parts) or (self.of_function is not None and isinstance(value, self.of_function)):
            return value.checked()
        if isinstance(value, str) and value in self.by_word:
            return self.by_word[value].of_word(value)
        if value is None and self.none:
            return None
        if self.of_function is not None and callable(value) and not isinstance(value, type | Part):
            return self.of_function(value)  # type: ignore[call-arg]
        words = [*map(repr, self.by_word), *["None"] * self.none]
        objects = ", ".join(f"{part.__name__}(...)" for part in self.parts)
        raise _refuse(name, f"one of {', '.join(words)}, or an object: {objects}", value)

    def switched(self, part: Any, word: str) -> P:
        """What a word names; where that is another form of the same part, with the other values of `part`."""
        cls = self.by_word[word]
        if not isinstance(part, cls) or (cls.word_field is None and part.word != word):
            return cls.of_word(word)
        return part if cls.word_field is None else part.but(**{cls.word_field: word})

    def described(self) -> Iterator[Parameter]:
        """The parameters of all its parts but the one that is its word; one that several share comes once."""
        seen = set()
        for part in self.parts:
            for name, one in part.described().items():
                if name != part.word_field and one.option not in seen:
                    seen.add(one.option)
                    yield one


def flat_names(described: Mapping[str, Parameter]) -> dict[str, str]:
    """The option of every parameter by its key, those of parts included: how a command spells a `ParameterError`."""
    names = {}
    for one in described.values():
        names[one.key] = one.option
        if isinstance(one.kind, Family):
            for part in one.kind.parts:
                names |= {inner.key: inner.option for inner in part.described().values()}
    return names
