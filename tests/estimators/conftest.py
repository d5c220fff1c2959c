import pytest

from poolwise import PooledFeatures

from settings import QUICK


@pytest.fixture(scope="session")
def model(photos):
    return PooledFeatures(**QUICK).fit(photos)
