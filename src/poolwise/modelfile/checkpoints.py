"""`poolwise.checkpoints`: steps of a fit in a folder, so that a fit that was killed goes on where it stopped.

    FOLDER/0-PooledFeatures.json             what the first fit is about: settings, data, version
    FOLDER/0-PooledFeatures.codes.safetensors   a step: arrays, and one JSON text {"format", "step", "facts", "sha256"}

Files are written whole or not at all, and read as model files are: nothing is unpickled, every size is compared with the
file's, repeated keys, unknown arrays, and arrays of another type or shape are refused.
"""

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from poolwise.modelfile.container import DTYPES, checksum, opened, read_arrays, read_header, write
from poolwise.modelfile.strict_json import ModelFileError, canonical, fields, named, parse, scalar, text, whole
from poolwise.support.files import replacing
from poolwise.support.locking import locked
from poolwise.support.steps import CheckpointError, Kept, Shapes, Work, Works, kept_by
from poolwise.support.types import Array
from poolwise.support.warning import warn_user

FORMAT = 1
_OURS = re.compile(r"\d{1,6}-[A-Za-z]{1,40}(\.[a-z]{1,20}(-\d{1,9})?\.safetensors|\.json)")
_LOCK = "checkpoints.lock"
_SHARE_OF_TIME = 0.1  # that keeping rounds may take
_MOST_BYTES_ABOUT = 1 << 20
_CODES = {np.dtype(dtype): code for code, dtype in DTYPES.items()}


@contextmanager
def checkpoints(folder: str | os.PathLike[str], *, resume: bool = False) -> Iterator[None]:
    """Keep the steps of what is fitted inside, so that it can go on after a kill, a crash or Ctrl-C, with the same bits.

    Kept are every round of K-means and of the SVM (or the rounds of some seconds, where they are short), and what every pass
    over the images gives; docs/scale.md lists it. At the end of the `with` the files are removed; where it ends by an error
    they stay. The program that goes on must do the same as before, in the same order, with the same images, labels and
    parameters, which is checked.

    Parameters
    ----------
    folder : str or path
        A folder that only this work uses; made if it is not there.
    resume : bool
        Go on with what is there, if anything is. Without it, a folder that has checkpoints is refused.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import poolwise
    >>> images = np.random.default_rng(0).integers(0, 256, size=(20, 16, 16, 3), dtype=np.uint8)
    >>> with tempfile.TemporaryDirectory() as folder, poolwise.checkpoints(f"{folder}/steps", resume=True):
    ...     model = poolwise.PooledFeatures(4, n_patches=2000, random_state=0).fit(images)
    """
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise CheckpointError(f"{path} is not a folder; give another name for checkpoints")
    others = [name for name in (os.listdir(path) if path.is_dir() else []) if not _belongs(name)]
    if others:
        raise CheckpointError(f"{path} has other files than checkpoints, such as {others[0]!r}; give a folder of their own")
    path.mkdir(exist_ok=True)

    def busy() -> None:
        raise CheckpointError(f"another process keeps checkpoints in {path}; give each fit a folder of its own")

    with locked(path / _LOCK, busy):
        if not resume and any(_OURS.fullmatch(name) for name in os.listdir(path)):
            raise CheckpointError(
                f"{path} has checkpoints of work that was interrupted; go on with them by resume=True (--resume), or remove it"
            )
        with kept_by(_Folder(path)):
            yield
        for name in os.listdir(path):
            if _OURS.fullmatch(name):
                (path / name).unlink()
    with suppress(OSError):  # something else has come into it
        path.rmdir()


def _belongs(name: str) -> bool:
    return bool(_OURS.fullmatch(name)) or name == _LOCK or (name.startswith(".poolwise-") and name.endswith(".tmp"))


