"""COCO's problems, runs on them, and the scores of the runs."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dale_bench import jsonl
from dale_bench.coco import experiment, reference, runs
from dale_bench.coco.experiment import jobs_for, run_missing
from dale_bench.coco.noisy import NoiseFree
from dale_bench.coco.runs import TARGETS, Job, Run, hits_of, recommended_of
from dale_bench.coco.scores import paired_difference, results_of
from dale_bench.coco.suites import SUITES, best_known, objective_of, opened
from dale_bench.contender import Contender, Spent

EXAMPLES = [("bbob", 1, 2), ("bbob", 24, 3), ("bbob-constrained", 20, 2), ("bbob-mixint", 8, 5)]  # suite, function, d
NOISY = "bbob-noisy"


@pytest.fixture
def coco():
    """COCO's experiments, installed by the extra `coco`."""
    return pytest.importorskip("cocoex", reason="COCO's suites need cocoex (extra 'coco')")


def spent(contender, objective, seed=0):
    with pytest.raises(Spent):
        contender.run(objective, seed)
    return objective


@pytest.mark.usefixtures("coco")
class TestSuites:
    @pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
    def test_functions_and_dimensions_are_those_of_coco(self, suite, coco):
        whole = coco.Suite(suite.name, "instances: 1", "")
        assert whole.dimensions == list(suite.dimensions)
        assert sorted({p.id_function for p in whole}) == list(suite.functions)
        assert set(suite.usual_dimensions) <= set(suite.dimensions)

    @pytest.mark.parametrize(("suite", "function", "d"), EXAMPLES)
    @pytest.mark.parametrize("instance", [1, 7])
    def test_no_point_is_below_the_minimum(self, suite, function, d, instance):
        x, minimum = best_known(suite, function, d, instance)
        with opened(suite, function, d, instance) as problem:
            assert problem.id == Job(suite, function, instance, d, "random", 0, 1).problem
            assert problem(x) == minimum
            assert problem.number_of_constraints == 0 or np.all(problem.constraint(x) <= 0)
            task = spent(SUITES[suite].contender("random"), objective_of(problem, (x, minimum), 300))
        assert min(task.regrets) > 0

    @pytest.mark.parametrize(
        ("function", "minimum"), [(1, -247.11), (5, 66.71), (9, 55.34), (16, 99.17), (21, -370.84), (24, 13.64)]
    )
    def test_the_minimum_is_that_of_another_implementation(self, function, minimum):
        """IOHexperimenter's BBOB problems of instance 3."""
        assert best_known("bbob", function, 5, 3)[1] == pytest.approx(minimum, abs=1e-11)

    def test_the_current_directory_stays_clean(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        best_known("bbob", 1, 2, 1)
        assert list(tmp_path.iterdir()) == []

    def test_an_infeasible_point_does_not_count(self):
        x, minimum = best_known("bbob-constrained", 1, 2, 1)
        with opened("bbob-constrained", 1, 2, 1) as problem:
            direction = problem.initial_solution - x  # from the minimiser, on the boundary, to the feasible side
            task = objective_of(problem, (x, minimum), 3)
            outside = task(x - 1e-9 * direction)
            assert outside.value < minimum
            assert 0 < max(outside.constraints) < 1e-3
            task(problem.initial_solution)
            task(x)
        assert task.curve[0] == math.inf
        assert task.curve[1] > 100
        assert task.curve[2] == 0

    def test_integer_variables_are_integers(self):
        seen = []
        with opened("bbob-mixint", 3, 5, 1) as problem:
            task = objective_of(problem, best_known("bbob-mixint", 3, 5, 1), 10)
            task.problem = replace(task.problem, true=lambda x: seen.append(x) or problem(x))
            spent(SUITES["bbob-mixint"].contender("dale"), task)
        X = np.array(seen)
        assert np.all(X[:, :4] == np.round(X[:, :4]))
        assert np.all((X >= [0, 0, 0, 0, -5]) & (X <= [1, 3, 7, 15, 5]))

    def test_dale_learns_of_the_constraints(self):
        with opened("bbob-constrained", 1, 2, 1) as problem:
            task = objective_of(problem, best_known("bbob-constrained", 1, 2, 1), 20)
            assert spent(SUITES["bbob-constrained"].contender("dale"), task).curve[-1] < 1e-6

    def test_cobyqa_restarts_until_the_budget_is_spent(self):
        with opened("bbob-constrained", 1, 2, 1) as problem:
            task = objective_of(problem, best_known("bbob-constrained", 1, 2, 1), 150)
            assert spent(SUITES["bbob-constrained"].contender("cobyqa"), task).curve[-1] < 1e-6
            assert problem.evaluations == 150

    def test_tpe_supports_integers(self):
        contender = SUITES["bbob-mixint"].contender("optuna_tpe")
        if contender.missing:
            pytest.skip("TPE not tested: optuna not installed (extra 'peers')")
        with opened("bbob-mixint", 1, 5, 1) as problem:
            task = objective_of(problem, best_known("bbob-mixint", 1, 5, 1), 15)
            assert len(spent(contender, task).curve) == 15


@pytest.mark.usefixtures("coco")
class TestNoise:
    def test_the_regret_is_that_of_the_noise_free_value(self):
        """Of the sphere: its contour lines are circles around the minimiser, and noise does not change them."""
        x, minimum = best_known(NOISY, 107, 2, 1)
        true = NoiseFree(107, 2, 1)
        assert minimum == 0
        assert true(x) < 1e-12
        radii = [float(true(x + 0.5 * np.array([np.cos(a), np.sin(a)]))) for a in (0.0, 1.0, 2.5)]
        assert radii == pytest.approx([0.25] * 3)

    def test_values_are_noisy_and_the_same_in_the_next_run(self):
        with opened(NOISY, 107, 2, 1) as problem:
            first = [problem(np.ones(2)) for _ in range(4)]
        with opened(NOISY, 107, 2, 1) as problem:
            assert [problem(np.ones(2)) for _ in range(4)] == first
        assert len(set(first)) == 4

    def test_recommended_points(self):
        """The lowest value until another point is recommended; regrets are known after the run."""
        best = best_known(NOISY, 107, 2, 1)
        with opened(NOISY, 107, 2, 1) as problem:
            objective = objective_of(problem, best, 5)
            observed = [objective(u) for u in np.random.default_rng(0).random((4, 2))]
            objective.recommend(objective.function.to_cube(best[0]))
            objective.settle()
        lowest = int(np.argmin(observed[:3]))
        assert objective.recommended[:3][-1] == objective.regrets[lowest]
        assert objective.recommended[3] < 1e-12 < min(objective.regrets)
        assert recommended_of(objective.recommended) == {"4": pytest.approx(0, abs=1e-12)}

    def test_the_fraction_of_targets_that_the_recommended_point_reaches(self):
        run = Run(NOISY, 101, 1, 2, "default", 0, 100, [1] * 10, recommended={"50": 1.0, "100": 50.0})
        found = results_of([run], recommended=True)[NOISY, 2]["default"]
        assert found.fraction((101, 1), 50) == pytest.approx(11 / 51)
        assert found.fraction((101, 1), 100) == pytest.approx(2 / 51)
        assert math.isnan(found.fraction((101, 1), 200))
        assert found.restricted([]).hits == {}


class TestHits:
    def test_by_hand(self):
        assert np.isclose(TARGETS[[0, 5, 50]], [100, 10, 1e-8]).all()
        assert hits_of([200.0, 100.0, 30.0, 30.0, 1e-9]) == [2, 3, 3, *[5] * 48]
        assert hits_of([math.inf, 200.0]) == []
        assert hits_of([math.inf, TARGETS[1]]) == [2, 2]

    def test_a_row_has_all_that_a_table_needs(self, tmp_path):
        path = tmp_path / "rows.jsonl"
        run = Run("bbob", 1, 2, 3, "default", 4, 200, [1, 5], 0.25, {"dale": "1"})
        jsonl.append(path, run)
        assert runs.read(path) == [run]


def centre(objective, seed):
    """A method that evaluates the centre, once for each evaluation."""
    while True:
        objective(np.full(objective.dimension, 0.5))


def broken(objective, seed):
    raise RuntimeError("broken")


@pytest.mark.usefixtures("coco")
class TestExperiment:
    @pytest.fixture
    def made(self, monkeypatch):
        """The suite bbob with two methods made for the test; the returned list has the runs of `centre`."""
        made = []

        def counted(objective, seed):
            made.append((objective.function.name, seed))
            centre(objective, seed)

        contenders = (Contender("centre", counted, "Centre"), Contender("broken", broken))
        monkeypatch.setitem(SUITES, "bbob", replace(SUITES["bbob"], contenders=contenders))
        return made

    def jobs(self, *, methods=("centre",), seeds=1, budget=5):
        return jobs_for(SUITES["bbob"], [2], [1, 2], [3], methods, range(seeds), budget)

    def test_runs_in_the_file_are_not_repeated(self, made, tmp_path):
        path = tmp_path / "rows.jsonl"
        run_missing(self.jobs(), path)
        found = run_missing(self.jobs(seeds=2), path)
        assert made == [(f"bbob_f00{f}_i03_d02", seed) for seed in (0, 1) for f in (1, 2)]
        assert found == runs.read(path)
        assert [run.key for run in found] == [job.key for job in self.jobs(seeds=2)]

    def test_a_longer_run_is_another_one(self, made, tmp_path):
        path = tmp_path / "rows.jsonl"
        run_missing(self.jobs(), path)
        run_missing(self.jobs(budget=7), path)
        assert len(made) == 4
        assert results_of(runs.read(path))["bbob", 2]["centre"].budget == 7

    def test_an_error_is_recorded(self, made, tmp_path):
        first, _ = run_missing(self.jobs(methods=["broken"]), tmp_path / "rows.jsonl")
        assert first.error.startswith("RuntimeError: broken")
        assert results_of([first]) == {}

    def test_the_hits_are_those_of_the_function(self, made, tmp_path):
        [run, _] = run_missing(self.jobs(), tmp_path / "rows.jsonl")
        with opened("bbob", 1, 2, 3) as problem:
            regret = problem(np.zeros(2)) - best_known("bbob", 1, 2, 3)[1]
        assert run.hits == [1] * int(np.sum(regret <= TARGETS))

    def test_processes_make_the_same_runs(self, tmp_path):
        jobs = jobs_for(SUITES["bbob"], [2], [1, 2], [1], ["random"], range(2), 20)
        one, two = (run_missing(jobs, tmp_path / f"{n}.jsonl", processes=n) for n in (1, 2))
        assert {run.key: run.hits for run in one} == {run.key: run.hits for run in two}
        assert len(one) == 4

    def test_unknown_methods_are_refused_before_anything_runs(self, made):
        with pytest.raises(ValueError, match=r"unknown method 'center' for the suite 'bbob'; did you mean 'centre'"):
            self.jobs(methods=["centre", "center"])
        assert made == []

    @pytest.mark.parametrize(("suite", "function", "d"), EXAMPLES)
    def test_the_logger_sees_each_evaluation_once(self, suite, function, d, tmp_path, capfd):
        job = Job(suite, function, 2, d, "random", 5, 12)
        for _ in range(2):  # the first one as if its row had been lost: it is replaced
            experiment.run(job, logger=tmp_path / "data")
        [directory] = (tmp_path / "data" / suite / "random").iterdir()
        assert directory.name == f"{job.problem}_seed5"
        [info] = directory.glob("*.info")
        text = info.read_text()
        assert f"suite = '{suite}', funcId = {function}, DIM = {d}," in text
        assert "algId = 'random'" in text
        assert ".dat, 2:12|" in text  # instance 2, 12 evaluations
        assert capfd.readouterr() == ("", "")


def made_run(method, function, hits, *, instance=1, seed=0, budget=200):
    return Run("bbob", function, instance, 2, method, seed, budget, hits)


class TestScores:
    def of(self, *made):
        return results_of(made)["bbob", 2]

    def test_fractions_by_hand(self):
        found = self.of(
            made_run("a", 1, [1] * 51), made_run("a", 1, [3, 60], seed=1), made_run("a", 7, [10, 50, 51, 150])
        )["a"]
        assert found.fraction((1, 1), 50) == pytest.approx((51 + 1) / 102)
        assert found.fraction((7, 1), 50) == pytest.approx(2 / 51)
        every = [(1, 1), (7, 1)]
        assert found.mean_fraction(every, 100) == pytest.approx((53 / 102 + 3 / 51) / 2)  # a problem counts once
        assert math.isnan(found.fraction((1, 1), 201))
        assert math.isnan(found.mean_fraction([], 50))
        assert found.problems(range(1, 6)) == [(1, 1)]
        assert found.n_runs == 3

    def test_the_profile_is_the_mean_fraction_at_each_evaluation(self):
        found = self.of(made_run("a", 1, [1, 4, 4]), made_run("a", 1, [2], seed=1), made_run("a", 7, [3, 9]))["a"]
        every = list(found.hits)
        np.testing.assert_allclose(
            found.profile(every, 12), [found.mean_fraction(every, n) for n in range(1, 13)], atol=1e-15
        )

    def test_a_paired_difference_by_hand(self):
        found = self.of(
            *[made_run("a", f, [1] * n) for f, n in ((1, 10), (2, 20), (3, 30))],
            *[made_run("b", f, [1] * n) for f, n in ((1, 13), (2, 20), (3, 36))],
        )
        mean, error = paired_difference(found["a"], found["b"], list(found["a"].hits), 50)
        assert mean == pytest.approx(3 / 51)  # of 3, 0 and 6
        assert error == pytest.approx(3 / 51 / math.sqrt(3))
        assert paired_difference(found["b"], found["a"], [(1, 1)], 50).mean == pytest.approx(-3 / 51)
        assert math.isnan(paired_difference(found["b"], found["a"], [(1, 1)], 50).error)
        assert math.isnan(paired_difference(found["b"], found["a"], [], 50).mean)

    def test_methods_are_in_the_order_of_all_tables(self):
        assert list(self.of(*[made_run(m, 1, []) for m in ("other", "random", "default")])) == [
            "default",
            "random",
            "other",
        ]


REFERENCE_FRACTIONS = {  # after 50, 100 and 200 evaluations, read from COCO's archive by another program
    "best2009": {
        2: [0.357, 0.525, 0.605],
        3: [0.261, 0.310, 0.435],
        5: [0.165, 0.241, 0.286],
        10: [0.132, 0.149, 0.212],
    },
    "best 2009-16": {
        2: [0.412, 0.612, 0.775],
        3: [0.302, 0.412, 0.555],
        5: [0.214, 0.290, 0.395],
        10: [0.140, 0.194, 0.257],
    },
}


class TestReference:
    @pytest.mark.parametrize("d", [2, 3, 5, 10])
    def test_fractions(self, d):
        if reference.data_directory() is None:
            pytest.skip("the reference needs the data of cocopp (extra 'coco')")
        found = reference.reference_runs("bbob", d)
        for name, by_dimension in REFERENCE_FRACTIONS.items():
            every = found[name].problems(range(1, 25))
            assert len(every) == 24
            fractions = [found[name].mean_fraction(every, n) for n in (50, 100, 200)]
            np.testing.assert_allclose(fractions, by_dimension[d], atol=5.1e-4)

    def test_without_cocopp_there_is_none(self, monkeypatch):
        monkeypatch.setattr(reference, "find_spec", lambda name: None)
        assert reference.reference_runs("bbob", 2) == {}
