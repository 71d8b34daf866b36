"""Minima on a box: against SciPy's L-BFGS-B, and by what makes a point a constrained minimum."""

import numpy as np
import pytest
from scipy.optimize import Bounds, minimize

from dale.models.monomials import monomials, n_terms
from dale.optim.projected_newton import FunctionValues, Tolerance, minimize_on_box

TIGHT = Tolerance(gtol=1e-13, ftol=1e-16)
MANY = 600  # steps, so that only the tolerance limits the search


class Bowl:
    """A quadratic with a given condition and its unconstrained minimum at ``bottom``."""

    def __init__(self, bottom, condition, rng):
        d = len(bottom)
        Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
        H = (Q * np.geomspace(1, condition, d)) @ Q.T
        self.bottom, self.H = bottom, (H + H.T) / 2

    def __call__(self, X):
        E = X - self.bottom
        return FunctionValues(0.5 * np.einsum("mi,ij,mj->m", E, self.H, E), E @ self.H, np.tile(self.H, (len(X), 1, 1)))


class Polynomial:
    """All terms up to the fourth degree with random weights: minima, saddle points and maxima."""

    def __init__(self, d, rng):
        self.terms = monomials(d, 4)
        self.weights = rng.normal(size=n_terms(d, 4))

    def __call__(self, X):
        features, gradients = self.terms.with_gradients(X)
        return FunctionValues(
            features @ self.weights, self.weights @ gradients, self.terms.hessians(features, self.weights)
        )


def rosenbrock(X):
    a, b = X.T
    steep = b - a * a
    gradient = np.column_stack([-400 * a * steep - 2 * (1 - a), 200 * steep])
    H = np.array([[1200 * a * a - 400 * b + 2, -400 * a], [-400 * a, np.full_like(a, 200.0)]])
    return FunctionValues(100 * steep**2 + (1 - a) ** 2, gradient, H.transpose(2, 0, 1))


def lbfgsb(function, starts, lower, upper):
    """SciPy's best from the same starting points."""

    def one(x):
        value, gradient, _ = function(x[None])
        return value[0], gradient[0]

    settings = {"maxiter": 20_000, "maxfun": 100_000, "maxcor": 30, "ftol": 0.0, "gtol": 0.0}
    bounds = Bounds(lower, upper)
    runs = [minimize(one, x, jac=True, method="L-BFGS-B", bounds=bounds, options=settings) for x in starts]
    return min(runs, key=lambda run: run.fun)


def free_gradient(gradient, X, lower, upper):
    """The gradient without what pushes out of the box."""
    held = ((lower >= X) & (gradient > 0)) | ((upper <= X) & (gradient < 0))
    return np.where(held, 0.0, gradient)


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
def test_quadratics_as_l_bfgs_b_solves_them(d, where, condition):
    """From every start, to the last digits of the value at the start."""
    function, starts = bowl(where, d, condition)
    lower, upper = np.zeros(d), np.ones(d)
    X, values = minimize_on_box(function, starts, lower, upper, tolerance=TIGHT, max_steps=MANY)
    theirs = lbfgsb(function, starts, lower, upper)
    assert np.all(values <= theirs.fun + 1e-14 * np.max(function(starts).value))
    np.testing.assert_array_equal(values, function(X).value)
    faces = (theirs.x == lower) | (theirs.x == upper)
    assert np.any(faces) == (where != "inside")
    np.testing.assert_array_equal(X[:, faces], np.broadcast_to(theirs.x[faces], (len(X), np.sum(faces))))


