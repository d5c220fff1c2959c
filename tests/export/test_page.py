"""What `export_page` writes, and what it refuses by name."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import poolwise
from poolwise import (
    LLC,
    OMP,
    BothOrders,
    Hog,
    LinearSVM,
    MaxProducts,
    Patches,
    PooledFeatures,
    SecondOrder,
    StackedFeatures,
    Threshold,
)
from poolwise.method.encoders import Linear
from poolwise.method.layer import Layer
from poolwise.method.pooling import Pool
from poolwise.support.parameters import Whole, parameter

HOSTILE = "<img src=x onerror=alert(1)></script>"


@pytest.fixture(scope="module")
def pipeline(fitted, few):
    images, names = few
    labels = np.where(names == names[0], HOSTILE, names.astype(object)).astype(str)
    return make_pipeline(fitted(), LinearSVM(n_jobs=1)).fit(images, labels)


@pytest.fixture
def written(tmp_path):
    def write(model, **more):
        poolwise.export_page(model, tmp_path / "page.html", **more)
        return (tmp_path / "page.html").read_text(encoding="utf-8")

    return write


def test_it_is_one_file_with_a_policy_and_no_address(pipeline, written):
    html = written(pipeline, title=HOSTILE)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert "connect-src" not in policy
    assert html.count("<script") == html.count("</script>") == 2
    assert "<img" not in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html
    assert not re.search(r"""(src|href)=["']?(https?:|//)""", html)


def test_it_says_nothing_of_the_machine(pipeline, tmp_path, monkeypatch):
    for name in ("USER", "LOGNAME", "HOME", "HOSTNAME"):
        monkeypatch.setenv(name, "zaphod")
    path = tmp_path / "zaphod" / "page.html"
    path.parent.mkdir()
    poolwise.export_page(pipeline, path)
    html = path.read_text(encoding="utf-8")
    for word in ("zaphod", str(tmp_path), str(Path(poolwise.__file__).parent), str(Path.cwd())):
        assert word not in html


def test_the_same_model_gives_the_same_page(pipeline, written):
    assert written(pipeline) == written(pipeline)


def test_200_codes_take_less_than_a_megabyte(rng, written):
    """The most that default poolings come to for 200 codes and ten labels: four outputs a code, 4×4 cells."""
    images = rng.integers(0, 256, (40, 32, 32, 3), dtype=np.uint8)
    pooling = Pool("max", grid=4)
    features = PooledFeatures(200, None, pooling=pooling, symmetry="mirror", n_patches=3000, random_state=0, n_jobs=1)
    features.set_params(dictionary=poolwise.KMeans(max_iter=1)).fit(images)
    svm = LinearSVM(n_jobs=1).fit(features.transform(images), np.arange(40) % 10)
    assert features.layer_.n_features == 200 * 4 * 16
    assert len(written(make_pipeline(features, svm)).encode()) < 1_000_000


@pytest.mark.filterwarnings("ignore:pixels of type uint8 are never")
@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"encoder": OMP(2)}, "OMP"),
        ({"encoder": LLC()}, "LLC"),
        ({"encoder": Linear()}, "Linear"),
        ({"descriptor": Hog()}, "Hog"),
        ({"pooling": MaxProducts(1)}, "MaxProducts"),
        ({"pooling": SecondOrder(1, "log")}, "log"),
        ({"pooling": SecondOrder(1, offset=1e-5)}, "offset"),
        ({"pooling": BothOrders(1, 3, normalize="log")}, "logarithm, for BothOrders"),
        ({"pooling": BothOrders(1, 3, offset=1e-5)}, "BothOrders.*offset=1e-05"),
        ({"nodata": 300}, "pixels without data, for nodata=300"),
    ],
)
def test_what_a_page_cannot_compute_is_refused_by_name(fitted, tmp_path, settings, named):
    with pytest.raises(ValueError, match=named) as caught:
        poolwise.export_page(fitted(n_codes=4, **settings), tmp_path / "page.html")
    assert "poolwise predict" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_other_numbers_of_channels_are_refused(rng, tmp_path):
    model = PooledFeatures(4, None, pooling=Pool("average", grid=1), n_patches=2000, random_state=0, n_jobs=1)
    model.fit(rng.integers(0, 256, (10, 12, 12, 5), dtype=np.uint8))
    with pytest.raises(ValueError, match="1 or 3 channels; this model is for 5"):
        poolwise.export_page(model, tmp_path / "page.html")


def test_other_models_are_refused(fitted, few, tmp_path):
    path, features = tmp_path / "page.html", fitted(n_codes=4)
    with pytest.raises(ValueError, match="got PooledFeatures and LogisticRegression"):
        poolwise.export_page(make_pipeline(features, LogisticRegression()), path)
    with pytest.raises(ValueError, match="got StackedFeatures: export a model of one layer"):
        poolwise.export_page(StackedFeatures([features]), path)
    with pytest.raises(ValueError, match="not fitted"):
        poolwise.export_page(PooledFeatures(), path)


@dataclass(frozen=True, eq=False)
class NewerLayer(Layer):
    sharpened: tuple[str, ...] = ("mean",)


@dataclass(frozen=True, repr=False)
class NewerPatches(Patches):
    nodata: int = parameter(0, Whole(0), "A value that is no pixel.")


class NewerThreshold(Threshold):
    def fused(self, D, whitening):
        return replace(super().fused(D, whitening), activation="soft")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda layer: NewerLayer(**vars(layer)), "sharpened|NewerLayer"),
        (lambda layer: replace(layer, descriptor=NewerPatches(6)), "NewerPatches"),
        (lambda layer: replace(layer, encoder=NewerThreshold(0.25)), "activation 'soft'"),
        (lambda layer: replace(layer, symmetry="turns"), "symmetry 'turns'"),
        (lambda layer: replace(layer, pooling=layer.pooling.but(how="median")), "how 'median'"),
    ],
)
def test_what_is_not_known_is_refused_and_not_left_out(fitted, tmp_path, change, named):
    """A part that gains a field, or a word, must not give a page that computes something else."""
    model = fitted(n_codes=4)
    model.layer_ = change(model.layer_)
    with pytest.raises(ValueError, match=named):
        poolwise.export_page(model, tmp_path / "page.html")


def test_what_a_fit_learns_beyond_the_layer_is_refused(fitted, tmp_path):
    model = fitted(n_codes=4)
    model.nodata_ = 0
    with pytest.raises(ValueError, match="nodata_"):
        poolwise.export_page(model, tmp_path / "page.html")
    model.nodata_ = None
    poolwise.export_page(model, tmp_path / "page.html")
