"""What a graph cannot express is refused by name, also what a later version may add; files say nothing of the machine."""

import getpass
import json
import os
import socket
import sys

import numpy as np
import onnx
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from poolwise import BothOrders, LinearSVM, LinearSVMCV, Pool, PooledFeatures, SecondOrder, StackedFeatures, export_onnx
from poolwise.export import ExportError, known, to_onnx, writing
from poolwise.export.origin import shareable
from poolwise.method.descriptors import Patches

from exporting import QUICK


@pytest.fixture(scope="module")
def images(photos):
    return photos[:30, :12, :12]


@pytest.fixture
def model(images):
    return PooledFeatures(**QUICK).fit(images)


def every_second(images):
    return images[:, ::2, ::2].astype(np.float32)


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ({"encoder": "llc"}, "encoder='llc' .*optimisation of its own.*Fit with threshold, triangle"),
        ({"encoder": "omp"}, "encoder='omp' .*optimisation of its own"),
        ({"encoder": "lasso"}, "encoder='lasso' .*optimisation of its own"),
        ({"descriptor": "sift"}, "descriptor='sift' .*histograms of gradients.*Fit with patches"),
        ({"descriptor": "hog"}, "descriptor='hog' .*histograms of gradients"),
        ({"descriptor": every_second}, "descriptor='own' .*a function of your own is code"),
        ({"pooling": "max_products", "n_codes": 3}, "pooling='max_products' .*loop of ours"),
        ({"pooling": SecondOrder(1, "log")}, "normalize='log' cannot be exported: .*eigenvectors"),
        ({"pooling": SecondOrder(1, offset=1e-4)}, "offset=0.0001 cannot be exported: .*at least 0.001"),
        ({"pooling": BothOrders(1, 3, normalize="log")}, "'both_orders' with normalize='log' cannot be exported"),
        ({"pooling": BothOrders(1, 3, offset=1e-4)}, "'both_orders' with offset=0.0001 cannot be exported: .*at least 0.001"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_parts_that_no_graph_expresses(photos, part, reason):
    model = PooledFeatures(**QUICK | part).fit(photos[:30])
    with pytest.raises(ExportError, match=reason):
        to_onnx(model)
    stack = StackedFeatures([PooledFeatures(**QUICK), PooledFeatures(**QUICK)]).fit(photos[:30])
    stack.layers_[1] = model
    with pytest.raises(ExportError, match=reason):
        to_onnx(stack)


def test_scaled_bands_of_a_later_layer_are_refused(images):
    """A fit refuses them too; a stack that was changed afterwards has come around that."""
    second = PooledFeatures(**QUICK | {"descriptor": Patches(2)})
    stack = StackedFeatures([PooledFeatures(**QUICK), second], map_cells=5).fit(images)
    stack.layers_[1] = PooledFeatures(**QUICK | {"bands": [(0, 100)] * 3}).fit(images)
    with pytest.raises(ExportError, match="layer 1 of the stack has bands"):
        to_onnx(stack)


def test_every_part_of_the_library_is_known_or_refused():
    """A part that is added to a registry is refused until `known` lists it; these lists agree with what there is now."""
    from poolwise.method.descriptors import DESCRIPTORS
    from poolwise.method.encoders import ENCODERS
    from poolwise.method.pooling import POOLINGS

    for family in (DESCRIPTORS, ENCODERS, POOLINGS):
        for part in family.parts:
            words = set(part.words) or {"own"}
            assert (part in known._FIELDS) != bool(words & set(known._REASONS)), part


def test_a_parameter_that_is_not_known_is_refused_unless_it_has_its_default(images, monkeypatch):
    plain, strided = (PooledFeatures(**QUICK | {"descriptor": Patches(4, stride=stride)}).fit(images) for stride in (1, 2))
    monkeypatch.setitem(known._FIELDS, Patches, ("size", "contrast", "offset"))
    to_onnx(plain)
    with pytest.raises(ExportError, match=r"Patches\(stride=2\) is not known to the export"):
        to_onnx(strided)


def test_a_field_of_the_layer_that_is_not_known_is_refused(images, monkeypatch):
    mirrored = PooledFeatures(**QUICK | {"symmetry": "mirror"}).fit(images)
    fields = known._FIELDS[type(mirrored.layer_)]
    monkeypatch.setitem(known._FIELDS, type(mirrored.layer_), tuple(name for name in fields if name != "symmetry"))
    with pytest.raises(ExportError, match=r"Layer\(symmetry='mirror'\) is not known"):
        to_onnx(mirrored)
    to_onnx(PooledFeatures(**QUICK).fit(images))


def test_a_part_of_a_class_below_a_known_one_is_refused(model):
    class Other(Pool):
        words = ("other",)

    object.__setattr__(model.layer_, "pooling", Other("average", 2))
    with pytest.raises(ExportError, match="this version of the export does not know it"):
        to_onnx(model)


def test_a_word_that_is_not_known_is_refused(model):
    object.__setattr__(model.layer_.descriptor, "contrast", "median")
    with pytest.raises(ExportError, match=r"'median'.* is not known"):
        to_onnx(model)


def test_what_an_estimator_has_learned_beyond_what_is_known_is_refused(model, monkeypatch):
    model.nodata_ = None
    to_onnx(model)
    model.nodata_ = 0.0
    with pytest.raises(ExportError, match=r"PooledFeatures\.nodata_ is not known"):
        to_onnx(model)
    del model.nodata_
    monkeypatch.setitem(known._PARAMETERS, PooledFeatures, known._PARAMETERS[PooledFeatures] - {"n_codes"})
    with pytest.raises(ExportError, match=r"PooledFeatures\(n_codes=5\) is not known"):
        to_onnx(model)


@pytest.mark.filterwarnings("ignore:1 of 30 images have no patch")
@pytest.mark.parametrize("nodata", [0, "nan"])
def test_pixels_without_data_are_refused_by_name(images, nodata):
    model = PooledFeatures(**QUICK | {"nodata": nodata}).fit(images.astype(np.float32))
    with pytest.raises(ExportError, match=rf"nodata={nodata!r} cannot be exported: .*same patches of every image"):
        to_onnx(model)


def test_other_estimators_and_other_wishes(model, images, tmp_path):
    labels = np.arange(30) % 2
    with pytest.raises(TypeError, match="PooledFeatures and LogisticRegression cannot be exported; expected"):
        to_onnx(make_pipeline(PooledFeatures(**QUICK), LogisticRegression()).fit(images, labels))
    with pytest.raises(ValueError, match="not fitted"):
        to_onnx(PooledFeatures())
    with pytest.raises(ValueError, match="layout must be 'NCHW' or 'NHWC'; got 'CHW'"):
        to_onnx(model, layout="CHW")
    with pytest.raises(ValueError, match="dtype must be 'uint8' or 'float32'; got 'int8'"):
        to_onnx(model, dtype="int8")
    with pytest.raises(ValueError, match="must be \\(height, width\\)"):
        to_onnx(model, resize=12)


def test_a_graph_of_more_than_two_gigabytes_is_refused(model, monkeypatch):
    assert 2e9 < writing.MOST_BYTES < 2**31
    monkeypatch.setattr(writing, "MOST_BYTES", 1000)
    with pytest.raises(ExportError, match="a file of ONNX may have 2 GB; fit with fewer codes"):
        to_onnx(model)


def test_without_onnx_the_error_names_it(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'poolwise\[onnx\]'"):
        export_onnx(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_a_file_is_replaced_whole_or_stays(model, tmp_path, monkeypatch):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        export_onnx(model, path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model.onnx"]


def test_metadata(images, tmp_path):
    labels = np.array(["<b>", "ü", 'a "c"'])[np.arange(30) % 3]
    model = make_pipeline(PooledFeatures(**QUICK), LinearSVMCV([0.01], cv=2)).fit(images, labels)
    export_onnx(model, tmp_path / "model.onnx", layout="NHWC", provenance={"license": "CC0"})
    found = onnx.load(tmp_path / "model.onnx")
    about = {one.key: one.value for one in found.metadata_props}
    assert json.loads(about["poolwise.classes"]) == ["<b>", 'a "c"', "ü"]
    assert json.loads(about["poolwise.provenance"]) == {"license": "CC0"}
    assert json.loads(about["poolwise.images"])["shape"] == ["n", 12, 12, 3]
    assert json.loads(about["poolwise.layers"])[0]["codes"] == 5
    assert (found.producer_name, found.opset_import[0].version, found.ir_version) == ("poolwise", 17, 8)
    assert {node.domain for node in found.graph.node} == {""}
    assert not any("pads" in {one.name for one in node.attribute} for node in found.graph.node)
    outputs = ["features", "margins", "probabilities", "label_index", "label"]
    assert [one.name for one in found.graph.output] == outputs


def test_a_file_has_no_path_and_no_name_of_a_user(images, tmp_path, monkeypatch):
    """Neither the machine's nor those of the model file's own provenance."""
    from poolwise import load, save
    from poolwise.modelfile import describe

    monkeypatch.setenv("HOME", "/home/annbolika")
    monkeypatch.setenv("USER", "annbolika")
    monkeypatch.setenv("LOGNAME", "annbolika")
    folder = tmp_path / "annbolika"
    folder.mkdir()
    secret = {
        "command": f"poolwise fit {folder}/pictures",
        "source": f"{folder}/pictures",
        "images": 30,
        "note": "by annbolika",
    }
    model = make_pipeline(PooledFeatures(**QUICK), LinearSVM()).fit(images, np.arange(30) % 3)
    save(model, folder / "model.safetensors", provenance=secret)
    monkeypatch.chdir(folder)
    given = shareable(describe(folder / "model.safetensors").provenance)
    export_onnx(load(folder / "model.safetensors"), folder / "model.onnx", provenance=given)
    written = (folder / "model.onnx").read_bytes()
    assert b'"images": 30' in written
    for name in ("annbolika", str(tmp_path), socket.gethostname(), "/home", os.path.dirname(writing.__file__), "pictures"):
        assert name.encode() not in written, name
    assert getpass.getuser() == "annbolika"


def test_only_what_says_nothing_of_a_machine_is_shared():
    fine = {
        "images": 12,
        "skipped": 0,
        "seed": 3,
        "page": 1,
        "crop": True,
        "resize": "32x48",
        "channels": "3,2,1",
        "stack": "max",
    }
    assert shareable(fine) == fine
    for name in ("resize", "channels", "stack", "images", "seed"):
        assert shareable({name: "/home/ann"}) == {}
    assert shareable({"source": "cats", "command": "poolwise fit cats", "note": "Ann's", "crop": False, "images": True}) == {}
