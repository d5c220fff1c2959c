import pytest

from settings import QUICK, paper_features


@pytest.fixture(scope="session")
def model(photos):
    return paper_features(**QUICK).fit(photos)
