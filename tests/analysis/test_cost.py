"""Multiplications counted by hand from what the method multiplies."""

from dataclasses import replace

import pytest

from poolwise import LinearSVM, SecondOrder, Threshold
from poolwise.analysis.cost import cost_of, fit_bytes, milliseconds, nominal_milliseconds

from settings import paper_features


def test_plain_codes_cost_the_product_with_every_patch(plain):
    assert cost_of(plain.layer_) == {"encoding": 27 * 27 * 108 * 9, "pooling": 0, "projection": 0, "classifier": 0}


def test_the_paper_200_codes_of_6_by_6_patches(photos):
    model = paper_features(200, n_patches=2_000, dictionary="patches", random_state=0).fit(photos[:20])
    assert cost_of(model.layer_)["encoding"] == 15_746_400


def test_a_projection_multiplies_in_every_cell(chosen, two_sided):
    assert cost_of(chosen.layer_)["projection"] == 4 * 10 * 10
    assert cost_of(two_sided.layer_)["projection"] == 4 * 12 * 12
    bound = chosen.reselect(projection="pca")  # all 40 codes, 10 directions
    assert cost_of(bound.layer_) == {"encoding": 27 * 27 * 108 * 40, "pooling": 0, "projection": 4 * 40 * 10, "classifier": 0}
    assert cost_of(chosen.reselect(projection=None).layer_)["projection"] == 0


def test_a_classifier_multiplies_its_coefficients(chosen, svm, labelled):
    assert cost_of(chosen.layer_, classifier=svm.coef_.shape)["classifier"] == 4 * 40
    X = chosen.transform(labelled[0])
    two = LinearSVM(n_jobs=1).fit(X, labelled[1] == labelled[1][0])
    assert cost_of(chosen.layer_, classifier=two.coef_.shape)["classifier"] == 40


@pytest.mark.parametrize("repeats", [1, 3])
def test_milliseconds_are_of_one_image_and_of_so_many_calls(labelled, chosen, repeats):
    calls = []

    class Counted:
        def transform(self, images):
            calls.append(len(images))
            return chosen.transform(images)

    assert 0 < milliseconds(Counted(), labelled[0][:5], repeats) < 10_000
    assert calls == [5] * repeats


def test_nominal_milliseconds_follow_copies_outputs_and_matrix_functions(plain):
    layer = plain.layer_
    base = nominal_milliseconds(layer)
    assert nominal_milliseconds(replace(layer, symmetry="mirror")) == pytest.approx(2 * base, rel=0.01)
    assert nominal_milliseconds(replace(layer, symmetry="dihedral")) == pytest.approx(8 * base, rel=0.01)
    assert nominal_milliseconds(replace(layer, encoder=Threshold((0.25, 1.0), two_sided=True))) > 2 * base
    many = layer.sized(200)
    power, root, log = (nominal_milliseconds(replace(many, pooling=SecondOrder(2, how))) for how in ("power", "root", "log"))
    assert nominal_milliseconds(many) < power < root / 5 < log / 5


def test_a_fit_needs_features_a_square_matrix_and_what_directions_need():
    assert fit_bytes(SecondOrder(2), 10, 100) == 4 * 100 * 220 + 4 * 100**2
    assert fit_bytes(SecondOrder(2, directions=5), 100, 10) == 10 * 5050**2
    assert fit_bytes(SecondOrder(2, directions=5), 2, 10) == fit_bytes(SecondOrder(2), 2, 10)
