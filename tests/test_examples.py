"""The examples run unchanged and give the results they claim."""

import contextlib
import functools
import io
import re
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@functools.cache
def output_of(path):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        runpy.run_path(str(path), run_name="__main__")
    return out.getvalue()


def test_there_are_examples():
    assert len(EXAMPLES) >= 3


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs_is_short_and_prints_results(path):
    assert len(output_of(path).splitlines()) >= 4
    source = path.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 60
    assert source.startswith('"""')


def test_the_calibration_recovers_the_rates_within_their_error_bars():
    text = output_of(EXAMPLES[0].with_name("calibrate_reaction.py"))
    truth, least_squares = {"first": 0.12, "second": 0.035}, {"first": 0.00205, "second": 0.00054}  # the latter SciPy's
    fitted = re.findall(r"(\w+) += ([\d.]+) ± ([\d.]+)", text)
    assert {name for name, _, _ in fitted} == set(truth)
    for name, value, deviation in fitted:
        assert float(deviation) == pytest.approx(least_squares[name], rel=0.3)
        assert abs(float(value) - truth[name]) < 3 * float(deviation)


def test_the_batches_account_for_every_experiment():
    last = output_of(EXAMPLES[0].with_name("ask_tell_batches.py")).splitlines()[-1]
    complete, failed, pending = map(int, re.fullmatch(r"(\d+) complete, (\d+) failed, (\d+) pending", last).groups())
    assert complete + failed + pending == 25  # one added, then six batches of four
    assert pending == 1


def test_the_plots_of_the_method_pages_are_drawn(tmp_path, monkeypatch):
    directory = EXAMPLES[0].with_name("method_plots")
    monkeypatch.setattr(sys, "argv", [str(directory), str(tmp_path)])
    with contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(str(directory), run_name="__main__")
    pages = [directory.parents[1] / "docs" / name for name in ("method.md", "paper.md")]
    shown = {image for page in pages for image in re.findall(r"\(images/(\S+\.png)\)", page.read_text("utf-8"))}
    assert {path.name for path in tmp_path.iterdir()} == shown
