"""Linear equalities: every proposal satisfies them to the last digit, in runs of all kinds."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import LinearConstraint

import dale
from dale.view import summary
from dale.view.data.axes import axis_of
from dale.view.run_view import view_of

N_SETS, N_PROPOSALS, N_ASKED = 20, 500, 3
ULPS = 1  # of the sum of the terms: a rounding error
MIXTURE = {"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 1.0)}
ONE = "a + b + c == 1"


def blend(p):
    """A quadratic with its minimum at a = 0.2, b = 0.5 among the mixtures."""
    return (p["a"] - 0.2) ** 2 + 2 * (p["b"] - 0.5) ** 2 + 0.5 * (p["c"] - 0.3) ** 2


def residuals(A, b, x):
    """|A x - b| over one ulp of the terms, (k,), in exact arithmetic."""
    found = []
    for row, value in zip(A.tolist(), b.tolist(), strict=True):
        terms = [Fraction(c) * Fraction(v) for c, v in zip(row, x.tolist(), strict=True)]
        size = float(sum(map(abs, terms)) + abs(Fraction(value)))
        found.append(float(abs(sum(terms) - Fraction(value))) / (np.finfo(float).eps * size))
    return found


def random_set(seed):
    """Bounds, and equalities that a point inside of them satisfies; some coefficients are zero or very different."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    k = int(rng.integers(1, min(n - 1, 4)))
    low = rng.normal(size=n) * 10.0 ** rng.integers(-3, 4, size=n)
    high = low + 10.0 ** rng.uniform(-2, 3, size=n)
    A = np.round(rng.normal(size=(k, n)), 3) * rng.choice([0.0, 1.0, 1.0, 10.0], size=(k, n))
    if seed % 3 == 0:  # mixtures
        A[0], low, high = 1.0, np.zeros(n), np.ones(n)
    A[:, 0] += np.all(A == 0, axis=1)
    inside = low + (high - low) * (rng.dirichlet(np.ones(n)) if seed % 3 == 0 else rng.uniform(0.2, 0.8, size=n))
    return list(zip(low.tolist(), high.tolist(), strict=True)), A, A @ inside


@pytest.mark.parametrize("seed", range(N_SETS))
def test_proposals_satisfy_them_to_the_last_digit(seed):
    """10,000 proposals in all: some by the default method, the others by the same check at points of any kind."""
    bounds, A, b = random_set(seed)
    optimizer = dale.Optimizer(bounds, seed=seed, constraints=LinearConstraint(A, b, b))
    assert optimizer.space.dimension == len(bounds) - np.linalg.matrix_rank(A)
    domain, rng = optimizer.snapshot.domain, np.random.default_rng(seed)
    proposed = []
    for _ in range(N_ASKED):
        trial = optimizer.ask()
        proposed.append(trial.x)
        optimizer.tell(trial, float(np.sum(np.tanh(trial.x - np.mean(bounds, axis=1)) ** 2)))
    points = np.vstack([domain.allowed_set.pool, domain.allowed_set.sample(N_PROPOSALS, rng)])
    points = points[rng.integers(len(points), size=N_PROPOSALS - N_ASKED)]
    for point in points:
        admitted = domain.admit(point, np.empty((0, domain.dimension)), lambda: rng)
        assert not admitted.replaced
        proposed.append(admitted.params)
    assert len(proposed) == N_PROPOSALS
    for x in proposed:
        assert max(residuals(A, b, x)) <= ULPS
        assert all(low <= v <= high for v, (low, high) in zip(x.tolist(), bounds, strict=True))


class TestRuns:
    def test_a_mixture(self):
        result = dale.minimize(blend, MIXTURE, budget=14, seed=1, constraints=ONE)
        assert result.fun < 1e-12
        assert all(abs(sum(t.params.values()) - 1) < 3e-16 for t in result.history)
        assert list(result.params) == ["a", "b", "c"]
        assert result.x.shape == (3,)
        minimum = result.local_minima[0]
        np.testing.assert_allclose(minimum.hessian[:2, :2], [[3, 1], [1, 5]], rtol=1e-4)
        assert np.isnan(minimum.hessian[2]).all()  # c is determined by the others
        np.testing.assert_allclose(minimum.x, [0.2, 0.5, 0.3], atol=1e-6)

    def test_a_minimum_in_a_corner_is_exact(self):
        result = dale.minimize(lambda x: -x[1] + 0.3 * x[0], [(0, 1)] * 3, budget=12, seed=0, constraints=sum_to(1))
        np.testing.assert_array_equal(result.x, [0, 1, 0])

    def test_equal_to_elimination_by_hand(self):
        """The same proposals as with one parameter fewer, and its bounds as a constraint."""
        equal = dale.minimize(blend, MIXTURE, budget=14, seed=3, constraints=ONE)
        by_hand = dale.minimize(
            lambda p: blend({**p, "c": 1 - p["a"] - p["b"]}),
            {"a": (0.0, 1.0), "b": (0.0, 1.0)},
            budget=14,
            seed=3,
            constraints="0 <= 1 - a - b <= 1",
        )
        assert equal.fun < 1e-12
        assert by_hand.fun < 1e-12
        for one, other in zip(equal.history[:8], by_hand.history[:8], strict=True):
            np.testing.assert_allclose(one.x[:2], other.x, atol=1e-6)

    def test_with_other_constraints_and_parameters(self):
        space = {**MIXTURE, "n": dale.Int(1, 5), "kind": dale.Choice(["u", "v"])}
        constraints = [ONE, "a * n <= 0.5", lambda p: p["b"] >= 0.2, "n <= 10 * c"]
        result = dale.minimize(
            lambda p: blend(p) + (p["n"] - 3) ** 2, space, budget=20, seed=0, constraints=constraints
        )
        for p in (t.params for t in result.history):
            assert abs(p["a"] + p["b"] + p["c"] - 1) < 3e-16
            assert p["a"] * p["n"] <= 0.5
            assert p["b"] >= 0.2
            assert p["n"] <= 10 * p["c"]

    def test_equalities_may_leave_a_finite_space(self):
        space = {"a": (0, 1), "b": (0, 1), "n": dale.Int(1, 4)}
        constraints = ["a + b == 1", "a - b == 0.5"]
        result = dale.minimize(lambda p: p["n"] * p["a"], space, budget=9, seed=0, constraints=constraints)
        assert result.status is dale.Status.SPACE_EXHAUSTED
        assert [dict(t.params) for t in result.history if t.params["n"] == 2] == [{"a": 0.75, "b": 0.25, "n": 2}]

    def test_several_workers_propose_different_points(self):
        trials = dale.Optimizer(MIXTURE, seed=0, constraints=ONE).ask(8)
        assert len({trial.x.tobytes() for trial in trials}) == 8

    def test_pickles(self):
        optimizer = dale.Optimizer(MIXTURE, seed=0, constraints=[ONE, "a * b <= 0.2"])
        copy = pickle.loads(pickle.dumps(optimizer))
        np.testing.assert_array_equal(copy.ask().x, optimizer.ask().x)
        assert copy.space == optimizer.space


