"""Files of format 1, frozen in tests/golden: read for ever, and trusted no more than those of today.

A document is forged from a frozen one and signed, so that only the checks stand between it and a model.
"""

import contextlib
import json
import tracemalloc

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from poolwise import Nearest, Patches, Pool, Threshold, Triangle, load
from poolwise.modelfile import ModelFileError, describe

from forge import canonical, forged, join, put_together, read, sign, split

MOST = 2**31 - 1


def part(**changes):
    return lambda document, arrays: document["parts"]["features"].update(changes)


def inside(*path):
    def changes(*gone, **changed):
        def change(document, arrays):
            value = document["parts"]["features"]
            for key in path:
                value = value[key]
            value.update(changed)
            for key in gone:
                del value[key]

        return change

    return changes


fitted, parameter, messages = inside("fitted"), inside("parameters"), inside("fitted", "messages")


def put(name, place, value):
    return lambda document, arrays: arrays[f"features.{name}"].__setitem__(place, value)


def without(*names):
    def change(document, arrays):
        for name in names:
            del arrays[f"features.{name}"]

    return change


def several(*all_of_them):
    def change(document, arrays):
        for one in all_of_them:
            one(document, arrays)

    return change


CANDIDATES = ("candidates", "covariance", "candidate_mean", "candidate_scale", "label")
MESSAGES = ("messages_exemplars", "messages_label", "net_similarity")


def plain(document, arrays):
    """A model of K-means alone, as format 1 had it."""
    several(
        fitted(candidates=None, transform=None, projected=None, messages=None),
        parameter(n_candidates=None),
        lambda d, a: a.update({"features.codes": a["features.candidates"][:3].copy()}),
        without(*CANDIDATES, *MESSAGES, "selected", "transform"),
    )(document, arrays)


def slim(document, arrays):
    """What `save(slim=True)` wrote."""
    several(
        part(slim=True),
        fitted(messages=None),
        lambda d, a: a.update({"features.codes": a["features.candidates"][a["features.selected"]]}),
        without(*CANDIDATES, *MESSAGES),
    )(document, arrays)


def pca(document, arrays):
    """All candidates, projected."""
    several(
        fitted(transform="pca", codes=6, messages=None),
        lambda d, a: a.update({"features.transform": np.ones((6, 12))}),
        lambda d, a: a.update({"features.pooled_mean": a["features.candidate_mean"].copy()}),
        lambda d, a: a.update({"features.pooled_scale": a["features.candidate_scale"].copy()}),
        without("selected", "label", *MESSAGES),
    )(document, arrays)


def slim_pca(document, arrays):
    several(
        pca,
        part(slim=True),
        lambda d, a: a.update({"features.codes": a["features.candidates"].copy()}),
        without(*(name for name in CANDIDATES if name != "label")),
    )(document, arrays)


def one_sided(encoder):
    """A model of K-means alone with another encoder, whose codes have one side."""

    def change(document, arrays):
        plain(document, arrays)
        several(fitted(encoder=encoder, two_sided=False), parameter(encoder=encoder, two_sided=False))(document, arrays)
        for name in ("features.pooled_mean", "features.pooled_scale"):
            arrays[name] = arrays[name][:3]

    return change


def written(tmp_path, content):
    path = tmp_path / "old.safetensors"
    path.write_bytes(content)
    return path


def refused(tmp_path, content, match=None):
    """By `load`, in one line; `describe`, which reads no arrays, may accept it, but has no other error."""
    path = written(tmp_path, content)
    with pytest.raises(ModelFileError, match=match) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path} cannot be loaded: ")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600
    with contextlib.suppress(ModelFileError):
        describe(path)


SHAPES = [
    (lambda d, a: None, (3, 6, False, "nystrom"), Threshold(0.25, two_sided=True)),
    (plain, (3, None, False, None), Threshold(0.25, two_sided=True)),
    (slim, (3, 6, True, "nystrom"), Threshold(0.25, two_sided=True)),
    (pca, (6, 6, False, "pca"), Threshold(0.25, two_sided=True)),
    (slim_pca, (6, 6, True, "pca"), Threshold(0.25, two_sided=True)),
    (one_sided("triangle"), (3, None, False, None), Triangle()),
    (one_sided("vq"), (3, None, False, None), Nearest()),
]


