"""Arguments of ``minimize``: those of SciPy, points and values to start with, and what is refused."""

import numpy as np
import pytest
from scipy.optimize import Bounds

import dale
from dale.history.reason import Source

BOX = [(-2, 2), (-2, 2)]


def bowl(x):
    return float((x[0] - 1) ** 2 + 2 * (x[1] + 0.5) ** 2)


class TestSciPysHabits:
    @pytest.mark.parametrize("true", [True, np.True_])
    def test_a_callback_that_returns_true_stops(self, true):
        result = dale.minimize(bowl, BOX, budget=30, seed=0, callback=lambda r: true if r.nfev == 4 else None)
        assert (result.nfev, result.status) == (4, dale.Status.STOPPED)

    @pytest.mark.parametrize("other", [None, False, 1, 0.5, "stop", [1]])
    def test_a_callback_that_returns_anything_else_does_not(self, other):
        assert dale.minimize(bowl, BOX, budget=4, seed=0, callback=lambda r: other).nfev == 4

    @pytest.mark.parametrize("more", [{}, {"n_parallel": 2}])
    def test_arguments(self, more):
        result = dale.minimize(scaled_bowl, BOX, budget=6, seed=0, args=(3.0, 1.0), **more)
        assert [t.value for t in result.history] == [3.0 * bowl(t.x) + 1.0 for t in result.history]

    def test_one_argument_needs_no_tuple(self):
        result = dale.minimize(scaled_bowl, BOX, budget=3, seed=0, args=2.0)
        assert [t.value for t in result.history] == [2.0 * bowl(t.x) for t in result.history]

    def test_a_command_takes_no_arguments(self):
        with pytest.raises(TypeError, match="has its arguments in its list, got args="):
            dale.minimize(dale.Command(["true", "{x0}", "{x1}"]), BOX, budget=3, args=(1,))

    @pytest.mark.parametrize("generator", [np.random.default_rng, np.random.RandomState])
    def test_a_generator_as_seed(self, generator):
        def run(seed):
            return dale.minimize(bowl, BOX, budget=5, seed=seed)

        rng = generator(3)
        first, second = run(rng), run(rng)
        assert first.seed != second.seed
        assert run(generator(3)).x_iters.tolist() == first.x_iters.tolist() == run(first.seed).x_iters.tolist()
        assert dale.Optimizer(BOX, seed=generator(3)).seed == first.seed

    @pytest.mark.parametrize("budget", [1e1, np.float64(10), np.int64(10)])
    def test_a_budget_that_is_a_whole_number(self, budget):
        assert dale.minimize(bowl, BOX, budget=budget, seed=0).nfev == 10

    @pytest.mark.parametrize(
        "kind", [np.float64, np.array, np.float32, lambda v: np.array([v]), lambda v: np.array([[v]])]
    )
    def test_values_as_numpy_returns_them(self, kind):
        result = dale.minimize(
            lambda x: dale.Evaluation(kind(x[0]), noise=kind(0.25), constraints=kind(-1.0)), BOX, budget=5, seed=0
        )
        assert [t.value for t in result.history] == [float(kind(t.x[0]).ravel()[0]) for t in result.history]
        assert {(t.noise, t.constraints) for t in result.history} == {(0.25, (-1.0,))}


def scaled_bowl(x, scale, shift=0.0):
    return scale * bowl(x) + shift


def test_x0_is_evaluated_first_and_y0_is_not_evaluated():
    result = dale.minimize(bowl, BOX, budget=6, seed=0, x0=[1, 1])
    assert result.x_iters[0].tolist() == [1, 1]
    assert result.nfev == 6
    calls = []

    def counted(x):
        calls.append(x)
        return bowl(x)

    known = [[1, 1], [0, 0], [-1, 1]]
    result = dale.minimize(counted, BOX, budget=4, seed=0, x0=known, y0=[bowl(x) for x in known])
    assert len(calls) == 4
    assert len(result.func_vals) == 7
    assert result.nfev == 4
    assert [t.reason.source for t in result.history[:3]] == [Source.ADDED] * 3
    assert Source.INITIAL_DESIGN not in {t.reason.source for t in result.history}