def sum_to(value):
    return LinearConstraint([[1, 1, 1]], value, value)


class TestPointsOfTheUser:
    def test_they_are_kept_as_given(self):
        optimizer = dale.Optimizer(MIXTURE, seed=0, constraints=ONE)
        rounded = {"a": 0.1234567, "b": 0.2345678, "c": 0.6419755}
        assert optimizer.ask(at=rounded).params == rounded
        added = optimizer.add({"a": 0.2, "b": 0.3, "c": 0.5}, 1.0)
        assert added.allowed
        assert added.unit_x.shape == (2,)
        assert optimizer.best is added

    def test_those_that_violate_an_equality_are_errors(self, tmp_path):
        optimizer = dale.Optimizer(MIXTURE, seed=0, constraints=ONE)
        wrong = {"a": 0.2, "b": 0.3, "c": 0.6}
        for call in (lambda: optimizer.ask(at=wrong), lambda: optimizer.add(wrong, 1.0)):
            with pytest.raises(dale.SpaceError, match=r"expected a \+ b \+ c == 1, got 1.1"):
                call()
        (tmp_path / "known.csv").write_text("a,b,c,value\n0.2,0.3,0.5,1\n0.2,0.3,0.6,1\n")
        with pytest.raises(dale.SpaceError, match=r"row 2.*expected a \+ b \+ c == 1"):
            optimizer.add_all(tmp_path / "known.csv")
        assert optimizer.history == ()


class TestStore:
    CONSTRAINTS = (ONE, "a <= b", "a * b <= 0.2")

    def run(self, budget, store=None, constraints=CONSTRAINTS):
        return dale.minimize(blend, MIXTURE, budget=budget, seed=5, constraints=list(constraints), store=store)

    def test_a_resumed_run_is_the_same(self, tmp_path):
        self.run(7, tmp_path / "run.db")
        resumed, whole = self.run(14, tmp_path / "run.db"), self.run(14)
        for one, other in zip(resumed.history, whole.history, strict=True):
            np.testing.assert_array_equal(one.x, other.x)
            np.testing.assert_array_equal(one.unit_x, other.unit_x)

    def test_other_equalities_are_another_problem(self, tmp_path):
        self.run(4, tmp_path / "run.db")
        with pytest.raises(dale.StoreError, match=r"constraints is .* in the store"):
            self.run(8, tmp_path / "run.db", ("a + b + c == 1.5", *self.CONSTRAINTS[1:]))

    def test_it_can_be_opened_without_the_program(self, tmp_path):
        result = self.run(14, tmp_path / "run.db")
        for run in (dale.open(tmp_path / "run.db"), dale.open(tmp_path / "run.db", MIXTURE)):
            assert run.space.equalities.rows == result.space.equalities.rows
            assert run.problem["constraints"] == list(self.CONSTRAINTS)
            np.testing.assert_array_equal(run.result().x, result.x)
            np.testing.assert_array_equal(run.result().local_minima[0].x, result.local_minima[0].x)

    def test_a_linear_constraint_in_a_store(self, tmp_path):
        for budget in (3, 6):
            dale.minimize(np.sum, [(0, 1)] * 3, budget=budget, seed=0, constraints=sum_to(1.5), store=tmp_path / "r.db")
        run = dale.open(tmp_path / "r.db")
        assert len(run.history) == 6
        assert run.space.dimension == 2


def test_plots_texts_and_pages(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    store = tmp_path / "run.db"
    result = dale.minimize(blend, MIXTURE, budget=12, seed=0, constraints=ONE, store=store)
    assert "determined by the others" in summary(result)
    assert "c=0.3" in str(result)
    copy = pickle.loads(pickle.dumps(result))
    for run in (result, store, copy):
        for name in dale.plot.__all__:
            if name != "timeline" or run is store:
                getattr(dale.plot, name)(run)
    for run in (result, copy, store):
        dale.report(run, tmp_path / "page.html")
    assert "a + b + c == 1" in (tmp_path / "page.html").read_text()
    assert "c=" in str(dale.why(store, 8))
    for run in (store, result):
        assert view_of(run, MIXTURE).check_names(None) == ("a", "b")
        with pytest.raises((ValueError, dale.StoreError), match="another"):
            view_of(run, {"a": (0, 1)})
    with pytest.raises(TypeError, match=r"'c' = .* which is determined by the others"):
        axis_of(view_of(result), "c")