@pytest.mark.parametrize("condition", [10.0, 1e3, 1e6])
def test_no_start_gets_stuck_at_a_bound(condition):
    """Bowls with their bottom anywhere around the box: all starts must come to the one minimum there is."""
    for seed in range(20):
        rng = np.random.default_rng([seed, 5])
        function, starts = Bowl(rng.uniform(-0.5, 1.5, 5), condition, rng), rng.random((4, 5))
        _, values = minimize_on_box(function, starts, np.zeros(5), np.ones(5), tolerance=TIGHT, max_steps=MANY)
        assert np.ptp(values) <= 1e-12 * np.max(function(starts).value), seed


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1.0, 1e9, 1e200])
def test_one_step_solves_a_quadratic_inside_the_box(scale):
    """Whatever the unit of the values."""
    function, starts = bowl("inside", 6, 1e3)

    def scaled(X):
        return FunctionValues(*(scale * part for part in function(X)))

    tolerance = Tolerance(gtol=0.0, ftol=0.0)
    X, _ = minimize_on_box(scaled, starts, np.full(6, -9.0), np.full(6, 9.0), tolerance=tolerance, max_steps=1)
    np.testing.assert_allclose(X, np.tile(function.bottom, (5, 1)), atol=1e-10)


def test_one_step_is_enough_if_the_minimum_lies_beyond_a_bound():
    """Although the gradient at the start points away from the bound: a step that leaves the box is replaced."""
    H, bottom = np.array([[1.0, 0.99], [0.99, 1.0]]), np.array([-0.5, 0.9])

    def behind(X):
        E = X - bottom
        return FunctionValues(0.5 * np.sum(E * (E @ H), axis=1), E @ H, np.tile(H, (len(X), 1, 1)))

    start = np.array([[0.0, 0.1]])
    assert behind(start).gradient[0, 0] < 0
    X, _ = minimize_on_box(behind, start, np.zeros(2), np.ones(2), tolerance=TIGHT, max_steps=1)
    np.testing.assert_allclose(X, [[0.0, 0.405]], rtol=1e-12)


@pytest.mark.parametrize(("upper", "x"), [((2.0, 2.0), (1.0, 1.0)), ((0.5, 2.0), (0.5, 0.25)), ((2.0, 0.25), None)])
def test_rosenbrock(upper, x):
    """Its minimum inside the box or cut off by a bound: from every start, in thirty steps."""
    lower, upper = np.array([-2.0, -2.0]), np.array(upper)
    starts = np.array([[-1.2, 0.2], [0.0, 0.0], [0.4, -1.0]])
    X, values = minimize_on_box(rosenbrock, starts, lower, upper, tolerance=TIGHT)
    theirs = lbfgsb(rosenbrock, starts, lower, upper)
    reached = values <= theirs.fun + 1e-15
    assert np.any(reached) if x is None else np.all(reached)  # cut off, it has a second minimum
    np.testing.assert_allclose(X[np.argmin(values)], theirs.x if x is None else x, atol=1e-6)


@pytest.mark.parametrize("condition", [1e8, 1e11])
def test_an_ill_conditioned_function_in_a_few_steps(condition):
    H = np.diag([1.0, condition])

    def narrow(X):
        E = X - [0.7, 0.3]
        return FunctionValues(0.5 * np.sum(E * (E @ H), axis=1), E @ H, np.tile(H, (len(X), 1, 1)))

    starts = np.random.default_rng(0).random((5, 2))
    X, _ = minimize_on_box(narrow, starts, np.zeros(2), np.ones(2), tolerance=TIGHT, max_steps=3)
    np.testing.assert_allclose(X, np.tile([0.7, 0.3], (5, 1)), rtol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_on_indefinite_polynomials_it_ends_at_a_constrained_minimum(d):
    """Where it stops, the free gradient is 0, and the Hessian along the bounds has no negative eigenvalue."""
    lower, upper = np.full(d, -1.0), np.full(d, 0.7)
    for seed in range(12):
        rng = np.random.default_rng([d, seed])
        function, starts = Polynomial(d, rng), rng.uniform(-1, 0.7, (6, d))
        X, values = minimize_on_box(function, starts, lower, upper, tolerance=TIGHT, max_steps=100)
        _, gradients, hessians = function(X)
        assert np.max(np.abs(free_gradient(gradients, X, lower, upper))) < 1e-6, seed
        assert np.all(values <= function(starts).value)
        for x, A in zip(X, hessians, strict=True):
            inside = (x > lower) & (x < upper)
            assert np.all(np.linalg.eigvalsh(A[np.ix_(inside, inside)]) > -1e-6), seed


def test_leaves_a_saddle_point():
    """Plain Newton steps lead into it; a small offset is enough to leave it on the right side."""

    def saddle(X):
        a, b = X.T
        H = np.zeros((len(X), 2, 2))
        H[:, 0, 0], H[:, 1, 1] = 2.0, 12 * b * b - 2
        return FunctionValues(a * a + b**4 - b * b, np.column_stack([2 * a, 4 * b**3 - 2 * b]), H)

    starts = np.array([[0.5, 1e-7], [-0.9, -1e-7], [0.3, 0.2], [0.0, -0.3]])
    X, values = minimize_on_box(saddle, starts, -np.ones(2), np.ones(2), tolerance=TIGHT)
    np.testing.assert_allclose(X, np.column_stack([np.zeros(4), np.sign(starts[:, 1]) * np.sqrt(0.5)]), atol=1e-7)
    np.testing.assert_allclose(values, -0.25, rtol=1e-14)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e3, 1e200])
