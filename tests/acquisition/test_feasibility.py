"""Models of outcome constraints, and the probability that they hold."""

import math

import numpy as np
from scipy.stats import norm

from dale.acquisition.expected_improvement import LogExpectedImprovement
from dale.acquisition.feasibility import (
    Feasibility,
    feasibility_weighted,
    log_probability_below,
    log_probability_below_to_second_order,
    violations,
)
from dale.models.base import Prediction
from dale.models.constraint_gp import constraint_scales, fit_constraints
from dale.models.gaussian_process import GaussianProcess
from dale.models.kernels.squared_exponential import SquaredExponential

LOG_EI = LogExpectedImprovement()
RNG = np.random.default_rng(0)
X = RNG.random((30, 2))
C = np.column_stack([X[:, 0] + X[:, 1] - 0.8, 1e6 * (np.sin(5 * X[:, 0]) - 0.5)])
Y = np.sum((X - 0.3) ** 2, axis=1)
NONE = np.empty((0, 2))


def test_the_probability_is_that_of_the_normal_distribution():
    mean, std = np.array([-2.0, 0.0, 1.0, 30.0]), np.array([1.0, 2.0, 0.5, 1.0])
    np.testing.assert_allclose(log_probability_below(Prediction(mean, std)), norm.logcdf(-mean / std))
    assert np.all(np.isfinite(log_probability_below(Prediction(np.array([1.0, -1.0]), np.zeros(2)))))


def test_its_derivatives_are_those_of_differences():
    h = 1e-5
    for m, s in [(-1.0, 0.7), (0.3, 0.2), (4.0, 0.5), (40.0, 0.9)]:
        (_, by_mean, by_std), (by_mean_mean, by_mean_std, by_std_std) = log_probability_below_to_second_order(
            Prediction(np.array([m]), np.array([s]))
        )

        def f(a, b):
            return norm.logcdf(-a / b)

        scale = abs(f(m, s)) + 1
        np.testing.assert_allclose(by_mean, (f(m + h, s) - f(m - h, s)) / (2 * h), rtol=1e-5, atol=1e-5 * scale)
        np.testing.assert_allclose(by_std, (f(m, s + h) - f(m, s - h)) / (2 * h), rtol=1e-5, atol=1e-5 * scale)
        h2 = 1e-3 * s
        np.testing.assert_allclose(by_mean_mean, (f(m + h2, s) - 2 * f(m, s) + f(m - h2, s)) / h2**2, rtol=1e-3)
        np.testing.assert_allclose(by_std_std, (f(m, s + h2) - 2 * f(m, s) + f(m, s - h2)) / h2**2, rtol=1e-2)
        mixed = (f(m + h2, s + h2) - f(m + h2, s - h2) - f(m - h2, s + h2) + f(m - h2, s - h2)) / (4 * h2**2)
        np.testing.assert_allclose(by_mean_std, mixed, rtol=1e-2)


def test_the_acquisition_is_expected_feasible_improvement():
    """Against Monte Carlo: the mean of max(best - f, 0) where all constraints come out at most 0."""
    model = GaussianProcess.fit(SquaredExponential(0.3), X[:8], Y[:8])
    feasibility = Feasibility(fit_constraints(X[:8], C[:8], NONE))
    best, x = 0.1, np.array([[0.35, 0.2]])
    draws = np.random.default_rng(1).standard_normal((3, 400_000))
    mean, std = model.predict(x)
    gain = np.maximum(best - mean - std * draws[0], 0.0)
    for constraint, z in zip(feasibility.models, draws[1:], strict=True):
        mean, std = constraint.predict(x)
        gain = np.where(mean + std * z <= 0, gain, 0.0)
    below = feasibility_weighted(LOG_EI, model.derivatives, best, feasibility)(x)
    np.testing.assert_allclose(math.exp(-below.value[0]), np.mean(gain), rtol=0.02)


def test_its_gradients_are_those_of_differences():
    model = GaussianProcess.fit(SquaredExponential(0.3), X[:10], Y[:10])
    feasibility = Feasibility(fit_constraints(X[:10], C[:10], NONE))
    below = feasibility_weighted(LOG_EI, model.derivatives, 0.1, feasibility)
    A, h = np.array([[0.4, 0.25], [0.7, 0.9]]), 1e-6
    values = below(A)
    for j in range(2):
        step = h * np.eye(2)[j]
        ahead, behind = below(A + step), below(A - step)
        np.testing.assert_allclose(values.gradient[:, j], (ahead.value - behind.value) / (2 * h), rtol=1e-4)
        np.testing.assert_allclose(
            values.hessian[:, :, j], (ahead.gradient - behind.gradient) / (2 * h), rtol=1e-3, atol=1e-2
        )


def test_without_a_model_of_the_objective_it_is_the_probability():
    feasibility = Feasibility(fit_constraints(X, C, NONE))
    A = np.random.default_rng(3).random((5, 2))
    np.testing.assert_allclose(
        -feasibility_weighted(LOG_EI, None, 0.0, feasibility)(A).value, feasibility.log_probability(A)
    )


def test_the_models_classify_feasible_points():
    feasibility = Feasibility(fit_constraints(X, C, NONE))
    A = np.random.default_rng(4).random((300, 2))
    true = (A[:, 0] + A[:, 1] <= 0.8) & (np.sin(5 * A[:, 0]) <= 0.5)
    assert np.mean((feasibility.log_probability(A) > math.log(0.5)) == true) > 0.9


def test_units_of_constraints_do_not_matter():
    A = np.random.default_rng(5).random((20, 2))
    one = Feasibility(fit_constraints(X, C, NONE)).log_probability(A)
    other = Feasibility(fit_constraints(X, C * np.array([2.0**40, 2.0**-60]), NONE)).log_probability(A)
    np.testing.assert_allclose(other, one, rtol=1e-6)


def test_a_pending_point_is_no_more_likely_than_one_in_three():
    x = X[np.argmin(np.max(C / constraint_scales(C), axis=1))][None, :] + 0.01
    free, taken = Feasibility(fit_constraints(X, C, NONE)), Feasibility(fit_constraints(X, C, x))
    assert free.log_probability(x)[0] > math.log(0.5)
    assert taken.log_probability(x)[0] < math.log(1 / 3)


def test_violations_are_scaled_and_count_positive_parts_only():
    scales = constraint_scales(np.array([[2.0, 0.0], [-2.0, 0.0], [4.0, 0.0]]))
    np.testing.assert_array_equal(scales, [2.0, 1.0])
    np.testing.assert_array_equal(violations(np.array([[4.0, -1.0], [-5.0, 3.0]]), scales), [2.0, 3.0])


def test_the_acquisition_function_alone_without_outcome_constraints():
    model = GaussianProcess.fit(SquaredExponential(0.3), X[:8], Y[:8])
    A = np.random.default_rng(6).random((4, 2))
    expected = LOG_EI(model.predict(A), 0.1)
    np.testing.assert_allclose(-feasibility_weighted(LOG_EI, model.derivatives, 0.1, None)(A).value, expected)
