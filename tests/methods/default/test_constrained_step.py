"""Steps of trust regions under constraints, compared with dense grids of their models."""

import dataclasses

import numpy as np
import pytest

import dale
from dale.methods.default.constrained_step import constrained_step
from dale.methods.default.local_model import LOG_EI, LocalProblem
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


def problem(X, y, C, *, domain=None, failures=0, target=None, radius=0.2, long_steps=True):
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
        settings=TaylorSettings(allow_long_steps=long_steps),
    )


def step(X, y, C, **details):
    return constrained_step(problem(X, y, C, **details), np.random.default_rng(1))


def domain_of(constraints):
    space = as_space([(0, 1)] * 2)
    return Domain.of(space, as_constraints(constraints, space))


def lowest_on_a_grid(p, kappa):
    """The lowest mean on a dense grid of the box, where the outcome constraints are predicted to hold."""
    points = p.frame.to_cube(GRID)
    inside = np.all((points >= 0) & (points <= 1), axis=1)
    for model, value in zip(p.constraint_models, p.constraints[p.center], strict=True):
        Z = model.frame.to_local(points)
        mean, std = model.predict(Z)
        inside &= value + mean + kappa * (std + model.remainder(np.linalg.norm(Z, axis=1))) <= 0
    return np.min(p.objective.predict(GRID)[0][inside])


@pytest.mark.parametrize("seed", range(3))
def test_the_lowest_mean_under_constraints_is_that_of_a_dense_grid(seed):
    X, y, C = observations(seed=seed)
    found = step(X, y, C, failures=1)  # an odd number: the step goes to the lowest mean
    lowest = lowest_on_a_grid(problem(X, y, C), kappa=2)  # it grows with the failures
    assert lowest - 0.05 * abs(lowest) < found.lowest <= lowest + 1e-9
    assert constraint(found.point[None, :])[0, 0] <= 1e-6  # the model is accurate here


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("center", [(0.45, 0.45), (0.02, 0.4)], ids=["inside", "next to a face"])
def test_a_step_in_a_shape(seed, center):
    """A narrow valley under an outcome constraint: no higher than on a dense grid of the box and the cube."""
    X, _, _ = observations(n=20, center=center, seed=seed)
    X = np.clip(X, 0, 1)
    y = 300 * (X[:, 0] + X[:, 1] - 0.85) ** 2 + X[:, 0]
    C = (X[:, :1] - center[0] - 0.1 * (X[:, 1:] - center[1])) * -1 - 0.03  # the valley's bottom lies beyond it
    details = problem(X, y, C, failures=1, radius=0.1, long_steps=False)
    found = constrained_step(details, np.random.default_rng(1))
    assert found.model.frame.shape is not None
    lowest = lowest_on_a_grid(details, kappa=2)
    at_face = found.point[0] == 0  # held there, the box has another orientation
    assert found.lowest <= lowest + (0.01 if at_face else 1e-9) * abs(lowest)
    assert at_face == (center[0] < 0.1)
    assert np.all((found.point >= 0) & (found.point <= 1))
    assert 300 * (found.point.sum() - 0.85) ** 2 + found.point[0] - y[0] == pytest.approx(found.mean, rel=0.05)


def valley(X):
    """A valley along (1, -1), with condition number 100; its bottom is outside the square and of the constraint."""
    return np.log1p(100 * (X[:, 0] + X[:, 1] - 0.9) ** 2 + (X[:, 0] - X[:, 1] - 2) ** 2)


@pytest.mark.parametrize("center", [(0.45, 0.45), (0.89, 0.02), (0.97, 0.2)], ids=["inside", "corner", "face"])
@pytest.mark.parametrize("constrained", [True, False])
def test_the_lowest_mean_in_a_shape_is_that_of_a_dense_grid(center, constrained):
    """The box is cut by the faces of the cube, and by the constraint."""
    X = np.clip(observations(n=30, center=center)[0], 0, 1)
    y, C = valley(X), constraint(X)[:, : 1 if constrained else 0] - (0.4 if center[0] > 0.5 else 0.0)
    p = problem(X, y, C, failures=1)
    assert p.frame.shape is not None
    found = constrained_step(p, np.random.default_rng(1))
    lowest = lowest_on_a_grid(p, kappa=2)
    assert lowest - 0.1 * abs(lowest) < found.lowest <= lowest + 1e-9
    assert np.all((found.point >= 0) & (found.point <= 1))
    np.testing.assert_allclose(found.mean, found.lowest)


