"""Minima on a box: against SciPy's L-BFGS-B, and by what makes a point a constrained minimum."""

import numpy as np
import pytest
from scipy.optimize import Bounds, minimize

from dale.descent import Tolerance, descend
from dale.regions.taylor import monomials, n_terms

TIGHT = Tolerance(slope=1e-13, gain=1e-16)
MANY = 600  # steps; what limits the search is to be the tolerance


class Bowl:
    """A quadratic with a given condition and its unconstrained minimum at ``bottom``."""

    def __init__(self, bottom, condition, rng):
        d = len(bottom)
        Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
        H = (Q * np.geomspace(1, condition, d)) @ Q.T
        self.bottom, self.H = bottom, (H + H.T) / 2

    def __call__(self, X):
        E = X - self.bottom
        return 0.5 * np.einsum("mi,ij,mj->m", E, self.H, E), E @ self.H

    def curvatures(self, X):
        return np.tile(self.H, (len(X), 1, 1))


class Polynomial:
    """All terms up to the fourth degree with random weights: valleys, saddles and hills."""

    def __init__(self, d, rng):
        self.terms = monomials(d, 4)
        self.weights = rng.normal(size=n_terms(d, 4))

    def __call__(self, X):
        features, slopes = self.terms.with_slopes(X)
        return features @ self.weights, self.weights @ slopes

    def curvatures(self, X):
        return self.terms.curvatures(X, self.weights)


def rosenbrock(X):
    a, b = X[:, 0], X[:, 1]
    steep = b - a * a
    return 100 * steep**2 + (1 - a) ** 2, np.column_stack([-400 * a * steep - 2 * (1 - a), 200 * steep])


def lbfgsb(function, starts, lower, upper):
    """SciPy's best from the same starting points."""

    def one(x):
        value, slope = function(x[None])
        return value[0], slope[0]

    settings = {"maxiter": 20_000, "maxfun": 100_000, "maxcor": 30, "ftol": 0.0, "gtol": 0.0}
    bounds = Bounds(lower, upper)
    runs = [minimize(one, x, jac=True, method="L-BFGS-B", bounds=bounds, options=settings) for x in starts]
    return min(runs, key=lambda run: run.fun)


def free_slope(slope, X, lower, upper):
    """The slope without what pushes out of the box."""
    held = ((lower >= X) & (slope > 0)) | ((upper <= X) & (slope < 0))
    return np.where(held, 0.0, slope)


def bowl(where, d, condition):
    rng = np.random.default_rng([d, len(where)])
    bottom = rng.uniform(0.2, 0.8, d)
    if where == "face":
        bottom[0] = 1.5
    elif where == "corner":
        bottom = rng.choice([-3.0, 4.0], d)
    return Bowl(bottom, condition, rng), rng.random((5, d))


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("where", ["inside", "face", "corner"])
@pytest.mark.parametrize("d", [2, 5, 10])
@pytest.mark.parametrize("newton", [True, False], ids=["newton", "bfgs"])
def test_quadratics_as_l_bfgs_b_solves_them(newton, d, where, condition):
    """From every start, to the last digits of the value at the start."""
    function, starts = bowl(where, d, condition)
    lower, upper = np.zeros(d), np.ones(d)
    curvatures = function.curvatures if newton else None
    X, values = descend(function, starts, lower, upper, tolerance=TIGHT, steps=MANY, curvatures=curvatures)
    theirs = lbfgsb(function, starts, lower, upper)
    assert np.all(values <= theirs.fun + 1e-14 * np.max(function(starts)[0]))
    np.testing.assert_array_equal(values, function(X)[0])
    faces = (theirs.x == lower) | (theirs.x == upper)
    assert np.any(faces) == (where != "inside")
    np.testing.assert_array_equal(X[:, faces], np.broadcast_to(theirs.x[faces], (len(X), np.sum(faces))))


@pytest.mark.parametrize("condition", [10.0, 1e3, 1e6])
@pytest.mark.parametrize("newton", [True, False], ids=["newton", "bfgs"])
def test_no_start_is_caught_on_a_face_that_is_not_the_last(newton, condition):
    """Bowls with their bottom anywhere around the box: all starts must come to the one minimum there is."""
    for seed in range(20):
        rng = np.random.default_rng([seed, 5])
        function, starts = Bowl(rng.uniform(-0.5, 1.5, 5), condition, rng), rng.random((4, 5))
        curvatures = function.curvatures if newton else None
        _, values = descend(
            function, starts, np.zeros(5), np.ones(5), tolerance=TIGHT, steps=MANY, curvatures=curvatures
        )
        assert np.ptp(values) <= 1e-12 * np.max(function(starts)[0]), seed


def test_one_newton_step_solves_a_quadratic_inside_the_box():
    function, starts = bowl("inside", 6, 1e3)
    X, _ = descend(
        function, starts, np.full(6, -9.0), np.full(6, 9.0), tolerance=TIGHT, steps=1, curvatures=function.curvatures
    )
    np.testing.assert_allclose(X, np.tile(function.bottom, (5, 1)), atol=1e-10)