@pytest.mark.parametrize(("change", "facts", "encoder"), SHAPES)
def test_every_shape_that_format_1_had_is_read(golden, tmp_path, change, facts, encoder):
    path = written(tmp_path, forged(golden["features"], change))
    K, M, is_slim, kind = facts
    model, found = load(path), describe(path)
    assert (found.format, found.n_candidates, found.is_slim) == (1, M, is_slim)
    assert (len(model.codes_), model.n_candidates_, model.candidates_ is None) == (K, M, is_slim or M is None)
    assert (model.layer_.projection and model.layer_.projection.kind) == kind
    assert (model.layer_.descriptor, model.layer_.encoder) == (Patches((3, 3)), encoder)
    assert model.layer_.pooling == Pool("average", grid=[(1, 1), (2, 2)])
    assert model.transform(np.zeros((2, 8, 8), np.uint8)).shape == (2, found.layer.n_features)
    arrays = read(path.read_bytes())[1]
    np.testing.assert_array_equal(model.pooled_scale_, arrays["features.pooled_scale"])
    np.testing.assert_array_equal(model.whitening_matrix_, arrays["features.whitening_matrix"])
    if kind is not None:
        np.testing.assert_array_equal(model.projection_, arrays["features.transform"])
    if "features.covariance" in arrays:
        np.testing.assert_array_equal(model.covariance_, arrays["features.covariance"])
        assert model.candidates_.seed == 2357136044


