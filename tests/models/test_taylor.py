"""The local Taylor model: against 80 digits in function space, least-norm interpolation and finite differences."""

import math

import numpy as np
import pytest
from scipy.linalg import null_space
from taylor_oracle import DenseTaylor, with_series

from dale.models.ellipsoid import Ellipsoid
from dale.models.monomials import affordable_degree, n_terms
from dale.models.series import COMMON_CURVATURE_STD, QUADRATIC_RHOS, RHOS, Series
from dale.models.taylor import TaylorModel


def random_rotation(rng, d):
    return np.linalg.qr(rng.normal(size=(d, d)))[0]


def random_shape(rng, d, aspect=30.0):
    """Of determinant 1 or -1, not symmetric."""
    axes = np.geomspace(1, aspect, d)
    return random_rotation(rng, d) * (axes / np.prod(axes) ** (1 / d)) @ random_rotation(rng, d)


def bumpy(X):
    """A bowl that is no polynomial, with a gradient."""
    return 2 * X[:, 0] - np.exp(-np.sum((X - 0.4) ** 2, axis=1)) + 0.3 * np.sin(X @ np.arange(1, X.shape[1] + 1))


def bumpy_model(d, n):
    """In a shape, where there are several variables."""
    rng, radius = np.random.default_rng([d, n]), 0.3
    frame = Ellipsoid(rng.uniform(0.3, 0.7, d), radius, random_shape(rng, d, 4.0) if d > 1 else None)
    X = frame.to_cube(rng.uniform(-1, 1, (n, d)))
    return TaylorModel.fit(frame, X, bumpy(X), float(bumpy(frame.center[None])[0])), X, rng


def quadratic(rng, d):
    H, g = rng.normal(size=(d, d)), rng.normal(size=d)
    return lambda X: X @ g + np.einsum("ni,ij,nj->n", X, H, X)


models = pytest.mark.parametrize(("d", "n"), [(1, 5), (2, 7), (2, 30), (3, 40), (5, 12), (7, 20)])


def within(d, n, radius, size, series=None, shaped=False):
    """Points within ``size`` radii of the center: model, oracle, and places as near and less near.

    The series is that of the highest evidence, unless one is given.
    """
    rng = np.random.default_rng([d, n])
    frame = Ellipsoid(np.zeros(d), radius, random_shape(rng, d) if shaped else None)
    Z, f, w = size * rng.uniform(-1, 1, (n, d)), quadratic(rng, d), rng.normal(size=d)
    y = f(radius * Z) + 4 * (radius * Z @ w) ** 3 + (radius * Z @ w) ** 4
    X = frame.to_cube(Z)
    model = TaylorModel.fit(frame, X, y, 0.0)
    if series is not None:
        model = with_series(model, series)
    near = np.vstack([size * rng.uniform(-1, 1, (3, d)), frame.to_local(X[:2])])
    oracle = DenseTaylor(frame.to_local(X), y, radius, model.series)
    return model, oracle, near, rng.uniform(-1, 1, (3, d))


def assert_posterior(model, oracle, near, far):
    """To 1e-8, but s, and the mean far from all points, only as well as the last digits of the values tell them."""
    mean, std = oracle.predict(np.vstack([near, far]))
    s, known = math.sqrt(oracle.variance), std > 1e-14  # below, see the next test
    ours = model.predict(np.vstack([near, far]))
    np.testing.assert_allclose(ours[0][: len(near)], mean[: len(near)], rtol=1e-8)
    assert np.all(np.abs(ours[0] - mean) <= 1e-8 * np.abs(mean) + 20 * oracle.rounding * s * std)
    np.testing.assert_allclose(ours[1][known] / model.scale, std[known], rtol=1e-8)
    assert model.scale == pytest.approx(s, rel=1e-8 + oracle.rounding)


@pytest.mark.parametrize(("d", "n"), [(1, 4), (1, 10), (2, 5), (2, 14), (3, 8), (3, 16), (5, 12), (7, 12)])
@pytest.mark.parametrize("radius", [0.1, 1e-3, 1e-6])
@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-6])
def test_posterior_against_dense_formulas(d, n, radius, size):
    assert_posterior(*within(d, n, radius, size))


