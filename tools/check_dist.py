"""Look into dist/: what a wheel and an sdist must hold, and what they must not.

python tools/check_dist.py dist
"""

import sys
import tarfile
import zipfile
from pathlib import Path

IN_WHEEL = (
    "poolwise/py.typed",
    "poolwise/report/assets/report.css",
    "poolwise/export/assets/page.html",
    "poolwise/export/assets/numerics.js",
    "poolwise/datasets/pictures/LICENSES.txt",
    "poolwise/datasets/pictures/astronaut.png",
    "poolwise/cli/commands/fit.py",
)
IN_SDIST = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "Makefile", "tests/test_architecture.py")
NOWHERE = ("__pycache__", ".pyc", ".nbi", ".nbc", ".venv", "/data_batch", ".whl")
LARGEST = {".whl": 6_000_000, ".gz": 12_000_000}


def check(path: Path) -> list[str]:
    """What is wrong with one file."""
    if path.suffix == ".whl":
        names, wanted = zipfile.ZipFile(path).namelist(), IN_WHEEL
    else:
        with tarfile.open(path) as archive:
            names, wanted = [name.partition("/")[2] for name in archive.getnames()], IN_SDIST
    wrong = [f"{path.name}: {one} is missing" for one in wanted if one not in names]
    wrong += [f"{path.name}: {name} does not belong there" for name in names if any(one in name for one in NOWHERE)]
    size, most = path.stat().st_size, LARGEST[path.suffix]
    if size > most:
        wrong.append(f"{path.name}: {size:,} bytes, expected at most {most:,}")
    print(f"{path.name}: {len(names)} files, {size:,} bytes")
    return wrong


if __name__ == "__main__":
    files = sorted(path for path in Path(sys.argv[1]).iterdir() if path.suffix in LARGEST)
    if {path.suffix for path in files} != set(LARGEST):
        raise SystemExit(f"{sys.argv[1]} has {[path.name for path in files]}; expected a wheel and an sdist")
    wrong = [line for path in files for line in check(path)]
    sys.exit("\n".join(wrong) or 0)