def test_parameters_of_format_1_become_those_of_parts(golden, tmp_path):
    old = parameter(
        patch_size={"tuple": [5, 4]}, stride=2, contrast="variance", contrast_offset=3.0, whitening="variance",
        whitening_offset=0.5, dictionary="omp1", init="noise", max_iter=7, tol=0.0, encoder="threshold", alpha=0.1,
        two_sided=False, pool="max", grid=[1, {"tuple": [2, 3]}], scale="cell", scale_offset=0.0, transform=None,
        n_codes=4, n_candidates=9, selection="greedy", n_patches=99, random_state=5, n_jobs=2, verbose=1,
    )  # fmt: skip
    model = load(written(tmp_path, forged(golden["features"], old)))
    nested = {
        "descriptor__size": (5, 4), "descriptor__stride": 2, "descriptor__contrast": "variance", "descriptor__offset": 3.0,
        "whitening__form": "variance", "whitening__offset": 0.5, "whitening__rank": None,
        "symmetry": None, "bands": None, "statistics": False, "nodata": None, "dictionary__method": "omp1",
        "dictionary__init": "noise",
        "dictionary__max_iter": 7, "dictionary__tol": 0.0, "encoder__alpha": 0.1, "encoder__two_sided": False,
        "pooling__root": False,
        "pooling__how": "max", "pooling__grid": [1, (2, 3)], "scale__form": "cell", "scale__offset": 0.0, "projection": None,
        "n_codes": 4, "n_candidates": 9, "selection": "greedy", "n_patches": 99, "n_super_patches": None,
        "image_shape": None, "random_state": 5, "n_jobs": 2, "verbose": 1,
    }  # fmt: skip
    places = ("descriptor", "whitening", "dictionary", "encoder", "pooling", "scale")
    assert {name: value for name, value in model.get_params().items() if name not in places} == nested
    nothing = parameter(whitening=None, scale=None, dictionary="gaussian", encoder="vq", two_sided=False)
    model = load(written(tmp_path, forged(golden["features"], nothing)))
    assert (model.whitening, model.scale, model.encoder) == (None, None, Nearest())
    assert model.dictionary.get_params() == {"kind": "gaussian"}


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda d, a: d.update(format=2), "features has the unknown key 'slim'"),
        (lambda d, a: d.update(format=True), "format must be a whole number"),
        (lambda d, a: d.update(kind="pipeline"), "lacks the key 'classifier'"),
        (lambda d, a: d.update(names=["a"]), "do not make a pipeline"),
        (lambda d, a: d["parts"].update(features=[]), "features is not a JSON object"),
        (lambda d, a: d["parts"].update(features=None), "features is not a JSON object"),
        (lambda d, a: d["provenance"]["told"].update(a=[1]), "must be text, a number"),
        (part(slim=1), "slim must be true or false"),
        (part(slim=None), "slim must be true or false"),
        (part(notes="x"), "notes must be a list"),
        (part(parameters=[]), "parameters is not a JSON object"),
        (part(fitted="x"), "fitted is not a JSON object"),
        (part(layers=[]), "unknown key 'layers'"),
        (part(candidates=None), "unknown key 'candidates'"),
        (inside()("slim"), "lacks the key 'slim'"),
        (inside()("notes"), "lacks the key 'notes'"),
        # Types of what was fitted
        (fitted(codes="3"), "must be a whole number"),
        (fitted(codes=3.0), "must be a whole number"),
        (fitted(codes=0), "must be a whole number"),
        (fitted(candidates=2**40), "must be a whole number"),
        (fitted(candidates=True), "must be a whole number"),
        (fitted(image_shape=[8, 8]), "must be a list of 3"),
        (fitted(image_shape=[8, 8, 0]), "must be a whole number"),
        (fitted(image_shape="8x8"), "must be a list of 3"),
        (fitted(image_shape=[8, 8, [1]]), "must be a whole number"),
        (fitted(patch_size=3), "must be a list of 2"),
        (fitted(patch_size={"tuple": [3, 3]}), "must be a list of 2"),
        (fitted(patch_size=[3, None]), "must be a whole number"),
        (fitted(grids=[]), "must be a list"),
        (fitted(grids=[1, 2]), "must be a list of 2"),
        (fitted(grids=[[1, 1], [2, -2]]), "must be a whole number"),
        (fitted(grids=[[1, 1], {"tuple": [2, 2]}]), "must be a list of 2"),
        (fitted(grids=None), "must be a list"),
        (fitted(stride=0), "must be a whole number"),
        (fitted(stride=[1]), "must be a whole number"),
        (fitted(contrast="sd"), "contrast must be one of"),
        (fitted(contrast=["std"]), "contrast must be one of"),
        (fitted(contrast_offset="10"), "must be a number"),
        (fitted(contrast_offset=-10), "offset must be a finite number"),
        (fitted(encoder="lasso"), "encoder must be one of"),
        (fitted(encoder="nearest"), "encoder must be one of"),
        (fitted(encoder=["threshold"]), "encoder must be one of"),
        (fitted(encoder=None), "encoder must be one of"),
        (fitted(encoder={"part": "Threshold"}), "encoder must be one of"),
        (fitted(alpha=-1.0), "alpha must be a finite number"),
        (fitted(alpha=1e300), "alpha must be a finite number"),
        (fitted(alpha=True), "alpha must be a number"),
        (fitted(alpha=None), "alpha must be a number"),
        (fitted(two_sided=0), "must be true or false"),
        (fitted(pool="median"), "pool must be one of"),
        (fitted(pool=["max"]), "pool must be one of"),
        (fitted(per_cell="no"), "must be true or false"),
        (fitted(rounds=-1), "must be a whole number"),
        (fitted(converged=1), "must be true or false"),
        (fitted(transform="whiten"), "transform must be one of"),
        (fitted(transform=["pca"]), "transform must be one of"),
        (fitted(projected="6"), "must be a whole number"),
        (fitted(projected=0), "must be a whole number"),
        (fitted(choice_seed=-1), "must be a whole number"),
        (fitted(choice_seed=2**32), "must be a whole number"),
        (fitted(choice_seed=None), "must be a whole number"),
        (fitted(messages=[]), "messages is not a JSON object"),
        (fitted(messages="none"), "messages is not a JSON object"),
        (fitted(messages={}), "lacks the key"),
        (fitted(pixel_range=None), "must be a number"),
        (fitted(timings=[]), "must be a JSON object"),
        (fitted(timings={"a": None}), "must be a number"),
        (fitted(feature_names=["a"]), "feature_names are 1; its images have 64 numbers"),
        (fitted(feature_names={}), "feature_names must be a list"),
        (fitted(feature_names=64 * [None]), "feature_names must be text"),
        (fitted(more=1), "unknown key 'more'"),
        *((fitted(name), f"fitted lacks the key '{name}'") for name in ("codes", "messages", "grids", "transform", "encoder")),
        (messages(codes=2), "about 2 codes, for 3 of 6"),
        (messages(codes=7), "about 7 codes, for 3 of 6"),
        (messages(codes=5), "its parameters want"),
        (messages(rounds=3), "its parameters want"),
        (messages(converged=None), "must be true or false"),
        (messages("swaps"), "lacks the key 'swaps'"),
        (messages(more=1), "unknown key 'more'"),
        # Contradictions
        (fitted(codes=4), "rows, for 8 numbers per cell"),
        (several(fitted(codes=4, projected=8)), "its parameters want"),
        (fitted(codes=7, projected=14), "contradict|are about"),
        (fitted(candidates=7), "its parameters want"),
        (fitted(candidates=2), "contradict|are about"),
        (fitted(candidates=None), "contradict"),
        (fitted(transform=None), "contradict|unknown array 'features.transform'"),
        (fitted(transform="pca"), "contradict"),
        (fitted(projected=5), "5 rows, for 6 numbers per cell"),
        (fitted(projected=None), "must be a whole number|contradict"),
        (fitted(two_sided=False), "6 rows, for 3 numbers per cell"),
        (fitted(per_cell=True), "its parameters want"),
        (fitted(patch_size=[3, 4]), "its parameters want"),
        (fitted(patch_size=[9, 3]), "images of 8×8 pixels are smaller than the patch"),
        (fitted(image_shape=[8, 8, 3]), "its parameters want"),
        (fitted(grids=[[7, 1]]), "a grid of 7 cells does not fit"),
        (fitted(grids=[[2, 2], [2, 2]]), "each a different one"),
        (fitted(grids=[[60_000, 60_000]], image_shape=[MOST, MOST, 1]), "3600000000 cells"),
        (fitted(rounds=9), "its parameters want"),
        (fitted(messages=None), "unknown array 'features.(messages_exemplars|messages_label|net_similarity)'"),
        (part(slim=True), "contradict|are about"),
        (several(slim, part(slim=False)), "lacks the array|unknown array"),
        (several(slim, fitted(candidates=2)), "contradict"),
        (several(slim, fitted(messages={"codes": 6})), "lacks the key|contradict"),
        (several(pca, fitted(codes=5)), "contradict|its parameters want"),
        (several(pca, fitted(projected=13)), "13 rows, for 12 numbers per cell"),
        (several(pca, fitted(candidates=7)), "contradict"),
        (several(plain, fitted(transform="nystrom", projected=6)), "contradict"),
        (several(plain, fitted(candidates=6)), "lacks the array|contradict"),
        # Contradictions about what the file does not use
        (several(plain, part(slim=True)), "contradict"),
        (several(plain, fitted(projected=6)), "contradict"),
        (several(plain, fitted(messages={"codes": 6})), "messages"),
        (several(plain, fitted(messages="x")), "messages"),
        (
            several(plain, fitted(transform="pca", projected=6), lambda d, a: a.update({"features.transform": np.eye(6)})),
            "contradict",
        ),
        (several(pca, fitted(messages=[1])), "messages"),
        (several(slim_pca, fitted(candidates=7)), "contradict"),
        (several(one_sided("triangle"), fitted(two_sided=True)), "two_sided"),
        (several(one_sided("vq"), fitted(alpha=-1)), "alpha must be"),
        # Parameters
        (parameter(n_codes=0), "n_codes must be a whole number of at least 1; got 0"),
        (parameter(n_codes={"object": []}), "is not a parameter"),
        (parameter(n_codes=7), "n_codes=7 codes cannot be selected from n_candidates=6"),
        (parameter(n_patches=5), "n_patches=5 patches cannot give n_candidates=6"),
        (parameter(patch_size=0), "size must be"),
        (parameter(patch_size=[1, 2, 3]), "size must be"),
        (parameter(patch_size={"part": "Patches"}), "is not a parameter"),
        (parameter(stride="1"), "stride must be"),
        (parameter(contrast="sd"), "contrast must be one of"),
        (parameter(contrast_offset=-1), "offset must be"),
        (parameter(whitening=False), "must be one of"),
        (parameter(whitening=["std"]), "must be one of"),
        (parameter(whitening_offset=-1), "offset must be"),
        (parameter(whitening_offset=None), "offset must be"),
        (parameter(dictionary="k-means"), "must be one of"),
        (parameter(dictionary=None), "must be one of"),
        (parameter(dictionary=["kmeans"]), "must be one of"),
        (parameter(dictionary={"tuple": ["patches"]}), "must be one of"),
        (parameter(init="random"), "init must be one of"),
        (parameter(max_iter=0), "max_iter must be"),
        (parameter(tol=-1), "tol must be"),
        (parameter(tol={"a": 1}), "is not a parameter"),
        (parameter(encoder="nearest"), "encoder"),
        (parameter(encoder=None), "encoder"),
        (parameter(encoder=["vq"]), "encoder"),
        (parameter(encoder={"part": "Threshold", "alpha": 1, "two_sided": False}), "encoder"),
        (parameter(alpha=-1), "alpha must be"),
        (parameter(alpha="x"), "alpha must be"),
        (parameter(two_sided="no"), "two_sided must be"),
        (parameter(pool="median"), "must be one of"),
        (parameter(pool={"dict": []}), "must be one of"),
        (parameter(grid=[[1, 2]]), "grid must be"),
        (parameter(grid=[]), "grid must be"),
        (parameter(scale="code"), "must be one of"),
        (parameter(scale_offset=[]), "offset must be"),
        (parameter(transform="whiten"), "projection must be one of|transform must be one of"),
        (parameter(transform=["pca"]), "projection must be one of|transform must be one of"),
        (parameter(selection="best"), "selection must be one of"),
        (parameter(n_super_patches=1), "n_super_patches must be"),
        (parameter(n_super_patches=10, scale="cell"), "a super-patch belongs to no cell"),
        (parameter(image_shape=3), "image_shape must be"),
        (parameter(random_state=-1), "random_state must be"),
        (parameter(n_jobs=10**6), "n_jobs must be"),
        (parameter(n_jobs=0), "n_jobs=0 has no meaning"),
        (parameter(verbose="yes"), "verbose must be"),
        (parameter(projection="nystrom"), "unknown key 'projection'"),
        (parameter(descriptor="patches"), "unknown key 'descriptor'"),
        (parameter(pooling="max"), "unknown key 'pooling'"),
        *(
            (parameter(name), f"lacks the key '{name}'")
            for name in ("alpha", "grid", "transform", "tol", "n_codes", "scale_offset")
        ),
        # Parameters that the next fit would have refused, though it would not use them
        (parameter(encoder="triangle"), "two_sided"),
        (parameter(encoder="triangle", two_sided=False, alpha="x"), "alpha must be"),
        (parameter(encoder="vq", two_sided="no"), "two_sided must be"),
        (parameter(whitening=None, whitening_offset="x"), "offset must be"),
        (parameter(whitening=None, whitening_offset={"a": []}), "is not a parameter|offset must be"),
        (parameter(scale=None, scale_offset=-1), "offset must be"),
        (parameter(dictionary="patches", tol="x"), "tol must be"),
        (parameter(dictionary="gaussian", max_iter=-1), "max_iter must be"),
        (parameter(dictionary="gaussian", init=5), "init must be one of"),
        # Arrays
        (lambda d, a: a.update({"features.more": np.zeros(3)}), "unknown array 'features.more'"),
        (lambda d, a: a.update({"features.layers.0.mean": np.zeros(6)}), "unknown array 'features.layers.0.mean'"),
        (
            lambda d, a: a.update({"features.layers.0.spread": a.pop("features.pooled_scale")}),
            "unknown array 'features.layers.0.spread'",
        ),
        *((without(name), f"lacks the array 'features.{name}'") for name in ("selected", "label", "covariance", "transform")),
        (lambda d, a: a.update({"features.label": a["features.label"].astype(np.float64)}), "want I64"),
        (lambda d, a: a.update({"features.candidates": a["features.candidates"].astype(np.float64)}), "want F32"),
        (lambda d, a: a.update({"features.covariance": a["features.covariance"][:-1]}), "its parameters want"),
        (put("selected", -1, 6), "'features.selected' has values out of range"),
        (put("selected", 0, -1), "'features.selected' has values out of range"),
        (put("selected", slice(None), 2), "'features.selected' has a number twice"),
        (put("label", 0, 3), "'features.label' has values out of range"),
        (lambda d, a: a["features.label"].__iadd__(1).__imod__(3), "a selected candidate that another one represents"),
        (put("messages_exemplars", -1, 6), "'features.messages_exemplars' has values out of range"),
        (put("messages_label", 0, 3), "'features.messages_label' has values out of range"),
        (put("net_similarity", 0, np.inf), "'features.net_similarity' has values that are not finite"),
        (put("pooled_scale", 0, 0), "'features.pooled_scale' has values out of range"),
        (put("candidate_scale", 0, -1), "'features.candidate_scale' has values out of range"),
        (put("pooled_mean", 0, np.nan), "'features.pooled_mean' has values that are not finite"),
        (put("candidates", (3, 3), np.nan), "'features.candidates' has values that are not finite"),
        (put("covariance", (3, 3), np.inf), "'features.covariance' has values that are not finite"),
        (put("transform", (3, 3), np.inf), "'features.transform' has values that are not finite"),
        (put("whitening_mean", 0, np.nan), "'features.whitening_mean' has values that are not finite"),
        (put("objective", 0, np.nan), "'features.objective' has values that are not finite"),
    ],
)
def test_content_that_contradicts_itself_though_the_checksum_is_right(golden, tmp_path, change, match):
    refused(tmp_path, forged(golden["features"], change), match)


