"""The floor of eq. 16: the table, the formula by hand, and what it means."""

import math

import numpy as np
import pytest

import reference
from dale.methods.length_scale.floor import length_scale_floor

TABLE = {2: [0.257, 0.141, 0.063, 0.044, 0.031], 6: [0.396, 0.324, 0.248, 0.221, 0.197]}


@pytest.mark.parametrize("d", TABLE)
def test_table(d):
    floors = [round(length_scale_floor(n, d, 0.2), 3) for n in (3, 10, 50, 100, 200)]
    assert floors == TABLE[d]


def test_by_hand():
    root = math.sqrt(-1 / (2 * math.log(0.2)))
    # d = 1: Gamma(3/2) cancels and pi has no power, so that neighbours 1 / n apart have correlation c.
    assert length_scale_floor(10, 1) == pytest.approx(root / 10, abs=1e-12)
    # d = 2: Gamma(2) = 1, Gamma(3/2) = sqrt(pi) / 2, so that the ratio is 2 / (pi n).
    assert length_scale_floor(50, 2) == pytest.approx(root * math.sqrt(2 / (math.pi * 50)), abs=1e-12)
    # d = 3: Gamma(5/2) / Gamma(3/2) = 3 / 2, so that it is 3 / (2 pi n).
    assert length_scale_floor(7, 3) == pytest.approx(root * (3 / (2 * math.pi * 7)) ** (1 / 3), abs=1e-12)
    # d = 4: Gamma(3) = 2, so that it is 4 / (pi^2 n).
    assert length_scale_floor(9, 4) == pytest.approx(root * (4 / (math.pi**2 * 9)) ** (1 / 4), abs=1e-12)


@pytest.mark.parametrize("d", range(1, 13))
@pytest.mark.parametrize("c", [0.01, 0.2, 0.9])
def test_equals_the_formula_with_the_gamma_function(d, c):
    for n in (1, 2, 3, 10, 77, 1000, 10**6):
        ratio = math.gamma(d / 2 + 1) / math.gamma(1.5) * math.pi ** ((1 - d) / 2) / n
        expected = math.sqrt(-1 / (2 * math.log(c))) * ratio ** (1 / d)
        assert length_scale_floor(n, d, c) == pytest.approx(expected, abs=1e-12)
        assert length_scale_floor(n, d, c) == pytest.approx(reference.length_scale_floor(n, d, c), abs=1e-12)


@pytest.mark.parametrize("d", [1, 2, 5, 20])
def test_balls_of_equal_volume(d):
    """Eq. 14-16 as a whole: at the floor, points delta apart have correlation c, where V_d(delta) = V_1(1 / n)."""
    n, c = 30, 0.2
    l = length_scale_floor(n, d, c)
    delta = l * math.sqrt(-2 * math.log(c))  # exp(-delta^2 / (2 l^2)) = c
    volume = math.pi ** (d / 2) / math.gamma(d / 2 + 1) * delta**d
    assert volume == pytest.approx(2 / n, rel=1e-12)  # the ball of radius 1 / n on a line


@pytest.mark.parametrize("d", [1, 2, 6, 20])
def test_never_rises_with_more_observations(d):
    floors = [length_scale_floor(n, d) for n in range(1, 2000)]
    assert np.all(np.diff(floors) < 0)


def test_many_dimensions_do_not_overflow():
    assert 0 < length_scale_floor(100, 1000) < 100


@pytest.mark.parametrize(("n", "d"), [(0, 2), (-1, 2), (5, 0)])
def test_no_observations_are_refused(n, d):
    with pytest.raises(ValueError, match=rf"at least one observation and one dimension, got n={n}, dimension={d}"):
        length_scale_floor(n, d)


@pytest.mark.parametrize("c", [0.0, 1.0, -0.2, 1.5, math.nan])
def test_invalid_correlations_are_refused(c):
    with pytest.raises(ValueError, match="expected a number between 0 and 1, got"):
        length_scale_floor(10, 2, c)
