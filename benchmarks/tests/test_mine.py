"""``dale bench mine`` as a user types it, on a small module of the user."""

import json
import math
import sys

import numpy as np
import pytest

from dale.cli import main
from dale.space.space import Space
from dale_bench.contender import Spent
from dale_bench.mine import contenders, objective, report
from dale_bench.mine.runs import Run
from dale_bench.problems.problem import Failed

MODULE = """
import math
limit = 3

def cost(p):
    if p["x"] > 1.5:
        raise RuntimeError("diverged")
    return math.nan if p["y"] > 1.9 else (p["x"] - 1) ** 2 + p["y"] ** 2

def gain(p):
    return 7 - cost({**p, "x": min(p["x"], 1.5), "y": min(p["y"], 1.9)})

def mixed(p):
    return p["n"] + p["rate"] + (p["degree"] if p["kernel"] == "poly" else 9)

def broken(p):
    return p["z"]
"""
PLAIN = "x = [-2, 2]\ny = [-2, 2]\n"
MIXED = """
constraints = ["n + rate >= 3"]
rate = [0, 1]
n = {type = "int", low = 1, high = 12}
kernel = {options = ["linear", "poly"]}
degree = {type = "int", low = 2, high = 6, when = {kernel = "poly"}}
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Runs the command in a directory with the user's module and spaces."""
    (tmp_path / "users_module.py").write_text(MODULE)
    (tmp_path / "space.toml").write_text(PLAIN)
    (tmp_path / "mixed.toml").write_text(MIXED)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "users_module", raising=False)

    def run(function, *words, space="space.toml", budget=12, seeds=2):
        words = [function, "--space", space, "--budget", budget, "--seeds", seeds, "--out", tmp_path / "out", *words]
        return main(["bench", "mine", *map(str, words)])

    yield run
    sys.modules.pop("users_module", None)


def rows_in(tmp_path):
    return [Run(**json.loads(line)) for line in (tmp_path / "out" / "rows.jsonl").read_text().splitlines()]


def test_table_figure_and_rows(mine, tmp_path, capsys):
    words = ["--methods", "default,cobyqa,random", "--format", "csv"]
    assert mine("users_module:cost", *words) == 0
    out = capsys.readouterr().out
    assert "6 of 6 runs are in" in out
    assert "# users_module:cost: median (worst) of the lowest value after so many evaluations\n" in out
    assert "method,3,6,9,12,failed,seconds per proposal,runs\n" in out
    assert "COBYQA cannot handle failures and got a penalty" in out
    assert all((tmp_path / "out" / f"curves.{kind}").stat().st_size > 1000 for kind in ("png", "svg"))
    rows = rows_in(tmp_path)
    assert {(r.method, r.seed) for r in rows} == {(m, s) for m in ("default", "cobyqa", "random") for s in (0, 1)}
    assert all(r.error is None and len(r.best) == 12 for r in rows)
    last = {m: [r.best[-1] for r in rows if r.method == m] for m in ("default", "random")}
    assert max(last["default"]) < min(1e-3, *last["random"])
    [line] = [line for line in out.splitlines() if line.startswith("dale,")]
    failed = sum(r.failed for r in rows if r.method == "default")
    assert f",{np.median(last['default']):.6g} ({max(last['default']):.6g}),{failed} of 24," in line
    failures = {r.failure for r in rows if r.failed}
    assert failures
    assert failures <= {"RuntimeError: diverged", "the objective returned nan"}


def test_it_resumes_and_leaves_out_runs_of_another_version(mine, tmp_path, capsys):
    words = ["--methods", "random"]
    assert mine("users_module:cost", *words, seeds=1) == 0
    before = (tmp_path / "out" / "rows.jsonl").read_text()
    assert mine("users_module:cost", *words, seeds=2) == 0
    after = (tmp_path / "out" / "rows.jsonl").read_text()
    assert after.startswith(before)
    assert len(after.splitlines()) == 2
    (tmp_path / "space.toml").write_text("x = [-1, 2]\ny = [-2, 2]\n")
    capsys.readouterr()
    assert mine("users_module:cost", *words, seeds=1) == 0
    assert "2 runs in" in capsys.readouterr().err
    assert len(rows_in(tmp_path)) == 3


def test_maximize(mine, tmp_path, capsys):
    assert mine("users_module:gain", "--maximize", "--methods", "default,random", "--jobs", 2, seeds=1) == 0
    assert "of the highest value" in capsys.readouterr().out
    for row in rows_in(tmp_path):
        assert row.best == sorted(row.best)
        assert row.best[-1] <= 7
    assert max(row.best[-1] for row in rows_in(tmp_path)) > 6.99


def test_options_conditions_and_input_constraints(mine, tmp_path, capsys):
    words = ["--methods", "default,cobyqa,cma_margin,random"]
    assert mine("users_module:mixed", *words, space="mixed.toml", budget=10, seeds=1) == 0
    err = capsys.readouterr().err
    for name in ("cobyqa", "cma_margin"):
        assert f"left out: {name}: it does not support input constraints" in err
    assert [row.method for row in rows_in(tmp_path)] == ["default", "random"]
    assert all(row.error is None and row.failed == 0 and row.best[-1] >= 5 for row in rows_in(tmp_path))


