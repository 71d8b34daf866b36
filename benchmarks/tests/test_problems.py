"""Problems of all kinds: regrets by hand, and the rules of the contenders."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dale.space.choice import Choice
from dale.space.float import Float
from dale.space.int import Int
from dale.space.space import Space
from dale_bench import problems
from dale_bench.contender import Contender, Spent
from dale_bench.peers import scipy_
from dale_bench.problems import KINDS, Kind, contenders, report, run_missing
from dale_bench.problems.contenders import distributions
from dale_bench.problems.problem import FEASIBILITY_TOLERANCE, MIN_REGRET, Problem, Task
from dale_bench.rows import Row, read
from dale_bench.runner import Job
from problem_cases import CONSTRAINED, MIXED, draws, spent


class TestNoise:
    @pytest.mark.parametrize(("name", "share"), [("branin_noise5", 0.05), ("hart6_noise20", 0.2)])
    def test_it_is_a_share_of_the_spread_over_the_box(self, name, share):
        problem = KINDS["noise"].problem(name, 4)
        values = [problem.true(x) for x in draws(problem.space, 4000)]
        point = problem.space.check(problem.minimiser)
        noise = [problem.noisy(point) - problem.minimum for _ in range(2000)]
        assert np.std(noise) == pytest.approx(share * np.std(values), rel=0.1)
        assert abs(np.mean(noise)) < 4 * np.std(noise) / math.sqrt(2000)

    def test_it_is_another_function_for_each_seed(self):
        a, b = (KINDS["noise"].problem("branin_noise5", seed) for seed in (0, 1))
        assert not np.allclose(a.minimiser, b.minimiser)


class TestRoughness:
    def test_it_is_a_share_of_the_spread_over_the_box(self):
        problem = KINDS["rough"].problem("branin_rough10", 4)
        points = [problem.space.check(x) for x in draws(problem.space, 2000)]
        values = [problem.true(x) for x in points]
        scatter = np.array([problem.noisy(x) for x in points]) - values
        assert np.std(scatter) == pytest.approx(0.1 * np.std(values), rel=0.1)
        assert abs(np.mean(scatter)) < 4 * np.std(scatter) / math.sqrt(2000)

    def test_it_is_always_the_same_at_a_point(self):
        problem, again = (KINDS["rough"].problem("hart3_rough1", 0) for _ in range(2))
        x = problem.space.check(problem.minimiser)
        assert problem.noisy(x) == problem.noisy(x) == again.noisy(x) != problem.true(x)

    def test_the_trend_at_the_best_point_counts(self):
        problem = KINDS["rough"].problem("branin_rough10", 0)
        task = spent(KINDS["rough"].contender("default").run, Task(problem, 25), 0)
        assert task.curve == task.observed

    def test_noise_0_switches_the_smoothing_off(self):
        problem = KINDS["rough"].problem("branin_rough10", 0)
        smoothed, exact = (
            spent(KINDS["rough"].contender(name).run, Task(problem, 40), 0).curve for name in ("default", "noise0")
        )
        assert smoothed != exact


def numbered(regrets, constraints=None, told=None):
    """A problem over 0 .. n - 1 with given regrets, constraints and observed values."""
    return Problem(
        "numbered",
        Space(k=Int(0, len(regrets) - 1)),
        lambda p: regrets[p["k"]] + 10.0,
        10.0,
        {"k": int(np.argmin(regrets))},
        len(regrets),
        "by hand",
        None if constraints is None else lambda p: np.array(constraints[p["k"]]),
        None if told is None else lambda p: told[p["k"]],
    )


class TestTask:
    def test_it_counts_and_ends(self):
        task = Task(numbered([3.0, 1.0, 2.0]), 3)
        assert [task({"k": k}).value for k in range(3)] == [13, 11, 12]
        assert task.curve == [3, 1, 1]
        with pytest.raises(Spent):
            task({"k": 0})

    def test_what_breaks_a_constraint_is_no_result(self):
        task = Task(numbered([3.0, 0.5, 2.0, 1.0], [[0.0, -1.0], [1e-7, -1.0], [-1.0, 0.0], [-1.0, 2.0]]), 4)
        assert task({"k": 1}) == (10.5, (1e-7, -1.0))
        for k in (3, 0, 2):
            task({"k": k})
        assert task.curve == [math.inf, math.inf, 3, 2]

    def test_with_noise_the_lowest_observed_value_counts_unless_another_is_recommended(self):
        task = Task(numbered([3.0, 1.0, 2.0], told=[5.0, 8.0, 4.0]), 3)
        task({"k": 0})
        task({"k": 1})
        task.recommend({"k": 1})
        task({"k": 2})
        assert task.curve == [3, 1, 2]
        assert task.observed == [3, 3, 2]

    def test_regrets_with_constraints_have_a_floor(self):
        problem = numbered([1e-12, 1.0], [[FEASIBILITY_TOLERANCE], [0.0]])
        assert problem.regret({"k": 0}) == MIN_REGRET
        assert numbered([1e-12, 1.0]).regret({"k": 0}) < 1e-11


class FakeOptimizer:
    """Proposes 0, 1, 2, ..., reports the first as best, and records the values."""

    made = None

    def __init__(self, space, *, seed, method=None, noise="auto"):
        self.space, self.seed, self.told = space, seed, []
        FakeOptimizer.made = self

    def ask(self):
        k = len(self.told)
        return SimpleNamespace(params={"k": k % self.space.cardinality})

    def tell(self, trial, value, **more):
        self.told.append((trial.params["k"], value, more))
        self.best = SimpleNamespace(params={"k": 0})


class TestDale:
    def test_constraints_are_passed_with_the_value(self, monkeypatch):
        monkeypatch.setattr(contenders, "Optimizer", FakeOptimizer)
        task = spent(contenders.ask_and_tell, Task(numbered([3.0, 1.0], [[0.5], [-0.5]]), 2), 7)
        assert FakeOptimizer.made.seed == 7
        assert FakeOptimizer.made.told == [(0, 13.0, {"constraints": (0.5,)}), (1, 11.0, {"constraints": (-0.5,)})]
        assert task.curve == [math.inf, 1]

    def test_with_noise_its_best_is_what_it_recommends(self, monkeypatch):
        monkeypatch.setattr(contenders, "Optimizer", FakeOptimizer)
        task = spent(contenders.ask_and_tell, Task(numbered([3.0, 1.0], told=[9.0, 8.0]), 2))
        assert task.curve == [3, 3]
        assert task.observed == [3, 1]

    def test_without_it_the_best_value_counts(self, monkeypatch):
        monkeypatch.setattr(contenders, "Optimizer", FakeOptimizer)
        assert spent(contenders.ask_and_tell, Task(numbered([3.0, 1.0, 2.0]), 3)).curve == [3, 1, 1]

    def test_on_a_mixed_problem_it_beats_random_points(self):
        runs = [
            np.median([spent(run, Task(MIXED["basins"], 30), seed).curve[-1] for seed in range(3)])
            for run in (contenders.ask_and_tell, contenders.random)
        ]
        assert runs[0] < 0.5 * runs[1]


class TestWorkers:
    def test_one_worker_is_ask_and_tell(self):
        problem = KINDS["parallel"].problem("branin", 1)
        one, plain = (
            spent(run, Task(problem, 15), 1)
            for run in (KINDS["parallel"].contender("sequential").run, contenders.ask_and_tell)
        )
        assert one.curve == plain.curve
        assert one.times == list(range(1, 16))

    def test_a_batch_is_asked_for_at_once_and_takes_one_unit_of_time(self):
        problem = KINDS["parallel"].problem("branin", 1)
        task = spent(KINDS["parallel"].contender("batch4").run, Task(problem, 10), 1)
        assert task.times == [1, 1, 1, 1, 2, 2, 2, 2, 3, 3]
        assert len(task.curve) == 10

    def test_workers_that_do_not_wait_take_one_unit_in_the_mean(self):
        problem = KINDS["parallel"].problem("branin", 1)
        task = Task(problem, 400)
        monkey = SimpleNamespace(count=0)

        class Anywhere:
            def __init__(self, space, seed):
                self.space = space

            def ask(self, n):
                monkey.count += n
                return [SimpleNamespace(id=monkey.count + i, x=np.zeros(2)) for i in range(n)]

            def tell(self, trial, value):
                pass

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(contenders, "Optimizer", Anywhere)
            contenders.workers(4, 0.5, task, 0)
        assert task.times == sorted(task.times)
        assert task.times[-1] == pytest.approx(400 / 4, rel=0.1)

    def test_the_budget_is_three_times_the_functions(self):
        assert KINDS["parallel"].problem("branin", 0).budget == 3 * KINDS["noise"].problem("branin_noise5", 0).budget


def installed(kind, name):
    contender = KINDS[kind].contender(name)
    if contender.missing:
        pytest.skip(f"{name} not tested: {', '.join(contender.missing)} not installed (extra 'peers')")
    return contender


def told(peer, problem, seed):
    """The values of the objective in a run."""
    values = []
    watched = replace(problem, true=lambda p: values.append(problem.true(p)) or values[-1])
    spent(peer.run, Task(watched, problem.budget), seed)
    return values


PEERS = [
    (kind.name, contender.name, next(iter(kind.problems)))
    for kind in KINDS.values()
    for contender in kind.contenders
    if contender.peer
]


@pytest.mark.parametrize(("kind", "name", "on"), PEERS)
class TestPeers:
    def test_it_spends_the_budget_in_the_space_and_in_silence(self, kind, name, on, capfd):
        peer = installed(kind, name)
        problem = KINDS[kind].problem(on, 0)
        seen = []
        watched = replace(problem, true=lambda p: seen.append(problem.space.check(p)) or problem.true(p))
        budget = {"optuna_gp": 12, "botorch_nei": 6}.get(name, 25)
        task = spent(peer.run, Task(watched, budget))
        assert len(task.curve) == budget
        assert len(seen) >= budget
        assert capfd.readouterr() == ("", "")

    def test_same_seed_same_run(self, kind, name, on):
        peer = installed(kind, name)
        budget = {"optuna_gp": 12, "botorch_nei": 6}.get(name, 15)
        first, again, other = (
            told(peer, replace(KINDS[kind].problem(on, 0), budget=budget), seed) for seed in (1, 1, 2)
        )
        assert first == again
        assert first != other


class TestCobyqa:
    def test_objective_and_constraints_at_a_point_are_one_evaluation(self):
        points = []
        problem = CONSTRAINED["gramacy"]
        watched = replace(problem, constraints=lambda x: points.append(x.tobytes()) or problem.constraints(x))
        spent(contenders.cobyqa, Task(watched, 30))
        assert len(points) == len(set(points)) == 30

    def test_a_start_that_repeats_another_counts(self, monkeypatch):
        # COBYQA moves a start near a face of the cube to the face, here each start to the middle of the cube.
        monkeypatch.setattr(scipy_, "INITIAL_RADIUS", 0.5)
        points = []
        problem = CONSTRAINED["gramacy"]
        watched = replace(problem, true=lambda x: points.append(x.tobytes()) or problem.true(x))
        assert len(spent(contenders.cobyqa, Task(watched, 150)).curve) == 150
        assert len(set(points)) < 150

    def test_it_keeps_the_constraints_and_gets_there(self):
        assert spent(contenders.cobyqa, Task(CONSTRAINED["gramacy"], 150), 1).curve[-1] <= 1e-5


class TestOptuna:
    def test_a_space_as_distributions(self):
        pytest.importorskip("optuna", reason="distributions need Optuna (extra 'peers')")
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        space = Space(
            a=Float(0.5, 2.0), b=Float(1e-3, 1.0, log=True), c=Float(0.0, 1.0, step=0.25), d=Int(1, 9, step=2),
            e=Int(1, 64, log=True), f=Choice(["x", "y"]),
        )  # fmt: skip
        assert distributions(space) == {
            "a": FloatDistribution(0.5, 2.0),
            "b": FloatDistribution(1e-3, 1.0, log=True),
            "c": FloatDistribution(0.0, 1.0, step=0.25),
            "d": IntDistribution(1, 9, step=2),
            "e": IntDistribution(1, 64, log=True),
            "f": CategoricalDistribution(["x", "y"]),
        }

    def test_the_samplers_get_the_constraints(self, monkeypatch):
        installed("constraints", "optuna_tpe")
        import optuna

        studies = []
        make = optuna.create_study
        monkeypatch.setattr(optuna, "create_study", lambda **k: studies.append(make(**k)) or studies[-1])
        spent(contenders.tpe, Task(CONSTRAINED["gramacy"], 4))
        kept = [t.system_attrs.get("constraints") or list(t.constraints.values()) for t in studies[0].trials[:4]]
        wanted = [CONSTRAINED["gramacy"].constraints([t.params["x0"], t.params["x1"]]) for t in studies[0].trials[:4]]
        np.testing.assert_allclose(kept, wanted)


def tiny(*runs):
    """A kind with a problem of three points and contenders made for a test."""
    problem = numbered([3.0, 1.0, 2.0])
    made = tuple(Contender(run.__name__, run, run.__name__.upper()) for run in runs)
    return Kind("tiny", "by hand", {"numbered": lambda seed: problem}, made, report.regret_tables)


class TestRunning:
    def test_runs_in_the_file_are_not_repeated(self, tmp_path, monkeypatch):
        made = []

        def default(task, seed):
            made.append(seed)
            for k in range(3):
                task({"k": k})

        kind = tiny(default)
        monkeypatch.setitem(KINDS, "tiny", kind)
        path = tmp_path / "rows.jsonl"
        rows = run_missing(kind, kind.jobs([], [], range(2)), path)
        rows = run_missing(kind, kind.jobs([], [], range(3)), path)
        assert made == [0, 1, 2]
        assert [row.regret for row in rows] == [[3, 1, 1]] * 3
        assert rows == read(path)

    def test_in_processes(self, tmp_path):
        kind = KINDS["constraints"]
        jobs = kind.jobs(["gardner"], ["random"], range(4))
        rows = run_missing(kind, jobs, tmp_path / "rows.jsonl", processes=2)
        assert [row.key for row in rows] == [job.key for job in jobs]  # whoever was done first
        assert any(row.regret[0] is None for row in rows)  # islands are small

    def test_rows_of_noise_and_of_workers_have_what_their_tables_need(self):
        noise = problems.run("noise", Job("branin_noise20", "random", 0, 5))
        assert len(noise.observed) == len(noise.regret) == 5
        parallel = problems.run("parallel", Job("branin", "batch4", 0, 6))
        assert parallel.times == [1, 1, 1, 1, 2, 2]
        assert parallel.observed == []

    @pytest.mark.parametrize(
        ("only", "methods", "message"),
        [
            (["basin"], [], r"unknown problem in 'mixed': 'basin'; did you mean 'basins'\?.*switches"),
            ([], ["optuna_tp"], r"unknown contender in 'mixed': 'optuna_tp'; did you mean 'optuna_tpe'"),
        ],
    )
    def test_unknown_names_are_refused_before_anything_runs(self, only, methods, message):
        with pytest.raises(ValueError, match=message):
            KINDS["mixed"].jobs(only, methods, range(1))


def row(function, method, seed, regret, **more):
    return Row(function, method, seed, len(regret), 2, regret, 0.1, **more)


class TestTables:
    def test_regrets_at_half_and_at_the_end(self):
        rows = [row("f", "default", s, [1.0, 0.1 * (1 + s), 0.1, 0.01]) for s in range(3)]
        rows += [row("f", "random", s, [1.0, 1.0, 1.0, 1.0]) for s in range(3)]
        [part] = report.regret_tables(rows, str.upper)
        header, lines = part.table
        assert header == ["function", "method", "50%", "100%", "worst", "runs"]
        assert lines[0][:2] == ["f", "DEFAULT"]
        assert lines[0][2].startswith("-0.70 ± ")
        assert lines[0][3:] == ["-2.00 ± 0.00", "-2.00", "3"]
        assert part.remarks == [
            "DEFAULT at or below RANDOM on 1 of 1 at 50%, 1 of 1 at 100%; with p < 0.05 between the runs at 100 %: "
            "better on 0, worse on 0"
        ]

    def test_no_feasible_point_is_infinite_regret_and_counted(self):
        rows = [row("f", "default", s, [None, None]) for s in range(2)]
        rows += [row("f", "default", 2, [None, 1.0])]
        [part] = report.regret_tables(rows, str.upper)
        assert part.table[1] == [["f", "DEFAULT", "∞ ± ∞", "∞ ± ∞", "∞", "3"]]
        assert part.remarks == ["DEFAULT on f: no feasible point in 2 of 3 runs"]

    def test_noise_has_the_recommended_and_the_observed_point(self):
        rows = [row("f", "default", s, [1.0, 0.01], observed=[1.0, 0.1]) for s in range(2)]
        recommended, observed = report.noise_tables(rows, str)
        assert recommended.table[1][0][3] == "-2.00 ± 0.00"
        assert observed.table[1][0][3] == "-1.00 ± 0.00"

    def test_parallel_by_hand(self):
        """One reaches a tenth after 2 evaluations and a hundredth after 4; batches of 4 after 4 and never."""
        one = [
            row("f", "sequential", s, [1.0, 0.1, 0.1, 0.01, 0.01, 0.01, 0.01, 0.01], times=list(range(1, 9)))
            for s in (0, 1)
        ]
        four = [row("f", "batch4", s, [1.0] * 3 + [0.1] * 5, times=[1] * 4 + [2] * 4) for s in (0, 1)]
        costs, gains = report.parallel_tables(one + four, str.upper)
        assert costs.table[1][0] == ["f", "SEQUENTIAL", "2", "4", "8 [0]", "8 [0]", "2"]
        assert costs.table[1][1][2:4] == ["4 (×2.00 ± 0.00)", "8 (×2.00 ± 0.00) [0]"]
        assert gains.table[1] == [["f", "BATCH4", "×2.00 ± 0.00", "×2.00 ± 0.00", "×4.00 ± 0.00", "×4.00 ± 0.00", "2"]]
        assert costs.remarks[-1] == "BATCH4: at most 2.00 times the evaluations"

    def test_only_seeds_that_both_have_are_compared(self):
        one = [row("f", "sequential", 0, [1.0, 0.1], times=[1, 2])]
        four = [row("f", "batch4", s, [1.0, 0.1], times=[1, 1]) for s in (0, 1)]
        costs, _ = report.parallel_tables(one + four, str)
        assert [line[-1] for line in costs.table[1]] == ["1", "1"]
