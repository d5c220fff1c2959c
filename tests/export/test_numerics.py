"""The page's arithmetic in Node gives the library's features and margins."""

import numpy as np
import pytest

from poolwise import (
    ZCA,
    BothOrders,
    LinearSVM,
    Nearest,
    Patches,
    Pool,
    PooledFeatures,
    SecondOrder,
    Standardize,
    Threshold,
    Triangle,
)
from poolwise.export.layer_data import page_data

SCRIPTS = ("product.js", "cells.js", "roots.js", "bands.js", "numerics.js")
RUN = """
const result = given.map(({ spec, images, plain }) => {
  const layer = new Layer(spec, plain);
  return images.map((pixels) => {
    const { standard, features, margins } = layer.run(pixels);
    return { features: Array.from(features), margins, kind: layer.loops.kind };
  });
});
"""
FOUR = Threshold((0.25, 1.0), two_sided=True)
CASES = {
    "paper": {},
    "two sides": {"encoder": Threshold(0.25, two_sided=True)},
    "four outputs": {"encoder": FOUR, "n_codes": 13},
    "triangle": {"encoder": Triangle()},
    "triangle with a rank": {"encoder": Triangle(), "whitening": ZCA(rank=20)},
    "nearest": {"encoder": Nearest()},
    "nearest with a rank": {"encoder": Nearest(), "whitening": ZCA(rank=20)},
    "rank": {"whitening": ZCA("variance", rank=17), "encoder": FOUR},
    "no whitening": {"whitening": None, "descriptor": Patches(5, 2, "variance")},
    "no contrast": {"descriptor": Patches((4, 7), 3, None), "encoder": Threshold(20.0)},
    "max": {"pooling": Pool("max", grid=4)},
    "both on a pyramid": {"pooling": Pool("both", grid=[1, (2, 3)]), "encoder": FOUR},
    "rms and root": {"pooling": Pool("rms", grid=3, root=True)},
    "sum": {"pooling": Pool("sum", grid=1)},
    "average on a pyramid": {"pooling": Pool("average", grid=[1, 2, 3])},
    "mirror": {"symmetry": "mirror", "pooling": Pool("max", grid=2)},
    "dihedral": {"symmetry": "dihedral", "pooling": Pool("both", grid=2)},
    "bands": {"bands": "standardize"},
    "ranges": {"bands": [(0, 255), (10, 200), (0, 510)]},
    "cell": {"scale": "cell"},
    "no scale": {"scale": None},
    "scale offset": {"scale": Standardize("cell", offset=0.5)},
    "nystrom": {"n_candidates": 24, "encoder": FOUR},
    "pca": {"n_candidates": 24, "projection": "pca"},
    "statistics": {"statistics": True},
    "statistics, mirror, pyramid": {"statistics": True, "symmetry": "mirror", "pooling": Pool("average", grid=[1, (2, 3)])},
    "statistics, dihedral, cell": {"statistics": True, "symmetry": "dihedral", "scale": "cell"},
    "statistics, nystrom, ranges": {
        "statistics": True,
        "n_candidates": 24,
        "encoder": FOUR,
        "bands": [(0, 255), (10, 200), (0, 510)],
    },
    "statistics, second order": {"statistics": True, "pooling": SecondOrder(2), "bands": "standardize"},
    "second order": {"pooling": SecondOrder(2)},
    "second order, mirrored": {"pooling": SecondOrder([1, 2]), "symmetry": "mirror"},
    "second order, power": {"pooling": SecondOrder([1, 2], "power")},
    "second order, plain": {"pooling": SecondOrder((2, 1), None), "encoder": Threshold(0.25, two_sided=True)},
    "second order, directions": {"pooling": SecondOrder(2, directions=9)},
    "second order of triangles": {"pooling": SecondOrder(1, offset=0.001), "encoder": Triangle()},
    "both orders": {"pooling": BothOrders(2, 4)},
    "both orders, power": {"pooling": BothOrders([1, 2], 4, normalize="power")},
    "both orders, plain": {"pooling": BothOrders((2, 1), 4, normalize=None), "encoder": Threshold(0.25, two_sided=True)},
    "both orders, max, mirrored": {"pooling": BothOrders([1, (2, 3)], 4, "max"), "symmetry": "mirror"},
    "both orders of four outputs, cell": {"pooling": BothOrders(2, 5), "encoder": FOUR, "scale": "cell"},
    "both orders, more pairs than codes": {"pooling": BothOrders(1, 99, "max"), "encoder": FOUR},
    "both orders, dihedral, statistics": {"pooling": BothOrders(2, 3), "symmetry": "dihedral", "statistics": True},
    "both orders of nearest codes": {"pooling": BothOrders(2, 3), "encoder": Nearest()},
    "both orders of triangles": {"pooling": BothOrders(2, 4, offset=0.01), "encoder": Triangle()},
    "large patches": {"descriptor": Patches(12, 1), "n_codes": 3},
    "one pixel": {"descriptor": Patches(1), "n_codes": 3},
}


@pytest.fixture(scope="module")
def hard(few):
    """Photos, and images that are flat, black, white, and noise."""
    rng = np.random.default_rng(0)
    flat = [np.full((32, 32, 3), value, np.uint8) for value in (0, 128, 255)]
    return np.stack([*few[0][::11], *flat, rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)])


