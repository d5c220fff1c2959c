"""The products that everything is computed with."""

import numpy as np
import pytest

from poolwise.engine import blas
from poolwise.engine.threads import Threads


class TestWrongProducts:
    """A NumPy whose AᵀA is wrong is refused before anything is learned, once."""

    @pytest.fixture(autouse=True)
    def _anew(self):
        blas.check_products.cache_clear()
        yield
        blas.check_products.cache_clear()

    def test_this_one_is_right(self):
        assert blas.check_products() is None

    def test_a_wrong_one_is_named(self, monkeypatch):
        exact = np.einsum
        monkeypatch.setattr(blas.np, "einsum", lambda *given: exact(*given) + np.float32(0.25))
        with pytest.raises(blas.WrongProductError, match=rf"product of NumPy {np.__version__} is wrong on this machine"):
            Threads(1).__enter__()

    def test_it_is_looked_at_once(self, monkeypatch):
        blas.check_products()
        monkeypatch.setattr(blas.np, "einsum", None)
        with Threads(1):
            pass
