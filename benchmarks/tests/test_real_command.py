"""``dale bench real``: what contenders see, runs, ranks and tables."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dale.cli import main
from dale.space.choice import Choice
from dale.space.float import Float
from dale.space.int import Int
from dale.space.space import Space
from dale_bench import jsonl
from dale_bench.contender import Spent
from dale_bench.problems.on_cube import OnCube
from dale_bench.real import PROBLEMS, contenders, report, runs
from dale_bench.real.contenders import ENTRIES, Unconditional
from dale_bench.real.problem import Real
from dale_bench.real.runs import Run, jobs_for
from dale_bench.real.scores import Scores, rounded
from dale_bench.runner import ProblemJob
from problem_cases import draws, spent


def bench(*words):
    return main(["bench", "real", *map(str, words)])


CONDITIONAL = Real(
    "conditional",
    Space(
        kind=Choice(["a", "b"]),
        n=Int(2, 8, step=2).when(kind="b"),
        x=Float(0.1, 10.0, log=True),
        step=Float(0.0, 1.0, step=0.25),
    ),
    12,
    "by hand",
    lambda p: p["x"] + p["step"] + p.get("n", 1),
)
NUMBERS = Real("numbers", Space(k=Int(0, 9), x=(0.0, 1.0)), 12, "", lambda p, rng: p["k"] + p["x"] + rng.random(), 100)


class TestNoisyTask:
    def test_each_evaluation_has_its_own_noise_which_depends_on_the_seed_only(self):
        def observed(seed, points):
            task = NUMBERS.task(seed, 3)
            return [task(p).value - p["k"] - p["x"] for p in points]

        points = draws(NUMBERS.space, 3)
        first, other_points, other_seed = observed(0, points), observed(0, points[::-1]), observed(1, points)
        assert first == pytest.approx(other_points)
        assert len(set(first)) == 3
        assert not np.allclose(first, other_seed)

    def test_the_lowest_observed_value_is_recommended_unless_another_is(self):
        task = NUMBERS.task(0, 4)
        points = [{"k": k, "x": 0.0} for k in (5, 2, 7, 9)]
        for p in points[:3]:
            task(p)
        assert task.recommended == [points[0], points[1], points[1]]
        task.recommend(points[2], after=2)
        assert task.recommended == [points[0], points[2], points[2]]
        task(points[3])
        assert task.recommended[-1] == points[2]
        task.recommend(points[0])
        assert task.recommended == [points[0], points[2], points[2], points[0]]
        with pytest.raises(Spent):
            task(points[0])


class TestContenders:
    def test_inactive_parameters_are_not_used(self):
        flat = Unconditional(CONDITIONAL.task(0))
        assert flat({"kind": "a", "n": 8, "x": 1.0, "step": 0.5}).value == 2.5
        assert flat({"kind": "b", "n": 8, "x": 1.0, "step": 0.5}).value == 9.5

    def test_an_objective_on_the_cube(self):
        task = NUMBERS.task(0, 2)
        cube = OnCube(task)
        value = cube(np.array([2.0, 0.25]))
        assert 9.25 <= value < 10.25
        cube(np.array([0.0, 0.0]))
        cube.recommend(np.array([1.0, 1.0]), after=1)
        assert [dict(p) for p in task.recommended] == [{"k": 9, "x": 1.0}] * 2
        assert len(cube.regrets) == 2

    @pytest.mark.parametrize(
        ("name", "real"),
        [(m, real) for real in (CONDITIONAL, NUMBERS) for m, entry in ENTRIES.items() if not entry.obstacle(real)],
        ids=lambda value: getattr(value, "name", value),
    )
    def test_they_spend_the_budget(self, name, real):
        entry = ENTRIES[name]
        for module in entry.contender.modules:
            pytest.importorskip(module, reason=f"{name} needs {module} (extra 'peers')")
        task = spent(entry.contender.run, real.task(0, 12))
        assert len(task.regrets) == 12
        again = spent(entry.contender.run, real.task(0, 12))
        assert again.regrets == task.regrets

    def test_tpe_suggests_active_parameters_only(self, monkeypatch):
        optuna = pytest.importorskip("optuna", reason="needs Optuna (extra 'peers')")
        studies = []
        make = optuna.create_study
        monkeypatch.setattr(optuna, "create_study", lambda **k: studies.append(make(**k)) or studies[-1])
        spent(contenders.tpe, CONDITIONAL.task(0, 12))
        assert {("n" in t.params) == (t.params["kind"] == "b") for t in studies[0].trials if t.values} == {True}

    def test_dimensions_of_scikit_optimize(self):
        pytest.importorskip("skopt", reason="needs scikit-optimize (extra 'peers')")
        parameters = CONDITIONAL.space.parameters
        kinds = {name: type(contenders._dimension(p)).__name__ for name, p in parameters.items()}
        assert kinds == {"kind": "Categorical", "n": "Integer", "x": "Real", "step": "Integer"}
        assert contenders._value(parameters["n"], 3) == 8
        assert contenders._value(parameters["step"], 1) == 0.25
        assert contenders._value(parameters["kind"], 1) == "b"

    def test_where_they_apply(self):
        applies = {m: [p for p in PROBLEMS.values() if not e.obstacle(p)] for m, e in ENTRIES.items()}
        assert all(len(applies[m]) == len(PROBLEMS) for m in ("default", "optuna_tpe", "optuna_gp", "random"))
        assert not {"pressure_vessel", "welded_beam", "compressor"} & {p.name for p in applies["skopt"]}
        assert sum(p.kind == "noisy" for p in applies["bads"]) == 10
        assert [p.name for p in applies["cobyqa"]] == ["lotka_volterra", "kinetics", "welded_beam", "pendulum"]


def made(problem, method, seed, values, kind="exact", **more):
    return Run(problem, method, seed, 10, kind, [5, 10], values, **more)


class TestScores:
    def test_ranks_against_a_naive_formula(self):
        rng = np.random.default_rng(0)
        methods, problems, seeds = ("default", "random", "bads"), ("p", "q"), (0, 1, 2)
        values = rng.integers(0, 4, size=(2, 3, 3, 2)).astype(float)  # with ties
        rows = [
            made(p, m, s, values[i, j, k].tolist())
            for i, p in enumerate(problems)
            for j, m in enumerate(methods)
            for k, s in enumerate(seeds)
        ]
        ranks = Scores.of(rows).ranks(methods)
        assert ranks.seeds == seeds
        for c in (0, 1):
            for j in range(3):
                found = []
                for i in range(2):
                    for k in range(3):
                        mine, cell = values[i, j, k, c], values[i, :, k, c]
                        found.append(1 + np.sum(cell < mine) + (np.sum(cell == mine) - 1) / 2)
                assert ranks.mean[c, j] == pytest.approx(np.mean(found))
        assert ranks.mean.sum(axis=1) == pytest.approx([6, 6])
        assert np.all(ranks.error > 0)

    def test_without_a_feasible_point_a_run_is_last(self):
        rows = [made("p", "default", 0, [None, 5.0]), made("p", "random", 0, [9.0, None])]
        ranks = Scores.of(rows).ranks(["default", "random"])
        assert ranks.mean.tolist() == [[2, 1], [1, 2]]
        assert ranks.of_medians.tolist() == [[2, 1], [1, 2]]

    def test_only_common_seeds_and_complete_methods_are_ranked(self):
        rows = [made(p, m, s, [1.0, 1.0]) for p in "pq" for m in ("default", "random") for s in range(4)]
        rows += [made(p, "optuna_gp", s, [0.0, 0.0]) for p in "pq" for s in range(2)]
        rows += [made("p", "cobyqa", s, [0.0, 0.0]) for s in range(4)]
        rows += [made("q", "cobyqa", 0, [0.0, 0.0], error="ValueError: broken")]
        scores = Scores.of(rows)
        assert scores.complete_methods() == ("default", "random", "optuna_gp")
        first, second = report.rank_parts(scores, "exact")
        assert first.title == "Mean rank over 2 exact problems and 2 seeds"
        assert [line[0] for line in first.table[1]] == ["Optuna GP", "dale", "random"]
        assert second.title == "Mean rank over 2 exact problems and 4 seeds"
        assert [line[1] for line in second.table[1]] == ["1.50 ± 0.00"] * 2
        assert "COBYQA (1 of 2)" in " ".join(first.remarks)
        assert "fewer seeds: Optuna GP" in " ".join(second.remarks)

    def test_one_seed_has_no_error(self):
        rows = [made(p, m, 0, [1.0, v]) for p in "pq" for m, v in (("default", 1.0), ("random", 2.0))]
        assert np.isnan(Scores.of(rows).ranks(["default", "random"]).error).all()
        (part,) = report.rank_parts(Scores.of(rows), "exact")
        assert part.title == "Mean rank over 2 exact problems and 1 seed"
        assert [line[2] for line in part.table[1]] == ["1.00", "2.00"]

    def test_a_peer_with_more_seeds_than_dale_makes_no_table_without_dale(self):
        seeds = {"default": 2, "random": 4}
        rows = [made(p, m, s, [1.0, 1.0]) for p in "pq" for m, n in seeds.items() for s in range(n)]
        (part,) = report.rank_parts(Scores.of(rows), "exact")
        assert part.title == "Mean rank over 2 exact problems and 2 seeds"
        assert {line[0] for line in part.table[1]} == {"dale", "random"}

    def test_two_budgets_are_refused(self):
        rows = [made("p", "default", 0, [1.0, 1.0]), Run("p", "default", 1, 20, "exact", [10, 20], [1.0, 1.0])]
        with pytest.raises(ValueError, match="with one budget, got 10 and 20"):
            Scores.of(rows)

    def test_rounded(self):
        values = np.array([[1.0, 1.0 + 1e-12, 0.0], [-2.5e-7, np.inf, 123456789.0]])
        assert rounded(values)[0].tolist() == [1.0, 1.0, 0.0]
        assert rounded(values)[1] == pytest.approx([-2.5e-7, np.inf, 123456790.0])


class TestTables:
    def test_values_by_hand(self):
        rows = [made("svc", "default", s, [4.0 + s, 2.0 + s]) for s in range(3)]
        rows += [made("svc", "random", s, [None, 5.0]) for s in range(3)]
        header, lines = report.values_table(Scores.of(rows))
        assert header[-3:] == ["gap", "worst", "runs"]
        assert lines[0][:2] == ["svc", "dale"]
        assert lines[0][2].startswith("5 ± ")
        assert lines[0][4:] == ["1", "4", "3"]
        assert lines[1][2:] == ["∞ ± ∞", "5 ± 0", "3", "5", "3"]

    def test_pairs_by_hand(self):
        rows = [made(p, "default", s, [1.0, s / 100]) for p in "pqr" for s in range(8)]
        rows += [made(p, "random", s, [1.0, v + s / 100]) for p, v in zip("pq", (1, -1), strict=True) for s in range(8)]
        assert report.pairs_table(Scores.of(rows))[1] == [["random", "2", "0 / 2 / 0", "1 / 0 / 1", "1 / 1"]]

    def test_remarks_state_the_true_means_and_who_is_left_out(self):
        rows = [made("queue", m, 0, [1.0, 1.0], "noisy", errors=[0.5, 0.125]) for m in ("default", "bads")]
        found = " ".join(report.value_remarks(Scores.of(rows)))
        assert f"queue: true means from {PROBLEMS['queue'].replicates} replicates" in found
        assert "standard error 0.12" in found
        rows = [made("svc", "default", 0, [1.0, 1.0]), made("kinetics", "bads", 0, [1.0, 1.0])]
        assert "BADS does not apply to svc (options)" in report.value_remarks(Scores.of(rows))

    def test_costs(self):
        rows = [
            made("p", "default", s, [1.0, 1.0], seconds=1.0 + s, evaluation_seconds=2.0, truth_seconds=3.0)
            for s in range(3)
        ]
        assert report.cost_table(Scores.of(rows))[1] == [["dale", "2.00", "3", "6", "6", "9"]]


class TestRuns:
    def test_an_exact_run(self):
        row = runs.run(ProblemJob("kinetics", "random", 0, 7))
        assert (row.at, row.values, row.errors, row.points) == ([3, 7], [row.curve[2], row.curve[6]], [], [])
        assert row.curve == sorted(row.curve, reverse=True)

    def test_a_noisy_run_recommends_and_is_judged_apart(self, monkeypatch):
        asked = []
        mean = SimpleNamespace(value=3.0, error=0.5)
        monkeypatch.setattr(Real, "true_mean", lambda self, params: asked.append(params) or mean)
        row = runs.run(ProblemJob("queue", "random", 0, 8))
        lowest = [int(np.argmin(row.curve[:n])) for n in (4, 8)]
        assert row.values == [3.0, 3.0]
        assert row.errors == [0.5, 0.5]
        assert len(asked) == len(set(lowest))  # equal points once
        json.dumps(row.points)
        assert all(PROBLEMS["queue"].space.check(p) == p for p in row.points)

    def test_a_failed_method_is_recorded(self, monkeypatch):
        monkeypatch.setattr(PROBLEMS["kinetics"].task(0).__class__, "__call__", lambda self, p: 1 / 0)
        row = runs.run(ProblemJob("kinetics", "random", 0, 7))
        assert row.error.startswith("ZeroDivisionError")
        assert row.values == [None, None]

    def test_unknown_names(self):
        with pytest.raises(ValueError, match="unknown real problem: 'quee'; did you mean 'queue'"):
            jobs_for(["noisy"], ["quee"], [], [0], None)
        with pytest.raises(ValueError, match="unknown contender: 'dale'"):
            jobs_for(["noisy"], [], ["dale"], [0], None)

    def test_a_problem_without_its_package_is_skipped(self, monkeypatch, capsys):
        monkeypatch.setattr("dale_bench.real.problem.find_spec", lambda name: None)
        jobs = jobs_for(["exact"], ["pendulum", "kinetics", "queue"], ["random", "bads"], [0], 5)
        assert [job.key for job in jobs] == [("kinetics", "random", 0, 5), ("kinetics", "bads", 0, 5)]
        assert "skipped: pendulum (not installed: gymnasium)" in capsys.readouterr().err


class TestCommand:
    def test_run_resume_and_table(self, tmp_path, capsys, monkeypatch):
        for name in ("queue", "curve_fit"):
            monkeypatch.setitem(PROBLEMS, name, replace(PROBLEMS[name], replicates=20))
        path = tmp_path / "rows.jsonl"
        words = ["run", "--only", "kinetics,welded_beam,queue,curve_fit", "--methods", "default,random"]
        words += ["--seeds", "2", "--budget", "8", "--jobs", "1", "--rows", path]
        assert bench(*words) == 0
        assert "16 of 16 runs are in" in capsys.readouterr().out
        before = path.read_bytes()
        assert bench(*words) == 0
        assert path.read_bytes() == before
        rows = jsonl.read(path, Run)
        assert all(row.error is None for row in rows)
        assert {row.problem for row in rows if row.points} == {"queue", "curve_fit"}
        capsys.readouterr()
        assert bench("table", path, "--format", "markdown") == 0
        out = capsys.readouterr().out
        assert "### Mean rank over 2 exact problems and 2 seeds" in out
        assert "### Mean rank over 2 noisy problems and 2 seeds" in out
        assert bench("table", path, "--kind", "noisy", "--only", "queue", "--methods", "random") == 0
        out = capsys.readouterr().out
        assert "exact" not in out
        assert "curve_fit" not in out

    def test_list(self, capsys):
        assert bench("list") == 0
        out = capsys.readouterr().out
        for name in [*PROBLEMS, *ENTRIES]:
            assert f"  {name} " in out

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["table", "nowhere.jsonl"], "which does not exist; run: dale bench real run --rows nowhere.jsonl"),
            (["run", "--kind", "odd"], "--kind: expected exact or noisy"),
            (["run", "--seeds", "0"], "--seeds: expected at least 1"),
            (["run", "--budget", "1"], "--budget: expected at least 2"),
        ],
    )
    def test_errors_say_what_to_do(self, words, message, capsys):
        assert bench(*words) != 0
        assert message in capsys.readouterr().err