def test_x0_may_be_a_file(tmp_path):
    """With a column of values they are added; without, the points are evaluated first."""
    path = tmp_path / "earlier.csv"
    path.write_text("x0,x1,y\n1,1,4.5\n0,0,1.5\n-1,1,\n")
    known = dale.minimize(bowl, BOX, budget=3, seed=0, x0=path, y0="y")
    assert known.nfev == 3
    assert [t.value for t in known.history[:3]] == [4.5, 1.5, None]
    evaluated = dale.minimize(bowl, BOX, budget=4, seed=0, x0=str(path))
    assert evaluated.x_iters[:3].tolist() == [[1, 1], [0, 0], [-1, 1]]
    assert evaluated.nfev == 4


@pytest.mark.parametrize("x0", [["b", 2], [["b", 2]], [("b", 2.0)], np.array(["b", 2], dtype=object)])
def test_x0_may_begin_with_an_option(x0):
    space = [dale.Choice(["a", "b", None]), dale.Int(1, 3)]
    result = dale.minimize(lambda x: x[1] + (x[0] == "a"), space, budget=3, seed=0, x0=x0)
    assert result.x_iters[0].tolist() == ["b", 2]


@pytest.mark.parametrize(
    ("space", "error", "match"),
    [
        ([], ValueError, "expected at least one parameter"),
        ([(1, 0)], ValueError, r"bounds 0: expected low <= high, got \[1.0, 0.0\]"),
        ([(1, 1)], ValueError, "all parameters are fixed"),
        ([(0, np.nan)], ValueError, "high must be finite, got nan"),
        ([(0, np.inf)], ValueError, "high must be finite, got inf"),
        ([(0, 1, 2)], ValueError, r"expected a pair \(low, high\)"),
        ([1, 2], TypeError, r"bounds 0: expected a pair"),
        ([("a", "b")], TypeError, "must be a number"),
        (np.zeros((2, 3)), ValueError, "expected a pair"),
        ("box", TypeError, "expected a space"),
        (None, TypeError, "expected a space"),
        (Bounds([0, np.nan], [1, 1]), ValueError, "must be finite"),
        (Bounds([0, 0], [1, np.inf]), ValueError, "must be finite"),
        ({"a": (2, 1)}, ValueError, "parameter 'a': expected low <= high"),
        ({}, ValueError, "expected at least one parameter"),
    ],
)
def test_bad_spaces(space, error, match):
    with pytest.raises(error, match=match):
        dale.minimize(bowl, space, budget=5)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"budget": 0}, ValueError, "budget must be at least 1, got 0"),
        ({"budget": -5}, ValueError, "at least 1"),
        ({"budget": 2.5}, TypeError, "positive integer"),
        ({"budget": None}, TypeError, "positive integer"),
        ({"target": "low"}, TypeError, "target must be a number"),
        ({"target": np.nan}, ValueError, "target"),
        ({"time_limit": "1 h"}, TypeError, "time_limit must be a number of seconds"),
        ({"time_limit": 0}, ValueError, "time_limit must be positive, got 0"),
        ({"time_limit": np.nan}, ValueError, "time_limit must be positive, got nan"),
        ({"tolerance": "small"}, TypeError, "tolerance must be a number, got 'small'"),
        ({"tolerance": True}, TypeError, "tolerance must be a number, got True"),
        ({"tolerance": 0}, ValueError, "tolerance must be positive, got 0"),
        ({"tolerance": np.nan}, ValueError, "tolerance must be positive, got nan"),
        ({"x0": [5, 5]}, ValueError, "must be in"),
        ({"x0": [1]}, ValueError, "expected 2 numbers"),
        ({"x0": [[1, 1]], "y0": [1.0, 2.0]}, ValueError, "one value for each point"),
        ({"y0": [1.0]}, ValueError, "give x0 too"),
        ({"x0": [[1, 1], [0, 0]], "y0": 1.0}, ValueError, "one value for each point"),
        ({"callback": "x"}, TypeError, "callback must be callable"),
        ({"method": dale.methods.BayesianOptimization}, TypeError, "method must be"),
        ({"method": dale.methods.paper}, TypeError, "method must be"),
    ],
)
def test_bad_arguments(change, error, match):
    with pytest.raises(error, match=match):
        dale.minimize(bowl, BOX, **{"budget": 5, **change})


def test_an_objective_that_cannot_be_called():
    with pytest.raises(TypeError, match="must be callable"):
        dale.minimize(3, BOX, budget=5)
