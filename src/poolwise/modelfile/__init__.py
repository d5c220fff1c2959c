"""Models as files: one safetensors file of arrays and a JSON text, never a pickle.

    {"format": 2, "kind": "features" or "pipeline", "names": of a pipeline's steps, "verbose": the pipeline's,
     "parts": {"features": ..., "classifier": ...}, "libraries": their versions, "provenance": when it was saved, and what the
     caller gave, "sha256": of all the rest and the arrays}

Arrays are named after their part: `features.layers.0.codes`, `classifier.coef`. A part is a module with `take` (model to JSON
and arrays), `expect` (check the JSON; the arrays that follow from it) and `build` (both to a model). `save` puts what it writes
through the checks of `load`. The checksum guards against accidents: anyone who changes a file on purpose can compute it too.

To change the format
--------------------
1. Whatever changes the JSON's keys, an array's name, type or shape, or what either means: raise FORMAT by one. Two things are
   no such change: a new part, since its class's name and keys are new; and a new parameter of a part whose default means what
   files without it meant, if it is listed in `parameters._ADDED`. `held_out` of a classifier may be missing likewise.
2. Keep what reads the old one: `_read` looks at the number first, and brings a document of an older format to the newest,
   step by step, before it is checked (`format1.upgrade`). `save` writes the newest.
3. Never change or remove a file in tests/golden/: each is a frozen sample of its format, and a test reads them all. Add one of
   the new format with tests/golden/make.py.
4. Say so in docs/modelfile.md and in CHANGELOG.md.
"""

import datetime
import os
import platform
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from io import FileIO
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from poolwise.estimators import PooledFeatures, StackedFeatures
from poolwise.method.layer import Layer
from poolwise.modelfile import classifier, features, format1, stack
from poolwise.modelfile.container import Stored, Tensor, agree, checksum, opened, read_arrays, read_header, write
from poolwise.modelfile.strict_json import (
    ModelFileError,
    anything,
    canonical,
    encode,
    fields,
    flag,
    many,
    named,
    one_of,
    parse,
    scalar,
    text,
    whole,
)
from poolwise.support.files import replacing
from poolwise.support.types import Array

__all__ = ["FORMAT", "Description", "ModelFileError", "describe", "load", "save"]

FORMAT = 2

_FEATURES = {"features": features, "stack": stack}
_PARTS = {**_FEATURES, "classifier": classifier}
_KINDS = {
    "features": ("features",),
    "pipeline": ("features", "classifier"),
    "stack": ("stack",),
    "stacked pipeline": ("stack", "classifier"),
}
_NOT_NAMES = ("", *Pipeline([("step", None)]).get_params(deep=False))
_LIBRARIES = ("poolwise", "numpy", "scikit-learn", "python")
_DOCUMENT = {
    "format": whole(1, FORMAT),
    "kind": one_of(*_KINDS),
    "names": many(text, 0, 2),
    "verbose": flag,
    "parts": anything,
    "libraries": lambda value, where: fields(value, where, dict.fromkeys(_LIBRARIES, text)),
    "provenance": lambda value, where: fields(value, where, {"saved": text, "told": named(scalar)}),
    "sha256": text,
}


