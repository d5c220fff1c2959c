"""`poolwise reproduce` on photos in CIFAR-10's layout: measured, printed, resumed, and clear about mistakes."""

import json
import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.filterwarnings("ignore:.*the official data set:UserWarning")
QUICK = ("--quick", "--runs", "1", "--codes", "200", "--quiet", "--jobs", "1")


@pytest.fixture
def reproduce(poolwise, small_cifar, tmp_path):
    return lambda name, *more: poolwise("reproduce", name, "--data", small_cifar, "--store", tmp_path / "store", *more)


def test_a_figure_is_measured_printed_drawn_and_not_measured_again(reproduce, tmp_path):
    first = reproduce("fig-starting-size", *QUICK)
    assert first.code == 0
    assert "| 800   |" in first.out
    assert f"{tmp_path / 'store' / 'fig-starting-size.png'}" in first.out
    assert (tmp_path / "store" / "fig-starting-size.png").stat().st_size > 5_000
    stored = (tmp_path / "store" / "results.json").read_bytes()
    assert reproduce("fig-starting-size", *QUICK).out == first.out
    assert (tmp_path / "store" / "results.json").read_bytes() == stored


def test_json_has_every_cell(reproduce):
    found = json.loads(reproduce("fig-starting-size", *QUICK, "--json").out)["cells"]
    assert "cifar10 K=50 M=200 seed=0 affinity nystrom quick" in found
    assert all(0.1 < cell["accuracy"] <= 1 for cell in found.values())


def test_the_page_is_written_next_to_the_store(reproduce, tmp_path):
    assert reproduce("page").code == 2
    reproduce("fig-starting-size", *QUICK)
    assert reproduce("page", "--quick").code == 0
    assert "poolwise reproduce table1-cifar" in (tmp_path / "store.md").read_text(encoding="utf-8")


def test_an_interrupt_keeps_what_is_done_and_says_so(small_cifar, tmp_path):
    command = [sys.executable, "-m", "poolwise", "reproduce", "table1-cifar", "--quick", "--data", small_cifar]
    process = subprocess.Popen(
        [*map(str, command), "--store", str(tmp_path / "store"), "--jobs", "1"],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    for line in process.stderr:
        if " of " in line and "kmeans" in line:
            break
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "run the same command to continue" in err
    assert len(json.loads((tmp_path / "store" / "results.json").read_text(encoding="utf-8"))["cells"]) >= 1


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("table3",), 2, "table3"),
        (("table1-cifar", "--runs", "0"), 2, "--runs"),
        (("table1-cifar", "--jobs", "0"), 2, "threads"),
    ],
)
def test_mistakes_are_usage_errors(reproduce, arguments, code, said):
    found = reproduce(*arguments)
    assert found.code == code
    assert said in found.err


def test_a_store_of_something_else_is_left_alone(reproduce, tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "results.json").write_text("{}", encoding="utf-8")
    found = reproduce("law", *QUICK)
    assert found.code == 3
    assert "is not a store of results of format 2" in found.err


def test_a_report_holds_its_pictures(reproduce, tmp_path):
    assert reproduce("fig-starting-size", *QUICK, "--report", tmp_path / "r.html").code == 0
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert '<img src="data:image/png;base64,' in html
    assert "<table>" in html
    assert "<script" not in html
    assert reproduce("fig-starting-size", *QUICK, "--report", tmp_path / "r.pdf").code == 2