@pytest.mark.parametrize("method", ["tpe", "gp"])
def test_optuna_on_conditions_and_failures(mine, tmp_path, method):
    pytest.importorskip("optuna", reason="Optuna is not installed (extra 'peers')")
    if method == "gp":
        pytest.importorskip("torch", reason="Optuna's GP needs torch (extra 'peers')")
    assert mine("users_module:mixed", "--methods", method, space="mixed.toml", seeds=1) == 0
    assert mine("users_module:cost", "--methods", method, seeds=1) == 0
    assert all(row.error is None and len(row.best) == 12 for row in rows_in(tmp_path))


def test_a_peer_that_is_not_installed_is_named_with_the_command(mine, monkeypatch, capsys):
    for module in ("optuna", "pybobyqa"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert mine("users_module:cost", "--methods", "tpe,bobyqa,random", seeds=1, budget=3) == 0
    err = capsys.readouterr().err
    assert "left out: optuna_tpe: not installed: optuna; run: pip install optuna\n" in err
    assert "left out: bobyqa: not installed: pybobyqa; run: pip install Py-BOBYQA\n" in err


def test_a_function_that_does_not_work_ends_the_runs(mine, tmp_path, capsys):
    assert mine("users_module:broken", "--methods", "random,default", seeds=1) == 1
    assert "RuntimeError: the first 5 evaluations raised: KeyError: 'z'" in capsys.readouterr().err
    assert [len(row.best) for row in rows_in(tmp_path)] == [5, 5]


@pytest.mark.parametrize(
    ("function", "words", "message"),
    [
        ("users_module", (), "function: expected package.module:name, got 'users_module'"),
        ("no_module_here:cost", (), "function no_module_here:cost: No module named 'no_module_here'"),
        ("users_module:nothing", (), "users_module has no attribute 'nothing'"),
        ("users_module:limit", (), "expected a function, got 3"),
        ("users_module:cost", ("--space", "nowhere.toml"), "nowhere.toml"),
        ("users_module:cost", ("--space", "users_module.py"), "is not a valid TOML file"),
        ("users_module:cost", ("--methods", "cobyla"), "unknown method or peer 'cobyla'; did you mean 'cobyqa'?"),
        ("users_module:cost", ("--methods", "ei_optimal"), "needs a function whose minimum is known"),
        ("users_module:cost", ("--methods", ","), "--methods: expected methods"),
        ("users_module:cost", ("--seeds", "0"), "--seeds: expected at least 1, got 0"),
    ],
)
def test_errors(mine, tmp_path, capsys, function, words, message):
    assert mine(function, *words) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


class TestTask:
    def make(self, fun, budget, tmp_path, space=PLAIN):
        (tmp_path / "space.toml").write_text(space)
        problem = objective.OwnProblem(
            "f", Space.from_toml(tmp_path / "space.toml"), fun, math.nan, None, budget, "a function"
        )
        return objective.OwnTask(problem, budget)

    def test_a_rejected_point_costs_nothing(self, tmp_path):
        task = self.make(lambda p: p["x"], 1, tmp_path, 'constraints = ["x <= 0"]\n' + PLAIN)
        with pytest.raises(objective.Rejected):
            task({"x": 1.0, "y": 0.0})
        assert (task.regrets, task.n_failed) == ([], 0)
        assert task({"x": -1.0, "y": 0.0}).value == -1
        with pytest.raises(Spent):
            task({"x": 1.0, "y": 0.0})

    def test_proposals_that_are_never_allowed_end_the_run(self, tmp_path):
        task = self.make(lambda p: p["x"], 1, tmp_path, 'constraints = ["x <= 0"]\n' + PLAIN)
        for _ in range(objective.MAX_REJECTED):
            with pytest.raises(objective.Rejected):
                task({"x": 1.0, "y": 0.0})
        with pytest.raises(RuntimeError, match="got 101 proposals that violate them"):
            task({"x": 1.0, "y": 0.0})

    def test_the_penalty_is_twice_the_range_above_the_best(self, tmp_path):
        task = objective.Penalized(self.make(lambda p: math.nan if p["x"] > 1 else p["x"], 9, tmp_path))
        values = [task({"x": x, "y": 0.0}).value for x in (1.5, 1.0, 1.5, -2.0, 1.5)]
        assert values == [objective.FIRST_PENALTY, 1.0, 2.0, -2.0, 4.0]
        assert task.regrets == [math.inf, 1.0, 1.0, -2.0, -2.0]

    def test_outcome_constraints_are_an_error(self, tmp_path):
        import dale

        task = self.make(lambda p: dale.Evaluation(p["x"], constraints=[1.0]), 3, tmp_path)
        with pytest.raises(TypeError, match="returned outcome constraints"):
            task({"x": 1.0, "y": 0.0})

    def test_failures_that_are_values_do_not_end_the_run(self, tmp_path):
        task = self.make(lambda p: math.nan, 8, tmp_path)
        for _ in range(8):
            with pytest.raises(Failed):
                task({"x": 1.0, "y": 0.0})
        assert task.n_failed == 8


def test_equalities_are_for_dale_only(tmp_path):
    space = Space(a=(0, 1), b=(0, 1))
    assert contenders.why_not("default", space, equalities=True) is None
    for name in ("optuna_tpe", "random", "cobyqa", "smac"):
        assert contenders.why_not(name, space, equalities=True) == "it does not support equalities"


def test_curves_keep_the_last_value_and_start_with_the_first(tmp_path):
    common = {"function": "m:f", "space": "s", "fingerprint": "", "maximize": True, "budget": 4}
    runs = [
        Run(**common, method="random", seed=0, best=[None, 1.0, 3.0]),
        Run(**common, method="random", seed=1, error="E"),
    ]
    np.testing.assert_array_equal(report.curves(runs)["random"], [[-np.inf, 1, 3, 3]])