def save(
    model: PooledFeatures | StackedFeatures | Pipeline,
    path: str | os.PathLike[str],
    *,
    provenance: str | Mapping[str, str | float | bool | None] | None = None,
    slim: bool = False,
) -> None:
    """Write a fitted model to a file, whole or not at all.

    Parameters
    ----------
    model : PooledFeatures, StackedFeatures or Pipeline
        Fitted; a pipeline is of one of these and a linear classifier of ours.
    path : str or path
        A file of that name is replaced in one step; if anything goes wrong, it stays as it was.
    provenance : str, dict or None
        What should be remembered of how the model was made: number of images, where they came from. `describe` gives it.
        The date, parameters, seconds per stage and library versions are always included.
    slim : bool
        Leave out what only `reselect` and reports need: candidates, their covariance and clusters. Features stay the same.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from poolwise import PooledFeatures, load, save
    >>> images = np.random.default_rng(0).integers(0, 256, size=(20, 16, 16, 3), dtype=np.uint8)
    >>> model = PooledFeatures(4, 16, n_patches=2000, random_state=0).fit(images)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/model.safetensors", provenance={"images": len(images)})
    ...     again = load(f"{folder}/model.safetensors")
    >>> np.array_equal(again.transform(images), model.transform(images))
    True
    """
    names, parts = _take_apart(model)
    for estimator in parts.values():
        check_is_fitted(estimator)
    given = {"note": provenance} if isinstance(provenance, str) else dict(provenance or {})
    if not all(isinstance(name, str) for name in given):
        raise TypeError(f"provenance must be text, or a dictionary with text as keys; got {provenance!r}")
    document: dict[str, Any] = {
        "format": FORMAT,
        "kind": next(kind for kind, wanted in _KINDS.items() if wanted == tuple(parts)),
        "names": names,
        "verbose": bool(model.verbose) if names else False,
        "parts": {},
        "libraries": {name: platform.python_version() if name == "python" else version(name) for name in _LIBRARIES},
        "provenance": {
            "saved": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "told": {name: encode(value) for name, value in given.items()},
        },
    }
    arrays: dict[str, Array] = {}
    with _named(path, "saved"):
        for name, estimator in parts.items():
            document["parts"][name], own = _PARTS[name].take(estimator, slim)
            arrays |= {f"{name}.{key}": array for key, array in own.items()}
        document["sha256"] = checksum(arrays, canonical(document))
        with replacing(path) as temporary:
            write(temporary, arrays, canonical(document))
            with opened(temporary) as file:  # what cannot be loaded is not saved
                read = _read(file)
            for part, tensors in read.expected.items():
                for name, tensor in tensors.items():
                    tensor.check(f"{part}.{name}", arrays[f"{part}.{name}"])


def load(path: str | os.PathLike[str], *, descriptor: Callable[[Any], Any] | None = None) -> Any:
    """Read a model that `save` wrote: a fitted PooledFeatures or Pipeline. Nothing in a file can run code.

    descriptor : the function that the model describes images by, if that is one of your own; a file holds its name alone

    Raises ModelFileError, a ValueError, for whatever is not such a file or is damaged, and OSError where it cannot be read.
    Takes no more memory than about the file's size, whatever is in it.
    """
    with _named(path, "loaded"), opened(path) as file:
        read = _read(file)
        arrays, digest = read_arrays(file, read.places, read.unsigned)
        document = read.document
        if digest != document["sha256"]:
            raise ModelFileError("it is damaged: its checksum does not agree with what is in it")
        steps = []
        for part in _KINDS[document["kind"]]:
            own = {}
            for name, tensor in read.expected[part].items():
                stored = read.stored_name(part, name)
                tensor.check(stored, arrays[stored])
                own[name] = arrays[stored]
            steps.append(_PARTS[part].build(document["parts"][part], own))
    if descriptor is not None:
        _FEATURES[_KINDS[document["kind"]][0]].give_descriptor(steps[0], descriptor)
    if len(steps) == 1:
        return steps[0]
    return Pipeline(list(zip(document["names"], steps, strict=True)), verbose=document["verbose"])


@dataclass(frozen=True)
class Description:
    """What a file's header describes.

    format, kind, libraries : as in the file    parameters, notes, fitted : of the features    classifier : its JSON, or None
    layer : without its numbers: zeros, which take no memory    n_candidates : M, or None    is_slim : saved without candidates
    chosen_by : how codes were selected, "auto" where a slim file does not hold it    above : of a stack, all but its first
    n_features : numbers per image    passes : all layers that an image goes through
    saved : when    provenance : what the caller of `save` gave
    """

    format: int
    kind: str
    layer: Layer
    n_candidates: int | None
    is_slim: bool
    parameters: dict[str, Any]
    notes: list[str]
    fitted: dict[str, Any]
    classifier: dict[str, Any] | None
    libraries: dict[str, str]
    saved: str
    provenance: dict[str, Any]
    chosen_by: str
    above: tuple[Layer, ...] = ()
    n_features: int = 0
    passes: tuple[Layer, ...] = ()


def describe(path: str | os.PathLike[str]) -> Description:
    """What is in a file: parts, sizes, parameters, versions, provenance. The arrays are not read."""
    with _named(path, "loaded"), opened(path) as file:
        read = _read(file)
        document = read.document
        parts, first = document["parts"], _KINDS[document["kind"]][0]
        own = parts["features"] if "features" in parts else parts["stack"]["features"][0]
        above = () if "features" in parts else tuple(map(features.shell, parts["stack"]["features"][1:]))
        return Description(
            read.format,
            document["kind"],
            features.shell(own),
            features.n_candidates(own),
            features.is_slim(own),
            own["parameters"],
            own["notes"],
            own["fitted"],
            document["parts"].get("classifier"),
            document["libraries"],
            document["provenance"]["saved"],
            document["provenance"]["told"],
            features.chosen_by(own),
            above,
            _FEATURES[first].n_features(parts[first]),
            (features.shell(own),) if "features" in parts else tuple(stack.passes(parts["stack"])),
        )


