"""`transform_blocks`: what `transform` gives, block after block."""

import tracemalloc

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_info

from poolwise import Pool, PooledFeatures, Threshold
from poolwise.support.rows import RowsOf

from settings import QUICK, paper_features


@pytest.fixture(scope="module")
def many(photos):
    """Several blocks of images."""
    return np.resize(photos, (500, 32, 32, 3))


def put_together(model, images, width):
    """The blocks in one array, each row written once and in order."""
    features, end = np.full((len(images), width), np.nan, np.float32), 0
    for rows, X in model.transform_blocks(images):
        assert (rows.start, rows.step) == (end, None)
        assert X.shape == (rows.stop - rows.start, width)
        assert X.dtype == np.float32
        features[rows], end = X, rows.stop
    assert end == len(images)
    return features


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"n_candidates": 20},
        {"n_candidates": 20, "projection": "pca"},
        {"encoder": "triangle", "pooling": Pool("max", grid=[1, 3])},
        {"encoder": Threshold(0.25, two_sided=True), "scale": "cell"},
    ],
    ids=str,
)
def test_blocks_are_the_features_to_the_bit(many, settings):
    model = paper_features(**QUICK, **settings).fit(many[:160])
    whole = model.transform(many)
    assert len(list(model.transform_blocks(many))) > 1
    assert put_together(model, many, whole.shape[1]).tobytes() == whole.tobytes()


def test_blocks_do_not_depend_on_threads_or_on_each_other(many, model):
    whole = model.transform(many)
    for n_jobs in (1, 2, 4):
        assert put_together(model.set_params(n_jobs=n_jobs), many, 32).tobytes() == whole.tobytes()
    model.set_params(n_jobs=None)
    pairs = list(zip(model.transform_blocks(many), model.transform_blocks(many), strict=True))
    assert all(a.tobytes() == b.tobytes() == whole[rows].tobytes() for (rows, a), (_, b) in pairs)


def test_sources_rows_and_lists_are_taken_as_by_transform(many, model):
    whole = model.transform(many)
    order = np.arange(500)[::-1]
    assert put_together(model, RowsOf(many, order), 32).tobytes() == whole[order].tobytes()
    assert put_together(model, many.reshape(500, -1), 32).tobytes() == whole.tobytes()
    assert put_together(model, list(many[:3]), 32).tobytes() == whole[:3].tobytes()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda x: x[..., :1], "32×32 pixels with 1 channel were given, but this model was fitted on"),
        (lambda x: x[0], r"a single image is images\[None\]"),
        (lambda x: x[:0], "0 sample"),
        (lambda x: np.where(x > 254, np.nan, x), "NaN"),
        (lambda x: x.astype(str), "strings"),
        (lambda x: None, "expected images of shape"),
        (lambda x: RowsOf(x[:, :16], np.arange(3)), "images of 16×32 pixels"),
    ],
)
def test_wrong_images_are_refused_at_once(photos, model, wrong, message):
    with pytest.raises(ValueError, match=message):
        model.transform_blocks(wrong(photos))  # and not when the first block is asked for


def test_a_model_that_is_not_fitted_says_so_at_once(photos):
    with pytest.raises(NotFittedError):
        PooledFeatures().transform_blocks(photos)


def test_whoever_stops_early_leaves_blas_as_it_was(many, model):
    before = [lib["num_threads"] for lib in threadpool_info()]
    blocks = model.transform_blocks(many)
    next(blocks)
    blocks.close()
    assert [lib["num_threads"] for lib in threadpool_info()] == before
    for _ in model.transform_blocks(many):
        break
    assert [lib["num_threads"] for lib in threadpool_info()] == before


def test_never_all_of_it_at_once(many):
    model = paper_features(**{**QUICK, "n_codes": 50}, pooling=Pool("average", grid=8), n_jobs=1).fit(many[:40])
    few, all_of_it = RowsOf(many, np.arange(200) % 500), RowsOf(many, np.arange(1000) % 500)
    peaks = []
    for images in (few, all_of_it):
        tracemalloc.start()
        for _ in model.transform_blocks(images):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 1_000_000  # a block or two; the features of 800 more images take 10 MB
