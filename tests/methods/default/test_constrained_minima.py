"""Whole runs to a minimum on the boundary of outcome constraints."""

import numpy as np
import pytest

from dale.optimizer import Optimizer


def wavy(t):
    """Rises in waves that follow the scale: no Taylor polynomial around 0 describes it."""
    return t * (1 + 0.05 * np.sin(4 * np.log(abs(t)))) if t else 0.0


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_a_steep_minimum_in_a_corner_of_two_constraints(seed):
    """Models predict each step with an error of some percent; the region stays open until coordinates end."""
    optimizer = Optimizer([(0, 1)] * 2, seed=seed)
    for _ in range(50):
        trial = optimizer.ask()
        u, v = wavy(trial.params[0] - 0.3), wavy(trial.params[1] - 0.6)
        optimizer.tell(trial, 1e4 * (u + v), constraints=(-u - 0.5 * v, -0.5 * u - v))
    assert optimizer.best is not None
    assert 0 <= optimizer.best.value < 1e-9