@pytest.mark.parametrize("seed", range(3))
def test_a_constraint_without_the_valley_of_the_objective_stays_in_a_ball(seed):
    """A valley of the objective says nothing about the constraint, whose own curvature is the same all round."""
    X = observations(n=30, seed=seed)[0]
    y, C = valley(X), np.exp(-20 * np.sum((X - 0.4) ** 2, axis=1, keepdims=True)) - 0.5
    p = problem(X, y, C)
    assert p.frame.shape is not None
    assert p.constraint_models[0].frame.shape is None
    same = problem(X, y, 0.01 * y[:, None])
    np.testing.assert_array_equal(same.constraint_models[0].frame.shape, same.frame.shape)


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


MIXED = dale.Space(c=dale.Choice(["a", "b"]), n=dale.Int(0, 20), x=(0, 1), y=(0, 1))


def mixed_problem(seed, *, domain, outcome, target=None):
    """A narrow valley in an integer and two real numbers, under a constraint of the two."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    A = np.sqrt(np.array([10.0, 300.0, 9000.0]))[:, None] * Q.T
    X = 0.5 + 0.3 * rng.normal(size=(60, 3)) / np.sqrt(np.array([1.0, 5.0, 30.0])) @ Q.T
    X = domain.snap(np.column_stack([np.full(60, 0.25), np.clip(X, 0, 1)]))
    y = np.log1p(np.sum(((X[:, 1:] - 0.47) @ A.T) ** 2, axis=1))
    C = (X[:, 2] + X[:, 3] ** 2 - 0.75)[:, None]
    center = int(np.argmin(np.where(C[:, 0] <= 0, y, np.inf)))
    return dataclasses.replace(
        problem(X, y - y[center], C if outcome else C[:, :0], domain=domain, radius=0.12),
        center=center,
        region=TrustRegion(X[center], 0.12),
        pending=X[:0],
        target=0.0 if target is None else target,
    )


@pytest.mark.parametrize("seed", [1, 6, 7])  # of observations that tell a shape
@pytest.mark.parametrize("kind", ["input", "outcome", "infeasible"])
def test_a_step_in_a_shape_ends_at_an_allowed_point_of_a_mixed_domain(seed, kind):
    constraints = as_constraints(lambda p: p["x"] + p["y"] ** 2 - 0.75, MIXED) if kind == "input" else None
    domain = Domain.of(MIXED, constraints)
    p = mixed_problem(seed, domain=domain, outcome=kind != "input", target=np.inf if kind == "infeasible" else None)
    assert p.frame.shape is not None
    found = constrained_step(p, np.random.default_rng(seed))
    x = found.point
    np.testing.assert_array_equal(domain.snap(x[None, :])[0, :2], x[:2])  # the option and the integer, bit for bit
    assert np.all((x >= 0) & (x <= 1))
    assert x[0] == p.frame.center[0]
    assert not np.any(np.all(x == p.X, axis=1))
    if kind == "input":
        assert x[2] + x[3] ** 2 - 0.75 <= 0
    # No snapped point of the box is better, where the constraints are predicted to hold with the same margin.
    if kind != "infeasible":
        assert found.log_ei > best_of_draws(p, kind) - 1e-6


def best_of_draws(p, kind):
    """The highest log acquisition of random points of the domain in the region."""
    Z = np.where(p.movable, np.random.default_rng(0).uniform(-1, 1, (2000, 4)), 0.0)
    X = p.domain.snap(np.clip(p.frame.to_cube(Z), 0, 1))
    X = X[p.frame.contains(X) & p.domain.allowed(X) & np.any(p.frame.center != X, axis=1)]
    log_ei = LOG_EI(p.objective.predict(p.frame.to_local(X)), p.target - float(p.y[p.center]))
    for model, value in zip(p.constraint_models, p.constraints[p.center], strict=True):
        mean, std = model.predict(model.frame.to_local(X))
        log_ei = np.where(value + mean + 2 * std > 0, -np.inf, log_ei)
    assert np.isfinite(log_ei).any(), kind
    return np.max(log_ei)


@pytest.mark.parametrize("kind", ["input", "outcome"])
@pytest.mark.parametrize("shapes", [True, False])
def test_neighbouring_integers_are_reached_however_small_the_region_is(kind, shapes):
    """The center is the best point of its integer; under the constraint, the next integer is better."""
    space = dale.Space(n=dale.Int(0, 10), x=(0, 1))
    constraints = as_constraints(lambda p: p["x"] - 0.6, space) if kind == "input" else None
    domain, rng = Domain.of(space, constraints), np.random.default_rng(0)
    best = domain.snap(np.array([[0.5, 0.5]]))[0, 0]

    def fun(X):
        return np.log1p(400 * (X[:, 1] - 0.5 + 0.6 * (X[:, 0] - best)) ** 2 + 4 * (X[:, 0] - best) ** 2)

    n = domain.snap(np.column_stack([rng.uniform(0.2, 0.8, 60), np.zeros(60)]))[:, 0]
    center = [best - 1 / 11, 0.5 + 0.6 / 11]
    X = np.vstack([center, np.column_stack([n, 0.5 - 0.6 * (n - best) + rng.uniform(-0.05, 0.05, 60)])])
    X = domain.snap(X)
    X = X[fun(X) >= fun(X[:1])]
    if not shapes:  # in a ball, the observations with this integer are near enough to count as exploration
        X = X[X[:, 0] != best]
    C = X[:, 1:] - 0.6 if kind == "outcome" else X[:, :0]
    p = dataclasses.replace(
        problem(X, fun(X) - fun(X[:1]), C, domain=domain, radius=0.02), settings=TaylorSettings(shapes=shapes)
    )
    assert (p.frame.shape is not None) == shapes
    found = constrained_step(p, rng)
    assert found.point[0] != p.frame.center[0]
    if shapes:  # along the valley
        np.testing.assert_allclose(found.point, [best, 0.5], atol=0.01)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("flat", [1e-4, 1e-5, 1e-6])
def test_a_step_finds_the_slope_along_the_boundary(flat, seed):
    """Steep across the boundary, 1e7 to 1e9 times flatter along it."""
    X = observations(n=20, seed=seed)[0]
    across, along = X.sum(axis=1) - 0.9 - 1e-9, X[:, 0] - X[:, 1]
    found = step(X, -1e3 * across + flat * (along - 0.1) ** 2, across[:, None], failures=1, radius=0.1)
    assert found.point @ [1, -1] == pytest.approx(0.1, abs=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_after_infeasible_steps_a_part_of_the_room_is_kept(seed):
    X, y, C = observations(seed=seed)
    for n, reserve in [(0, 0.0), (1, 0.1), (2, 0.2), (4, 0.8), (9, 0.8)]:
        found = constrained_step(problem(X, y, C, failures=1), np.random.default_rng(1), n)
        room = constraint(found.point[None, :])[0, 0] / C[0, 0]
        assert room == pytest.approx(reserve, abs=0.01)  # the model is accurate here


def test_after_infeasible_steps_a_violation_is_more_than_removed():
    X, y, C = observations()
    X, y, C = X[C[:, 0] > -0.2], y[C[:, 0] > -0.2], C[C[:, 0] > -0.2] + 0.3
    assert C[0, 0] > 0
    for n, reserve in [(0, 0.0), (2, 0.2)]:
        p = problem(X, y, C, failures=1, target=np.inf)
        found = constrained_step(p, np.random.default_rng(1), n)
        assert constraint(found.point[None, :])[0, 0] + 0.3 <= -reserve * C[0, 0] + 1e-3


@pytest.mark.parametrize("seed", range(3))
def test_a_step_without_the_margin_if_it_promises_more(seed):
    """The center is on a wavy boundary, and observations say little about how it continues."""
    X = observations(n=7, seed=seed)[0]
    y, C = -X[:, 0] - 0.3 * X[:, 1], X[:, :1] + 0.05 * np.sin(40 * X[:, 1:])
    p = problem(X, y, C - C[0] - 1e-6, failures=1, radius=0.1, long_steps=False)
    bold, cautious = (constrained_step(p, np.random.default_rng(1), n) for n in (0, 1))
    assert bold.lowest < 2 * cautious.lowest < 0
    assert bold.lowest >= lowest_on_a_grid(p, kappa=0) - 0.05 * abs(bold.lowest)
