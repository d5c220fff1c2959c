"""The committed figures of docs/reproduction: they come out again, and hold what is claimed of them."""

from pathlib import Path

import pytest

from poolwise.reproduction.cells import kmeans, pdl
from poolwise.reproduction.protocols import Settings
from poolwise.reproduction.running import measure
from poolwise.reproduction.store import Store

DOCS = Path(__file__).parents[2] / "docs" / "reproduction"


@pytest.mark.data
@pytest.mark.parametrize(
    "cell", [kmeans("cifar10", 100), pdl("cifar10", 100, 200), pdl("stl10", 100, 200)], ids=lambda cell: cell.key
)
def test_a_committed_cell_comes_out_again(data_home, tmp_path, cell):
    """To a tenth of a point: other kinds of CPU add up in another order."""
    store = Store(tmp_path)
    measure([cell], store, Settings(data_home), lambda text: None)
    assert store.get(cell)["accuracy"] == pytest.approx(Store(DOCS).get(cell)["accuracy"], abs=0.001)
