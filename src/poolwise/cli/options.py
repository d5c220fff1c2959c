"""What users write on the command line, and the options that several commands share. Nothing heavy is imported here."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from poolwise.method.presets import PRESETS
from poolwise.support.addresses import Address, place_of

Command = TypeVar("Command", bound=Callable[..., Any])

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
    Choice = click.Choice[str]
else:  # generic since click 8.2 alone
    ParamType, Choice = click.ParamType, click.Choice

SETTINGS = {"help_option_names": ["-h", "--help"]}


class SpellingCommand(click.Command):
    """A command with words of its own for parameters that errors of the library name.

    spellings : by name, such as {"labels": "--no-labels"}
    """

    def __init__(self, *arguments: Any, spellings: dict[str, str] | None = None, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.spellings = spellings or {}


class Place(click.Path):
    """A path of this machine, which `file://` is too, or an address of another."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            place = place_of(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return place if isinstance(place, Address) else super().convert(place, param, ctx)


class Pair(ParamType):
    """`6` or `6x8`, height first: 6 or (6, 8)."""

    name = "N|HxW"

    def __init__(self, single: bool = True) -> None:
        self.single = single

    def get_metavar(self, *context: Any, **more: Any) -> str:
        return self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        found = re.fullmatch(r"([0-9]{1,9})(?:[x×]([0-9]{1,9}))?", value.strip())
        if not found or (found[2] is None and not self.single) or 0 in (int(found[1]), int(found[2] or 1)):
            wanted = (
                "a whole number such as 6, or height x width such as 6x8" if self.single else "height x width such as 32x48"
            )
            self.fail(f"{value!r} is not a size; expected {wanted}", param, ctx)
        return int(found[1]) if found[2] is None else (int(found[1]), int(found[2]))


class Grids(ParamType):
    """`2`, `2x3`, or a pyramid `1,2,4`: a list of numbers and (rows, columns); or one more word for itself."""

    name = "GRID"

    def __init__(self, word: str = "") -> None:
        self.word = word

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if self.word and value == self.word:
            return value
        return [Pair().convert(part, param, ctx) for part in value.split(",")] if isinstance(value, str) else value


class Counts(ParamType):
    """`25,50,100`: whole numbers above 0, each once, ascending."""

    name = "N,N,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        parts = [part.strip() for part in value.split(",")]
        if not all(re.fullmatch("[0-9]{1,9}", part) and int(part) for part in parts):
            self.fail(f"{value!r} is not a list of whole numbers above 0; expected one such as 25,50,100", param, ctx)
        return tuple(sorted(set(map(int, parts))))


class Reals(ParamType):
    """`0.25`, or several as `0.25,1`: a number or a tuple of them; or one more word for itself."""

    name = "F,F,..."

    def __init__(self, word: str = "") -> None:
        self.word = word

    def get_metavar(self, *context: Any, **more: Any) -> str:
        return self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str) or (self.word and value == self.word):
            return value
        numbers = tuple(_real(part, param, ctx) for part in value.split(","))
        return numbers[0] if len(numbers) == 1 else numbers


class Integers(ParamType):
    """`4`, or several as `4,6`: a whole number or a tuple of them."""

    name = "N,N,..."

    def get_metavar(self, *context: Any, **more: Any) -> str:
        return self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        numbers = tuple(_whole(part, param, ctx) for part in value.split(","))
        return numbers[0] if len(numbers) == 1 else numbers