@pytest.fixture(scope="module")
def computed(node, fitted, hard):
    """What Node finds for every case, once with WebAssembly and once without; and the library's features."""
    models = [fitted(**settings) for settings in CASES.values()]
    specs = [page_data(model, None, None) for model in models]
    images = hard.reshape(len(hard), -1).tolist()
    given = [{"spec": spec, "images": images, "plain": plain} for plain in (False, True) for spec in specs]
    found = node(SCRIPTS, RUN, given)
    want = {name: model.transform(hard) for name, model in zip(CASES, models, strict=True)}
    by_kind = {"WebAssembly": found[: len(CASES)], "JavaScript": found[len(CASES) :]}
    return {kind: dict(zip(CASES, some, strict=True)) for kind, some in by_kind.items()}, want


@pytest.mark.parametrize("kind", ["WebAssembly", "JavaScript"])
@pytest.mark.parametrize("name", CASES)
def test_features_are_the_librarys(computed, name, kind):
    found, want = computed[0][kind][name], computed[1][name]
    assert {one["kind"] for one in found} == {kind}
    near = 1e-4 if name == "second order of triangles" else 1e-5  # matrices that are nearly singular
    np.testing.assert_allclose([one["features"] for one in found], want, rtol=0, atol=near * np.abs(want).max())


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"n_candidates": 24},
        {"pooling": SecondOrder(2, directions=7)},
        {"pooling": BothOrders(2, 4)},
        {"encoder": FOUR},
        {"statistics": True},
        {"statistics": True, "n_candidates": 24, "symmetry": "mirror"},
    ],
)
@pytest.mark.parametrize("classes", [2, 4])
def test_margins_are_the_librarys(node, fitted, few, settings, classes):
    images, names = few
    rows = np.isin(names, np.unique(names)[:classes])
    features = fitted(**settings)
    svm = LinearSVM(n_jobs=1).fit(features.transform(images[rows]), names[rows])
    spec = page_data(features, svm, svm.classes_.tolist())
    assert spec["T"] is None
    found = node(SCRIPTS, RUN, [{"spec": spec, "images": images.reshape(len(images), -1).tolist()}])[0]
    want = svm.decision_function(features.transform(images))
    want = np.stack([-want, want], axis=1) if want.ndim == 1 else want
    margins = np.array([one["margins"] for one in found])
    np.testing.assert_allclose(margins, want, rtol=0, atol=1e-5 * np.abs(want).max())
    assert (svm.classes_[margins.argmax(axis=1)] == svm.predict(features.transform(images))).all()


def test_grey_images(node, fitted, few):
    images = few[0][:, :, :, :1]
    pooling = Pool("max", grid=2)
    model = PooledFeatures(8, None, encoder=FOUR, pooling=pooling, n_patches=1000, random_state=0, n_jobs=1).fit(images)
    found = node(SCRIPTS, RUN, [{"spec": page_data(model, None, None), "images": images[:5].reshape(5, -1).tolist()}])[0]
    want = model.transform(images[:5])
    np.testing.assert_allclose([one["features"] for one in found], want, rtol=0, atol=1e-5 * np.abs(want).max())


EXPLAIN = """
const layer = new Layer(given.spec), { standard, margins } = layer.run(given.pixels);
const result = {
  margins, standard: Array.from(standard), above: Array.from(layer.scores(standard, null)),
  speak: margins.map((_, row) => Array.from(layer.scores(standard, row))),
  maps: layer.maps(given.pixels, given.wanted).map((map) => Array.from(map)),
};
"""


@pytest.mark.parametrize(
    "settings",
    [
        {"encoder": FOUR, "n_candidates": 24},
        {"pooling": SecondOrder(2)},
        {"pooling": BothOrders(2, 4)},
        {"pooling": BothOrders(1, 5, "max"), "encoder": FOUR, "statistics": True},
        {"encoder": Triangle()},
        {"encoder": FOUR, "n_candidates": 24, "statistics": True},
    ],
)
@pytest.mark.parametrize("classes", [2, 4])
def test_scores_and_maps_of_codes(node, fitted, few, settings, classes):
    """What codes add is the margin without its intercept and what bands add; a map is the formula's activations."""
    images, names = few
    rows = np.isin(names, np.unique(names)[:classes])
    features = fitted(**settings)
    svm = LinearSVM(n_jobs=1).fit(features.transform(images[rows]), names[rows])
    layer, K = features.layer_, 9
    sides = layer.encoder.sides > 1
    wanted = [3, K + 5] if sides else [3, 5]
    spec = page_data(features, svm, svm.classes_.tolist())
    found = node(SCRIPTS, EXPLAIN, {"spec": spec, "pixels": images[0].ravel().tolist(), "wanted": wanted})
    intercept = np.ravel(svm.intercept_) if classes > 2 else svm.intercept_[0] * np.array([-1, 1])
    of_bands = svm.coef_[:, layer.n_code_features :] @ features.transform(images[:1])[0, layer.n_code_features :]
    assert np.abs(of_bands).max(initial=0) > 1e-2 or not layer.n_band_features
    rest = intercept + (of_bands if classes > 2 else of_bands[0] * np.array([-1, 1]))
    np.testing.assert_allclose(np.sum(found["speak"], axis=1) + rest, found["margins"], atol=1e-4)
    h, w = layer.positions
    P = layer.descriptor(images[:1].astype(float)).reshape(h * w, -1)
    F = layer.activations(P)
    columns = [[3, 2 * K + 3], [K + 5, 3 * K + 5]] if sides else [[3], [5]]
    want = [F[:, some].sum(axis=1) for some in columns]
    np.testing.assert_allclose(found["maps"], want, atol=1e-4 * F.max())
    if not isinstance(layer.pooling, SecondOrder):
        outputs = layer.n_cells * layer.pooling.width(layer.n_outputs)
        x = np.array(found["standard"])[:outputs].reshape(layer.n_cells, -1)
        np.testing.assert_allclose([found["above"][i] for i in wanted], [x[:, some].max() for some in columns], atol=1e-6)
