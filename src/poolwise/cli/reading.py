"""IMAGES of a command: opened as its options say and, where there is none, as the model was fitted."""

import os
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from poolwise.cli.names import PARTS, DataSetPart, as_name
from poolwise.cli.output import check_output, say
from poolwise.support.addresses import Address
from poolwise.support.progress import Stages

if TYPE_CHECKING:
    from poolwise.images import Images
    from poolwise.images.tables import Columns
    from poolwise.images.tiff import Stack
    from poolwise.modelfile import Description

_ARRAYS = (".npy", ".npz", ".zarr")
_OF_ZARR = ("zarr.json", ".zarray", ".zgroup")
_OF_FILES = "--resize, --crop, --grey, --channels, --page and --stack"
_NO_FILES = (*_ARRAYS, ".txt", ".csv")
_FILES_SHOWN = 10
_NOT_OPTIONS = ("named", "nodata", "files")
_BYTES_KEPT = 512 << 20


@dataclass(frozen=True)
class Reading:
    """The options of `options.images`, by their names; None where the user gave none.

    named : the part of a data set that `images` names, or None for files, folders and arrays
    nodata : what pixels without data hold, as the features have it
    files : all IMAGES where there are several, the first of which is `images`; else ()
    """

    images: Path | Address
    member: str | None = None
    columns: "Columns | None" = None
    resize: tuple[int, int] | None = None
    crop: bool | None = None
    grey: bool | None = None
    channels: tuple[int, ...] | None = None
    page: int | None = None
    stack: str | None = None
    on_error: str = "raise"
    skipped: Path | None = None
    max_pixels: int = 64_000_000
    named: DataSetPart | None = None
    nodata: Any = None
    files: tuple[Path | Address, ...] = ()

    @classmethod
    def take(cls, options: dict[str, Any], part: str = "test") -> "Reading":
        """Take these options out of all of a command's; `part` is that of a data set whose name is given without one."""
        given = {field.name: options.pop(field.name) for field in fields(cls) if field.name not in _NOT_OPTIONS}
        if isinstance(given["images"], tuple):
            given |= {"images": given["images"][0], "files": given["images"] if len(given["images"]) > 1 else ()}
        reading = cls(**given)
        if reading.files:
            return reading
        named = None if isinstance(reading.images, Address) else as_name(reading.images, part)
        return reading if named is None else replace(reading, images=Path(str(named)), named=named)

    @property
    def is_array(self) -> bool:
        return self._kind in _ARRAYS

    @property
    def _kind(self) -> str:
        """`folder`, or the ending of a file."""
        if not isinstance(self.images, Address) and self.images.is_dir():
            is_zarr = any((self.images / name).is_file() for name in _OF_ZARR)
            return ".zarr" if is_zarr else "folder"
        return self.images.suffix.lower()

    @property
    def source(self) -> str:
        """What a model remembers as its images' place: of an address nothing that lets others in."""
        return self.images.public if isinstance(self.images, Address) else str(self.images)

    @property
    def inputs(self) -> tuple[Path | Address, ...]:
        """All that is read."""
        return self.files or (self.images,)

    def check(self) -> None:
        """Options that contradict each other or the kind of source: a usage error, before any work."""
        self._check_files()
        if self.named is not None:
            self._check_named(self.named)
        kind = self._kind
        if self.member is not None and kind not in (".npz", ".zarr"):
            raise click.UsageError(f"--member {self.member} chooses an array of a .npz file; {self.images} is not one")
        if self.columns is not None and kind != ".csv":
            raise click.UsageError(f"--columns are those of a .csv file; {self.images} is not one")
        if self.is_array and self._changes_files:
            raise click.UsageError(f"{_OF_FILES} are for image files; {self.images} is an array")
        if self.page is not None and self.stack is not None:
            raise click.UsageError("--page takes one page of a file, --stack all of them; give one")
        if self.resize is not None and self.resize[0] * self.resize[1] > self.max_pixels:
            raise click.UsageError(f"--resize {self.resize[0]}x{self.resize[1]} is more than --max-pixels {self.max_pixels}")
        if self.skipped is not None:
            if self.on_error != "skip":
                raise click.UsageError("--skipped lists the files that --on-error skip leaves out; give that too")
            check_output(self.skipped, (".csv",), "--skipped", self.inputs)

    def _check_files(self) -> None:
        """Several IMAGES are image files."""
        for path in self.files:
            kind = "a folder" if path.is_dir() else "an array, list or table" if path.suffix.lower() in _NO_FILES else ""
            if not kind and not isinstance(path, Address) and as_name(path, "test") is not None:
                kind = "a data set"
            if kind:
                raise click.UsageError(
                    f"several IMAGES must be image files, but {path} is {kind}; give it alone, in a command of its own"
                )

    def _check_named(self, named: DataSetPart) -> None:
        """A data set has its own images and labels: options that choose or change them are for other sources."""
        is_one = f"{named} is a part of a data set"
        if self.member is not None:
            parts = ", ".join(f"{named.name}:{part}" for part in PARTS[named.name])
            raise click.UsageError(f"--member {self.member} chooses an array of a .npz file; {is_one}, its parts are {parts}")
        if self.columns is not None:
            raise click.UsageError(f"--columns are those of a .csv file; {is_one}")
        if self._changes_files:
            raise click.UsageError(f"{_OF_FILES} are for image files; {is_one}, which is read as it is")

    @property
    def _changes_files(self) -> bool:
        given = (self.resize, self.crop or None, self.grey, self.channels, self.page, self.stack)
        return any(value is not None for value in given)

    @property
    def told(self) -> dict[str, Any]:
        """What a model remembers of it."""
        return {
            "resize": None if self.resize is None else f"{self.resize[0]}x{self.resize[1]}",
            "crop": bool(self.crop),
            "grey": bool(self.grey),
            "channels": None if self.channels is None else ",".join(map(str, self.channels)),
            "page": self.page,
            "stack": self.stack,
            **({} if self.columns is None or isinstance(self.columns[0], str) else {"columns": spell_columns(self.columns)}),
        }

    @property
    def words(self) -> list[str]:
        """The options that read files as this does."""
        told, found = self.told, list[str]()
        for name in ("resize", "channels", "page", "stack"):
            found += [f"--{name}", str(told[name])] if told[name] is not None else []
        found += ["--crop"] * bool(self.crop)
        return found if self.grey is None else [*found, "--grey" if self.grey else "--colour"]

    def as_fitted(self, description: "Description") -> "Reading":
        """With what a model remembers in place of options that were not given."""
        (H, W, c), known = description.layer.image_shape, description.provenance
        self = replace(self, nodata=description.parameters.get("nodata"))
        if self.is_array or self.named is not None:
            return self
        resized = isinstance(known.get("resize"), str)
        columns = self.columns
        if columns is None and not self.files and self._kind == ".csv":
            columns = _columns(known.get("columns"))
        ruling = columns or _columns(known.get("columns"))
        in_several_files = ruling is not None and not isinstance(ruling[0], str)
        of_shape = {1: True, 3: False}.get(c)
        if in_several_files:  # bands of files, not colours
            of_shape = True if known.get("grey") is True else None
        return replace(
            self,
            columns=columns,
            resize=self.resize if self.resize is not None else (H, W) if resized else None,
            crop=self.crop if self.crop is not None else known.get("crop") is True,
            grey=self.grey if self.grey is not None else of_shape,
            channels=self.channels if self.channels is not None else _numbers(known.get("channels")),
            page=self.page if self.page is not None or self.stack is not None else _page(known.get("page")),
            stack=self.stack if self.stack is not None or self.page is not None else _stack(known.get("stack")),
        )

    def open(
        self, stages: Stages, *, labels: bool, output: Path | None, n_jobs: int | None = None, again: bool = False
    ) -> "Images":
        """The images; files left out are listed in `skipped`, or next to the output, or on stderr.

        again : whether they will be read more than once, so that it pays to keep them in memory
        """
        from poolwise.images import write_manifest
        from poolwise.images.said import hear_libtiff

        hear_libtiff()
        if self.named is not None:
            return self.named.open(stages, labels=labels)
        source = self._open(stages, labels=labels, memory=_BYTES_KEPT if again or self.on_error == "skip" else 0, n_jobs=n_jobs)
        if source.skipped:
            manifest = self.skipped or (output.with_suffix(".skipped.csv") if output is not None else None)
            if manifest is not None:
                write_manifest(source.skipped, manifest)
                say(f"warning: {len(source.skipped)} of the files cannot be used and were left out; they are in {manifest}")
            else:
                say(f"warning: {len(source.skipped)} of the files cannot be used and were left out; --skipped FILE lists all")
                for name, reason in source.skipped[:_FILES_SHOWN]:
                    say(f"left out: {os.fspath(name)}: {reason}")
        return source

    def _open(self, stages: Stages, *, labels: bool, memory: int, n_jobs: int | None) -> "Images":
        from poolwise.images import ImageError, open_images

        missing = next((path for path in self.files if not isinstance(path, Address) and not os.path.lexists(path)), None)
        if missing is not None:
            raise ImageError(missing, "there is no such file")
        with stages.stage("open images") as update:
            try:
                return open_images(
                    list(self.files) or self.images,
                    member=self.member,
                    columns=self.columns if labels or self.columns is None else (self.columns[0], None),
                    labels="auto" if labels else None,
                    resize=self.resize,
                    crop=bool(self.crop),
                    grey=self.grey,
                    channels=self.channels,
                    page=self.page,
                    stack=_stack(self.stack),
                    nodata=self.nodata,
                    on_error="skip" if self.on_error == "skip" else "raise",
                    max_pixels=self.max_pixels,
                    memory=memory,
                    n_jobs=n_jobs,
                    update=update,
                )
            except ImageError as error:
                if self.files or isinstance(self.images, Address) or os.path.exists(self.images):
                    raise
                names = ", ".join(PARTS)
                raise ImageError(error.path, f"{error.reason}, or the name of a data set: {names}") from error