@pytest.mark.parametrize(("upper", "x"), [((2.0, 2.0), (1.0, 1.0)), ((0.5, 2.0), (0.5, 0.25)), ((2.0, 0.25), None)])
def test_rosenbrock(upper, x):
    lower, upper = np.array([-2.0, -2.0]), np.array(upper)
    starts = np.array([[-1.2, 0.2], [0.0, 0.0], [0.4, -1.0]])
    X, values = descend(rosenbrock, starts, lower, upper, tolerance=TIGHT, steps=MANY)
    theirs = lbfgsb(rosenbrock, starts, lower, upper)
    assert np.min(values) <= theirs.fun + 1e-15
    np.testing.assert_allclose(X[np.argmin(values)], theirs.x if x is None else x, atol=1e-6)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_newton_on_indefinite_polynomials_ends_at_a_constrained_minimum(d):
    """Where it stops the free slope is 0, and no direction along the faces bends down."""
    lower, upper = np.full(d, -1.0), np.full(d, 0.7)
    for seed in range(12):
        rng = np.random.default_rng([d, seed])
        function, starts = Polynomial(d, rng), rng.uniform(-1, 0.7, (6, d))
        X, values = descend(function, starts, lower, upper, tolerance=TIGHT, steps=100, curvatures=function.curvatures)
        slopes = function(X)[1]
        assert np.max(np.abs(free_slope(slopes, X, lower, upper))) < 1e-6, seed
        assert np.all(values <= function(starts)[0])
        for x, A in zip(X, function.curvatures(X), strict=True):
            inside = (x > lower) & (x < upper)
            assert np.all(np.linalg.eigvalsh(A[np.ix_(inside, inside)]) > -1e-6), seed


def test_all_stays_in_the_box_and_never_rises():
    """However few steps there are, and wherever the start was."""
    rng = np.random.default_rng(3)
    function, lower, upper = Polynomial(3, rng), np.array([-0.2, 0.0, 0.3]), np.array([0.1, 1.0, 0.3])
    starts = rng.uniform(-2, 2, (30, 3))
    before = function(np.clip(starts, lower, upper))[0]
    for steps in (0, 1, 2, 5, 30):
        X, values = descend(function, starts, lower, upper, tolerance=TIGHT, steps=steps)
        assert np.all((lower <= X) & (upper >= X))
        assert np.all(values <= before)
        before = values


def test_a_good_guess_of_the_inverse_saves_steps():
    function, starts = bowl("inside", 8, 1e4)
    box = {"lower": np.zeros(8), "upper": np.ones(8), "tolerance": TIGHT, "steps": 6}
    blind = descend(function, starts, **box)[1]
    told = descend(function, starts, **box, inverse=np.linalg.inv(function.H))[1]
    assert np.max(told) < 1e-12 < np.min(blind)


@pytest.mark.parametrize("hole", [np.nan, np.inf])
@pytest.mark.parametrize("newton", [True, False], ids=["newton", "bfgs"])
def test_what_is_not_finite_is_not_entered_and_not_left(newton, hole):
    function, _ = bowl("inside", 2, 10.0)

    def bad(X):
        return np.linalg.norm(X - function.bottom, axis=1) < 0.1

    def broken(X):
        values, slopes = function(X)
        return np.where(bad(X), hole, values), np.where(bad(X)[:, None], np.nan, slopes)

    def holed(X):
        return np.where(bad(X)[:, None, None], np.nan, function.curvatures(X))

    starts = np.vstack([np.random.default_rng(0).random((20, 2)), function.bottom])
    curvatures = holed if newton else None
    X, values = descend(broken, starts, np.zeros(2), np.ones(2), tolerance=TIGHT, curvatures=curvatures)
    stuck = ~np.isfinite(broken(starts)[0])
    assert stuck[-1]
    np.testing.assert_array_equal(X[stuck], starts[stuck])
    assert np.all(np.isfinite(values[~stuck]))
    assert np.all(values[~stuck] < function(starts[~stuck])[0])


@pytest.mark.parametrize("newton", [True, False], ids=["newton", "bfgs"])
def test_a_start_goes_its_way_whatever_the_others_do(newton):
    rng = np.random.default_rng(11)
    for d in (1, 3):
        function, starts = Polynomial(d, rng), rng.uniform(-1, 1, (7, d))

        def go(starts, function=function, d=d):
            curvatures = function.curvatures if newton else None
            return descend(function, starts, -np.ones(d), np.ones(d), tolerance=TIGHT, curvatures=curvatures)

        X, values = go(starts)
        for i in range(len(starts)):
            alone, value = go(starts[i : i + 1])
            np.testing.assert_allclose(alone[0], X[i], atol=1e-9)
            np.testing.assert_allclose(value[0], values[i], rtol=1e-12, atol=1e-14)
