"""The maximum of log EI: derivatives by the chain rule, maxima against a grid and SciPy, and models that give NaN."""

import numpy as np
import pytest
from scipy.optimize import minimize

from dale.acquisition.base import maximize_acquisition, negative_acquisition
from dale.acquisition.expected_improvement import LogExpectedImprovement
from dale.models.base import PredictionDerivatives
from dale.models.ellipsoid import Ellipsoid
from dale.models.gaussian_process import GaussianProcess, Prior
from dale.models.kernels.matern import Matern52
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.taylor import TaylorModel
from dale.optim.projected_newton import Tolerance

LOG_EI = LogExpectedImprovement()
TIGHT = Tolerance(gtol=1e-9, ftol=1e-14)


def wavy(X):
    return np.sin(7 * X[:, 0]) + np.sum((X - 0.6) ** 2, axis=1)


def gaussian_process(d, n, kernel=SquaredExponential, length_scale=0.25):
    X = np.random.default_rng([d, n]).random((n, d))
    return GaussianProcess.fit(kernel(length_scale), X, wavy(X), Prior(0.2, 0.5)), float(np.min(wavy(X)))


def taylor(d, n, shape=None):
    rng = np.random.default_rng([d, n])
    X = 0.5 + 0.2 * rng.uniform(-1, 1, (n, d))
    center = np.full(d, 0.5)
    return TaylorModel.fit(Ellipsoid(center, 0.2, shape), X, wavy(X), float(wavy(center[None])[0])), -0.01


MODELS = {
    "gp, one variable": gaussian_process(1, 5),
    "gp, two": gaussian_process(2, 9),
    "gp, four": gaussian_process(4, 15),
    "gp, Matern": gaussian_process(2, 9, Matern52),
    "Taylor, one": taylor(1, 4),
    "Taylor, three": taylor(3, 8),
    "Taylor, in a shape": taylor(2, 9, np.array([[2.0, 1.0], [1.0, 1.0]])),
}
models = pytest.mark.parametrize(("model", "target"), MODELS.values(), ids=MODELS)


def dimension(model):
    return model.center.size if isinstance(model, TaylorModel) else model.points.shape[1]


def log_ei(model, target, A):
    return LOG_EI(model.predict(A), target)


@models
def test_gradients_and_hessians_by_central_differences(model, target):
    d, h = dimension(model), 1e-5
    A = np.random.default_rng(0).uniform(0.1, 0.9, (8, d))
    value, gradient, hessian = negative_acquisition(LOG_EI, model.derivatives(A), target)
    np.testing.assert_allclose(value, -log_ei(model, target, A), rtol=1e-9)
    np.testing.assert_allclose(hessian, hessian.transpose(0, 2, 1), rtol=1e-9, atol=1e-12)
    for i, step in enumerate(h * np.eye(d)):
        rise = -(log_ei(model, target, A + step) - log_ei(model, target, A - step)) / (2 * h)
        np.testing.assert_allclose(gradient[:, i], rise, rtol=1e-5, atol=1e-6 * np.max(np.abs(rise)))
        up, down = (
            negative_acquisition(LOG_EI, model.derivatives(A + sign * step), target).gradient for sign in (1, -1)
        )
        rise = (up - down) / (2 * h)
        np.testing.assert_allclose(hessian[:, i], rise, rtol=1e-4, atol=1e-6 * np.max(np.abs(rise)))


@models
def test_the_maximum_is_no_lower_than_a_grid_or_scipy_finds(model, target):
    """From the same starts; each ends at a local maximum, no lower than its start."""
    d, rng = dimension(model), np.random.default_rng(1)
    lower, upper = np.zeros(d), np.ones(d)
    grid = rng.random((4000, d))
    levels = log_ei(model, target, grid)
    starts = np.vstack([grid[np.argsort(-levels)[:3]], rng.random((5, d))])
    maxima, values = maximize_acquisition(LOG_EI, model.derivatives, target, starts, lower, upper, tolerance=TIGHT)
    assert np.all((maxima >= 0) & (maxima <= 1))
    np.testing.assert_allclose(values, log_ei(model, target, maxima), rtol=1e-9, atol=1e-9)
    assert np.all(values >= log_ei(model, target, starts) - 1e-9)
    assert np.max(values) >= np.max(levels)
    gradient = negative_acquisition(LOG_EI, model.derivatives(maxima), target).gradient
    held = ((maxima == 0) & (gradient > 0)) | ((maxima == 1) & (gradient < 0))
    assert np.all(np.abs(np.where(held, 0.0, gradient)) < 1e-5 * np.maximum(1, np.abs(values))[:, None])
    theirs = max(
        -minimize(lambda x: -log_ei(model, target, x[None])[0], x, bounds=[(0, 1)] * d, method="L-BFGS-B").fun
        for x in starts
    )
    assert np.max(values) >= theirs - 1e-8


