"""The shape of the house: imports point one way, nothing unsafe, no file too long to read."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import poolwise

SOURCE = Path(poolwise.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
PAGE = sorted(path for room in ("report", "export") for path in (SOURCE / room / "assets").iterdir())  # HTML, CSS, JavaScript
# What each package may import. `estimators` and below see images only as an `ImageSource`, which `images.opened` may open.
ARROWS = {
    "support": [],
    "engine": ["support"],
    "kernels": ["support"],
    "method": ["support", "engine", "kernels"],
    "svm": ["support", "engine", "kernels", "method"],  # of the method, its streaming statistics alone
    "images": ["support", "engine"],
    "estimators": ["support", "engine", "method", "svm", "images"],  # images only to open what is given
    "datasets": ["support", "images"],
    "modelfile": ["support", "engine", "method", "estimators"],
    "analysis": ["support", "engine", "method", "estimators"],
    "report": ["support", "engine", "method", "estimators", "analysis"],
    "export": ["support", "kernels", "method", "estimators", "analysis", "report"],
    "planning": ["support", "method", "estimators", "analysis", "report"],
    "tuning": ["support", "engine", "method", "svm", "estimators", "analysis", "report"],
    "reproduction": [
        "support", "engine", "method", "estimators", "datasets", "analysis", "report", "planning", "tuning",
    ],
    "cli": [
        "support", "method", "estimators", "images", "datasets", "modelfile", "analysis", "report", "export", "planning",
        "tuning", "reproduction",
    ],
}  # fmt: skip
# The stages of the method, each of which may import those before it.
STAGES = [
    "nodata",
    "masked",
    "bands",
    "descriptors",
    "statistics",
    "whitening",
    "encoders",
    "dictionaries",
    "pooling",
    "scale",
    "symmetry",
    "band_statistics",
    "selection",
    "recipe",
    "presets",
    "nystrom",
    "directions",
    "layer",
    "exciting",
    "sizes",
    "extraction",
    "super_patches",
    "suiting",
    "candidates",
    "learning",
    "fitting",
    "stack",
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


def at_level(path, level):
    """What a file imports of poolwise, by a part of the name: of poolwise.method.layer, "method" for 1, "layer" for 2."""
    names = [name.split(".") for name in imports(path) if name.startswith("poolwise.")]
    return {name[level] for name in names if len(name) > level}


def named(path):
    return str(path.relative_to(SOURCE))


def test_every_package_has_its_arrows():
    packages = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert packages == set(ARROWS)
    assert {path.name for path in SOURCE.glob("*.py")} == {"__init__.py", "__main__.py"}


def test_arrows_make_no_circle():
    placed = []
    for package, below in ARROWS.items():
        assert set(below) <= set(placed), package
        placed.append(package)


@pytest.mark.parametrize("path", [path for path in FILES if path.parent != SOURCE], ids=named)
def test_imports_point_one_way(path):
    package = path.relative_to(SOURCE).parts[0]
    public = set(poolwise.__all__) if package in ("cli", "reproduction") else set()  # those above all others
    assert at_level(path, 1) - public <= {package, *ARROWS[package]}


def test_libraries_that_are_no_dependency_are_for_peers_alone():
    """scikit-image, PyTorch and kymatio: what others would try, next to ours in `poolwise reproduce domains`."""
    peers, heavy = SOURCE / "reproduction" / "peers", {"skimage", "torch", "kymatio"}
    found = {path for path in FILES if heavy & {name.partition(".")[0] for name in imports(path)}}
    assert found == {peers / name for name in ("lbp.py", "network.py", "scattering.py")}


def test_every_stage_of_the_method_has_its_place():
    found = {path.stem if path.is_file() else path.name for path in (SOURCE / "method").iterdir()}
    assert found - {"__init__", "__pycache__"} == set(STAGES)


@pytest.mark.parametrize("path", sorted((SOURCE / "method").rglob("*.py")), ids=named)
def test_stages_import_only_stages_before_them(path):
    stage = path.relative_to(SOURCE / "method").parts[0].removesuffix(".py")
    if stage != "__init__":
        of_method = {name.split(".")[2] for name in imports(path) if name.startswith("poolwise.method.")}
        assert of_method <= set(STAGES[: STAGES.index(stage) + 1])


@pytest.mark.parametrize("package", ["support", "engine", "kernels", "method", "svm"])
def test_rooms_know_nothing_of_scikit_learn_commands_and_pictures(package):
    for path in sorted((SOURCE / package).rglob("*.py")):
        if path.name not in (
            "randomness.py",
            "progress.py",
            "online.py",
        ):  # its random_state; bars; its learner
            assert {name.split(".")[0] for name in imports(path)}.isdisjoint(OUTSIDE), path


@pytest.mark.parametrize("package", ["images", "estimators", "tuning"])
def test_tables_and_arrays_of_libraries_are_read_without_importing_these(package):
    libraries = {"pandas", "polars", "h5py", "zarr", "dask", "xarray", "netCDF4", "torch", "torchvision", "datasets", "fsspec"}
    for path in sorted((SOURCE / package).rglob("*.py")):  # zarr_arrays.py and fetching.py ask for zarr and fsspec by name
        assert {name.split(".")[0] for name in imports(path)}.isdisjoint(libraries), path


def test_the_svm_takes_only_statistics_from_the_method():
    for path in sorted((SOURCE / "svm").glob("*.py")):
        assert at_level(path, 2) & set(STAGES) <= {"statistics"}


@pytest.mark.parametrize("path", sorted((SOURCE / "cli" / "commands").glob("*.py")), ids=named)
def test_commands_reach_into_no_private_names(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            assert isinstance(node.value, ast.Name), f"{path}:{node.lineno}"
            assert node.value.id in ("self", "cls"), f"{path}:{node.lineno}"


@pytest.mark.parametrize("module", ["support.parameters", "method.recipe", "method.presets", "datasets.catalogue"])
def test_what_help_is_made_from_imports_neither_numpy_nor_scikit_learn(module):
    heavy = "{'numpy', 'sklearn', 'scipy', 'numba', 'PIL'}"
    code = f"import sys, poolwise.{module}; sys.exit(', '.join(sorted({heavy} & set(sys.modules))) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", [*FILES, *PAGE], ids=named)
def test_no_file_is_longer_than_400_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


@pytest.mark.parametrize("path", FILES, ids=named)
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
