"""The line of progress: silent where no one looks, and one line where someone does."""

import numpy as np
import pytest

from dale.progress import Progress
from dale.trial import Reason, Source, State, Trial

POINT = np.array([0.5])
TRIAL = Trial(0, POINT, POINT, POINT, Reason(Source.DESIGN), State.TOLD, 1.25)


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
