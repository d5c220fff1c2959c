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


def test_a_stage_of_unknown_length_is_announced(capsys):
    with Stages(verbose=True).stage("work"):
        assert capsys.readouterr().err == "work ...\n"


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
