"""Every format that was ever written can be read."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from poolwise import Pool, SecondOrder, Threshold, Triangle, load
from poolwise.modelfile import FORMAT, describe

from make import images, oracle

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.safetensors"))


def test_there_is_a_sample_of_every_format():
    assert {int(path.stem.split("-")[0]) for path in FILES} == set(range(1, FORMAT + 1))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_frozen_file_gives_what_it_gave(path):
    frozen, now = json.loads(path.with_suffix(".json").read_text(encoding="utf-8")), oracle(load(path))
    assert now.keys() == frozen.keys()
    assert now["selected"] == frozen["selected"]
    assert now.get("labels") == frozen.get("labels")
    for name in {"features", "margins", "probabilities"} & frozen.keys():
        np.testing.assert_allclose(now[name], frozen[name], rtol=1e-3, atol=1e-4)


WHOLE = [path for path in FILES if path.stem.split("-")[1] in ("features", "pipeline", "supervised")]


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.stem)
def test_a_frozen_file_can_choose_again(path):
    model = load(path)
    model = model[0] if isinstance(model, Pipeline) else model
    again = model.reselect()
    assert again.selected_.tolist() == model.selected_.tolist()
    np.testing.assert_allclose(again.transform(images()), model.transform(images()), rtol=1e-3, atol=1e-4)


def test_formats_1_and_2_hold_the_same_models():
    for kind in ("features", "pipeline", "searched"):
        old, new = (json.loads((HERE / f"{number}-{kind}.json").read_text(encoding="utf-8")) for number in (1, 2))
        assert (old.keys(), old["selected"], old.get("labels")) == (new.keys(), new["selected"], new.get("labels"))
        for name in {"features", "margins"} & old.keys():
            np.testing.assert_allclose(old[name], new[name], rtol=1e-3, atol=1e-4)
        old, new = (load(HERE / f"{number}-{kind}.safetensors") for number in (1, 2))
        first, second = (model[0] if isinstance(model, Pipeline) else model for model in (old, new))
        assert first.recipe == second.recipe
        assert (first.layer_.descriptor, first.layer_.encoder) == (second.layer_.descriptor, second.layer_.encoder)
        assert first.layer_.pooling == second.layer_.pooling


FACTS = {  # codes, candidates, whether they were left out, what projects, numbers per image
    "features": (3, 6, False, "nystrom", 30),
    "pipeline": (3, 6, False, "nystrom", 30),
    "searched": (2, None, False, None, 2),
    "triangle": (3, 6, False, "nystrom", 9),
    "slim": (6, 6, True, "pca", 24),
    "second": (3, 6, False, None, 18),
    "supervised": (3, 6, False, None, 24),
    "statistics": (3, 6, False, "nystrom", 28),
    "directions": (4, None, False, "direction", 5),
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_description_of_a_frozen_file(path):
    found, (number, kind) = describe(path), path.stem.split("-")
    assert found.provenance == {"images": 12, "note": "tests/golden/make.py"}
    assert found.format == int(number)
    assert found.kind == ("pipeline" if kind in ("pipeline", "searched", "directions") else "features")
    projection = None if found.layer.projection is None else found.layer.projection.kind
    facts = len(found.layer.codes), found.n_candidates, found.is_slim, projection, found.layer.n_features
    assert facts == FACTS[kind]
    assert (found.layer.image_shape, found.layer.descriptor.patch_size) == ((8, 8, 1), (3, 3))


def test_words_of_a_file_mean_what_they_meant_when_it_was_written():
    model = load(HERE / "2-searched.safetensors")[0]
    assert model.recipe.encoder == model.layer_.encoder == Threshold(0.25, two_sided=False)
    assert load(HERE / "2-triangle.safetensors").encoder == "triangle"


def test_the_parts_of_the_newest_samples():
    triangle, slim = load(HERE / "2-triangle.safetensors"), load(HERE / "2-slim.safetensors")
    assert (triangle.layer_.encoder, triangle.layer_.pooling) == (Triangle(), Pool("max", grid=[(1, 1), (1, 2)]))
    assert triangle.layer_.scale.is_per_cell
    assert (slim.layer_.encoder, slim.candidates_, slim.selection_) == (Threshold(0.25, two_sided=True), None, None)
    for model in (triangle, slim):
        np.testing.assert_allclose(model.transform(images()), model.layer_.features(images()), rtol=1e-3, atol=1e-3)
    with pytest.raises(ValueError, match="saved with slim=True"):
        slim.reselect()
    with pytest.raises(ValueError, match="scale needs images"):
        triangle.reselect()


def test_statistics_of_bands_are_behind_the_codes():
    model = load(HERE / "2-statistics.safetensors")
    assert (model.layer_.n_code_features, model.layer_.n_band_features) == (12, 16)
    np.testing.assert_allclose(model.transform(images()), model.layer_.features(images()), rtol=1e-3, atol=1e-3)
    assert load(HERE / "2-features.safetensors").layer_.statistics is None


def test_the_parts_past_the_paper():
    second, supervised = load(HERE / "2-second.safetensors"), load(HERE / "2-supervised.safetensors")
    assert (second.layer_.pooling, second.layer_.symmetry) == (SecondOrder([(1, 1), (1, 2)]), "mirror")
    assert second.layer_.whitening.W.shape == (9, 4)
    assert second.candidates_.pooling == second.layer_.pooling
    assert supervised.layer_.encoder == Threshold((0.25, 1.0), two_sided=False)
    assert supervised.candidates_.statistics.labelled.products.shape == (4 * 6, 3)
    for model in (second, supervised):
        np.testing.assert_allclose(model.transform(images()), model.layer_.features(images()), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(second.transform(images()), second.transform(images()[:, :, ::-1]), atol=1e-4)
    with pytest.raises(ValueError, match="scale needs images"):
        second.reselect()