def of_classifier(**changes):
    return lambda document, arrays: document["parts"]["classifier"]["fitted"].update(changes)


@pytest.mark.parametrize("kind", ["pipeline", "searched"])
@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda d, a: d["parts"].pop("classifier"), "lacks the key 'classifier'"),
        (lambda d, a: d["parts"].pop("features"), "lacks the key 'features'"),
        (lambda d, a: d.update(kind="features"), "unknown key 'classifier'"),
        (lambda d, a: d.update(names=["a", "a"]), "do not make a pipeline"),
        (of_classifier(features=1), "do not make a pipeline|its parameters want"),
        (of_classifier(rows=2), "rows is 2, for 3 classes"),
        (of_classifier(classes={"dtype": "O", "values": [0, 1, 2]}), "must be one of"),
        (lambda d, a: d["parts"]["classifier"].update(estimator="LinearSVC"), "must be one of"),
        (lambda d, a: d["parts"]["classifier"]["parameters"].pop("tol"), "lacks the key 'tol'"),
        (fitted(pool="median"), "pool must be one of"),
        (fitted(grids=[[3, 3]]), "do not make a pipeline"),
        (parameter(alpha=None), "alpha must be"),
        (lambda d, a: a["classifier.coef"].__setitem__((0, 0), np.nan), "not finite"),
        (lambda d, a: a.pop("classifier.intercept"), "lacks the array 'classifier.intercept'"),
        (lambda d, a: a.pop("features.objective"), "lacks the array 'features.objective'"),
    ],
)
def test_pipelines_that_contradict_themselves(golden, tmp_path, kind, change, match):
    refused(tmp_path, forged(golden[kind], change), match)