def test_max_steps_and_a_loose_tolerance():
    model, target = MODELS["gp, two"]
    starts, calls = np.random.default_rng(0).random((4, 2)), []

    def counted(A):
        calls.append(len(A))
        return model.derivatives(A)

    def go(**settings):
        calls.clear()
        _, values = maximize_acquisition(LOG_EI, counted, target, starts, np.zeros(2), np.ones(2), **settings)
        return sum(calls), values

    loosely, exactly = go(tolerance=Tolerance(gtol=1e-1, ftol=1e-3)), go(tolerance=TIGHT)
    assert loosely[0] < exactly[0]
    assert np.all(loosely[1] <= exactly[1] + 1e-9)
    none = go(tolerance=TIGHT, max_steps=0)
    assert none[0] == len(starts)
    np.testing.assert_allclose(none[1], log_ei(model, target, starts), rtol=1e-9)


def test_without_std():
    """Where the outcome is certain, the gain itself is maximised; where there is no gain, the point stays."""

    def sure(A):
        m, d = A.shape
        zeros = np.zeros((m, d)), np.zeros((m, d, d))
        E = A - 0.3
        return PredictionDerivatives(
            np.sum(E * E, axis=1), np.zeros(m), 2 * E, zeros[0], np.tile(2 * np.eye(d), (m, 1, 1)), zeros[1]
        )

    starts = np.array([[0.5, 0.5], [0.9, 0.9]])
    maxima, values = maximize_acquisition(LOG_EI, sure, 0.25, starts, np.zeros(2), np.ones(2), tolerance=TIGHT)
    np.testing.assert_allclose(maxima, [[0.3, 0.3], [0.9, 0.9]], atol=1e-6)
    np.testing.assert_allclose(values, [np.log(0.25), -np.inf])


def derivatives(m, **parts):
    """The same at m points, but for what is named."""
    ordinary = {
        "mean": np.zeros(m),
        "std": np.ones(m),
        "mean_gradient": np.full((m, 2), 0.3),
        "std_gradient": np.full((m, 2), -0.1),
        "mean_hessian": np.tile(np.eye(2), (m, 1, 1)),
        "std_hessian": np.tile(0.2 * np.eye(2), (m, 1, 1)),
    }
    return PredictionDerivatives(**{name: parts.get(name, part) for name, part in ordinary.items()})


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        (name, bad)
        for name in PredictionDerivatives._fields
        for bad in (np.nan, np.inf)
        if (name, bad) != ("mean", np.inf)
    ],
)
def test_where_a_model_gives_nan_there_is_no_value(name, bad):
    """So that no search goes there; other points are not affected."""
    spoilt = getattr(derivatives(3), name).copy()
    spoilt[1] = bad
    value, gradient, hessian = negative_acquisition(LOG_EI, derivatives(3, **{name: spoilt}), 0.1)
    expected = negative_acquisition(LOG_EI, derivatives(1), 0.1)
    assert not np.isfinite(value[1])
    assert np.all(np.isfinite(hessian))
    for i in (0, 2):
        assert value[i] == expected.value[0]
        np.testing.assert_array_equal(gradient[i], expected.gradient[0])
        np.testing.assert_array_equal(hessian[i], expected.hessian[0])


@pytest.mark.parametrize("std", [1e-160, 1e-200, 1e-300, 5e-324])
@pytest.mark.parametrize("mean", [-1e-3, 0.1, 1.0])
def test_a_tiny_std(std, mean):
    """Derivatives may overflow: then there is no value, and never a warning."""
    value, _, hessian = negative_acquisition(LOG_EI, derivatives(1, mean=np.array([mean]), std=np.array([std])), 0.1)
    assert np.all(np.isfinite(hessian))
    if mean < 0:
        assert value[0] == pytest.approx(-np.log(0.1 - mean))


def test_a_start_with_nan_stays_where_it_is():
    model, target = MODELS["gp, two"]

    def torn(A):
        predicted = model.derivatives(A)
        return predicted._replace(mean=np.where(A[:, 0] < 0.5, np.nan, predicted.mean))

    starts = np.array([[0.2, 0.4], [0.8, 0.3], [0.6, 0.9]])
    maxima, values = maximize_acquisition(LOG_EI, torn, target, starts, np.zeros(2), np.ones(2), tolerance=TIGHT)
    np.testing.assert_array_equal(maxima[0], starts[0])
    assert np.isnan(values[0])
    assert np.all(maxima[1:, 0] >= 0.5)
    assert np.all(values[1:] > log_ei(model, target, starts[1:]))
