"""First and second order together: each is what its own pooling gives, in the file, in the order of codes, and on threads."""

import numpy as np
import pytest

from poolwise import BothOrders, Nearest, Pool, PooledFeatures, SecondOrder, Threshold, load, save
from poolwise.engine.threads import Threads
from poolwise.method.extraction import FusedPass, PlainPass, extract, prepare
from poolwise.method.selection.choosing import Selection
from poolwise.support.progress import Stages

FOUR = Threshold((0.25, 1.0), two_sided=True)
QUICK = {"n_patches": 3000, "random_state": 0, "symmetry": None, "encoder": FOUR}


@pytest.mark.parametrize("normalize", ["root", "power", "log", None])
@pytest.mark.parametrize("first", ["average", "max"])
@pytest.mark.parametrize("pairs", [1, 3, 9])
def test_each_order_is_what_its_own_pooling_gives(rng, first, normalize, pairs):
    F, m = rng.uniform(size=(7, 5, 6)), min(pairs, 6)
    x = BothOrders([1, (2, 3)], pairs, first, normalize)(F)
    np.testing.assert_allclose(x[:, :6], Pool(first, [1, (2, 3)])(F))
    np.testing.assert_allclose(x[:, 6:], SecondOrder([1, (2, 3)], normalize)(F[..., :m]), atol=1e-12)
    names = BothOrders(pairs=pairs).names([f"code{k}" for k in range(6)])
    assert (len(names), names[5], names[6]) == (x.shape[1], "code5", "code0*code0")


@pytest.mark.parametrize("pooling", [BothOrders(2, 5), BothOrders([1, 2], 3, "max", "power")], ids=repr)
@pytest.mark.parametrize("encoder", [FOUR, Threshold(0.25, two_sided=False), Nearest()], ids=repr)
@pytest.mark.parametrize("make_pass", [FusedPass.of, PlainPass])
def test_both_passes_give_the_formula(rng, make_layer, photos, pooling, encoder, make_pass):
    layer = make_layer(rng, 8, encoder=encoder, pooling=pooling, symmetry="mirror")
    found = []
    for threads in (1, 2):
        with Threads(threads) as engine:
            found.append(extract(make_pass(layer), photos[:4], engine=engine, stages=Stages()))
    np.testing.assert_allclose(found[0], layer.features(photos[:4]), atol=2e-3)
    assert found[0].tobytes() == found[1].tobytes()


def test_the_codes_that_are_multiplied_are_those_that_selection_would_keep(photos):
    labels = np.arange(len(photos)) % 3
    model = PooledFeatures(10, 40, pooling=BothOrders(pairs=4), selection="greedy", **QUICK).fit(photos, labels)
    few = PooledFeatures(10, 40, pooling=Pool(), selection="greedy", **QUICK).fit(photos, labels)
    assert sorted(model.selected_) == few.selected_.tolist()  # the same codes, in another order
    C = few.candidates_.covariance_of_codes()
    own = few.selected_
    with Threads(1) as engine:
        from poolwise.method.selection.choosing import select

        first = select(C[np.ix_(own, own)], 4, "greedy", rng=np.random.default_rng(0), engine=engine).selected
    assert model.selected_[:4].tolist() == own[first].tolist()
    np.testing.assert_array_equal(model.codes_, model.candidates_.codes[model.selected_])
    np.testing.assert_array_equal(np.sort(np.unique(model.cluster_)), np.sort(model.selected_))
    assert (model.cluster_[model.selected_] == model.selected_).all()


def test_what_leads_keeps_its_cluster():
    found = Selection(np.array([1, 4, 6]), 7, np.array([0, 0, 1, 1, 1, 2, 2]))
    moved = found.led_by(np.array([2, 0]))
    assert moved.selected.tolist() == [6, 1, 4]
    np.testing.assert_array_equal(moved.cluster, found.cluster)


@pytest.mark.parametrize("candidates", [None, 24])
def test_a_model_survives_a_file_and_chooses_again_with_images(photos, tmp_path, candidates):
    model = PooledFeatures(8, candidates, pooling="both_orders", **QUICK).fit(photos)
    assert model.layer_.pooling == BothOrders([(2, 2)], pairs=8)  # no more than there are codes
    X = model.transform(photos[:5])
    assert X.shape == (5, 4 * (4 * 8 + 8 * 9 // 2))
    assert model.get_feature_names_out()[32] == "pool2x2_r0c0_code0_pos_above0.25*code0_pos_above0.25"
    save(model, tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert again.transform(photos[:5]).tobytes() == X.tobytes()
    if candidates is None:
        return
    with pytest.raises(ValueError, match=r"pooling='both_orders' has numbers .* reselect\(images"):
        again.reselect(n_codes=5)
    fresh = PooledFeatures(5, candidates, pooling="both_orders", **QUICK).fit(photos)
    chosen = again.reselect(photos, n_codes=5)
    np.testing.assert_array_equal(chosen.selected_, fresh.selected_)
    np.testing.assert_allclose(chosen.transform(photos[:5]), fresh.transform(photos[:5]), atol=1e-5)


def test_flat_images_give_finite_features(photos):
    model = PooledFeatures(6, 12, pooling=BothOrders(pairs=3), **QUICK).fit(photos)
    flat = np.full((2, *photos.shape[1:]), 77, np.uint8)
    assert np.isfinite(model.transform(flat)).all()
    assert isinstance(prepare(model.layer_), FusedPass)
