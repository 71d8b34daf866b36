"""The problems of the demo are as described."""

import numpy as np
import pytest
from scipy.optimize import minimize

from dale.cli.demo import blood, branin


def test_the_solver_agrees_with_the_closed_form():
    ka, cl, v = (blood.TRUTH[name] for name in ("absorption", "clearance", "volume"))
    k, t = cl / v, blood.HOURS
    exact = blood.DOSE * ka / (v * (ka - k)) * (np.exp(-k * t) - np.exp(-ka * t))  # Bateman's function
    np.testing.assert_allclose(blood.concentration(blood.TRUTH, t), exact, rtol=1e-4)


def test_the_error_of_the_true_parameters_is_the_noise():
    assert 0.5 * blood.NOISE < blood.error(blood.TRUTH) < 1.5 * blood.NOISE


def test_branin_at_its_minima():
    for x in branin.MINIMISERS:
        assert branin.branin(x) == pytest.approx(branin.MINIMUM, abs=1e-5)
        assert minimize(branin.branin, x, tol=1e-12).fun == pytest.approx(branin.MINIMUM, abs=1e-9)