@pytest.mark.parametrize("kind", ["features", "pipeline", "searched"])
def test_damage_is_noticed(golden, tmp_path, kind):
    raw = golden[kind]
    refused(tmp_path, raw[:-3] + bytes([raw[-3] ^ 1]) + raw[-2:], "damaged: its checksum does not agree")
    refused(tmp_path, raw + b"\0", "something was added")
    refused(tmp_path, raw[:-1], "cut short")
    document, arrays = read(raw)
    document["provenance"]["told"]["images"] = 13
    refused(tmp_path, put_together(document, arrays), "damaged: its checksum does not agree")  # JSON that was not signed
    header, data = split(raw)
    a, b = header["features.pooled_mean"], header["features.pooled_scale"]
    header["features.pooled_mean"], header["features.pooled_scale"] = b, a
    refused(tmp_path, join(header, data), "damaged: its checksum does not agree")


def test_json_nested_to_any_depth(golden, tmp_path):
    document, arrays = read(golden["features"])
    text = canonical(document)
    for place in ('"alpha":0.25', '"grid":[1,2]', '"messages":{', '"patch_size":3'):
        assert place in text
        key = place[: place.index(":") + 1]
        for depth in (1, 50, 150, *range(200, 1100, 20)):
            value = f"{key}{'[' * depth}1{']' * depth}"
            changed = text.replace(place, f'{value},"x":{{' if place.endswith("{") else value)
            refused(tmp_path, put_together(changed, arrays))


