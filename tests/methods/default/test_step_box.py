"""Where a step may end: minima in shaped boxes that the cube cuts, against bounded least squares of SciPy."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize

from dale.methods.default.step_box import FACE_TOLERANCE, N_DRAWS, StepBox
from dale.models.ellipsoid import Ellipsoid
from dale.optim.projected_newton import FunctionValues, Tolerance

EXACT = Tolerance(gtol=1e-15, ftol=1e-15)
FAR = 1e3  # a reach that no minimum needs


def rotation(rng, d):
    return np.linalg.qr(rng.normal(size=(d, d)))[0]


def random_frame(rng, d, *, shaped=True, aspect=30.0):
    """Close to several faces of the cube, in radii."""
    radius = 10 ** rng.uniform(-4, -0.7)
    distance = np.where(rng.random(d) < 0.6, np.minimum(0.7 * radius * rng.random(d), 0.5), 0.1 + 0.4 * rng.random(d))
    axes = np.geomspace(1, aspect, d)
    shape = rotation(rng, d) * (axes / np.prod(axes) ** (1 / d)) if shaped else None
    return Ellipsoid(np.where(rng.random(d) < 0.5, distance, 1 - distance), radius, shape)


def quadratic(B, lowest):
    """|B (z - lowest)|^2 / 2 with its derivatives."""
    H = B.T @ B

    def fun(Z):
        E = (Z - lowest) @ B.T
        return FunctionValues(np.sum(E * E, axis=1) / 2, E @ B, np.tile(H, (len(Z), 1, 1)))

    return fun


def random_quadratic(rng, d, size, condition=1e3):
    """A matrix B of any orientation, and a lowest point."""
    B = np.geomspace(1, np.sqrt(condition), d)[:, None] * rotation(rng, d)
    return B, size * rng.normal(size=d)


def linear_map(frame):
    """x = c + A z."""
    return frame.radius * (np.eye(len(frame.center)) if frame.shape is None else frame.shape)


def lowest_in_cube(frame, B, lowest):
    """The minimum in the cube alone: bounded least squares in x, and its value."""
    A = linear_map(frame)
    C = np.linalg.solve(A.T, B.T).T * frame.radius  # so that B (z - lowest) = C (x - x_lowest) / D
    target = C @ (frame.center + A @ lowest) / frame.radius
    found = lsq_linear(C / frame.radius, target, (0.0, 1.0), method="bvls", tol=1e-15)
    return found.x, found.cost


def everything_moves(frame, reach=1.0):
    return StepBox(frame, np.ones(len(frame.center), dtype=bool), reach)


def n_faces(x):
    return int(np.sum((x == 0) | (x == 1)))


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("shaped", [False, True], ids=["ball", "shape"])
def test_a_minimum_in_the_cube_is_that_of_bounded_least_squares(d, shaped):
    """Inside, on faces, on edges and in corners, from one start or from several."""
    seen = set()
    for seed in range(60):
        rng = np.random.default_rng([seed, d])
        frame = random_frame(rng, d, shaped=shaped and d > 1)
        B, lowest = random_quadratic(rng, d, size=rng.choice([0.3, 1.0, 3.0]))
        box = everything_moves(frame, FAR)
        starts = np.vstack([np.zeros(d), box.inside(rng.uniform(-1, 1, (2, d)))])[: 1 + 2 * (seed % 2)]
        z, value = box.minimize(quadratic(B, lowest), starts, EXACT)
        x, expected = lowest_in_cube(frame, B, lowest)
        at_start = float(quadratic(B, lowest)(np.zeros((1, d))).value[0])
        assert value == pytest.approx(expected, rel=1e-8, abs=1e-12 * at_start)
        np.testing.assert_allclose(box.point(z), x, atol=1e-7 * frame.radius)
        seen.add(n_faces(box.point(z)))
    assert seen == set(range(d + 1)) if d < 5 else seen >= set(range(4)), seen


@pytest.mark.parametrize("d", [2, 3, 5])
def test_a_minimum_far_from_the_faces_is_that_of_the_box(d):
    """Of the box |z_i| <= reach, on whose sides it may lie."""
    at_sides = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, d])
        frame = Ellipsoid(np.full(d, 0.5), 0.01, random_frame(rng, d).shape)
        B, lowest = random_quadratic(rng, d, size=1.0)
        for reach in (1.0, 2.5):
            z, value = everything_moves(frame, reach).minimize(quadratic(B, lowest), np.zeros((1, d)), EXACT)
            expected = lsq_linear(B, B @ lowest, (-reach, reach), method="bvls", tol=1e-15)
            np.testing.assert_allclose(z, expected.x, atol=1e-7)
            assert value == pytest.approx(expected.cost, rel=1e-9, abs=1e-12)
            at_sides += np.max(np.abs(z)) == pytest.approx(reach, rel=1e-9)
    assert 5 < at_sides < 40


def lowest_in_box_and_cube(frame, B, lowest):
    """The minimum value by SLSQP, in units of the radius."""
    d, A, size = len(lowest), linear_map(frame) / frame.radius, np.linalg.norm(B) ** 2
    room = frame.center / frame.radius, (1 - frame.center) / frame.radius
    found = minimize(
        lambda z: np.sum((B @ (z - lowest)) ** 2) / 2 / size,
        np.zeros(d),
        jac=lambda z: B.T @ (B @ (z - lowest)) / size,
        method="SLSQP",
        bounds=[(-1, 1)] * d,
        constraints={
            "type": "ineq",
            "fun": lambda z: np.append(room[0] + A @ z, room[1] - A @ z),
            "jac": lambda z: np.vstack([A, -A]),
        },
        options={"ftol": 1e-15, "maxiter": 500},
    )
    return found.fun * size


@pytest.mark.parametrize("d", [2, 3, 5])
def test_where_box_and_cube_both_bind(d):
    """The end lies in the cube and in the ball around the box, and is no higher than any start.

    With a coordinate held at a face the box has another orientation, so the reduction differs from that in the exact
    intersection; in nine of ten cases by less than a tenth, and it is as often larger.
    """
    at_faces, gain = 0, []
    for seed in range(60):
        rng = np.random.default_rng([seed, d])
        frame = random_frame(rng, d)
        B, lowest = random_quadratic(rng, d, size=1.0)
        box, fun = everything_moves(frame), quadratic(B, lowest)
        starts = np.vstack([np.zeros(d), box.inside(rng.uniform(-1, 1, (3, d)))])
        z, value = box.minimize(fun, starts, EXACT)
        x = frame.to_cube(z)
        assert np.all((x >= -FACE_TOLERANCE * frame.radius) & (x <= 1 + FACE_TOLERANCE * frame.radius))
        assert np.linalg.norm(z) <= np.sqrt(d) * (1 + 1e-9)
        assert value == pytest.approx(float(fun(z[None]).value[0]), rel=1e-12)
        values = fun(starts).value
        assert value <= np.min(values)
        assert value >= lowest_in_cube(frame, B, lowest)[1] - 1e-9 * values[0]
        at_faces += n_faces(box.point(z)) > 0
        gain.append((values[0] - value) / (values[0] - lowest_in_box_and_cube(frame, B, lowest)))
    assert at_faces > 15
    assert np.quantile(np.abs(np.array(gain) - 1), 0.9) < 0.1, gain
    assert np.median(gain) == pytest.approx(1, abs=1e-6)
    assert np.mean(gain) == pytest.approx(1, abs=0.03)


def test_a_face_is_left_where_the_function_falls_inwards():
    """Held for its violation at first, it does not bind once another face is held.

    The minimum violates both faces of a corner, x_0 most; on the face of x_1 alone it has x_0 > 0.
    """
    frame = Ellipsoid(np.array([0.02, 0.02]), 0.1, np.array([[1.25, 0.75], [0.75, 1.25]]))
    A = linear_map(frame)
    H = np.array([[1.0, -0.9], [-0.9, 1.0]])  # in x
    B = np.linalg.cholesky(H).T @ A
    lowest = np.linalg.solve(A, np.array([-0.05, -0.04]) - frame.center)
    held_first = np.argmax(-frame.to_cube(lowest))
    box = everything_moves(frame, FAR)
    z, _ = box.minimize(quadratic(B, lowest), np.zeros((1, 2)), EXACT)
    x, _ = lowest_in_cube(frame, B, lowest)
    np.testing.assert_allclose(box.point(z), x, atol=1e-12)
    corners = 0
    for seed in range(200):  # corners of both kinds: reached, and left again
        rng = np.random.default_rng(seed)
        B, lowest = random_quadratic(rng, 2, 2.0, condition=100)
        z, _ = box.minimize(quadratic(B, lowest), np.zeros((1, 2)), EXACT)
        x, _ = lowest_in_cube(frame, B, lowest)
        np.testing.assert_allclose(box.point(z), x, atol=1e-8)
        worst = int(np.argmax(-frame.to_cube(lowest)))
        corners += bool(np.all(frame.to_cube(lowest) < 0) and x[worst] > 0)
    assert held_first == 0
    assert corners > 0


@pytest.mark.parametrize("radius", [0.01, 1e-3, 1e-6])
@pytest.mark.parametrize("aspect", [10.0, 1e3])
def test_a_narrow_valley_that_runs_into_a_face(radius, aspect):
    """In the shape of the valley the minimum in the cube is found to the last digits, exactly on the face."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        d = 2 + seed % 3
        Q, axes = rotation(rng, d), np.geomspace(aspect, 1, d)
        shape, i = Q * (axes / np.prod(axes) ** (1 / d)), int(np.argmax(np.abs(Q[:, 0])))  # it points to face i
        center, side = np.full(d, 0.5), float(seed % 2)
        center[i] = abs(side - 0.5 * radius * abs(shape[i, 0]))  # half the length of the valley from the face
        frame = Ellipsoid(center, radius, shape)
        lowest = 3.0 * np.eye(d)[0] * np.sign(Q[i, 0]) * (1 if side else -1) + 0.1 * rng.normal(size=d)
        box = everything_moves(frame, 8.0)
        z, value = box.minimize(quadratic(np.eye(d), lowest), np.zeros((1, d)), EXACT)
        x, expected = lowest_in_cube(frame, np.eye(d), lowest)
        assert box.point(z)[i] == side == pytest.approx(x[i], abs=1e-12)
        assert value == pytest.approx(expected, rel=1e-9)
        a = linear_map(frame)[i]  # the point of the face that is nearest to the lowest one, in z
        nearest = lowest + a * (side - center[i] - a @ lowest) / (a @ a)
        np.testing.assert_allclose(z, nearest, atol=1e-9)


