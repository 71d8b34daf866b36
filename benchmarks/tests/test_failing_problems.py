"""Problems whose evaluations fail: what contenders see, what is counted, and the tables."""

import math

import numpy as np
import pytest

from dale_bench import problems
from dale_bench.problems import KINDS, contenders, report
from dale_bench.problems.problem import Failed, Task
from dale_bench.rows import Row
from dale_bench.runner import Job
from problem_cases import HIDDEN, draws, spent

GOOD, BAD = np.array([0.2, 0.2]), np.array([0.8, 0.7])  # of half_plane


class TestHiddenConstraints:
    def test_it_fails_where_a_constraint_is_violated_and_reports_only_the_value(self):
        task = Task(HIDDEN["half_plane"], 3)
        with pytest.raises(Failed, match="half_plane failed"):
            task(BAD)
        assert task(GOOD) == (HIDDEN["half_plane"].true(GOOD), ())
        with pytest.raises(Failed):
            task(BAD)
        assert task.n_failed == 2
        regret = HIDDEN["half_plane"].regret(GOOD)
        assert task.curve == [math.inf, regret, regret]

    @pytest.mark.parametrize("name", HIDDEN)
    def test_told_gets_the_constraints_and_no_failure(self, name, monkeypatch):
        outcomes = []
        monkeypatch.setattr(contenders, "ask_and_tell", lambda task, seed: outcomes.extend(map(task, points)))
        points = draws(HIDDEN[name].space, 50)
        task = Task(HIDDEN[name], 50)
        contenders.told(task, 0)
        assert [o.constraints for o in outcomes] == [tuple(HIDDEN[name].constraints(x)) for x in points]
        assert task.n_failed == sum(map(HIDDEN[name].fails, points)) > 0

    def test_dale_is_told_of_failures(self):
        row = problems.run("failures", Job("half_plane", "default", 0, 12))
        assert row.error is None
        assert len(row.regret) == 12
        assert 0 < row.notes["failed"] < 12

    def test_optuna_gets_failed_trials(self, monkeypatch):
        optuna = pytest.importorskip("optuna", reason="needs Optuna (extra 'peers')")
        studies = []
        make = optuna.create_study
        monkeypatch.setattr(optuna, "create_study", lambda **k: studies.append(make(**k)) or studies[-1])
        task = spent(contenders.tpe, Task(HIDDEN["half_plane"], 20))
        states = [trial.state for trial in studies[0].trials[:20]]
        assert states.count(optuna.trial.TrialState.FAIL) == task.n_failed > 0
        assert states.count(optuna.trial.TrialState.COMPLETE) == 20 - task.n_failed


class TestRandomFailures:
    def test_a_fifth_fails_in_the_same_places_for_the_same_seed(self):
        build, point = KINDS["failures"].problems["branin_random"], np.zeros(2)
        first, again, other = ([p.fails(point) for _ in range(2000)] for p in map(build, (0, 0, 1)))
        assert first == again != other
        assert np.mean(first) == pytest.approx(0.2, abs=0.03)

    def test_told_is_dale_without_failures(self):
        row = problems.run("failures", Job("branin_random", "told", 3, 12))
        plain = problems.run("parallel", Job("branin", "sequential", 3, 12))
        assert row.regret == plain.regret
        assert row.notes["failed"] == 0


def row(method, seed, regret, failed):
    return Row("f", method, seed, len(regret), 2, regret, 0.1, notes={"failed": failed})


class TestTables:
    def test_by_hand(self):
        """Told arrives at 1e-2 after 2 evaluations, dale after 3; at 1e-4 told after 4, dale in one of two runs."""
        rows = [row("default", s, [None, 1.0, 1e-2, 1e-4 if s else 1e-2], 1 + s) for s in (0, 1)]
        rows += [row("told", s, [1.0, 1e-2, 1e-3, 1e-4], 0) for s in (0, 1)]
        regrets, costs = report.failure_tables(rows, str.upper)
        assert regrets.table[0][-2:] == ["runs", "failed"]
        assert [line[-2:] for line in regrets.table[1]] == [["2", "1.5"], ["2", "0"]]
        assert costs.table[0][:4] == ["function", "0.01", "0.01, told", "0.01, ratio"]
        assert costs.table[1] == [["f", "3", "2", "×1.50 ± 0.00", "4 [1]", "4", "≥ ×1.00 ± 0.00", "2"]]

    def test_no_ratio_if_told_does_not_arrive(self):
        rows = [row("default", 0, [1.0, 1e-2], 0), row("told", 0, [1.0, 1.0], 0), row("told", 1, [1.0, 1e-2], 0)]
        _, costs = report.failure_tables(rows, str)
        assert costs.table[1][0][1:4] == ["2", "2 [0]", "-"]  # on the seeds that both have
        assert costs.table[1][0][-1] == "1"
