"""Print a constraint for each dependency in pyproject.toml: its oldest supported version.

python tools/oldest.py report test > oldest.txt     # of the extras named, too
"""

import re
import sys
import tomllib
from pathlib import Path


def oldest(requirement: str) -> str:
    """
    >>> oldest("numpy>=2.0,!=2.5.0")
    'numpy==2.0'
    """
    found = re.match(r"([A-Za-z0-9_.-]+)>=([0-9.]+)", requirement)
    if found is None:
        raise SystemExit(f"{requirement!r} has no lower bound")
    return f"{found[1]}=={found[2]}"


if __name__ == "__main__":
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(one for extra in sys.argv[1:] for one in project["optional-dependencies"][extra])]
    print("\n".join(sorted({oldest(one) for one in wanted})))