class _Folder(Works):
    def __init__(self, path: Path) -> None:
        self._path, self._begun = path, 0

    def begin(self, name: str, about: dict[str, Any]) -> Work:
        import poolwise

        whole_name = f"{self._begun}-{name}"
        path, self._begun = self._path / f"{whole_name}.json", self._begun + 1
        about = {"format": FORMAT, "version": poolwise.__version__, "numpy": np.__version__, **about}
        found = _read_about(path) if path.exists() else None
        if found is None:
            with replacing(path) as temporary:
                temporary.write_bytes(canonical(about))
        elif found != json.loads(canonical(about)):
            other = " and ".join(f"other {key}" for key in about if found.get(key) != about[key]) or "more in it"
            raise CheckpointError(
                f"the checkpoints in {self._path} are of another fit, with {other}. Give the same images, labels and "
                f"parameters as before, or another folder"
            )
        return _Steps(self._path, whole_name)


def _read_about(path: Path) -> Any:
    try:
        with opened(path) as file:
            if os.fstat(file.fileno()).st_size > _MOST_BYTES_ABOUT:
                raise ModelFileError("it is too long")
            found = parse((file.read() or b"").decode())
        fields(found, "it", {}) if not isinstance(found, dict) else named(scalar)(found, "it")
        return found
    except (ModelFileError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{path} is not what a fit has written ({error}); remove the folder, and fit again") from error


class _Steps(Work):
    """The steps of one fit."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__()
        self._folder, self._name = folder, name
        self._last: dict[str, tuple[float, float]] = {}  # when a step was kept, and how long that took
        self._is_full = False

    def load(self, name: str, shapes: Shapes) -> Kept | None:
        path = self._path(name)
        if not path.exists():
            return None
        try:
            with opened(path) as file:
                document, places = read_header(file)
                raw = parse(document)
                fields(raw, "it", {"format": whole(FORMAT, FORMAT), "step": text, "facts": named(_fact), "sha256": text})
                for array, place in places.items():
                    dtype, shape = shapes.get(array, ("", ()))
                    fits = len(shape) == len(place.shape) and all(
                        a in (None, b) for a, b in zip(shape, place.shape, strict=True)
                    )
                    if not dtype or DTYPES[place.dtype] != np.dtype(dtype) or not fits:
                        raise ModelFileError(f"its array {array!r} is {place.dtype} {list(place.shape)}, which is not expected")
                digest = raw.pop("sha256")
                if canonical({**raw, "sha256": digest}) != document.encode():
                    raise ModelFileError("its JSON is spelled in another way")
                arrays, found = read_arrays(file, places, canonical(raw))
            if (raw["step"], digest) != (f"{self._name}.{name}", found):
                raise ModelFileError("its checksum is wrong, or it is of another step")
        except ModelFileError as error:
            raise CheckpointError(f"{path} is damaged ({error}); remove it, and go on from the step before") from error
        return Kept(arrays, raw["facts"])

    def save(self, name: str, arrays: Mapping[str, Array], facts: Mapping[str, Any] | None = None, *, ends: str = "") -> None:
        if self._is_full:
            return
        start = time.perf_counter()
        try:
            self._write(name, arrays, facts or {})
            if ends:
                self._path(ends).unlink(missing_ok=True)
        except OSError as error:
            self._is_full = True
            warn_user(f"{error}; the fit goes on, but no more checkpoints are kept in {self._folder}")
        now = time.perf_counter()
        self._last[name] = now, now - start

    def is_due(self, name: str) -> bool:
        when, took = self._last.get(name, (0.0, 0.0))
        return time.perf_counter() - when >= took / _SHARE_OF_TIME

    def _write(self, name: str, arrays: Mapping[str, Array], facts: Mapping[str, Any]) -> None:
        plain = {key: np.ascontiguousarray(array) for key, array in arrays.items()}
        for key, array in plain.items():
            if array.dtype not in _CODES:
                raise TypeError(f"a checkpoint cannot hold {key!r}, an array of {array.dtype}")
        raw = {"format": FORMAT, "step": f"{self._name}.{name}", "facts": dict(facts)}
        document = canonical({**raw, "sha256": checksum(plain, canonical(raw))})
        with replacing(self._path(name)) as temporary:
            write(temporary, plain, document)

    def _path(self, name: str) -> Path:
        return self._folder / f"{self._name}.{name}.safetensors"


def _fact(value: Any, where: str) -> None:
    for one in value if isinstance(value, list) else [value]:
        scalar(one, where)
