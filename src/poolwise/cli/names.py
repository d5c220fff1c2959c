"""A data set's name in place of IMAGES: `cifar10`, or a part of it, `cifar10:test`. Nothing heavy is imported here."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from poolwise.cli.output import say
from poolwise.datasets.catalogue import CATALOGUE
from poolwise.support.progress import Stages

if TYPE_CHECKING:
    from poolwise.images import Images

PARTS = {name: tuple(entry.official) for name, entry in CATALOGUE.items()}


class DataSetPart(NamedTuple):
    """A part of a data set; `is_given` False where the command chose the part.

    >>> str(DataSetPart("cifar10", "test", True))
    'cifar10:test'
    """

    name: str
    part: str
    is_given: bool

    def __str__(self) -> str:
        return f"{self.name}:{self.part}"

    def open(self, stages: Stages, *, labels: bool) -> "Images":
        """The images of this part, in memory, labelled by the names of classes; nothing is downloaded."""
        from poolwise.datasets.home import VARIABLE, data_folder
        from poolwise.images import open_images

        if not self.is_given and stages.verbose:
            others = " or ".join(f"{self.name}:{part}" for part in PARTS[self.name] if part != self.part)
            say(f"{self.name} is read as {self}; write {others} for another part")
        entry, home = CATALOGUE[self.name], data_folder()
        try:
            read = entry.load(self.part, home, stages.verbose)
        except FileNotFoundError as error:
            if entry.archive is None or (home / entry.archive.folder).is_dir():  # the error says what is missing there
                raise
            raise FileNotFoundError(
                f"{self}: it was searched for in {home}, which holds no {entry.archive.folder}; `poolwise datasets fetch "
                f"{self.name}` fetches it, or {VARIABLE} names the folder that holds it"
            ) from error
        has_labels = labels and (read.target >= 0).all()
        return open_images(read.images, labels=read.target_names[read.target] if has_labels else None)


def as_name(images: Path, otherwise: str) -> DataSetPart | None:
    """What IMAGES names if it is a data set and not a file or folder; `otherwise` is the part where none is given.

    >>> as_name(Path("cifar10"), "train")
    DataSetPart(name='cifar10', part='train', is_given=False)
    >>> as_name(Path("cifar10.npz"), "train")
    """
    name, colon, part = str(images).partition(":")
    if name not in PARTS or os.path.exists(images):
        return None
    if colon and part not in PARTS[name]:
        raise click.UsageError(f"{images}: {name} has the parts {', '.join(PARTS[name])}; got {part!r}")
    return DataSetPart(name, part or otherwise, bool(colon))