@pytest.mark.parametrize("shaped", [False, True], ids=["ball", "shape"])
def test_held_coordinates_keep_the_values_of_their_start(shaped):
    """One of several starts, each with its own values; those that do not move keep the center's."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        d = 4
        frame = random_frame(rng, d, shaped=shaped, aspect=5.0)
        held, movable = np.array([False, True, False, False]), np.array([True, True, True, False])
        box = StepBox(frame, movable, FAR)
        B, lowest = random_quadratic(rng, d, 1.0, condition=30)
        fun = quadratic(B, lowest)
        starts = box.inside(rng.uniform(-0.5, 0.5, (3, d)))
        X = frame.to_cube(starts)
        z, value = box.minimize(fun, starts, EXACT, held=held)
        x = frame.to_cube(z)
        nearest = int(np.argmin(np.abs(x[1] - X[:, 1])))
        assert x[1] == pytest.approx(X[nearest, 1], rel=0, abs=1e-13)
        assert x[3] == pytest.approx(frame.center[3], rel=0, abs=1e-13)
        assert box.point(z)[3] == frame.center[3]
        if not shaped:
            assert (z[1], z[3]) == (starts[nearest, 1], 0.0)
        free = ~held & movable
        A = linear_map(frame)
        C = np.linalg.solve(A.T, B.T).T
        target = C @ (frame.center + A @ lowest - np.where(free, 0.0, X[nearest]))
        expected = lsq_linear(C[:, free], target, (0.0, 1.0), method="bvls", tol=1e-15).cost
        assert value == pytest.approx(expected, rel=1e-7, abs=1e-12)


def test_all_coordinates_held():
    frame = random_frame(np.random.default_rng(0), 3)
    z, _ = everything_moves(frame).minimize(
        quadratic(np.eye(3), np.ones(3)), np.zeros((1, 3)), EXACT, held=np.ones(3, dtype=bool)
    )
    np.testing.assert_allclose(z, 0.0, atol=1e-12)


def test_functions_without_a_value_somewhere():
    """A start with NaN is left; infinite values, too."""
    frame = random_frame(np.random.default_rng(1), 2)

    def torn(Z):
        value, gradient, hessian = quadratic(np.eye(2), np.array([0.2, -0.1]))(Z)
        return FunctionValues(np.where(Z[:, 0] < -0.05, np.nan, value), gradient, hessian)

    box = everything_moves(frame)
    starts = np.array([[-0.1, 0.0], [0.0, 0.0]])
    z, value = box.minimize(torn, starts, EXACT)
    assert value < 0.0251
    assert z[0] >= -0.05
    z, value = box.minimize(torn, starts[:1], EXACT)
    assert not value < np.inf
    np.testing.assert_allclose(z, starts[0])


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("shaped", [False, True], ids=["ball", "shape"])
def test_draws_lie_in_box_and_cube(d, shaped):
    """Half of them closer to the center; coordinates that do not move keep the center's values."""
    for seed in range(20):
        rng = np.random.default_rng([seed, d])
        frame = random_frame(rng, d, shaped=shaped and d > 1)
        movable = rng.random(d) < 0.7
        box = StepBox(frame, movable, reach=rng.choice([0.5, 1.0, 3.0]))
        Z = box.draws(rng)
        X = frame.to_cube(Z)
        assert Z.shape == (N_DRAWS, d)
        assert np.max(np.abs(X - 0.5)) <= 0.5 + 1e-12
        np.testing.assert_allclose(X[:, ~movable], np.tile(frame.center[~movable], (N_DRAWS, 1)), rtol=0, atol=1e-14)
        if frame.shape is None or movable.all():
            assert np.max(np.abs(Z)) <= box.reach * (1 + 1e-9)
        if movable.all():
            assert len(np.unique(Z, axis=0)) == N_DRAWS
            norms = np.max(np.abs(Z), axis=1)
            assert np.median(norms[::2]) < np.median(norms[1::2])