def _numbers(told: Any) -> tuple[int, ...] | None:
    """What `Reading.told` says of channels, if a file has not made something else of it."""
    parts = told.split(",") if isinstance(told, str) else []
    return (
        tuple(map(int, parts)) if parts and all(part.isascii() and part.isdigit() and len(part) < 6 for part in parts) else None
    )


def _columns(told: Any) -> "Columns | None":
    paths, _, label = told.partition(",") if isinstance(told, str) else ("", "", "")
    several = tuple(paths.split("+"))
    return (
        (several, label or None) if len(several) > 1 and len({*several, label, ""}) == len(several) + 1 + bool(label) else None
    )


def spell_columns(columns: "Columns") -> str:
    """As --columns takes them.

    >>> spell_columns(("file", None)), spell_columns((("dna", "er"), "label"))
    ('file', 'dna+er,label')
    """
    paths, label = columns
    spelled = paths if isinstance(paths, str) else "+".join(paths)
    return spelled if label is None else f"{spelled},{label}"


def _page(told: Any) -> int | None:
    return int(told) if isinstance(told, int | float) and not isinstance(told, bool) and 0 <= told < 1 << 31 else None


def _stack(told: Any) -> "Stack":
    return told if told in ("max", "channels") else None


def check_fits(reading: Reading, images: "Images", description: "Description") -> None:
    """An error with the remedy where images have another shape than those of the model."""
    from poolwise.images import ImageError

    fitted, (H, W, c) = description.layer.image_shape, images.shape[1:]
    if fitted == (H, W, c):
        return
    remedy = "change the array itself"
    if reading.named is not None:
        remedy = "a data set is read as it is: fit a model on it, or give its images as files"
    elif not reading.is_array:
        remedy = f"give --resize {fitted[0]}x{fitted[1]}, and --crop to keep proportions"
        if (H, W) == fitted[:2]:
            remedy = {1: "give --grey", 3: "give --colour"}.get(fitted[2], "choose bands with --channels")
            several = _columns(description.provenance.get("columns"))
            if several is not None:
                remedy = f"each was in several files: give a table of their paths with --columns {spell_columns(several)}"
    raise ImageError(
        reading.images,
        f"its images have {say_shape((H, W, c))}, but the model was fitted on images of {say_shape(fitted)}; {remedy}",
    )


def say_shape(shape: tuple[int, int, int]) -> str:
    """
    >>> say_shape((32, 32, 1))
    '32×32 pixels with 1 channel'
    """
    H, W, c = shape
    return f"{H}×{W} pixels with {c} channel{'s' * (c != 1)}"
