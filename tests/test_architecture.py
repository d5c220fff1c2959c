"""The shape of the house: imports point one way, nothing unsafe, no file too long to read."""

import ast
from pathlib import Path

import pytest

import poolwise

SOURCE = Path(poolwise.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
PAGE = sorted((SOURCE / "report" / "assets").iterdir())  # HTML, CSS and JavaScript
OUTER = ("datasets", "experiments", "report", "modelfile", "cli")  # these stand on estimators, which stand on the rooms
ROOMS = {p.stem for p in SOURCE.glob("*.py")} - {"__init__", "__main__"} | {"kernels"}
ORDER = [
    "atomic",
    "regular",
    "arrays",
    "tiles",
    "kernels",
    "engine",
    "progress",
    "statistics",
    "medoids",
    "affinity",
    "selection",
    "nystrom",
    "patches",
    "whitening",
    "pooling",
    "encoding",
    "kmeans",
    "extraction",
    "super_patches",
]
OUTSIDE = {"sklearn", "click", "rich", "PIL", "skimage"}


def imports(path):
    """Absolute names of everything that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def files(room):
    """The files of a room: a module, or a package of loops."""
    return [SOURCE / f"{room}.py"] if (SOURCE / f"{room}.py").exists() else sorted((SOURCE / room).glob("*.py"))


def inner(path):
    """The parts of poolwise that a file imports: `whitening`, `estimators`, ..."""
    return {name.split(".")[1] for name in imports(path) if name.startswith("poolwise.")}


def test_every_room_has_its_place_in_the_order():
    assert ROOMS == set(ORDER)


@pytest.mark.parametrize("room", ORDER)
def test_rooms_import_only_rooms_before_them(room):
    earlier = set(ORDER[: ORDER.index(room)])
    for path in files(room):
        assert inner(path) - {room} <= earlier


@pytest.mark.parametrize("room", [room for room in ORDER if room != "progress"])
def test_rooms_know_nothing_of_scikit_learn_files_and_bars(room):
    for path in files(room):
        assert {name.split(".")[0] for name in imports(path)}.isdisjoint(OUTSIDE)
        assert "progress" not in inner(path)


@pytest.mark.parametrize("path", sorted((SOURCE / "estimators").glob("*.py")), ids=lambda p: p.name)
def test_estimators_import_only_rooms_and_estimators(path):
    assert inner(path).isdisjoint(OUTER)


@pytest.mark.parametrize("path", sorted((SOURCE / "images").glob("*.py")), ids=lambda p: p.name)
def test_image_sources_stand_on_the_engine_alone(path):
    assert inner(path) <= {"images", "arrays", "atomic", "engine", "regular"}


@pytest.mark.parametrize("path", [*SOURCE.glob("*.py"), *(SOURCE / "estimators").glob("*.py")], ids=lambda p: p.name)
def test_rooms_and_estimators_know_a_source_by_its_interface_alone(path):
    assert "images" not in inner(path) or path == SOURCE / "__init__.py"


@pytest.mark.parametrize("path", [*FILES, *PAGE], ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_file_is_longer_than_400_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_nothing_unpickles_or_runs_text(path):
    loads = {"joblib.load", "numpy.load", "np.load", "os.system", "os.popen", "scipy.io.loadmat", "pandas.read_pickle"}
    names = set(imports(path))
    assert {name.split(".")[0] for name in names}.isdisjoint({"pickle", "dill", "cloudpickle", "shelve", "marshal"})
    assert names.isdisjoint(loads)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name):
            assert node.id not in ("eval", "exec", "compile", "__import__")
        elif isinstance(node, ast.Attribute):
            assert ast.unparse(node) not in loads
        elif isinstance(node, ast.Call):
            assert not {keyword.arg for keyword in node.keywords} & {"allow_pickle", "shell"}


def test_public_names_exist():
    for name in poolwise.__all__:
        assert getattr(poolwise, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        poolwise.nothing  # noqa: B018
