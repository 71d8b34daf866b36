"""The line of progress: silent where no one looks, and one line where someone does."""

import sys

import numpy as np
import pytest

import dale
from dale.history.reason import Reason, Source
from dale.history.trial import Trial, TrialState
from dale.progress import Progress

POINT = np.array([0.5])
TRIAL = Trial(0, POINT, POINT, POINT, Reason(Source.INITIAL_DESIGN), TrialState.COMPLETE, 1.25)


def test_silent_when_not_shown(capsys):
    with Progress(3, False) as line:
        line.update(1, TRIAL, 1.25)
    assert capsys.readouterr() == ("", "")


def test_silent_when_nobody_looks(capsys):
    with Progress(3, None) as line:  # pytest's standard error is no terminal
        assert not line.show
        line.update(1, TRIAL, 1.25)
    assert capsys.readouterr() == ("", "")


def test_the_line(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    with Progress(2, True) as line:
        line.update(1, TRIAL, None)
        line.update(2, TRIAL, 1.25)
    out, err = capsys.readouterr()
    assert out == ""
    first, second = err.rstrip("\n").split("\r")[1:]
    assert "1/2" in first
    assert "none yet" in first
    assert "2/2" in second
    assert "best 1.25" in second
    assert "design" in second
    assert len(first) == len(second) == 119  # the one covers the other
    assert err.endswith("\n")


def test_what_was_done_before_took_no_time_of_this_run(capsys, monkeypatch):
    """A run that goes on at 50 of 100: one evaluation in 60 s leaves 49 of them, and not one for each before."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    with Progress(100, True, before=50) as line:
        now[0] = 60.0
        line.write(51, "")
    assert "51/100  60 s, 2940 s left" in capsys.readouterr().err


def test_a_run_that_goes_on_says_so_to_its_line(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        sys.modules["dale.minimize"], "Progress", lambda *arguments: seen.append(arguments) or Progress(*arguments)
    )
    for budget in (3, 5):
        dale.minimize(lambda x: x[0], [(0, 1)], budget=budget, seed=0, store=tmp_path / "run.db", progress=False)
    assert seen == [(3, False, 0), (5, False, 3)]


def test_narrow_terminals_are_not_overrun(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    with Progress(1, True) as line:
        line.update(1, TRIAL, 1.25)
    assert all(len(part) <= 30 for part in capsys.readouterr().err.split("\r"))


def test_the_line_ends_when_the_run_is_interrupted(capsys):
    def interrupted():
        with Progress(5, True) as line:
            line.update(1, TRIAL, 1.25)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert capsys.readouterr().err.endswith("\n")