def test_a_linear_function(scale):
    """No hessian at all: straight down to the corner, without a warning."""
    gradient = scale * np.array([3.0, -0.01, 1e-5])

    def plane(X):
        return FunctionValues(X @ gradient, np.tile(gradient, (len(X), 1)), np.zeros((len(X), 3, 3)))

    starts = np.random.default_rng(0).random((4, 3))
    X, _ = minimize_on_box(plane, starts, np.zeros(3), np.ones(3), tolerance=Tolerance(0.0, 0.0))
    np.testing.assert_array_equal(X, np.tile([0.0, 1.0, 0.0], (4, 1)))


def test_a_constant_function():
    """No gradient either: nowhere."""

    def plain(X):
        return FunctionValues(np.ones(len(X)), np.zeros_like(X), np.zeros((len(X), 3, 3)))

    starts = np.random.default_rng(0).random((4, 3))
    X, values = minimize_on_box(plain, starts, np.zeros(3), np.ones(3), tolerance=Tolerance(0.0, 0.0))
    np.testing.assert_array_equal(X, starts)
    np.testing.assert_array_equal(values, 1.0)


def test_a_wrong_gradient_leads_nowhere():
    """Where no part of a step pays the point stays, and the points beside it go on."""
    function, starts = bowl("inside", 2, 10.0)

    def lying(X):
        value, gradient, hessian = function(X)
        return FunctionValues(value, np.where(X[:, :1] < 0.5, -gradient, gradient), hessian)

    starts[:, 0] = np.linspace(0.05, 0.95, 5)
    X, values = minimize_on_box(lying, starts, np.zeros(2), np.ones(2), tolerance=TIGHT)
    stays = np.all(starts == X, axis=1)
    np.testing.assert_array_equal(values, function(X).value)
    assert np.all(values[~stays] < function(starts[~stays]).value)
    assert 0 < np.sum(stays) < 5


def test_all_stays_in_the_box_and_never_rises():
    """However few steps there are, and wherever the start was; one side of this box has no length."""
    rng = np.random.default_rng(3)
    function, lower, upper = Polynomial(3, rng), np.array([-0.2, 0.0, 0.3]), np.array([0.1, 1.0, 0.3])
    starts = rng.uniform(-2, 2, (30, 3))
    given, clipped = starts.copy(), np.clip(starts, lower, upper)
    before = function(clipped).value
    for steps in (0, 1, 2, 5, 30):
        X, values = minimize_on_box(function, starts, lower, upper, tolerance=TIGHT, max_steps=steps)
        assert np.all((lower <= X) & (upper >= X))
        assert np.all(values <= before)
        np.testing.assert_allclose(values, function(X).value, rtol=1e-13)
        before = values
        if steps == 0:
            np.testing.assert_array_equal(X, clipped)
    assert np.any(values < function(clipped).value)
    np.testing.assert_array_equal(starts, given)


