"""Model files taken apart and put together by hand, without the code under test; and models compared to the bit."""

import dataclasses
import hashlib
import json

import numpy as np
from safetensors import safe_open
from sklearn.pipeline import Pipeline

DTYPES = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "U8": "u1"}
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}


def split(raw):
    """Bytes to (header, data)."""
    n = int.from_bytes(raw[:8], "little")
    return json.loads(raw[8 : 8 + n]), raw[8 + n :]


def join(header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def read(raw):
    """Bytes to (JSON document, arrays)."""
    header, data = split(raw)
    document = json.loads(header.pop("__metadata__")["poolwise"])
    arrays = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        arrays[name] = np.frombuffer(data[first:last], DTYPES[entry["dtype"]]).reshape(entry["shape"]).copy()
    return document, arrays


def canonical(document):
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sign(document, arrays):
    """The document with the checksum that belongs to it: the attacker's, and what the format's description says."""
    document = {key: value for key, value in document.items() if key != "sha256"}
    digest = hashlib.sha256(canonical(document).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"\n{name} {array.dtype.str} {list(array.shape)}\n".encode() + array.tobytes())
    return {**document, "sha256": digest.hexdigest()}


def put_together(document, arrays):
    """As `read` gives them, to bytes."""
    text = document if isinstance(document, str) else canonical(document)
    header, data = {"__metadata__": {"poolwise": text}}, b""
    for name, array in arrays.items():
        header[name] = {
            "dtype": NAMES.get(array.dtype, str(array.dtype)),
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + array.nbytes],
        }
        data += array.tobytes()
    return join(header, data)


def forged(raw, change):
    """The file after change(document, arrays), signed."""
    document, arrays = read(raw)
    change(document, arrays)
    return put_together(sign(document, arrays), arrays)


def opened_by_others(path):
    """The arrays as the safetensors library reads them; they must be those that stand in the file."""
    with safe_open(path, "numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is not a dictionary
        text = file.metadata()["poolwise"]
    document, ours = read(path.read_bytes())
    assert json.loads(text) == document
    assert arrays.keys() == ours.keys()
    for name, array in arrays.items():
        assert same(array, ours[name]), name
    return document, arrays


def state(model):
    """All that a fitted model is, except for what is made when first needed."""
    if isinstance(model, Pipeline):
        return {name: state(step) for name, step in model.steps}
    return {name: value for name, value in vars(model).items() if name != "_ready"}


def same(a, b):
    """Equal in type and to the bit, all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        bits = a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()
        return a.dtype == b.dtype and a.shape == b.shape and bits
    if dataclasses.is_dataclass(a):
        return all(same(getattr(a, field.name), getattr(b, field.name)) for field in dataclasses.fields(a))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


def arrays_of(value):
    """Every array in a fitted model, all the way down."""
    if isinstance(value, np.ndarray):
        return [value]
    if dataclasses.is_dataclass(value):
        return [array for field in dataclasses.fields(value) for array in arrays_of(getattr(value, field.name))]
    if isinstance(value, dict):
        return [array for entry in value.values() for array in arrays_of(entry)]
    return []