def _whole(text: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
    number: int = click.INT.convert(text, param, ctx)
    return number


def _real(text: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
    number: float = click.FLOAT.convert(text, param, ctx)
    return number


class OrNone(ParamType):
    """What another type takes, or the word `none` for None, or one more word for itself."""

    def __init__(self, inner: ParamType, word: str = "") -> None:
        self.inner, self.word = inner, word
        self.name = "|".join(filter(None, ["F" if inner is click.FLOAT else "N", word, "none"]))

    def get_metavar(self, *context: Any, **more: Any) -> str:
        return self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "none":
            return None
        if self.word and value == self.word:
            return value
        try:
            return self.inner.convert(value, param, ctx)
        except click.BadParameter as error:
            words = " or ".join(repr(word) for word in (self.word, "none") if word)
            self.fail(f"{error.message.rstrip('.')}, nor {words}", param, ctx)


class OrAuto(ParamType):
    """A number, or the word `auto` for itself."""

    name = "F|auto"

    def get_metavar(self, *context: Any, **more: Any) -> str:
        return self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return value if value == "auto" else click.FLOAT.convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(f"{error.message.rstrip('.')}, nor 'auto'", param, ctx)


class ChoiceOrNone(Choice):
    """One of some words, or `none` for None."""

    def __init__(self, *choices: str) -> None:
        super().__init__([*choices, "none"])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        word = super().convert(value, param, ctx)
        return None if word == "none" else word


class Columns(ParamType):
    """`path,label`, or `path` alone for no labels: (path, label or None); `dna+er+rna,label`: ((dna, er, rna), label)."""

    name = "PATH[+PATH...][,LABEL]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        path, _, label = value.partition(",")
        if not path:
            self.fail(f"{value!r} names no column of paths; expected a value such as file,species", param, ctx)
        paths = tuple(path.split("+"))
        if "" in paths or len({*paths, label}) <= len(paths):
            self.fail(f"{value!r} leaves a column out, or names one twice; expected such as dna+er+rna,label", param, ctx)
        return paths if len(paths) > 1 else path, label or None


class Bands(ParamType):
    """`3,2,1`: numbers of bands, the first is 0."""

    name = "N,N,..."

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        if not re.fullmatch(r"[0-9]{1,5}(,[0-9]{1,5})*", value):
            self.fail(f"{value!r} is not a list of bands; expected numbers such as 3,2,1, the first is 0", param, ctx)
        return tuple(map(int, value.split(",")))


def _as_square(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """One number is height and width."""
    return (value, value) if isinstance(value, int) else value


def _check_jobs(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
    if value == 0:
        raise click.BadParameter("0 threads cannot work; give a number, or -1 for every core", ctx, param)
    return value


jobs = click.option(
    "--jobs",
    "n_jobs",
    default=None,
    type=click.IntRange(-1024, 1024),
    metavar="N",
    callback=_check_jobs,
    help="Threads; results do not depend on it.  [default: as many as BLAS may use]",
)
preset = click.option(
    "--preset",
    default=None,
    type=click.Choice(list(PRESETS)),
    help="Published settings in place of the defaults shown here; other options change them.",
)


def gamma(default: str) -> Callable[[Command], Command]:
    """The option --gamma; `default` says what happens without it."""
    return click.option(
        "--gamma",
        default=None,
        type=OrAuto(),
        help=f"The SVM's regularisation; auto: from features and labels.  [default: {default}]",
    )


as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
quiet = click.option("--quiet", is_flag=True, help="No progress on stderr.")
model_file = click.argument("model", type=click.Path(path_type=Path))


def output(help: str, *, required: bool = True) -> Callable[[Command], Command]:
    """-o, a file."""
    return click.option("-o", "--output", required=required, type=click.Path(dir_okay=False, path_type=Path), help=help)


def images(command: Command, default: str = "  [default: as in fit]", *, required: bool = True, nargs: int = 1) -> Command:
    """IMAGES, and how they are read; `reading.Reading` takes them all."""
    of_model = f"Files only.{default}"
    for add in reversed(
        [
            click.argument("images", type=Place(path_type=Path), required=required, nargs=nargs),
            click.option("--member", default=None, help="Which array of a .npz file or group of zarr, such as x_test."),
            click.option(
                "--columns",
                default=None,
                type=Columns(),
                help="Columns of a .csv file; dna+er+rna,label where an image is in several files.  [default: path,label]",
            ),
            click.option("--resize", default=None, type=Pair(), callback=_as_square, help=f"Resize images. {of_model}"),
            click.option(
                "--crop/--no-crop", default=None, help=f"Cut the centre out, so that resizing keeps proportions. {of_model}"
            ),
            click.option("--grey/--colour", default=None, help=f"One channel, or three. {of_model}"),
            click.option("--channels", default=None, type=Bands(), help=f"Bands to take, such as 3,2,1. {of_model}"),
            click.option("--page", default=None, type=click.IntRange(0), metavar="N", help=f"Page of a TIFF stack. {of_model}"),
            click.option(
                "--stack",
                default=None,
                type=click.Choice(["max", "channels"]),
                help=f"All pages of a TIFF stack: their largest numbers, or each as a band. {of_model}",
            ),
            click.option(
                "--on-error",
                default="raise",
                show_default=True,
                type=click.Choice(["raise", "skip"]),
                help="What to do about files that cannot be used: stop, or leave them out (at most one in a hundred).",
            ),
            click.option(
                "--skipped",
                default=None,
                type=click.Path(dir_okay=False, path_type=Path),
                help="Where the files left out are listed, as CSV.  [default: next to the output, as NAME.skipped.csv]",
            ),
            click.option(
                "--max-pixels",
                default=64_000_000,
                show_default=True,
                type=click.IntRange(1),
                metavar="N",
                help="Refuse larger files.",
            ),
        ]
    ):
        command = add(command)
    return command


def images_if_any(command: Command) -> Command:
    """The same where a command does without, too."""
    return images(command, required=False)


def images_or_files(command: Command) -> Command:
    """The same where several image files may be given, too."""
    return images(command, nargs=-1)


def report(command: Command) -> Command:
    """--report, a page in addition to the command's own result."""
    return click.option(
        "--report",
        default=None,
        metavar="FILE.html",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Also write a page that shows what came out; needs poolwise[report].",
    )(command)


def images_to_fit(command: Command) -> Command:
    """The same where there is no model yet that knows how."""
    return images(command, "")
