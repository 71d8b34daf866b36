"""What one more noisy evaluation is worth, against formulas for two observations and against simulation."""

import numpy as np
import pytest
from scipy.stats import norm

from dale.acquisition.noisy import log_knowledge_gradient, std_reduction
from dale.models.gaussian_process import GaussianProcess, Prior
from dale.models.kernels.squared_exponential import SquaredExponential


def expected_excess(gap, std):
    """E[(std Z - gap)+]."""
    return std * norm.pdf(gap / std) - gap * norm.sf(gap / std)


@pytest.mark.parametrize("gap", [0.0, 0.3, 2.0])
def test_the_best_again_is_worth_what_a_rival_may_gain(gap):
    """Evaluating the best of two independent observations pays where its mean may rise above that of the other."""
    log_gain = log_knowledge_gradient(
        np.array([1.0, 1.0 + gap]), np.array([1.0]), np.array([[0.5, 0.0]]), np.full(1, 0.5)
    )
    assert np.exp(log_gain[0]) == pytest.approx(expected_excess(gap, 0.5), rel=0.15, abs=1e-6)


def test_a_rival_is_worth_its_expected_improvement():
    log_gain = log_knowledge_gradient(np.array([1.0, 1.4]), np.array([1.4]), np.array([[0.0, 0.5]]), np.full(1, 0.5))
    assert np.exp(log_gain[0]) == pytest.approx(expected_excess(0.4, 0.5), rel=0.1)


def test_the_only_point_again_is_worth_nothing():
    assert log_knowledge_gradient(np.array([1.0]), np.array([1.0]), np.ones((1, 1)), np.ones(1))[0] == -np.inf


def test_against_simulated_evaluations():
    """Condition a model on many simulated values at a candidate, and average the change of its lowest mean."""
    rng = np.random.default_rng(0)
    X, y, noise = rng.random((7, 1)), 0.2 * rng.standard_normal(7), 0.2
    kernel, prior, candidate = SquaredExponential(0.2), Prior(0.0, 1.0), np.array([[0.42]])
    model = GaussianProcess.fit(kernel, X, y, prior, noise)
    mean, std = model.predict(candidate)
    total = np.sqrt(std**2 + noise)
    changes = model.covariance(candidate, X) / total[:, None]
    log_gain = log_knowledge_gradient(model.predict(X).mean, mean, changes, std_reduction(std, np.sqrt(noise)))
    both, lowest = np.vstack([X, candidate]), np.min(model.predict(X).mean)
    gains = []
    for z in norm.ppf((np.arange(400) + 0.5) / 400):
        after = GaussianProcess.fit(kernel, both, np.append(y, mean + total * z), prior, noise)
        gains.append(lowest - np.min(after.predict(both).mean))
    assert np.exp(log_gain[0]) == pytest.approx(np.mean(gains), rel=0.05)
