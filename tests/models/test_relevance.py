"""The ratios of length-scales: loss and gradient against naive formulas, and what they find in simulated values."""

import math

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from dale.models.noisy_gp import PRIOR_LENGTH_SCALE, PRIOR_LOG_STD, NoisyGP
from dale.models.relevance import (
    JITTER,
    LOG_RATIO_STD,
    NOISE_LOG_STD,
    PRIOR_NOISE_RATIO,
    _loss,
    length_scale_ratios,
)


def squares(X):
    return (X.T[:, :, None] - X.T[:, None, :]) ** 2


def naive_loss(at, X, y):
    """-log of evidence and prior by dense formulas, point by point."""
    *t, log_eta = at
    n, d, l = len(y), len(t), np.exp(t)
    K = np.array([[math.exp(-0.5 * sum(((a - b) / l) ** 2)) for b in X] for a in X])
    M = K + (math.exp(log_eta) + JITTER) * np.eye(n)
    inverse, one = np.linalg.inv(M), np.ones(n)
    c = one @ inverse @ y / (one @ inverse @ one)
    s2 = (y - c) @ inverse @ (y - c) / n
    middle = math.log(PRIOR_LENGTH_SCALE * math.sqrt(d))
    mean = sum(t) / d
    prior = ((mean - middle) / PRIOR_LOG_STD) ** 2 + sum(((v - mean) / LOG_RATIO_STD) ** 2 for v in t)
    prior += ((log_eta - math.log(PRIOR_NOISE_RATIO)) / NOISE_LOG_STD) ** 2
    return (n * math.log(s2) + np.linalg.slogdet(M)[1] + prior) / 2


@pytest.fixture
def data():
    rng = np.random.default_rng(1)
    X = rng.random((25, 3))
    return X, np.sin(7 * X[:, 0]) + 0.2 * X[:, 1] + 0.1 * rng.standard_normal(25)


@pytest.mark.parametrize("at", [(-0.5, -0.2, 0.3, -2.0), (0.1, -1.0, 1.0, -5.0)])
def test_loss_and_gradient(data, at):
    X, y = data
    loss, gradient = _loss(np.array(at), squares(X), y)
    assert loss == pytest.approx(naive_loss(at, X, y), rel=1e-9)
    numerical = approx_fprime(np.array(at), lambda a: _loss(a, squares(X), y)[0], 1e-6)
    assert gradient == pytest.approx(numerical, rel=1e-3, abs=1e-3)


def test_the_coordinate_that_matters_has_the_shortest_length_scale(data):
    ratios = length_scale_ratios(*data)
    assert ratios[0] < 0.5 < 1 < min(ratios[1:])
    assert math.prod(ratios) == pytest.approx(1, rel=0.2)


def test_coordinates_and_units_do_not_matter(data):
    X, y = data
    ratios = length_scale_ratios(X, y)
    assert length_scale_ratios(X[:, [2, 0, 1]], y) == tuple(ratios[i] for i in (2, 0, 1))
    assert length_scale_ratios(X, 1e6 * y - 3e7) == ratios


def test_one_outlier_decides_nothing(data):
    X, y = data
    wrong = np.append(y, 1e12)
    ratios = length_scale_ratios(np.vstack([X, X[:1] + 0.01]), wrong)
    assert ratios[0] < 0.6


def test_few_or_equal_values_have_ratios_near_one():
    X = np.random.default_rng(0).random((6, 3))
    assert length_scale_ratios(X[:5], np.arange(5.0)) == (1, 1, 1)
    assert length_scale_ratios(X[:, :1], np.arange(6.0)) == (1,)
    assert length_scale_ratios(X, np.ones(6)) == (1, 1, 1)
    assert all(0.3 < r < 3 for r in length_scale_ratios(X, np.random.default_rng(1).standard_normal(6)))


def test_a_model_with_ratios_predicts_better_what_varies_with_one_coordinate():
    rng = np.random.default_rng(2)
    X, A = rng.random((40, 4)), rng.random((200, 4))
    y = np.sin(8 * X[:, 1]) + 0.1 * rng.standard_normal(40)
    errors = []
    for ratios in (None, length_scale_ratios(X, y)):
        model = NoisyGP.of(np.arange(40), X, y, None, 1.0, ratios=ratios)
        errors.append(np.sqrt(np.mean((model.posterior.predict(A).mean - np.sin(8 * A[:, 1])) ** 2)))
    assert errors[1] < 0.5 * errors[0], errors
