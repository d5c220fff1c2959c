"""What only a process of its own can show: interrupts, kills, streams that are closed, how much help loads."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from poolwise import load
from poolwise.cli import main

from small import QUICK, QUICK_PLAN

TELLS_ALL = (  # a line for every stage, not only for those of two seconds
    "import sys; from poolwise.support import progress; progress._QUIET_SECONDS = 0.0\n"
    "from poolwise.cli import main; sys.exit(main())"
)
KILLS = int(os.environ.get("POOLWISE_KILLS", "4"))
RANDOM = random.SystemRandom()
COMMANDS = ("plan", "fit", "transform", "predict", "evaluate", "inspect")
HEAVY = ("numpy", "sklearn", "numba", "scipy", "joblib", "PIL", "rich", "matplotlib", "jinja2", "safetensors")


def shell(line, cwd):
    line = line.replace("poolwise", f'"{sys.executable}" -m poolwise', 1)
    return subprocess.run(["/bin/sh", "-c", line], cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


def loaded(code):
    """What Python prints for a line of code, and which heavy modules it has imported then."""
    code = f"import sys\n{code}\nprint([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *lines, modules = done.stdout.splitlines()
    return "\n".join(lines), modules


@pytest.mark.parametrize("name", [*COMMANDS, "datasets", "demo", "report", "reproduce"])
def test_help_has_examples_and_loads_nothing_heavy(name):
    text, modules = loaded(f"from poolwise.cli import main; main([{name!r}, '--help'])")
    assert f"  poolwise {name} " in text.split("Examples:")[1]
    assert modules == "[]"


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--version"], ["fit", "--help"], ["fit"], ["fit", "--alpha", "x"]])
def test_what_needs_no_images_loads_nothing_heavy(arguments):
    text, modules = loaded(f"from poolwise.cli import main; main({arguments!r})")
    assert ("poolwise" in text) == (arguments[-1].startswith("-"))  # a mistake goes to stderr
    assert modules == "[]"


@pytest.mark.parametrize(
    "module", ["", ".support.parameters", ".method.recipe", ".method.presets", ".method.selection", ".datasets.catalogue"]
)
def test_what_describes_parameters_loads_nothing_heavy(module):
    assert loaded(f"import poolwise{module}") == ("", "[]")


def test_making_and_checking_a_recipe_loads_nothing_heavy():
    code = "from poolwise.method.recipe import Recipe; print(Recipe(encoder='triangle', scale=None).checked().encoder)"
    assert loaded(code) == ("Triangle()", "[]")


@pytest.fixture
def many(tmp_path):
    """Images that take a while: 300,000 black ones, in a file that takes no room."""
    np.lib.format.open_memmap(tmp_path / "many.npy", "w+", np.uint8, (300_000, 32, 32, 3)).flush()
    return str(tmp_path / "many.npy")


def start(arguments, cwd):
    return subprocess.Popen(
        [sys.executable, "-c", TELLS_ALL, *arguments],
        cwd=cwd,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,  # a pipe that nobody reads would fill
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )


@pytest.mark.parametrize(
    ("what", "moment"),
    [
        ("fit", "open images ..."),
        ("fit", "patches ..."),
        ("fit", "dictionary:"),
        ("transform f.npy", "transform:"),
        ("transform f.csv", "transform:"),
        ("predict p.csv", "open images:"),
        ("evaluate", "predict:"),
    ],
)
def test_ctrl_c_gives_130_and_leaves_nothing(made, many, tmp_path, what, moment):
    name, _, output = what.partition(" ")
    arguments = {
        "fit": ["fit", made.train, "-o", "m.safetensors", "--codes", "800"],
        "transform": ["transform", made.model, many, "-o", output],
        "predict": ["predict", made.model, many, "-o", output],
        "evaluate": ["evaluate", made.model, str(tmp_path / "many.npz")],
    }[name]
    if name == "evaluate":
        np.savez(tmp_path / "many.npz", x=np.zeros((100_000, 32, 32, 3), np.uint8), y=np.full(100_000, "cat"))
    folder = tmp_path / "out"
    folder.mkdir()
    process = start(arguments, folder)
    for line in process.stderr:
        if moment in line:
            break
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "poolwise: interrupted" in err
    assert "Traceback" not in err
    assert os.listdir(folder) == []


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
def test_other_ends_clean_up_as_ctrl_c_does(made, many, tmp_path, name, code):
    folder = tmp_path / "out"
    folder.mkdir()
    process = start(["transform", made.model, many, "-o", "f.npy"], folder)
    for line in process.stderr:
        if "transform:" in line:
            break
    assert len(os.listdir(folder)) == 1
    process.send_signal(getattr(signal, name))
    _, err = process.communicate(timeout=60)
    assert (process.returncode, os.listdir(folder)) == (code, []), err
    assert "Traceback" not in err


@pytest.mark.parametrize("moment", [0, 0.02, 0.04])
def test_ctrl_c_during_imports_shows_no_traceback(tmp_path, moment):
    code = (  # the module says when its first import begins, and waits there
        "import sys, time, runpy\n"
        "class Slow:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in ('poolwise.cli', 'poolwise.cli.commands.fit'):\n"
        f"            print('here', flush=True); time.sleep({moment})\n"
        "sys.meta_path.insert(0, Slow()); sys.argv = ['poolwise', 'fit', 'no-folder', '-o', 'm.safetensors']\n"
        "runpy.run_module('poolwise', run_name='__main__')"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout.readline() == "here\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGINT)  # a shell calls both 130
    assert "Traceback" not in err


def seconds_of(arguments, cwd):
    """Run a command to its end, to know how long it takes and what it writes."""
    begin = time.perf_counter()
    assert start(arguments, cwd).wait(120) == 0
    return time.perf_counter() - begin


def killed_at_random(arguments, cwd, seconds, check):
    """Kill a command KILLS times on the way, and check after each."""
    for _ in range(KILLS):
        process = start(arguments, cwd)
        moment = RANDOM.uniform(0.3, 1.1) * seconds  # before that it only imports
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate()
        assert process.returncode in (0, -signal.SIGKILL)
        check(f"killed after {moment:.3f} of {seconds:.3f} s")


def test_fit_that_is_killed_leaves_the_old_model_or_the_new(made, tmp_path):
    target, arguments = tmp_path / "m.safetensors", ["fit", made.train, "-o", "m.safetensors", *QUICK, "--candidates", "500"]
    assert main([*arguments[:3], str(target), *arguments[4:], "--seed", "1"]) == 0
    old, codes = target.read_bytes(), []

    def check(moment):
        codes.append(load(target)[0].codes_.tobytes())
        target.write_bytes(old)

    seconds = seconds_of(arguments, tmp_path)
    new = load(target)[0].codes_.tobytes()
    target.write_bytes(old)
    killed_at_random(arguments, tmp_path, seconds, check)
    assert set(codes) <= {new, load(target)[0].codes_.tobytes()}
    assert len(codes) == KILLS


def test_transform_that_is_killed_leaves_the_old_file_or_the_new(made, tmp_path, three_classes):
    np.save(tmp_path / "x.npy", np.tile(three_classes["test"][0], (100, 1, 1, 1)))
    arguments = ["transform", made.model, "x.npy", "-o", "f.npy", "--quiet"]
    target = tmp_path / "f.npy"
    seconds = seconds_of(arguments, tmp_path)
    new = target.read_bytes()
    np.save(target, np.arange(5))
    old = target.read_bytes()

    def check(moment):
        assert target.read_bytes() in (old, new), moment
        assert np.load(target).ndim in (1, 2)
        target.write_bytes(old)

    killed_at_random(arguments, tmp_path, seconds, check)


@pytest.mark.parametrize(
    "line", ["poolwise predict {model} many.npy --quiet | head -2", "poolwise evaluate {model} {test} --quiet | head -1"]
)
def test_a_reader_that_leaves_is_no_error(made, many, tmp_path, line):
    done = shell(line.format(model=made.model, test=made.test), tmp_path)
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.count("\n") in (1, 2)


@pytest.mark.parametrize(
    "to",
    [
        "2>&1 | head -1",
        pytest.param("2>/dev/full", marks=pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")),
    ],
)
def test_progress_that_nobody_reads_does_not_end_a_fit(made, tmp_path, to):
    done = shell(
        f"poolwise fit {made.train} -o m.safetensors {' '.join(word for word in QUICK if word != '--quiet')} {to}", tmp_path
    )
    assert done.returncode == 0
    assert load(tmp_path / "m.safetensors") is not None


@pytest.mark.parametrize(("name", "closed"), [*((name, ">&-") for name in COMMANDS), ("predict", ">&- 2>&-"), ("fit", "2>&-")])
def test_closed_streams_are_no_error(made, tmp_path, name, closed):
    line = {
        "plan": f"poolwise plan {made.train} --sizes 2,4,8 --runs 1 --no-candidates {' '.join(QUICK_PLAN)}",
        "fit": f"poolwise fit {made.train} -o m.safetensors {' '.join(QUICK)}",
        "transform": f"poolwise transform {made.model} {made.test} -o f.npy",
        "predict": f"poolwise predict {made.model} {made.test}",
        "evaluate": f"poolwise evaluate {made.model} {made.test}",
        "inspect": f"poolwise inspect {made.model}",
    }[name]
    done = shell(f"{line} {closed}", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_a_full_device_is_an_error(made, tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    done = shell(f"poolwise predict {made.model} {made.test} --quiet > /dev/full", tmp_path)
    assert done.returncode == 3
    assert done.stderr == "poolwise: [Errno 28] No space left on device\n"


def test_any_number_of_threads_gives_the_same(made, tmp_path):
    def run(jobs):
        done = shell(f"poolwise evaluate {made.model} {made.test} --json --quiet --jobs {jobs}", tmp_path)
        return SimpleNamespace(**json.loads(done.stdout)).confusion

    assert run(1) == run(2)
