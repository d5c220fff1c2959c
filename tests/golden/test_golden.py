"""Every format that was ever written can be read."""

import json
from pathlib import Path

import numpy as np
import pytest

from poolwise import load
from poolwise.modelfile import FORMAT, describe

from make import images, oracle

FILES = sorted(Path(__file__).parent.glob("*.safetensors"))


def test_there_is_a_sample_of_every_format():
    assert {int(path.stem.split("-")[0]) for path in FILES} == set(range(1, FORMAT + 1))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_frozen_file_gives_what_it_gave(path):
    frozen, now = json.loads(path.with_suffix(".json").read_text(encoding="utf-8")), oracle(load(path))
    assert now.keys() == frozen.keys()
    assert now["selected"] == frozen["selected"]
    assert now.get("labels") == frozen.get("labels")
    for name in {"features", "margins"} & frozen.keys():
        np.testing.assert_allclose(now[name], frozen[name], rtol=1e-3, atol=1e-4)


def test_a_frozen_file_can_choose_again():
    model = load(FILES[0])
    again = model.reselect()
    assert again.selected_.tolist() == model.selected_.tolist()
    np.testing.assert_allclose(again.transform(images()), model.transform(images()), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_frozen_file_tells_what_it_is(path):
    told = describe(path)
    assert told["provenance"]["told"] == {"images": 12, "note": "tests/golden/make.py"}
