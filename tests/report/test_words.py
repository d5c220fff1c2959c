"""The first sentence of a report says what the model is, and no more than is true."""

from types import SimpleNamespace

import pytest

from poolwise import PooledFeatures
from poolwise.report.words import one_line


@pytest.mark.parametrize(
    ("settings", "said", "unsaid"),
    [
        ({"n_candidates": 12}, "kept of 12 because these answer most differently", "at random"),
        ({"n_candidates": 12, "selection": "random"}, "kept of 12 at random", "because"),
        ({}, "through 4 small patterns of 6×6 pixels and notes how much", "kept of"),
        ({"pool": "max", "grid": 1}, "how strongly it is there in the whole image", "parts"),
    ],
)
def test_one_line(photos, settings, said, unsaid):
    model = PooledFeatures(4, n_patches=1_000, max_iter=2, random_state=0, **settings).fit(photos)
    line = one_line(SimpleNamespace(features=model, classifier=None))
    assert said in line
    assert unsaid not in line
    assert "  " not in line