def test_points_outside_the_cube_are_pulled_back_to_its_face():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        frame = random_frame(rng, 3)
        box = everything_moves(frame)
        Z = rng.uniform(-1, 1, (50, 3))
        inside, X = box.inside(Z), frame.to_cube(Z)
        outside = np.any((X < 0) | (X > 1), axis=1)
        np.testing.assert_allclose(inside[~outside], Z[~outside], atol=1e-9)
        ratio = np.linalg.norm(inside, axis=1) / np.linalg.norm(Z, axis=1)
        np.testing.assert_allclose(inside, ratio[:, None] * Z, atol=1e-8)
        assert np.all(ratio[outside] < 1)
        ends = frame.to_cube(inside[outside])
        np.testing.assert_allclose(np.max(np.abs(ends - 0.5), axis=1), 0.5, atol=1e-12)


@pytest.mark.parametrize("shaped", [False, True], ids=["ball", "shape"])
@pytest.mark.parametrize("radius", [0.4, 1e-3, 1e-7])
def test_a_point_at_a_face_lies_on_it_exactly(shaped, radius):
    """And no point lies outside the cube, whatever the rounding errors."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        shape = rotation(rng, 3) * np.array([4.0, 1.0, 0.25]) if shaped else None
        center = np.array([0.3 * radius, 1 - 0.3 * radius, rng.uniform(0.3, 0.7)])
        box = everything_moves(Ellipsoid(center, radius, shape))
        target = np.array([0.0, 1.0, center[2] + 0.1 * radius])
        x = box.point(box.frame.to_local(target))
        assert (x[0], x[1]) == (0.0, 1.0)
        assert x[2] == pytest.approx(target[2], abs=1e-14)
        near = box.point(box.frame.to_local(np.array([0.1 * radius, 1 - 0.1 * radius, target[2]])))
        assert n_faces(near) == 0
        beyond = box.point(box.frame.to_local(np.array([-1e-9 * radius, 1 + 1e-9 * radius, target[2]])))
        assert (beyond[0], beyond[1]) == (0.0, 1.0)