@pytest.mark.parametrize(
    "change",
    [
        fitted(codes=MOST),
        fitted(codes=MOST, projected=MOST),
        fitted(codes=MOST, candidates=MOST, transform=None, projected=None),
        several(plain, fitted(codes=MOST)),
        several(plain, fitted(codes=MOST, per_cell=True)),
        several(slim, fitted(candidates=MOST)),
        several(slim, fitted(candidates=MOST, codes=MOST)),
        several(slim_pca, fitted(candidates=MOST, codes=MOST, projected=MOST)),
        fitted(candidates=MOST),
        messages(codes=MOST),
        messages(rounds=MOST),
        fitted(rounds=MOST),
        fitted(image_shape=[MOST, MOST, MOST]),
        fitted(image_shape=[MOST, MOST, 1], patch_size=[MOST, MOST], grids=[[1, 1]]),
        fitted(image_shape=[MOST, MOST, MOST], patch_size=[MOST, MOST], grids=[[1, 1]]),
        fitted(image_shape=[MOST, MOST, 1], grids=[[256, 256]]),
        fitted(image_shape=[MOST, MOST, 1], grids=[[256, 256]], per_cell=True),
        fitted(image_shape=[MOST, MOST, 1], grids=[[4096, 1]]),
        fitted(image_shape=[MOST, MOST, 1], grids=[[n, n] for n in range(1, 57)]),
        fitted(image_shape=[MOST, MOST, 1], grids=[[n, 1] for n in range(1, 100)]),
        parameter(n_codes=MOST, n_candidates=MOST, n_patches=MOST, patch_size=MOST, grid=MOST),
    ],
)
def test_sizes_that_are_only_declared_take_no_memory(golden, tmp_path, change):
    path = written(tmp_path, forged(golden["features"], change))
    for look in (describe, load):
        tracemalloc.start()
        try:
            look(path)
        except ModelFileError:
            pass
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < 8 << 20, look


