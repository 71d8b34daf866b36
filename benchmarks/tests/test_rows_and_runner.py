"""Runs on disk: none is lost or repeated, and failures are kept."""

import json

import numpy as np
import pytest

from dale_bench import contenders, runner
from dale_bench.contender import Contender, Objective, Spent
from dale_bench.functions import get
from dale_bench.rows import Row, append, curves_of, imported_curves, merged, read
from dale_bench.runner import Job, jobs_for, run, run_all


def row(seed=0, method="paper", regret=(1.0, 0.5), error=None):
    return Row("branin", method, seed, len(regret), 2, list(regret), 0.1, {"dale": "1"}, error)


@pytest.fixture
def with_contenders(monkeypatch):
    """Contenders made for a test, beside the real ones."""

    def add(**runs):
        for name, function in runs.items():
            monkeypatch.setitem(contenders.CONTENDERS, name, Contender(name, function))

    return add


def steady(objective, seed):
    rng = np.random.default_rng(seed)
    while True:
        objective(rng.random(objective.dimension))


class TestRows:
    def test_round_trip(self, tmp_path):
        path = tmp_path / "deep" / "rows.jsonl"
        assert read(path) == []
        rows = [row(seed) for seed in range(3)]
        for r in rows:
            append(path, r)
        assert read(path) == rows

    def test_a_torn_line_costs_one_row_and_no_other(self, tmp_path):
        path = tmp_path / "rows.jsonl"
        append(path, row(0))
        append(path, row(1))
        path.write_bytes(path.read_bytes()[:-20])
        append(path, row(2))
        assert [r.seed for r in read(path)] == [0, 2]

    def test_a_foreign_file_is_refused(self, tmp_path):
        path = tmp_path / "rows.jsonl"
        path.write_text('{"a": 1}\n')
        with pytest.raises(ValueError, match="expected lines of Row"):
            read(path)

    def test_curves_leave_failed_runs_out_and_fill_short_ones(self):
        curves = curves_of([row(1, regret=(3, 2)), row(0, regret=(4, 1, 1)), row(2, error="boom")])
        assert curves["branin"]["paper"].tolist() == [[4, 1, 1], [3, 2, 2]]

    def test_imported_curves_of_others(self, tmp_path):
        content = {"function": "branin", "dimension": 2, "budget": 2, "minimum": 0.4}
        content["peers"] = {"cobyqa": {"version": "1", "regret": [[2, 1], [3, 1]]}}
        (tmp_path / "branin.json").write_text(json.dumps(content))
        ready = imported_curves(tmp_path)
        assert ready["branin"]["cobyqa"].tolist() == [[2, 1], [3, 1]]
        both = merged(curves_of([row()]), ready)
        assert set(both["branin"]) == {"paper", "cobyqa"}

    def test_bad_imported_curves(self, tmp_path):
        with pytest.raises(ValueError, match=r"expected a directory with \.json files"):
            imported_curves(tmp_path)
        (tmp_path / "x.json").write_text("{}")
        with pytest.raises(ValueError, match="expected a file of curves"):
            imported_curves(tmp_path)


class TestObjective:
    def test_counts_and_stops(self):
        branin = get("branin")
        objective = Objective(branin, 3)
        values = [objective(np.full(2, u)) for u in (0.1, 0.5, 0.9)]
        with pytest.raises(Spent):
            objective(np.zeros(2))
        assert objective.regrets == pytest.approx([v - branin.minimum for v in values])

    def test_regret_is_without_the_noise(self):
        noisy = get("noisy", seed=3)
        objective = Objective(noisy, 5)
        u = np.full(noisy.dimension, 0.4)
        values = {objective(u) for _ in range(5)}
        assert len(values) == 5
        assert len(set(objective.regrets)) == 1


class TestRunner:
    def test_a_run_is_its_regret_so_far(self, with_contenders):
        with_contenders(steady=steady)
        made = run(Job("branin", "steady", 1, 20))
        assert made.error is None
        assert len(made.regret) == 20
        assert list(made.regret) == sorted(made.regret, reverse=True)
        assert made.regret == run(Job("branin", "steady", 1, 20)).regret
        assert "dale" in made.versions

    def test_a_method_that_raises_is_recorded_and_the_others_continue(self, with_contenders, tmp_path):
        def broken(objective, seed):
            objective(np.full(2, 0.5))
            raise RuntimeError("no kernel today")

        with_contenders(steady=steady, broken=broken)
        rows = run_all(jobs_for(["branin"], ["broken", "steady"], range(2), 5), tmp_path / "rows.jsonl")
        failed = [r for r in rows if r.error]
        assert [r.method for r in failed] == ["broken", "broken"]
        assert "RuntimeError: no kernel today" in failed[0].error
        assert len(failed[0].regret) == 1
        assert sum(r.method == "steady" and r.error is None for r in rows) == 2

    def test_a_method_without_evaluations_has_failed(self, with_contenders):
        with_contenders(idle=lambda objective, seed: None)
        assert "no evaluation" in run(Job("branin", "idle", 0, 5)).error

    def test_an_interrupted_benchmark_resumes(self, with_contenders, tmp_path):
        made = []

        def interrupted(objective, seed):
            if len(made) == 3:
                made.append("stop")
                raise KeyboardInterrupt
            made.append((objective.function.name, seed))
            steady(objective, seed)

        with_contenders(interrupted=interrupted)
        path = tmp_path / "rows.jsonl"
        jobs = jobs_for(["branin", "quad2"], ["interrupted"], range(3), 4)
        with pytest.raises(KeyboardInterrupt):
            run_all(jobs, path)
        assert len(read(path)) == 3
        rows = run_all(jobs, path)
        assert len(rows) == 6
        runs = [m for m in made if m != "stop"]
        assert len(runs) == len(set(runs)) == 6
        assert {r.key for r in rows} == {j.key for j in jobs}
        run_all(jobs, path)
        assert len([m for m in made if m != "stop"]) == 6

    def test_processes_make_the_same_rows(self, tmp_path):
        jobs = jobs_for(["quad2"], ["random"], range(4), 10)
        one = run_all(jobs, tmp_path / "one.jsonl", processes=1)
        two = run_all(jobs, tmp_path / "two.jsonl", processes=2)
        assert {r.key: list(r.regret) for r in one} == {r.key: list(r.regret) for r in two}

    def test_a_missing_package_skips_the_method_with_a_message(self, monkeypatch, tmp_path, capsys):
        absent = Contender("absent", steady, modules=("no_such_module",))
        monkeypatch.setitem(contenders.CONTENDERS, "absent", absent)
        rows = run_all(jobs_for(["quad2"], ["absent", "random"], range(1), 5), tmp_path / "rows.jsonl")
        assert [r.method for r in rows] == ["random"]
        assert "skipped: absent (not installed: no_such_module)" in capsys.readouterr().err

    def test_unknown_names_are_refused_before_anything_runs(self):
        with pytest.raises(
            ValueError, match=r"unknown method or peer 'papr'; did you mean 'paper'\?.*Expected one of: .*random"
        ):
            jobs_for(["branin"], ["papr"], range(1))
        with pytest.raises(ValueError, match="branin"):
            jobs_for(["brannin"], ["paper"], range(1))

    def test_budgets(self):
        assert jobs_for(["branin"], ["paper"], range(1))[0].budget == get("branin").budget
        assert jobs_for(["branin"], ["paper"], range(1), 7)[0].budget == 7
        assert runner.Job("a", "b", 0, 1).key == ("a", "b", 0, 1)