@contextmanager
def _named(path: str | os.PathLike[str], done: str) -> Iterator[None]:
    """Whatever a check refuses, in one line and with the file's name."""
    try:
        yield
    except (ValueError, RecursionError) as error:
        reason = "its JSON is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise ModelFileError(f"{os.fspath(path)} cannot be {done}: {textwrap.shorten(reason, 400)}") from error
    except OSError as error:
        if done != "saved":
            raise
        raise OSError(f"{os.fspath(path)} cannot be written: {error.strerror or error}") from error


def _take_apart(model: Any) -> tuple[list[str], dict[str, BaseEstimator]]:
    """The names of a pipeline's steps, and the estimators by their part."""
    features_of = {PooledFeatures: "features", StackedFeatures: "stack"}
    if type(model) in features_of:
        return [], {features_of[type(model)]: model}
    known = {kind.cls for kind in classifier.CLASSIFIERS.values()}
    if type(model) is Pipeline and len(model.steps) == 2:
        (first, one), (second, two) = model.steps
        if type(one) in features_of and type(two) in known:
            return [first, second], {features_of[type(one)]: one, "classifier": two}
    kind = f"a Pipeline of {[type(step).__name__ for _, step in model.steps]}" if isinstance(model, Pipeline) else type(model)
    ours = ", ".join(classifier.CLASSIFIERS) or "none in this version"
    raise TypeError(
        f"{kind} cannot be saved; expected a fitted PooledFeatures or StackedFeatures, or a Pipeline of one and a linear "
        f"classifier of ours ({ours}). Save the PooledFeatures by itself, and the rest as its own library does"
    )


@dataclass(frozen=True)
class _Read:
    """A file's header, checked, all but the arrays' numbers.

    document : of the newest format    format : the file's own    places : where its arrays are, by their names in the file
    expected : what the arrays of each part must be, by their newest names    unsigned : what the checksum is of
    """

    document: dict[str, Any]
    format: int
    places: dict[str, Stored]
    expected: dict[str, dict[str, Tensor]]
    unsigned: bytes

    def stored_name(self, part: str, name: str) -> str:
        """What the file calls an array."""
        return f"{part}.{format1.old_name(name) if self.format == 1 and part == 'features' else name}"


def _read(file: FileIO) -> _Read:
    spelling, places = read_header(file)
    document = parse(spelling)
    number = document.get("format") if isinstance(document, dict) else None
    if type(number) is int and number > FORMAT:
        raise ModelFileError(
            f"it has format {number}, made by a newer poolwise; this is {version('poolwise')}, which reads formats up to "
            f"{FORMAT}. Upgrade poolwise"
        )
    fields(document, "its JSON", _DOCUMENT)
    if canonical(document).decode() != spelling:
        raise ModelFileError("its JSON is not spelled as poolwise does")
    unsigned = canonical({key: value for key, value in document.items() if key != "sha256"})
    parts, names = _KINDS[document["kind"]], document["names"]
    fields(document["parts"], "its JSON's parts", dict.fromkeys(parts, anything))
    if number == 1:
        document["parts"]["features"] = format1.upgrade(document["parts"]["features"])
    read = _Read(
        document, document["format"], places, {part: _PARTS[part].expect(document["parts"][part]) for part in parts}, unsigned
    )
    if len(parts) == 1:
        fine = not names and not document["verbose"]
    else:
        fine = len(set(names)) == 2 and not any("__" in name or name in _NOT_NAMES for name in names)
        width = _FEATURES[parts[0]].n_features(document["parts"][parts[0]])
        fine = fine and read.expected["classifier"]["coef"].shape[1] == width
    if not fine:
        raise ModelFileError("its JSON's names or sizes do not make a pipeline")
    agree(
        {read.stored_name(part, name): tensor for part, tensors in read.expected.items() for name, tensor in tensors.items()},
        places,
    )
    return read