@pytest.mark.parametrize(("d", "n"), [(2, 5), (2, 14), (3, 16), (5, 12)])
@pytest.mark.parametrize("degree", [2, None], ids=["degree 2", "highest"])
@pytest.mark.parametrize("mixed", [1.0, 0.1])
def test_posterior_of_any_series_in_a_shape_against_dense_formulas(d, n, degree, mixed):
    degree = degree or affordable_degree(d)
    model, oracle, near, far = within(d, n, 0.01, 1.0, Series(degree, 0.4, mixed), shaped=True)
    assert (model.degree, len(model.weights)) == (degree, n_terms(d, degree))
    assert_posterior(model, oracle, near, far)


def test_std_between_points_much_closer_than_the_radius():
    model, oracle, near, _ = within(2, 14, 0.1, 1e-6)
    np.testing.assert_allclose(model.predict(near)[1] / model.scale, oracle.predict(near)[1], rtol=1e-8)


@pytest.mark.parametrize(("d", "n"), [(2, 14), (3, 8), (3, 16), (5, 12)])
@pytest.mark.parametrize("shaped", [False, True], ids=["ball", "shape"])
@pytest.mark.parametrize("mixed", [1.0, 0.1])
def test_curvatures_against_dense_formulas(d, n, shaped, mixed):
    """Along each principal axis of the Hessian, or other axes, the root mean square of the second derivative."""
    model, oracle, _, _ = within(d, n, 0.1, 1.0, Series(affordable_degree(d), 0.8, mixed), shaped)
    axes, size = model.curvatures()
    np.testing.assert_allclose(axes.T @ axes, np.eye(d), atol=1e-12)
    principal = axes.T @ model.hessian @ axes
    np.testing.assert_allclose(principal, np.diag(np.diag(principal)), atol=1e-9 * np.max(size))
    given = random_rotation(np.random.default_rng(d), d)
    along = model.curvatures(given)
    np.testing.assert_array_equal(along[0], given)
    for axis, rms in zip([*axes.T, *given.T], [*size, *along[1]], strict=True):
        mean, std = oracle.second_derivative(axis)
        assert axis @ model.hessian @ axis == pytest.approx(mean, rel=1e-8, abs=1e-9 * np.max(size))
        assert rms == pytest.approx(math.hypot(mean, std * math.sqrt(oracle.variance)), rel=1e-7)


@pytest.mark.parametrize(("d", "n"), [(1, 10), (2, 8), (2, 30), (3, 16)])
@pytest.mark.parametrize("shaped", [False, True], ids=["ball", "shape"])
def test_leave_one_out_against_dense_formulas(d, n, shaped):
    """With K of all values, noise included: the error is (K^-1 v)_i / (K^-1)_ii, its variance s^2 / (K^-1)_ii."""
    model, oracle, _, _ = within(d, n, 0.1, 0.9, Series(2, 0.8), shaped)
    for radius in (1.0, 0.8):
        inside = [i for i in range(n) if np.linalg.norm(np.array(oracle.Z[i], dtype=float)) <= radius]
        errors = np.array([float(oracle.weights[i] / oracle.inverse[i, i]) for i in inside])
        stds = np.array([float((oracle.variance / oracle.inverse[i, i]) ** 0.5) for i in inside])
        ours = model.leave_one_out(radius)
        assert ours.error == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-6)
        assert ours.standardised == pytest.approx(np.sqrt(np.mean((errors / stds) ** 2)), rel=1e-4)


def test_leave_one_out_hidden_by_rounding_errors():
    """Without an observation inside the region, or where each determines a weight alone, nothing is known."""
    model = within(2, 8, 0.1, 1.0)[0]
    assert model.leave_one_out(1e-9) == (math.inf, math.inf)


