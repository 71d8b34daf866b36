"""A maximisation, and the minimisation of its negative."""

import dataclasses

import numpy as np

import dale

BOX = [(-2, 2), (-1, 3)]


def hill(x):
    """Two maxima, the higher one near (1, 0.5)."""
    first = 3 * np.exp(-((x[0] - 1) ** 2) - 0.7 * (x[1] - 0.5) ** 2)
    return float(first + 2 * np.exp(-2 * (x[0] + 1) ** 2 - (x[1] - 1.5) ** 2) - 1.0)


def negated(fun):
    """The same problem as a minimisation, whatever the objective returns."""

    def other(x):
        value = fun(x)
        if isinstance(value, dale.Evaluation):
            return dataclasses.replace(value, value=-value.value)
        return -value

    return other


def both(fun, space, **options):
    """The results of ``maximize(fun)`` and ``minimize(-fun)``."""
    return dale.maximize(fun, space, **options), dale.minimize(negated(fun), space, **options)


def is_negated(one, other):
    if one is None or other is None:
        return one is other
    return one == -other


def assert_mirrored(up, down):
    assert len(up.history) == len(down.history)
    for one, other in zip(up.history, down.history, strict=True):
        assert np.array_equal(one.unit_x, other.unit_x)
        assert np.array_equal(one.x, other.x)
        assert is_negated(one.value, other.value)
        assert is_negated(one.reason.mean, other.reason.mean)
        assert dataclasses.replace(one.reason, mean=None) == dataclasses.replace(other.reason, mean=None)
        assert (one.state, one.noise, one.constraints) == (other.state, other.noise, other.constraints)
        assert (one.error is None) == (other.error is None)
        assert one.loss == other.loss
    assert is_negated(up.fun, down.fun)
    assert np.array_equal(up.x, down.x)
    assert (up.status, up.nfev, up.nit, up.noise) == (down.status, down.nfev, down.nit, down.noise)
    assert np.array_equal(up.func_vals, -down.func_vals)
    assert len(up.local_minima) == len(down.local_minima)
    for high, low in zip(up.local_minima, down.local_minima, strict=True):
        assert np.array_equal(high.x, low.x)
        assert (high.fun, high.error, high.condition) == (-low.fun, low.error, low.condition)
        assert np.array_equal(high.hessian, -low.hessian)
        assert np.array_equal(high.curvature, low.hessian)
