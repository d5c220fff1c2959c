"""In a notebook a fitted model shows its codes below scikit-learn's diagram."""

import base64
import io
import re
from dataclasses import replace

import numpy as np
import pytest
import sklearn
from PIL import Image
from sklearn.base import BaseEstimator

from poolwise import PooledFeatures
from poolwise.report import draw_codes

from settings import QUICK, paper_features


@pytest.fixture(scope="module")
def six(photos):
    return paper_features(**{**QUICK, "n_codes": 6}).fit(photos)


def test_unfitted_it_is_scikit_learns():
    html = PooledFeatures()._repr_html_()
    assert "<img" not in html
    assert "PooledFeatures" in html


def test_fitted_it_has_the_mosaic_of_the_report(six):
    html = six._repr_html_()
    (source,) = re.findall(r'src="data:image/png;base64,([^"]+)"', html)
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(source))))
    np.testing.assert_array_equal(pixels, np.asarray(draw_codes(six, columns=6, zoom=6, gap=2)))
    assert "6 codes" in html
    numbered = re.compile(r"sk-container-id-\d+")  # scikit-learn 1.6 has it in the first line
    assert numbered.sub("", html).startswith(numbered.sub("", BaseEstimator._repr_html_inner(six))[:200])
    assert "<img" in six._repr_mimebundle_()["text/html"]


def test_display_as_text(six):
    with sklearn.config_context(display="text"):
        assert not hasattr(six, "_repr_html_")
        assert set(six._repr_mimebundle_()) == {"text/plain"}


def test_many_codes_are_cut(photos):
    twin = paper_features(**{**QUICK, "n_codes": 6}).fit(photos)
    twin.layer_ = replace(twin.layer_, codes=np.repeat(twin.codes_, 80, axis=0))
    assert "The first 400 of 480 codes" in twin._repr_html_()
