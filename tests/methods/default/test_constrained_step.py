"""Steps of trust regions under constraints, compared with dense grids of their models."""

import dataclasses

import numpy as np
import pytest

import dale
from dale.methods.default.constrained_step import constrained_step
from dale.methods.default.local_model import LocalProblem
from dale.methods.default.settings import TaylorSettings
from dale.methods.default.trust_region import TrustRegion
from dale.space.constraints import as_constraints
from dale.space.domain import Domain
from dale.space.space import as_space

AXIS = np.linspace(-1, 1, 161)
GRID = np.stack(np.meshgrid(AXIS, AXIS, indexing="ij"), axis=-1).reshape(-1, 2)
NONE = np.empty((0, 2))


def objective(X):
    return 3 * (X[:, 0] - 0.7) ** 2 + (X[:, 1] - 0.8) ** 2 + 0.5 * X[:, 0] * X[:, 1]


def constraint(X):
    return (X[:, 0] + X[:, 1] ** 2 - 0.75)[:, None]


def observations(n=14, center=(0.45, 0.45), seed=0):
    X = np.vstack([center, np.asarray(center) + 0.3 * (np.random.default_rng(seed).random((n, 2)) - 0.5)])
    return X, objective(X), constraint(X)


def problem(X, y, C, *, domain=None, failures=0, target=None, radius=0.2):
    return LocalProblem(
        X=X,
        y=y,
        constraints=C,
        center=0,
        region=TrustRegion(X[0], radius, failures),
        pending=NONE,
        domain=domain or Domain.unit(2),
        target=float(y[0]) if target is None else target,
        min_reduction=1e-14,
        settings=TaylorSettings(),
    )


def step(X, y, C, **details):
    return constrained_step(problem(X, y, C, **details), np.random.default_rng(1))


def domain_of(constraints):
    space = as_space([(0, 1)] * 2)
    return Domain.of(space, as_constraints(constraints, space))


@pytest.mark.parametrize("seed", range(3))
def test_the_lowest_mean_under_constraints_is_that_of_a_dense_grid(seed):
    X, y, C = observations(seed=seed)
    found = step(X, y, C, failures=1)  # an odd number: the step goes to the lowest mean
    c_model = problem(X, y, C).fit(C[:, 0], -np.inf)
    mean, std = c_model.predict(GRID)
    remainder = c_model.remainder(np.linalg.norm(GRID, axis=1))
    inside = C[0, 0] + mean + 2 * (std + remainder) <= 0  # kappa grows with the failures
    lowest = np.min(found.model.predict(GRID)[0][inside])
    assert lowest - 0.05 * abs(lowest) < found.lowest <= lowest + 1e-9
    assert constraint(found.point[None, :])[0, 0] <= 1e-6  # the model is accurate here


def test_an_input_constraint_is_satisfied_exactly_and_active():
    X, y, _ = observations()
    domain = domain_of(lambda x: x[0] + x[1] ** 2 - 0.75)
    found = step(X, y, np.empty((len(X), 0)), domain=domain, failures=1)
    left = constraint(found.point[None, :])[0, 0]
    assert -1e-9 < left <= 0


def test_without_an_active_constraint_it_is_the_unconstrained_minimum():
    X = observations()[0]
    y = np.sum((X - 0.5) ** 2, axis=1)
    found = step(X, y, np.full((len(X), 1), -1.0) + 0.01 * X[:, :1])
    np.testing.assert_allclose(found.point, [0.5, 0.5], atol=1e-9)


def test_without_a_feasible_observation_the_step_lowers_the_violation():
    X, y, C = observations(center=(0.7, 0.7))
    found = step(X, y, C, target=np.inf)
    assert np.isfinite(found.violation_reduction)
    assert found.violation_reduction > 0
    there = np.maximum(constraint(found.point[None, :])[0, 0], 0)
    assert there < 0.1 * C[0, 0]
    np.testing.assert_allclose(found.violation_reduction, C[0, 0] - there, atol=0.05 * C[0, 0])


def test_a_step_under_a_boolean_constraint_is_allowed():
    X, y, _ = observations()
    domain = domain_of(lambda x: bool(x[0] + x[1] ** 2 <= 0.75))
    for failures in range(3):
        found = step(X, y, np.empty((len(X), 0)), domain=domain, failures=failures)
        assert constraint(found.point[None, :])[0, 0] <= 0
        assert found.mean < 0


def test_units_of_values_do_not_matter():
    X, y, C = observations()
    one = step(X, y, C, failures=1)
    other = step(X, 2.0**30 * y, C, failures=1)
    np.testing.assert_allclose(other.point, one.point, atol=1e-6)


def test_more_failures_give_a_larger_margin():
    X, y, C = observations(n=6)
    lowest = [step(X, y, C, failures=f).lowest for f in (1, 3, 7)]
    assert lowest[0] <= lowest[1] <= lowest[2] <= 0


@pytest.mark.parametrize("target", [None, np.inf])
def test_inactive_coordinates_do_not_move(target):
    """The second coordinate belongs to a parameter that is inactive at the center."""
    space = dale.Space(a=(0, 1), b=dale.Float(0, 1).when(c="on"), c=dale.Choice(["off", "on"]))
    domain = Domain.of(space)
    X, y, C = observations()
    points = np.array([space.encode({"a": x[0], "c": "off"}) for x in X])
    taken = constrained_step(
        dataclasses.replace(
            problem(X, y, C, domain=domain, target=target),
            X=points,
            pending=points[:0],
            region=TrustRegion(points[0], 0.2),
        ),
        np.random.default_rng(1),
    )
    moved = taken.point != points[0]
    assert moved[0]
    assert not moved[1:].any()
