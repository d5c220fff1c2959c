"""The first sentence of a report says what the model is, and no more than is true."""

import re
from types import SimpleNamespace

import pytest

from poolwise import KMeans, Pool, PooledFeatures
from poolwise.report.words import one_line, parameters


@pytest.mark.parametrize(
    ("settings", "said", "unsaid"),
    [
        ({"n_candidates": 12}, "kept of 12 because their responses differ most once pooled", "at random"),
        ({"n_candidates": 12, "selection": "random"}, "kept of 12 at random", "because"),
        ({}, "through 4 small patterns of 6×6 pixels and notes how much", "kept of"),
        ({"pooling": Pool("max", grid=1)}, "how strongly it is present in the whole image", "parts"),
    ],
)
def test_one_line(photos, settings, said, unsaid):
    model = PooledFeatures(4, n_patches=1_000, dictionary=KMeans(max_iter=2), random_state=0, **settings).fit(photos)
    line = one_line(SimpleNamespace(features=model, classifier=None))
    assert said in line
    assert unsaid not in line
    assert "  " not in line


@pytest.mark.parametrize("make", [PooledFeatures, lambda **more: PooledFeatures.preset("jia2012", **more)])
def test_parameters_name_every_constant_for_anyone_who_wants_to_do_it_again(photos, make):
    """Also those that have their default, which another version may change, and those of parts given by a word."""
    model = make(n_codes=4, n_candidates=12, n_patches=1_000, random_state=0).fit(photos)
    rows = " ".join(f"{name} {text}" for name, text in parameters(model, None).items())
    constants = {"alpha": "0.25", "size": "6", "stride": "1", "max_iter": "100", "tol": "0.0001", "grid": "2"}
    for name, value in constants.items():
        assert re.search(rf"{name}\W+{re.escape(value)}\b", rows), (name, rows)
