"""The page of a run in progress: ``report=`` on ``minimize``."""

import json
import logging
import re
import time
from pathlib import Path

import pytest

import dale
from dale.view.report import live

DATA = re.compile(rb'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
PLANE = [(-2.0, 2.0), (-1.0, 1.0)]


def data_of(path):
    return json.loads(DATA.search(path.read_bytes())[1])


def bowl(x):
    return (x[0] - 1) ** 2 + x[1] ** 2


def test_it_exists_from_the_start_and_ends_with_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(live, "MIN_INTERVAL", 0.0)
    monkeypatch.setattr(live, "MAX_SHARE", 1e9)
    path, seen = tmp_path / "run.html", []

    def objective(x):
        data = data_of(path)
        seen.append((data["live"], data["summary"]["status"]))
        return bowl(x)

    result = dale.minimize(objective, PLANE, budget=6, seed=0, store=tmp_path / "run.db", report=path)
    assert seen == [(True, f"In progress: {k} of 6 evaluations") for k in range(6)]
    data = data_of(path)
    assert not data["live"]
    assert data["summary"]["status"] == "The budget is spent after 6 of 6 evaluations"
    assert data["trials"]["value"] == [t.value for t in result.history]
    assert data["timeline"]["trial"] == list(range(6))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.db", "run.html"]


def test_the_run_is_the_same_with_and_without(tmp_path, monkeypatch):
    monkeypatch.setattr(live, "MIN_INTERVAL", 0.0)
    monkeypatch.setattr(live, "MAX_SHARE", 1e9)
    with_page = dale.minimize(bowl, PLANE, budget=14, seed=3, report=tmp_path / "run.html")
    without = dale.minimize(bowl, PLANE, budget=14, seed=3)
    assert [t.x.tolist() for t in with_page.history] == [t.x.tolist() for t in without.history]


def test_it_is_written_seldom(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(live, "MIN_INTERVAL", 1e6)
    monkeypatch.setattr(live, "write", lambda page, path: written.append(path))
    dale.minimize(bowl, PLANE, budget=12, seed=0, report=tmp_path / "run.html")
    assert len(written) == 2  # at the start and at the end


def test_a_slow_page_is_written_less_often(tmp_path, monkeypatch):
    report = live.LiveReport(tmp_path / "run.html", dale.Optimizer(PLANE, seed=0), 5)
    monkeypatch.setattr(live, "html_of", lambda *_, **__: time.sleep(0.2) or b"")
    report.update()
    assert report.due == float("inf")
    report.update()
    assert report.due - time.monotonic() > 0.1 / live.MAX_SHARE


def test_parallel_runs_write_what_they_have_while_they_wait(tmp_path, monkeypatch):
    monkeypatch.setattr(live, "MIN_INTERVAL", 0.1)
    path = tmp_path / "run.html"
    space = dale.Space(a=(0.0, 1.0), path=dale.Choice([str(path)]))
    dale.minimize(_watching, space, budget=4, seed=0, n_parallel=2, report=path)
    assert not data_of(path)["live"]


def _watching(p):
    """The third evaluation waits until the page shows the two before it."""
    path = Path(p["path"])
    flags = path.with_suffix(".flags")
    with flags.open("a") as file:
        file.write("x")
    is_third, end = flags.stat().st_size == 3, time.monotonic() + 60
    while is_third and data_of(path)["trials"]["state"].count("complete") < 2:
        assert time.monotonic() < end
        time.sleep(0.05)
    return p["a"]


class TestItNeverEndsTheRun:
    def test_a_page_that_cannot_be_written_is_one_warning(self, tmp_path, monkeypatch):
        monkeypatch.setattr(live, "MIN_INTERVAL", 0.0)
        (tmp_path / "file").write_text("in the way")
        with pytest.warns(dale.ReportWarning, match="could not be written, the run continues") as caught:
            result = dale.minimize(bowl, PLANE, budget=5, seed=0, report=tmp_path / "file" / "run.html")
        assert len([w for w in caught if w.category is dale.ReportWarning]) == 1
        assert result.nfev == 5

    def test_nor_does_an_error_in_its_computation(self, tmp_path, monkeypatch, caplog):
        monkeypatch.setattr(live, "html_of", lambda *_, **__: 1 / 0)
        with pytest.warns(dale.ReportWarning, match="ZeroDivisionError"), caplog.at_level(logging.WARNING, "dale"):
            result = dale.minimize(bowl, PLANE, budget=5, seed=0, report=tmp_path / "run.html")
        assert result.success
        assert "ZeroDivisionError" in caplog.text

    @pytest.mark.filterwarnings("error")
    def test_even_if_warnings_are_errors(self, tmp_path, monkeypatch):
        monkeypatch.setattr(live, "html_of", lambda *_, **__: 1 / 0)
        assert dale.minimize(bowl, PLANE, budget=4, seed=0, report=tmp_path / "run.html").nfev == 4

    def test_a_wrong_path_is_an_error_before_the_run(self, tmp_path):
        store = tmp_path / "run.db"
        for wrong, error in ((store, ValueError), (tmp_path, ValueError), (7, TypeError)):
            with pytest.raises(error, match="report: expected"):
                dale.minimize(pytest.fail, PLANE, budget=4, seed=0, store=store, report=wrong)
        assert not store.exists()


class TestAnErrorEndsThePage:
    def test_of_the_objective(self, tmp_path):
        path = tmp_path / "run.html"

        def objective(x):
            raise OSError("licence server is down")

        with pytest.raises(OSError, match="licence"):
            dale.minimize(objective, PLANE, budget=9, seed=0, report=path, on_error="raise")
        data = data_of(path)
        assert not data["live"]
        assert data["summary"]["status"].startswith("The run ended with an error (OSError: licence server is down)")

    def test_ctrl_c(self, tmp_path):
        path = tmp_path / "run.html"

        def objective(x):
            raise KeyboardInterrupt

        dale.minimize(objective, PLANE, budget=9, seed=0, report=path)
        assert not data_of(path)["live"]
        assert data_of(path)["summary"]["status"].startswith("Interrupted")
