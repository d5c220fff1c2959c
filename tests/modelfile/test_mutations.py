"""Damaged and forged files: refused with our error, or a model that is whole. POOLWISE_MUTATIONS sets how many."""

import json
import os
import time
import tracemalloc

import numpy as np
import pytest
from sklearn.pipeline import Pipeline, make_pipeline

from poolwise import ZCA, KMeans, LinearSVM, Patches, SecondOrder, Threshold, load, save
from poolwise.modelfile import ModelFileError, describe

from forge import canonical, join, opened_by_others, put_together, read, same, sign, split, state
from settings import paper_features

COUNT = int(os.environ.get("POOLWISE_MUTATIONS", "200"))
ODD = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    3,
    2**31,
    2**63,
    10**19,
    0.0,
    -0.5,
    1e300,
    "",
    "x",
    "pca",
    "triangle",
    "vq",
    [],
    {},
    [1, 2],
    {"tuple": [1]},
    {"tuple": [2, 2]},
    {"part": "Nearest"},
    {"part": "Threshold", "alpha": 0.5, "two_sided": False},
    {"part": "Pool", "how": "max", "grid": 1},
]
DIGITS = ["NaN", "Infinity", "1e999", "9" * 400, "[" * 3000, "-0", "1e5", '"\\ud800"', "null"]


def flip_bits(rng, a, b):
    content = bytearray(a)
    for _ in range(rng.integers(1, 5)):
        content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    return bytes(content)


def flip_header_bits(rng, a, b):
    content = bytearray(a)
    content[rng.integers(8 + int.from_bytes(a[:8], "little"))] ^= 1 << int(rng.integers(8))
    return bytes(content)


def cut(rng, a, b):
    return a[: rng.integers(len(a))]


def extend(rng, a, b):
    return a + rng.bytes(int(rng.integers(1, 100)))


def zero_range(rng, a, b):
    start, size = rng.integers(len(a)), rng.integers(1, 200)
    return a[:start] + bytes(min(size, len(a) - start)) + a[start + size :]


def take_out_or_put_in(rng, a, b):
    start, size = rng.integers(len(a)), int(rng.integers(1, 20))
    return a[:start] + a[start + size :] if rng.random() < 0.5 else a[:start] + rng.bytes(size) + a[start:]


def swap_headers(rng, a, b):
    (one, data), (other, _) = split(a), split(b)
    if rng.random() < 0.5:
        return join(other, data)
    return join({**one, "__metadata__": other["__metadata__"]}, data)


def swap_arrays(rng, a, b):
    header, data = split(a)
    one, two = rng.choice([name for name in header if name != "__metadata__"], 2, replace=False)
    header[one], header[two] = header[two], header[one]
    return join(header, data)


def declare_much(rng, a, b):
    number = int(rng.choice([2**31, 2**40, 2**62, 300_000, 5000])) + int(rng.integers(1000))
    if rng.random() < 0.3:
        return number.to_bytes(8, "little") + a[8:]
    header, data = split(a)
    entry = header[rng.choice([name for name in header if name != "__metadata__"])]
    key = "shape" if rng.random() < 0.5 else "data_offsets"
    entry[key][rng.integers(len(entry[key]))] = number
    return join(header, data)


def double_keys(rng, a, b):
    document, arrays = read(a)
    text = canonical(document)
    everywhere = [(key, holder[key]) for holder, key in places(document, []) if isinstance(holder, dict)]
    key, value = everywhere[rng.integers(len(everywhere))]
    told = json.dumps(value if rng.random() < 0.5 else ODD[rng.integers(len(ODD))])
    return put_together(text.replace(f'"{key}":', f'"{key}":{told},"{key}":', 1), arrays)


