"""The examples of the README and the guide run as they stand, and their links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
EXAMPLE, *OTHERS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
EXAMPLES = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)


def test_the_ten_lines_learn_something(tmp_path):
    script = tmp_path / "example.py"
    script.write_text(EXAMPLE, encoding="utf-8")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert float(re.fullmatch(r"accuracy (\d\.\d\d)\n", done.stdout).group(1)) > 0.7
    assert len([line for line in EXAMPLE.splitlines() if line]) <= 10
    assert not OTHERS


def test_examples_of_the_guide_follow_from_the_first(tmp_path):
    script = tmp_path / "example.py"
    script.write_text("\n".join(EXAMPLES).replace("n_patches=50_000", "n_patches=5_000"), encoding="utf-8")
    subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (tmp_path / "codes.png").exists()
    assert (tmp_path / "clusters.png").exists()


def test_nothing_is_left_to_fill_in():
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        assert not re.search(r"@[A-Z]+@|TODO|FIXME", page.read_text(encoding="utf-8")), page


def links(text, folder):
    return {folder / target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target}


@pytest.mark.parametrize("target", sorted(links(README, ROOT) | links(GUIDE, ROOT / "docs")), ids=lambda path: path.name)
def test_links_lead_to_files_that_are_there(target):
    assert target.exists()


def test_the_readme_is_short():
    assert len(README.split()) < 1_400
