import os
import subprocess
import sys
import threading
import time

import pytest

from poolwise.support import progress
from poolwise.support.progress import Stages


def test_lines_come_only_after_two_seconds_of_silence(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    stages = Stages(verbose=True)
    with stages.stage("work", 1000) as update:
        for done in range(1, 6):
            now[0] = done * 0.9
            update(done * 100, "note")
    assert stages.seconds == {"work": pytest.approx(4.5)}
    assert capsys.readouterr().err.splitlines() == ["work: 300 of 1,000, note", "work: 4.5 s"]


def test_a_stage_of_unknown_length_is_announced_when_it_takes_a_while(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_QUIET_SECONDS", 0.0)
    heard = threading.Event()
    monkeypatch.setattr(progress, "tell", lambda line, tell=progress.tell: (tell(line), heard.set()))
    with Stages(verbose=True).stage("work"):
        assert heard.wait(60)
        assert capsys.readouterr().err == "work ...\n"
    assert capsys.readouterr().err == "work: 0.0 s\n"


def test_short_stages_have_no_line(capsys):
    for total in (None, 10):
        with Stages(verbose=True).stage("work", total) as update:
            update(5)
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminals")
def test_work_goes_on_when_its_terminal_goes_away(tmp_path):
    import pty

    master, slave = pty.openpty()
    code = (
        "import sys, time, pathlib; from poolwise.support.progress import Stages; s = Stages(verbose=True)\n"
        "with s.stage('first', 100) as update:\n"
        "    update(1, 'x'); pathlib.Path('started').touch()\n"
        "    while not pathlib.Path('gone').exists(): time.sleep(0.01)\n"
        "    time.sleep(0.5); update(100, 'y')\n"  # rich draws ten times a second, from its own thread
        "with s.stage('second'): pass\n"
        "pathlib.Path('whole').touch()"
    )
    errors = tmp_path / "errors"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stderr=slave, stdout=errors.open("w"))
    os.close(slave)
    while not (tmp_path / "started").exists():
        assert process.poll() is None
        time.sleep(0.02)
    os.close(master)
    (tmp_path / "gone").touch()
    assert process.wait(60) == 0
    assert (tmp_path / "whole").exists()


def test_a_terminal_gets_a_bar(capsys, monkeypatch):
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with Stages(verbose=True).stage("work", 10) as update:
        update(10, "half way [there]")
    assert "work" in capsys.readouterr().err


def test_a_stage_that_runs_twice_adds_up():
    stages = Stages()
    for _ in range(2):
        with stages.stage("work"):
            pass
    assert list(stages.seconds) == ["work"]