def respell_header(rng, a, b):
    """Another spelling of the same header, or nearly."""
    header, data = split(a)
    text = json.dumps(header, indent=int(rng.integers(3)) if rng.random() < 0.5 else None)
    at = int(rng.integers(len(text)))
    found = text.find("0", at) if rng.random() < 0.5 else -1
    if found >= 0:
        text = text[:found] + str(rng.choice(["-0", "0.0", "00", "0e0", "+0"])) + text[found + 1 :]
    else:
        spaces = [i for i, letter in enumerate(text) if letter in ",:{" and (i == 0 or i > text.rfind('\\"'))]
        at = spaces[rng.integers(len(spaces))] + int(rng.random() < 0.9)
        text = text[:at] + str(rng.choice([" ", "\n", "\t", "\r", "\f", "\0", "/**/", "\ufeff"])) + text[at:]
    return join(text.encode(), data)


def edit_text(rng, a, b):
    document, arrays = read(a)
    text, at = canonical(document), 0
    for _ in range(rng.integers(1, 3)):
        at = int(rng.integers(len(text)))
        text = text[:at] + DIGITS[rng.integers(len(DIGITS))] + text[at + int(rng.integers(0, 5)) :]
    return put_together(text, arrays)


DAMAGE = [
    flip_bits,
    flip_header_bits,
    cut,
    extend,
    zero_range,
    take_out_or_put_in,
    swap_headers,
    swap_arrays,
    declare_much,
    respell_header,
    double_keys,
    edit_text,
]


def places(value, found):
    """Every (container, key) in a document."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in pairs:
        found.append((value, key))
        places(entry, found)
    return found


def edit_document(rng, document, arrays):
    for _ in range(rng.integers(1, 3)):
        everywhere = places({key: value for key, value in document.items() if key != "sha256"}, [])
        container, key = everywhere[rng.integers(len(everywhere))]
        if rng.random() < 0.2 and isinstance(container, dict):
            del container[key]
        elif rng.random() < 0.2 and isinstance(container, dict):
            container[f"{key}{key}"] = container[key]
        elif type(container[key]) in (int, float) and rng.random() < 0.5:
            container[key] = container[key] + int(rng.choice([-1, 1, 7, 10**6]))
        else:
            container[key] = json.loads(json.dumps(ODD[rng.integers(len(ODD))]))


def edit_arrays(rng, document, arrays):
    name = str(rng.choice(list(arrays)))
    array = arrays[name]
    how = rng.integers(5)
    if how == 0:
        arrays[name] = array[:-1]
    elif how == 1:
        with np.errstate(all="ignore"):
            arrays[name] = array.astype(rng.choice(["<f4", "<f8", "<i8"]))
    elif how == 2:
        arrays[str(rng.choice(list(arrays)))] = array
    elif array.size:
        values = [-1, 0, 5, 16, 2**40] if array.dtype.kind == "i" else [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e30]
        array.flat[rng.integers(array.size)] = rng.choice(values)


@pytest.fixture(scope="module")
def other(images, tmp_path_factory):
    """The file of another model, a slim one with a classifier."""
    parts = {"descriptor": Patches(3), "dictionary": KMeans(max_iter=3)}
    features = paper_features(6, 12, **parts, n_patches=1000, projection="pca", random_state=1)
    model = make_pipeline(features, LinearSVM()).fit(images, np.arange(len(images)) % 3)
    path = tmp_path_factory.mktemp("other") / "other.safetensors"
    save(model, path, slim=True)
    return path.read_bytes()


class Loads:
    """Loads files, and remembers the slowest load and the most memory beyond twice the file."""

    def __init__(self, path):
        self.path, self.slowest, self.most, self.beyond, self.refused = path, 0.0, 0, -(1 << 30), 0

    def __call__(self, content):
        self.path.write_bytes(content)
        tracemalloc.reset_peak()
        before, start = tracemalloc.get_traced_memory()[0], time.perf_counter()
        try:
            return load(self.path)
        except ModelFileError:
            self.refused += 1
            return None
        finally:
            self.slowest = max(self.slowest, time.perf_counter() - start)
            peak = tracemalloc.get_traced_memory()[1] - before
            self.most, self.beyond = max(self.most, peak), max(self.beyond, peak - 2 * len(content))


@pytest.fixture
def loads(tmp_path):
    tracemalloc.start()
    loads = Loads(tmp_path / "mutant.safetensors")
    yield loads
    tracemalloc.stop()
    print(f"\nrefused {loads.refused}, slowest load {1e3 * loads.slowest:.1f} ms, peak memory {loads.most / 1024:.0f} KiB")
    assert loads.beyond < 1 << 20  # small files: a header's constant cost


@pytest.fixture(scope="module")
def past_the_paper(images, tmp_path_factory):
    """The files of a model chosen with labels, and of one with second-order pooling, a rank and a symmetry."""
    parts = {"descriptor": Patches(3), "dictionary": KMeans(max_iter=3), "n_patches": 1000, "random_state": 1}
    chosen = paper_features(4, 8, encoder=Threshold((0.1, 0.5), True), selection="supervised", **parts)
    second = paper_features(4, 8, pooling=SecondOrder(2, "log"), whitening=ZCA(rank=5), symmetry="dihedral", **parts)
    folder = tmp_path_factory.mktemp("past")
    for number, model in enumerate((chosen, second)):
        save(model.fit(images, np.arange(len(images)) % 3), folder / f"{number}.safetensors")
    return [(folder / f"{number}.safetensors").read_bytes() for number in range(2)]


@pytest.fixture(params=["format 2", "past the paper", "format 1"])
def files(request, raw, other, golden, past_the_paper):
    """A model's file, and that of another model of the same format."""
    old = golden["features"], golden["pipeline"]
    return {"format 2": (raw, other), "past the paper": past_the_paper, "format 1": old}[request.param]


