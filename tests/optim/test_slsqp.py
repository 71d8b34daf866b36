"""Minima under constraints, against dense grids."""

import numpy as np
import pytest

from dale.optim.slsqp import least_violation, minimize_slsqp, restore_feasibility

LOWER, UPPER = np.array([-1.0, -1.0]), np.array([1.0, 1.0])
AXIS = np.linspace(-1, 1, 161)
GRID = np.stack(np.meshgrid(AXIS, AXIS, indexing="ij"), axis=-1).reshape(-1, 2)


def banana(z):
    a, b = z
    value = (1 - 2 * a) ** 2 + 5 * (b - a * a) ** 2
    return float(value), np.array([-4 * (1 - 2 * a) - 20 * a * (b - a * a), 10 * (b - a * a)])


def circle(radius):
    """Inside a circle around (-0.2, -0.1)."""

    def constraint_functions(z):
        v = z - np.array([-0.2, -0.1])
        return np.array([v @ v - radius**2]), 2 * v[None, :]

    return constraint_functions


def cut(z):
    """Below a line, and outside of a disc: not convex."""
    return np.array([z[0] + 2 * z[1] - 0.3, 0.09 - z @ z]), np.array([[1.0, 2.0], -2 * z])


@pytest.mark.parametrize(
    "constraint_functions", [circle(0.5), circle(0.2), cut], ids=["circle", "small circle", "not convex"]
)
def test_the_constrained_minimum_is_that_of_a_dense_grid(constraint_functions):
    inside = np.array([np.all(constraint_functions(z)[0] <= 0) for z in GRID])
    lowest = min(banana(z)[0] for z in GRID[inside])
    starts = [np.array([-0.5, -0.3]), np.array([0.5, -0.6]), np.array([-0.3, 0.2])]
    ends = [minimize_slsqp(banana, constraint_functions, start, LOWER, UPPER) for start in starts]
    for z, value in ends:
        assert np.max(constraint_functions(z)[0]) < 1e-9
        assert value == banana(z)[0]
    best = min(value for _, value in ends)
    assert lowest - 0.05 < best <= lowest


def test_units_of_function_and_constraints_do_not_matter():
    def small(z):
        value, gradient = banana(z)
        return 1e-12 * value, 1e-12 * gradient

    def large(z):
        values, gradients = circle(0.5)(z)
        return 1e9 * values, 1e9 * gradients

    plain, _ = minimize_slsqp(banana, circle(0.5), np.array([-0.5, -0.3]), LOWER, UPPER)
    scaled, _ = minimize_slsqp(small, large, np.array([-0.5, -0.3]), LOWER, UPPER)
    np.testing.assert_allclose(scaled, plain, atol=1e-6)


def test_constraints_that_cannot_be_met_are_violated_least():
    def constraint_functions(z):  # a >= 0.5 and a <= -0.5, the latter with twice the weight; b below 0
        return np.array([0.5 - z[0], 2 * (z[0] + 0.5), z[1]]), np.array([[-1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])

    z = least_violation(constraint_functions, np.array([0.3, 0.7]), LOWER, UPPER)
    np.testing.assert_allclose(np.sum(np.maximum(constraint_functions(z)[0], 0)), 1.0, atol=1e-9)  # at a = -0.5


def test_hard_constraints_hold():
    def soft(z):
        return np.array([0.9 - z[0]]), np.array([[-1.0, 0.0]])

    z = least_violation(soft, np.zeros(2), LOWER, UPPER, hard=circle(0.5))
    np.testing.assert_allclose(z, [0.3, -0.1], atol=1e-6)


def test_a_function_without_a_value_stays_where_it_is():
    start = np.array([0.1, 0.1])
    z, _ = minimize_slsqp(lambda z: (np.nan, np.zeros(2)), circle(0.5), start, LOWER, UPPER)
    np.testing.assert_array_equal(z, start)


def test_a_function_with_jumps_terminates():
    def steps(z):
        return np.array([np.floor(8 * z[0]) / 8 + np.floor(8 * z[1]) / 8]), np.array([[1e6, -1e6 * (z[0] > 0)]])

    z, value = minimize_slsqp(banana, steps, np.array([-0.5, -0.3]), LOWER, UPPER)
    assert np.all(np.isfinite(z))
    assert np.isfinite(value)


class TestRestoreFeasibility:
    def allowed(self, z):
        return bool(np.all(cut(z)[0] <= 0))

    def test_a_feasible_point_stays(self):
        x = np.array([-0.5, 0.1])
        assert restore_feasibility(x, None, self.allowed, cut, LOWER, UPPER) is x

    def test_with_gradients_it_ends_nearby(self):
        x = np.array([0.2999, 1e-6])  # in the disc; the way back to the inside point leads through it
        back = restore_feasibility(x, np.array([-0.8, 0.0]), self.allowed, cut, LOWER, UPPER, margin=1e-15)
        assert self.allowed(back)
        assert np.linalg.norm(back - x) < 2e-4

    def test_without_gradients_it_ends_between_the_point_and_the_inside(self):
        x, inside = np.array([0.9, 0.9]), np.array([0.0, -0.5])
        back = restore_feasibility(x, inside, self.allowed, None, LOWER, UPPER)
        assert self.allowed(back)
        (a, b), (c, d) = back - inside, x - inside
        assert abs(a * d - b * c) < 1e-12  # on the line between them
        assert not self.allowed(back + 1e-9 * (x - inside))

    def test_none_if_no_feasible_point_is_found(self):
        assert restore_feasibility(np.array([0.9, 0.9]), None, self.allowed, None, LOWER, UPPER) is None