@pytest.mark.parametrize("n", [9, 15, 25])
def test_hessian_of_the_least_norm(n):
    """Too few points for a quadratic and no remainder: the least deviation from h I, with h^2 / T^2 added to its norm.

    The deviations, the root of twice a mixed one, and h / T are the unknowns; the gradient costs nothing.
    """
    d, radius, rng = 7, 1e-9, np.random.default_rng(n)
    Z, v = rng.uniform(-1, 1, (n, d)), rng.normal(size=n)
    model = TaylorModel.fit(Ellipsoid(np.zeros(d), radius), radius * Z, v, 0.0)
    i, j = np.triu_indices(d)
    deviations = Z[:, i] * Z[:, j] * np.where(i == j, 1.0, np.sqrt(2.0))
    A = np.column_stack([deviations, COMMON_CURVATURE_STD * np.sum(Z * Z, axis=1)])
    N = null_space(Z.T)
    u = np.linalg.lstsq(N.T @ A, N.T @ v, rcond=None)[0]
    half = np.zeros((d, d))
    half[i, j] = half[j, i] = u[:-1] / np.where(i == j, 1.0, np.sqrt(2.0))
    H = 2 * (half + COMMON_CURVATURE_STD * u[-1] * np.eye(d))
    gradient = np.linalg.lstsq(Z, v - A @ u, rcond=None)[0]
    np.testing.assert_allclose(model.hessian, H, rtol=0, atol=1e-4 * np.max(np.abs(H)))
    np.testing.assert_allclose(model.gradient, gradient, rtol=0, atol=1e-4 * np.max(np.abs(H)))


def test_a_direction_without_observations_is_as_curved_as_the_others():
    """Not flat: all observations of a round bowl lie in the plane of two of three variables."""
    X = np.column_stack([np.random.default_rng(0).uniform(0.4, 0.6, (12, 2)), np.full(12, 0.5)])
    model = TaylorModel.fit(Ellipsoid(np.full(3, 0.5), 0.1), X, np.sum((X - 0.5) ** 2, axis=1), 0.0)
    seen, unseen = model.hessian[0, 0], model.hessian[2, 2]
    assert seen == pytest.approx(2 * 0.1**2, rel=1e-3)
    assert 0.8 * seen < unseen < seen


@pytest.mark.parametrize("d", range(1, 8))
@pytest.mark.parametrize("radius", [0.1, 0.3])
def test_a_quadratic_is_recognised(d, radius):
    """In the whole cube; up to rho^-2, the effect of prior and remainder, unless points determine higher degrees."""
    rng = np.random.default_rng(d)
    f, center, A = quadratic(rng, d), rng.uniform(0.3, 0.7, d), rng.random((200, d))
    value, enough = float(f(center[None])[0]), min(2 * n_terms(d, affordable_degree(d)), 120)
    for n, error in ((enough, 1e-10 if d < 7 else 1e-8), (n_terms(d, 2) + 3, 1e-6)):
        X = center + radius * rng.uniform(-1, 1, (n, d))
        model = TaylorModel.fit(Ellipsoid(center, radius), X, f(X), value)
        assert model.rho in QUADRATIC_RHOS
        mean, _ = model.predict(model.frame.to_local(A))
        np.testing.assert_allclose(value + mean, f(A), rtol=0, atol=error * np.ptp(f(A)))


@pytest.mark.parametrize("d", range(1, 8))
def test_few_points_choose_the_highest_degree_and_no_quadratic_rho(d):
    rng = np.random.default_rng(d)
    for f in (quadratic(rng, d), lambda X: np.exp(-np.sum((X - 0.5) ** 2, axis=1))):
        for n in range(d + 1, n_terms(d, 2) + 1):
            X, y = (points := rng.random((n + 1, d)))[1:], f(points)
            model = TaylorModel.fit(Ellipsoid(points[0], 10 ** rng.uniform(-3, -0.5)), X, y[1:], y[0])
            assert model.rho <= RHOS[-1]
            assert model.degree == affordable_degree(d)


