"""Held parameters, compared with independent runs."""

import numpy as np
import pytest

from dale.cli.main import main
from dale_bench import contexts
from dale_bench.contexts import CONTEXTS, ContextRun, contexts_table, minimum_of_slice, run_contexts, run_missing
from dale_bench.functions import get


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(contexts, "EVALUATIONS", 6)
    monkeypatch.setattr(contexts, "CHECKPOINTS", (3, 6))


def test_the_minimum_of_a_slice_is_below_a_grid():
    function = get("branin:rotated", 1)
    for context in CONTEXTS:
        U = np.column_stack([np.linspace(0, 1, 2001), np.full(2001, context)])
        grid = np.min(function.true(function.from_cube(U)))
        found = minimum_of_slice(function, context)
        assert grid - 1e-3 * np.ptp(function.true(function.from_cube(U))) <= found <= grid


@pytest.mark.parametrize("way", ["held", "apart"])
def test_regrets_fall_and_are_those_of_the_slice(short, way):
    run = run_contexts(("branin:rotated", way, 0))
    regret = np.array(run.regret)
    assert regret.shape == (len(CONTEXTS), 6)
    assert np.all(np.diff(regret, axis=1) <= 0)
    assert np.all(regret >= 0)


def test_runs_that_are_in_the_file_are_not_made_again(short, tmp_path):
    path = tmp_path / "rows.jsonl"
    runs = run_missing(["branin:rotated"], 1, path, jobs=1)
    assert [run.way for run in runs] == ["held", "apart"]
    assert run_missing(["branin:rotated"], 1, path, jobs=1) == runs


def test_the_table_has_medians_over_seeds_and_contexts(short):
    runs = [ContextRun("f", "held", seed, [[1.0] * 6, [10.0**-seed] * 6]) for seed in (2, 4)]
    header, (row, other) = contexts_table([*runs, ContextRun("f", "apart", 0, [[0.1] * 6])])
    assert header[2:] == ["after 3", "after 6", "slices"]
    assert row[2].startswith("-1.00")
    assert row[-1] == "4"
    assert other[1:3] == ["independent runs", "-1.00 ± 0.00"]


def test_the_command(short, tmp_path, capsys):
    rows = str(tmp_path / "rows.jsonl")
    assert main(["bench", "contexts", "--functions", "branin", "--seeds", "1", "--jobs", "1", "--rows", rows]) == 0
    assert "one optimizer, held" in capsys.readouterr().out
