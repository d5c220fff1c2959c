"""Damaged and forged files: refused with our error, or a model that is whole. POOLWISE_MUTATIONS sets how many."""

import json
import os
import time
import tracemalloc

import numpy as np
import pytest
from sklearn.pipeline import Pipeline, make_pipeline

from poolwise import LinearSVM, PooledFeatures, load, save
from poolwise.modelfile import ModelFileError, describe

from forge import canonical, join, put_together, read, same, sign, split, state

COUNT = int(os.environ.get("POOLWISE_MUTATIONS", "500"))
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
    "vq",
    [],
    {},
    [1, 2],
    {"tuple": [1]},
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
    key, value = list(document["parts"]["features"]["fitted"].items())[rng.integers(20)]
    told = json.dumps(value if rng.random() < 0.5 else ODD[rng.integers(len(ODD))])
    return put_together(text.replace(f'"{key}":', f'"{key}":{told},"{key}":', 1), arrays)


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
    features = PooledFeatures(6, 12, patch_size=3, n_patches=1000, max_iter=3, transform="pca", random_state=1)
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


def test_damaged_files_are_refused_or_the_same_model(raw, other, loads):
    originals = [state(loads(content)) for content in (raw, other)]
    rng = np.random.default_rng(0)
    for number in range(COUNT):
        damage = DAMAGE[number % len(DAMAGE)]
        content = damage(rng, *((raw, other) if rng.random() < 0.7 else (other, raw)))
        model = loads(content)
        assert model is None or any(same(state(model), original) for original in originals), (number, damage.__name__)
    assert loads.refused > 0.8 * COUNT


def test_forged_files_are_refused_or_what_they_say(raw, other, loads):
    """With the right checksum a changed file is another model's: it must be whole, and must work."""
    rng = np.random.default_rng(1)
    for number in range(COUNT):
        document, arrays = read(raw if rng.random() < 0.7 else other)
        (edit_document if number % 3 else edit_arrays)(rng, document, arrays)
        document = sign(document, arrays)
        model = loads(put_together(document, arrays))
        if model is None:
            continue
        assert describe(loads.path) == document
        first = model[0] if isinstance(model, Pipeline) else model
        shape = first.image_shape_in_
        if np.prod(shape, dtype=np.float64) < 1e6:
            with np.errstate(all="ignore"):
                features = first.transform(np.zeros((2, *shape), np.uint8))
            assert features.shape == (2, len(first.get_feature_names_out())), number
            if first is not model and np.isfinite(features).all():
                assert set(model[1].predict(features)) <= set(model[1].classes_), number
    assert loads.refused > 0.5 * COUNT