@models
def test_gradients_and_hessians_by_central_differences(d, n):
    """Of the mean everywhere; of the std but at the center, where it has a kink."""
    model, _, rng = bumpy_model(d, n)
    Z, h = np.vstack([np.zeros((1, d)), rng.uniform(-1.5, 1.5, (6, d))]), 1e-5
    predicted, mean = model.derivatives(Z), model.mean_derivatives(Z)
    np.testing.assert_allclose([predicted.mean, predicted.std], model.predict(Z), rtol=1e-13)
    for ours, same in zip(mean, (predicted.mean, predicted.mean_gradient, predicted.mean_hessian), strict=True):
        np.testing.assert_array_equal(ours, same)
    np.testing.assert_array_equal(model.gradient, predicted.mean_gradient[0])
    np.testing.assert_array_equal(model.hessian, predicted.mean_hessian[0])
    away = slice(1, None)
    claims = [
        (Z, "mean", predicted.mean_gradient),
        (Z[away], "std", predicted.std_gradient[away]),
        (Z, "mean_gradient", predicted.mean_hessian),
        (Z[away], "std_gradient", predicted.std_hessian[away]),
    ]
    for i, step in enumerate(h * np.eye(d)):
        for points, of, claimed in claims:
            up, down = (getattr(model.derivatives(points + sign * step), of) for sign in (1, -1))
            rise = (up - down) / (2 * h)
            np.testing.assert_allclose(claimed[..., i], rise, rtol=1e-5, atol=1e-5 * np.max(np.abs(rise)), err_msg=of)


@models
def test_the_center_is_interpolated_and_the_remainder_grows_from_there(d, n):
    model, _, _ = bumpy_model(d, n)
    for degree in {2, affordable_degree(d)}:
        model = with_series(model, Series(degree, model.rho))
        mean, std = model.predict(np.zeros((1, d)))
        assert (mean[0], model.degree, model.n_points) == (0.0, degree, n)
        assert 0 <= std[0] <= 1e-12 * model.scale
        q, r = degree + 1, np.array([0.0, 0.3, 1.0, 2.0])
        expected = model.scale * (model.radius / model.rho) ** (q - 2) * r**q
        np.testing.assert_allclose([*model.remainder(r), model.remainder(2.0)], [*expected, expected[-1]], rtol=1e-12)


def assert_same(one, other):
    assert (one.series, one.scale, one.n_points) == (other.series, other.scale, other.n_points)
    np.testing.assert_array_equal(one.weights, other.weights)
    np.testing.assert_array_equal(one.covariance_factor, other.covariance_factor)


def test_observations_at_the_center_are_left_out_and_the_others_come_in_any_order():
    X = np.random.default_rng(0).random((60, 2))
    center, y, frame = X[7], bumpy(X), Ellipsoid(X[7], 0.1, np.diag([2.0, 0.5]))
    others = np.arange(60) != 7
    expected = TaylorModel.fit(frame, X[others], y[others], y[7])
    more = np.vstack([center, X[::-1], center + 1e-11]), np.hstack([-50.0, y[::-1], 50.0])
    assert_same(TaylorModel.fit(frame, *more, y[7]), expected)
    assert expected.n_points == 59


@models
@pytest.mark.parametrize("factor", [2.0**-30, -1.0, 3e5, 1e-9])
def test_units_of_the_values_do_not_matter(d, n, factor):
    model, X, rng = bumpy_model(d, n)
    y, Z = bumpy(X), rng.uniform(-1, 1, (9, d))
    scaled = TaylorModel.fit(model.frame, X, factor * y, factor * model.value)
    assert scaled.series == model.series
    np.testing.assert_allclose(scaled.predict(Z), model.predict(Z) * np.array([[factor], [abs(factor)]]), rtol=1e-9)
    y, value = np.round(y * 2**30) / 2**30, round(model.value * 2**30) / 2**30  # so that 1000 more loses no digits
    shifted = TaylorModel.fit(model.frame, X, y + 1000.0, value + 1000.0)
    assert_same(shifted, TaylorModel.fit(model.frame, X, y, value))


