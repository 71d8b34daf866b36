"""The models of a step under constraints, in shapes and balls: coordinates, gradients, faces of the cube."""

import dataclasses

import numpy as np
import pytest

from dale.methods.default.constrained_models import ConstrainedModels
from dale.methods.default.step_box import StepBox
from dale.models.ellipsoid import Ellipsoid
from dale.models.taylor import TaylorModel
from dale.space.constraints import as_constraints
from dale.space.domain import Domain
from dale.space.space import as_space

CENTER = np.array([0.3, 0.6, 0.5])
FRAME = Ellipsoid(CENTER, 0.1, np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0] * [2.0, 1.0, 0.5])
BALL = dataclasses.replace(FRAME, shape=None)
X = CENTER + 0.3 * (np.random.default_rng(1).random((25, 3)) - 0.5)
VALUES = np.array([-0.2, -0.1])


def fitted(frame, fun):
    return TaylorModel.fit(frame, X, fun(X), float(fun(CENTER[None, :])[0]))


def bumps(X):
    return np.sin(4 * X @ [1.0, 2.0, -1.0]) + X[:, 0] ** 2


def slope(X):
    return np.exp(X @ [1.0, -1.0, 0.5])


def models(objective, outcomes, *, allowed_set=None):
    """Models in these frames."""
    return ConstrainedModels(
        objective=fitted(objective, bumps),
        outcomes=tuple(fitted(frame, slope) for frame in outcomes),
        values=VALUES[: len(outcomes)],
        box=StepBox(objective, np.ones(3, dtype=bool)),
        allowed_set=allowed_set,
        kappa=1.5,
    )


def central_differences(fun, z, h=1e-6):
    return np.stack([(fun(z + step) - fun(z - step)) / (2 * h) for step in h * np.eye(len(z))], axis=-1)


FRAMES = {"ball": (BALL, (BALL, BALL)), "shape": (FRAME, (FRAME, FRAME)), "both": (FRAME, (FRAME, BALL))}


@pytest.mark.parametrize("frames", FRAMES.values(), ids=FRAMES)
def test_predictions_are_those_of_each_model_at_the_same_point_of_the_cube(frames):
    m = models(*frames)
    Z = np.random.default_rng(2).uniform(-1, 1, (5, 3))
    points = m.box.frame.to_cube(Z)
    means, stds = m.predict_outcomes(Z)
    for model, value, mean, std in zip(m.outcomes, VALUES, means, stds, strict=True):
        expected = model.predict(model.frame.to_local(points))
        np.testing.assert_allclose(mean, value + expected.mean, rtol=1e-9)
        np.testing.assert_allclose(std, expected.std, rtol=1e-6)
    for z, x, mean, std in zip(Z, points, means.T, stds.T, strict=True):
        one = m.predictions(z)
        np.testing.assert_allclose(one[0][1:] + VALUES, mean, rtol=1e-9)
        np.testing.assert_allclose(one[1][1:], std, rtol=1e-9)
        np.testing.assert_allclose(one[0][0], m.objective.predict(m.objective.frame.to_local(x[None, :])).mean[0])
    assert m.log_feasible(Z).shape == (5,)
    np.testing.assert_allclose(m.violation(Z), np.sum(np.maximum(means, 0), axis=0))


@pytest.mark.parametrize("frames", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("name", ["outcome_constraints", "input_constraints", "constraints"])
def test_gradients_of_constraints(frames, name):
    space = as_space([(0, 1)] * 3)
    domain = Domain.of(space, as_constraints(lambda x: x[0] + x[1] ** 2 - 0.8, space))
    m = models(*frames, allowed_set=domain.allowed_set)
    for z in np.random.default_rng(3).uniform(-1, 1, (4, 3)):
        values, gradients = getattr(m, name)(z)
        expected = central_differences(lambda z: getattr(m, name)(z)[0], z)
        np.testing.assert_allclose(gradients, expected, rtol=1e-5, atol=1e-7)
        assert len(values) == len(gradients)


@pytest.mark.parametrize("frames", FRAMES.values(), ids=FRAMES)
def test_gradients_of_the_objective(frames):
    m = models(*frames)
    for z in np.random.default_rng(4).uniform(-1, 1, (4, 3)):
        for fun in (m.mean, m.negative_log_ei(0.1)):
            expected = central_differences(lambda z, fun=fun: fun(z)[0], z)
            np.testing.assert_allclose(fun(z)[1], expected, rtol=1e-5, atol=1e-7)


def test_the_remainder_of_a_model_is_that_of_its_own_metric():
    """h_j minus the mean and std is kappa times the remainder at |z| in the frame, at |S z| in a ball."""
    m = models(*FRAMES["both"])
    z = np.array([0.9, -0.4, 0.2])
    (mean, std, _, _), (h, _) = m.predictions(z), m.outcome_constraints(z)
    for j, (model, own) in enumerate(zip(m.outcomes, (z, FRAME.shape @ z), strict=True)):
        expected = float(model.remainder(float(np.linalg.norm(own))))
        assert expected > 0
        np.testing.assert_allclose((h[j] - VALUES[j] - mean[j + 1]) / m.kappa - std[j + 1], expected, rtol=1e-3)


def test_faces_of_the_cube_are_constraints_in_a_shape_only():
    frame = dataclasses.replace(FRAME, center=np.array([0.05, 0.6, 0.5]))
    shaped = dataclasses.replace(models(*FRAMES["shape"]), box=StepBox(frame, np.array([True, True, False])))
    z = frame.to_local(np.array([-0.01, 0.6, 0.5]))
    values, _ = shaped.input_constraints(z)
    np.testing.assert_allclose(np.sort(values), np.sort([0.01, -0.6, -1.01, -0.4]), atol=1e-12)
    assert not shaped.is_allowed(z)
    assert shaped.is_allowed(frame.to_local(np.array([0.0, 0.6, 0.5])))
    assert len(models(*FRAMES["ball"]).input_constraints(np.zeros(3))[0]) == 0


def test_certain_only_if_every_constraint_is():
    m = models(*FRAMES["both"])
    near = np.full(3, 1e-4)
    assert m.certain(near)
    vague = dataclasses.replace(m.outcomes[1], scale=1e3 * m.outcomes[1].scale)
    assert not dataclasses.replace(m, outcomes=(m.outcomes[0], vague)).certain(np.full(3, 0.9))
