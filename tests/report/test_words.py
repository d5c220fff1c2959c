"""The first sentence of a report says what the model is, and no more than is true."""

import re
from types import SimpleNamespace

import pytest

from poolwise import ZCA, BothOrders, KMeans, Pool, PooledFeatures, SecondOrder, Threshold
from poolwise.report.words import note_on_codes, note_on_features, note_on_work, one_line, parameters

from settings import paper_features


@pytest.mark.parametrize(
    ("settings", "said", "unsaid"),
    [
        ({"n_candidates": 12}, "kept of 12 because their responses differ most once pooled", "at random"),
        ({"n_candidates": 12, "selection": "random"}, "kept of 12 at random", "because"),
        ({}, "through 4 small patterns of 6×6 pixels and notes how much", "kept of"),
        ({"pooling": Pool("max", grid=1)}, "how strongly it is present in the whole image", "parts"),
        (
            {"encoder": Threshold(two_sided=True)},
            "how much of it there is, for the pattern and for its negative, in",
            "thresholds",
        ),
        ({"encoder": Threshold((0.1, 0.25, 1))}, ", above each of the thresholds 0.1, 0.25 and 1, in", "negative"),
        ({"encoder": Threshold((0.1, 1), two_sided=True)}, "0.1 and 1 and for the pattern and for its negative, in", ",,"),
        (
            {"encoder": Threshold(two_sided=True), "pooling": BothOrders(2, 3, "max")},
            "how strongly it is present, for the pattern and for its negative, and how strongly every two of 3 of them are "
            "present together, in each of 4 parts",
            ",,",
        ),
        ({"pooling": BothOrders(2, 9)}, "how much of it there is and how strongly every two of them are present", "of 4 of"),
    ],
)
def test_one_line(photos, settings, said, unsaid):
    model = paper_features(4, n_patches=1_000, dictionary=KMeans(max_iter=2), random_state=0, **settings).fit(photos)
    line = one_line(SimpleNamespace(features=model, classifier=None, above=(), n_features=model.layer_.n_features))
    assert said in line
    assert unsaid not in line
    assert "  " not in line


@pytest.mark.parametrize("make", [PooledFeatures, lambda **more: PooledFeatures.preset("jia2012", **more)])
def test_parameters_name_every_constant_for_anyone_who_wants_to_do_it_again(photos, make):
    """Also those that have their default, which another version may change, and those of parts given by a word."""
    model = make(n_codes=4, n_candidates=12, n_patches=1_000, random_state=0).fit(photos)
    rows = " ".join(f"{name} {text}" for name, text in parameters(model, None).items())
    constants = {"alpha": "0.25", "size": "6", "stride": "1", "max_iter": "100", "tol": "0.0001", "grid": "2"}
    for name, value in constants.items():
        assert re.search(rf"{name}\W+{re.escape(value)}\b", rows), (name, rows)
    assert "auto" not in rows


def fitted(photos, **settings):
    labels = [number // 10 for number in range(len(photos))]
    return paper_features(4, n_patches=1_000, dictionary=KMeans(max_iter=2), random_state=0, **settings).fit(photos, labels)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, ("by K-means", "numbers per image", "")),
        (
            {"n_candidates": 12, "whitening": ZCA(rank=20), "symmetry": "mirror"},
            ("of 12 candidates, in 20 of 108 directions of patches", "numbers per image", ", for 2 copies of the image"),
        ),
        (
            {"pooling": SecondOrder(directions=5)},
            (
                "by K-means",
                "numbers per image: matrix roots of second moments, each cell's 10 on 5 directions that vary most",
                "; matrix roots or logarithms are not counted",
            ),
        ),
        (
            {"pooling": SecondOrder(normalize="power", directions=5, directions_by="labels"), "symmetry": "dihedral"},
            (
                "by K-means",
                "numbers per image: roots of second moments, entry by entry, each cell's 10 on 5 directions that predict the "
                "labels",
                ", for 8 copies of the image",
            ),
        ),
        ({"pooling": SecondOrder(normalize=None)}, ("by K-means", "numbers per image: second moments", "")),
        (
            {"pooling": BothOrders(2, 3)},
            (
                "by K-means",
                "numbers per image: those of every code, and matrix roots of second moments of 3",
                "; matrix roots or logarithms are not counted",
            ),
        ),
    ],
)
def test_notes_name_rank_normalisation_directions_and_copies(photos, settings, said):
    model = fitted(photos, **settings)
    assert (note_on_codes(model), note_on_features(model.layer_), note_on_work(model.layer_)) == said


def test_parameters_that_had_no_effect_are_marked(photos):
    plain, chosen = parameters(fitted(photos), None), parameters(fitted(photos, n_candidates=12), None)
    assert (plain["projection"], plain["selection"]) == ("nystrom, not used", "affinity, not used")
    assert (chosen["projection"], chosen["selection"]) == ("nystrom", "affinity")
    second = parameters(fitted(photos, n_candidates=12, pooling=SecondOrder(directions=5)), None)
    assert (second["projection"], second["selection"]) == ("nystrom, not used", "affinity")