@models
def test_the_shape_stands_in_place_of_an_affine_change_of_the_variables(d, n):
    """A model in a shape is the round one of the variables c + S^-1 (x - c), in which the ellipsoid is a ball."""
    model, X, rng = bumpy_model(d, n)
    S = np.eye(1) if model.frame.shape is None else model.frame.shape
    U = model.center + np.linalg.solve(S, (X - model.center).T).T
    ball = TaylorModel.fit(Ellipsoid(model.center, model.radius), U, bumpy(X), model.value)
    A = rng.random((9, d))
    there = model.center + np.linalg.solve(S, (A - model.center).T).T
    assert ball.series == model.series
    assert ball.loss == pytest.approx(model.loss, rel=1e-9)
    same = ball.predict(ball.frame.to_local(there)), model.predict(model.frame.to_local(A))
    np.testing.assert_allclose(*same, rtol=1e-8, atol=1e-10)


@models
def test_rotations_do_not_matter(d, n):
    """Neither of the points around the center, nor of the local coordinates of the same ellipsoid."""
    model, X, rng = bumpy_model(d, n)
    R, c, A = random_rotation(rng, d), model.center, rng.random((9, d))
    S = np.eye(1) if model.frame.shape is None else model.frame.shape
    turned = Ellipsoid(c, model.radius, R @ S)
    same_set = Ellipsoid(c, model.radius, S @ R)
    expected = model.predict(model.frame.to_local(A))
    for frame, points, there in (
        (turned, c + (X - c) @ R.T, c + (A - c) @ R.T),
        (same_set, X, A),
    ):
        other = TaylorModel.fit(frame, points, bumpy(X), model.value)
        assert other.series == model.series
        assert other.loss == pytest.approx(model.loss, rel=1e-9)
        np.testing.assert_allclose(other.predict(frame.to_local(there)), expected, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(other.curvatures()[1], model.curvatures()[1], rtol=1e-7)


def test_any_data():
    """Crowded, repeated, contradictory, constant, huge and tiny: finite numbers, and no warning."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        d, radius, scale = int(rng.integers(1, 7)), 10 ** rng.uniform(-9, math.log10(0.3)), 10 ** rng.uniform(-12, 12)
        n, center = int(rng.integers(d + 2, 61)), rng.random(d)
        X = np.clip(center + 10 ** rng.uniform(math.log10(radius) - 2, 0, (n, 1)) * rng.uniform(-1, 1, (n, d)), 0, 1)
        X[rng.random(n) < rng.choice([0.0, 0.3, 1.0])] = X[0]
        X[rng.random(n) < rng.choice([0.0, 0.3])] = center
        value = float(bumpy(center[None])[0])
        y = (bumpy(X), rng.normal(size=n), np.full(n, value))[seed % 3]
        frame = Ellipsoid(center, radius, random_shape(rng, d, 10 ** rng.uniform(0, 4)) if seed % 2 else None)
        model = TaylorModel.fit(frame, X, scale * y, scale * value)
        Z = np.vstack([frame.to_local(X), rng.uniform(-1, 1, (5, d)), np.zeros((1, d))])
        derivatives = *model.derivatives(Z), *model.mean_derivatives(Z), model.gradient, model.hessian
        for numbers in (*model.predict(Z), *derivatives, model.remainder(1.0), *model.curvatures(), model.loss):
            assert np.all(np.isfinite(numbers)), seed


@models
def test_conditioning_keeps_degree_and_rho(d, n):
    """It is the model of all observations, in any order, with degree and rho as they were; s is estimated anew."""
    model, X, rng = bumpy_model(d, n)
    P = model.frame.to_cube(rng.uniform(-0.5, 0.5, (3, d)))
    Z, differences = model.frame.to_local(P), bumpy(P) - model.value
    before = model.Z.copy(), model.differences.copy()
    conditioned = model.condition(Z, differences)
    np.testing.assert_array_equal(model.Z, before[0])
    np.testing.assert_array_equal(model.differences, before[1])
    everything = TaylorModel.fit(model.frame, np.vstack([P, X]), np.append(bumpy(P), bumpy(X)), model.value)
    expected = with_series(everything, model.series)
    assert_same(conditioned, expected)
    assert (conditioned.series, conditioned.degree) == (model.series, model.degree)
    assert (conditioned.n_points, conditioned.frame) == (n + 3, model.frame)
    one_by_one = model
    for z, difference in zip(Z, differences, strict=True):
        one_by_one = one_by_one.condition(z[None, :], np.array([difference]))
    assert_same(one_by_one, expected)
