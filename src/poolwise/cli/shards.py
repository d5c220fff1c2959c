"""Features in a folder of shards: each is written once and whole, so that a second run goes on where the first stopped.

FOLDER/shards.json says what the shards are of: model, images, where they are and how they are read, features, images per shard.
What a shard looks like is in `poolwise.cli.shard_formats`.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from poolwise.cli.reading import Reading
from poolwise.cli.shard_formats import format_of
from poolwise.support.addresses import Address
from poolwise.support.blocks import spans
from poolwise.support.files import replacing
from poolwise.support.progress import Stages

if TYPE_CHECKING:
    from poolwise.estimators import PooledFeatures
    from poolwise.images import Images

_BYTES_PER_SHARD = 64 << 20
_BYTES_READ = 1 << 20


def check_folder(folder: Path) -> None:
    """A usage error if shards cannot be written there."""
    format_of(folder).check()
    if not (folder if folder.is_dir() else folder.parent).is_dir() or (folder.exists() and not folder.is_dir()):
        raise click.BadParameter(f"{folder} is not a folder, and cannot become one", param_hint="--output")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / format_of(folder).about).is_file():
        raise click.BadParameter(
            f"{folder} is not empty, and no shards of features are in it; give another folder", param_hint="--output"
        )


def write_shards(
    folder: Path,
    model: Path,
    features: "PooledFeatures",
    images: "Images",
    reading: Reading,
    n_features: int,
    stages: Stages,
) -> tuple[int, int]:
    """Compute the shards that are not there yet: how many they are, and how many there are in all."""
    import numpy as np

    from poolwise.support.rows import RowsOf

    size, kind = max(1, min(len(images), _BYTES_PER_SHARD // (4 * n_features))), format_of(folder)
    about = {"model": _digest(model), "images": _digest_of_names(images), "rows": len(images), "features": n_features}
    about["source"] = _digest_of_reading(reading)
    size = _begin(folder, {**about, "images_per_shard": size})
    kind.begin(folder, len(images), n_features, size)
    shards = list(enumerate(spans(len(images), size)))
    missing = [(number, rows) for number, rows in shards if not kind.path(folder, number).exists()]
    if not missing:
        return 0, len(shards)
    source = RowsOf(images, np.concatenate([np.arange(rows.start, rows.stop) for _, rows in missing]))
    waiting, filled = np.empty((size, n_features), np.float32), 0
    left = iter(missing)
    number, rows = next(left)
    with stages.stage("transform", len(source)) as update:
        for seen, X in features.transform_blocks(source):
            while len(X):
                some = X[: rows.stop - rows.start - filled]
                waiting[filled : filled + len(some)] = some
                filled, X = filled + len(some), X[len(some) :]
                if filled == rows.stop - rows.start:
                    kind.write(folder, number, waiting[:filled], rows, images.names[rows], size)
                    filled, (number, rows) = 0, next(left, (number, rows))
            update(seen.stop)
    return len(missing), len(shards)


def _begin(folder: Path, about: dict[str, Any]) -> int:
    """Images per shard: of the shards that are there, which must be of the same."""
    folder.mkdir(exist_ok=True)
    path = folder / format_of(folder).about
    if not path.exists():
        with replacing(path) as temporary:
            temporary.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        size = int(found["images_per_shard"])
        other = [name for name in ("model", "images", "rows", "features", "source") if found[name] != about[name]]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} does not describe shards of features; give another folder") from error
    if other or size < 1:
        raise ValueError(
            f"the shards in {folder} are of another {' and other '.join(other) or 'size'}; give another folder, or remove it"
        )
    return size


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BYTES_READ):
            found.update(block)
    return found.hexdigest()


def _digest_of_names(images: "Images") -> str:
    """Of their names and shape; what is in the files is not looked at."""
    found = hashlib.sha256(repr(images.shape).encode())
    for name in images.names:
        found.update(os.fsencode(str(name)) + b"\n")
    return found.hexdigest()


def _digest_of_reading(reading: Reading) -> str:
    """Of where the images are, and of options that make others of the same files: arrays have no names, only row numbers."""
    is_name = reading.named is not None
    where = [str(path) if is_name or isinstance(path, Address) else os.path.realpath(path) for path in reading.inputs]
    return hashlib.sha256(
        repr((where, reading.member, reading.columns, reading.words)).encode(errors="surrogateescape")
    ).hexdigest()