def test_a_large_file_takes_its_own_memory(golden, tmp_path):
    """25 MB, nearly all of it codes."""
    document, arrays = read(golden["features"])
    n = 500_000
    several(plain, fitted(codes=n, two_sided=False))(document, arrays)
    arrays["features.codes"] = np.ones((n, 9), np.float32)
    arrays["features.pooled_mean"], arrays["features.pooled_scale"] = np.zeros(n), np.ones(n)
    path = written(tmp_path, put_together(sign(document, arrays), arrays))
    del document, arrays
    tracemalloc.start()
    model = load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(model.codes_) == n
    assert peak < 1.3 * path.stat().st_size


ODD = [None, True, -1, 2**31, 0.5, 1e300, "pca", [], {}, [1, 2], {"tuple": [1, 2]}, {"part": "Pool"}]


@pytest.mark.parametrize("kind", ["features", "searched"])
def test_every_value_of_a_wrong_type_is_refused_or_means_something(golden, tmp_path, kind):
    """Each place of the JSON, in turn, with each of these: our error, or a model that works."""
    original, arrays = read(golden[kind])
    for path in places(original, ()):
        if kind == "searched" and "features" in path[1:]:
            continue  # the other file has them
        for value in ODD:
            document = json.loads(json.dumps(original))
            container = document
            for key in path[:-1]:
                container = container[key]
            container[path[-1]] = value
            file = written(tmp_path, put_together(sign(document, arrays), arrays))
            try:
                model = load(file)
            except ModelFileError:
                continue
            first, found = model[0] if isinstance(model, Pipeline) else model, describe(file)
            assert found.layer.n_features == first.layer_.n_features == len(first.get_feature_names_out()), (path, value)
            first.recipe  # noqa: B018 - what the next fit would use passes its checks


def places(value, path):
    """The path of everything in a document but its checksum."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in pairs:
        if key != "sha256":
            yield (*path, key)
            yield from places(entry, (*path, key))