def test_damaged_files_are_refused_or_the_same_model(files, loads):
    originals = [state(loads(content)) for content in files]
    rng = np.random.default_rng(0)
    for number in range(COUNT):
        damage = DAMAGE[number % len(DAMAGE)]
        content = damage(rng, *(files if rng.random() < 0.7 else files[::-1]))
        model = loads(content)
        if model is not None:
            assert any(same(state(model), original) for original in originals), (number, damage.__name__)
            opened_by_others(loads.path)
    assert loads.refused > 0.8 * COUNT


def check_description(path, document, model):
    """It says what the document says, and what the model is."""
    found = describe(path)
    own = document["parts"]["features"]
    assert (found.format, found.kind, found.libraries) == (document["format"], document["kind"], document["libraries"])
    assert (found.saved, found.provenance) == (document["provenance"]["saved"], document["provenance"]["told"])
    assert found.classifier == document["parts"].get("classifier")
    if found.format == 2:
        assert (found.parameters, found.fitted) == (own["parameters"], own["fitted"])
    assert (found.n_candidates, found.is_slim) == (
        model.n_candidates_,
        model.candidates_ is None and model.n_candidates_ is not None,
    )
    layer, real = found.layer, model.layer_
    assert (layer.image_shape, layer.descriptor, layer.encoder, layer.pooling) == (
        real.image_shape,
        real.descriptor,
        real.encoder,
        real.pooling,
    )
    assert (layer.codes.shape, layer.n_features) == (real.codes.shape, real.n_features)


def test_forged_files_are_refused_or_what_they_say(files, loads, tmp_path):
    """With the right checksum a changed file is another model's: it must be whole, and must work."""
    rng = np.random.default_rng(1)
    for number in range(COUNT):
        document, arrays = read(files[0] if rng.random() < 0.7 else files[1])
        (edit_document if number % 3 else edit_arrays)(rng, document, arrays)
        document = sign(document, arrays)
        model = loads(put_together(document, arrays))
        if model is None:
            continue
        first = model[0] if isinstance(model, Pipeline) else model
        check_description(loads.path, document, first)
        opened_by_others(loads.path)
        if number % 4 == 0:  # what can be loaded can be saved, and comes back
            save(model, tmp_path / "again.safetensors")
            assert same(state(load(tmp_path / "again.safetensors")), state(model)), number
        shape = first.image_shape_in_
        if np.prod(shape, dtype=np.float64) < 1e6:
            with np.errstate(all="ignore"):
                features = first.transform(np.zeros((2, *shape), np.uint8))
            assert features.shape == (2, len(first.get_feature_names_out())), number
            if first is not model and np.isfinite(features).all():
                assert set(model[1].predict(features)) <= set(model[1].classes_), number
    assert loads.refused > 0.5 * COUNT
