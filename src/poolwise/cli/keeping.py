"""What was learned is not lost to a full disk (room is checked before, a second place tried after), nor to a kill."""

import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from poolwise.support.files import followed
from poolwise.support.memory import in_bytes

if TYPE_CHECKING:
    from poolwise.estimators import PooledFeatures, StackedFeatures
    from poolwise.estimators.linear_svm import LinearClassifier
    from poolwise.images import Images

Command = TypeVar("Command", bound=Callable[..., Any])


def checkpoint(command: Command) -> Command:
    """The options."""
    resume = click.option("--resume", is_flag=True, help="Go on with the checkpoints in the folder of --checkpoint, if any.")
    folder = click.option(
        "--checkpoint",
        default=None,
        metavar="FOLDER",
        type=click.Path(path_type=Path),
        help="Keep every round and pass there, so that --resume goes on after a kill or Ctrl-C; removed at the end.",
    )
    return folder(resume(command))


@contextmanager
def keeping_steps(folder: Path | None, *, resume: bool) -> Iterator[None]:
    """Keep checkpoints inside, if there is a folder for them."""
    if folder is None:
        yield
        return
    from poolwise import checkpoints

    with checkpoints(folder, resume=resume):
        yield


def check_model_room(
    features: "PooledFeatures | StackedFeatures",
    svm: "LinearClassifier | None",
    images: "Images",
    output: Path,
    *,
    slim: bool,
) -> None:
    """An OSError with numbers where a model's file would not fit on its disk, before it is learned."""
    from poolwise.method.sizes import file_bytes

    first = getattr(features, "layers", [features])[0]
    classes = 0 if svm is None or images.labels is None else len(set(images.labels.tolist()))
    recipe = first.recipe.decided(images.labels is not None)
    needed = file_bytes(recipe, images.shape[1:], classes=classes, slim=slim)
    folder = followed(output).parent
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise OSError(
            f"{output} will take about {in_bytes(needed)}, and {folder} has {in_bytes(free)} free; make room, give another "
            f"--output, or give --slim or fewer candidates"
        )


def keep_model(model: Any, output: Path, **how: Any) -> None:
    """Save a model; if that fails, in the current folder, that of temporary files or the user's: the error says where."""
    from poolwise import save

    try:
        save(model, output, **how)
        return
    except OSError as error:
        failed = error
    for place in (Path.cwd, tempfile.gettempdir, Path.home):
        try:
            folder = Path(place())  # an error of its own if the folder is gone, or all of them are full
            if os.path.realpath(folder) == os.path.realpath(followed(output).parent):
                continue
            second = folder / f"{output.stem}-{secrets.token_hex(4)}{output.suffix}"
            save(model, second, **how)
        except (OSError, RuntimeError):
            continue
        raise OSError(f"{failed}; what was learned is saved as {second}: move it where you want it") from failed
    raise failed