@pytest.mark.parametrize("hole", [np.nan, np.inf])
@pytest.mark.parametrize("derivatives", [np.nan, 1.0], ids=["all", "value"])
def test_points_where_the_function_is_not_finite(hole, derivatives):
    """Whether or not the derivatives are."""
    function, _ = bowl("inside", 2, 10.0)

    def bad(X):
        return np.linalg.norm(X - function.bottom, axis=1) < 0.1

    def broken(X):
        value, gradient, hessian = function(X)
        factor = np.where(bad(X), derivatives, 1.0)[:, None]
        return FunctionValues(np.where(bad(X), hole, value), factor * gradient, factor[:, None] * hessian)

    starts = np.vstack([np.random.default_rng(0).random((20, 2)), function.bottom])
    X, values = minimize_on_box(broken, starts, np.zeros(2), np.ones(2), tolerance=TIGHT)
    stuck = ~np.isfinite(broken(starts).value)
    assert stuck[-1]
    np.testing.assert_array_equal(X[stuck], starts[stuck])
    np.testing.assert_array_equal(values[stuck], hole)
    assert np.all(np.isfinite(values[~stuck]))
    assert np.all(values[~stuck] < function(starts[~stuck]).value)


def test_a_function_that_is_nowhere_finite():
    def nowhere(X):
        return FunctionValues(
            np.full(len(X), np.nan), np.full(X.shape, np.nan), np.full((*X.shape, X.shape[1]), np.nan)
        )

    starts = np.random.default_rng(0).random((3, 2))
    X, values = minimize_on_box(nowhere, starts, np.zeros(2), np.ones(2), tolerance=TIGHT)
    np.testing.assert_array_equal(X, starts)
    assert np.all(np.isnan(values))


def test_starts_do_not_affect_each_other():
    rng = np.random.default_rng(11)
    for d in (1, 3):
        function, starts = Polynomial(d, rng), rng.uniform(-1, 1, (7, d))

        def go(starts, function=function, d=d):
            return minimize_on_box(function, starts, -np.ones(d), np.ones(d), tolerance=TIGHT)

        X, values = go(starts)
        for i in range(len(starts)):
            alone, value = go(starts[i : i + 1])
            np.testing.assert_allclose(alone[0], X[i], atol=1e-9)
            np.testing.assert_allclose(value[0], values[i], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("tolerance", [Tolerance(gtol=1e-2, ftol=0.0), Tolerance(gtol=0.0, ftol=1e-2)])
def test_a_loose_tolerance_saves_calls(tolerance):
    """And is kept: a start where the gradient is below it, or one more step gains less, stays where it is."""
    calls = []

    def above_one(X):
        calls.append(len(X))
        value, *derivatives = rosenbrock(X)
        return FunctionValues(1 + value, *derivatives)

    start, box = np.array([[-1.2, 0.2]]), (np.full(2, -2.0), np.full(2, 2.0))
    end, values = minimize_on_box(above_one, start, *box, tolerance=tolerance)
    loose = len(calls)
    _, lowest = minimize_on_box(above_one, start, *box, tolerance=TIGHT)
    assert loose < len(calls) - loose
    assert lowest[0] < values[0] < above_one(start).value[0]
    if tolerance.gtol:
        assert np.max(np.abs(rosenbrock(end).gradient)) * 4 <= tolerance.gtol
    else:
        once = minimize_on_box(above_one, end, *box, tolerance=Tolerance(0.0, 0.0), max_steps=1)[1]
        assert values[0] - once[0] <= tolerance.ftol * values[0]


def test_function_values_at_some_points():
    function, starts = bowl("inside", 3, 10.0)
    some = np.array([3, 1])
    for part, same in zip(function(starts).at(some), function(starts[some]), strict=True):
        np.testing.assert_allclose(part, same)
