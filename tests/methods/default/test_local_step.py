"""One step of a trust region: its bounds, its end point and its log EI."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

import dale
from dale.acquisition.expected_improvement import log_expected_improvement
from dale.methods.default.local_model import LocalProblem
from dale.methods.default.local_step import (
    ASIDE,
    LONG_REACH,
    STEP_RESOLUTION,
    _aside,
    best_step,
    is_certain,
    long_box,
    step_box,
)
from dale.methods.default.settings import TaylorSettings, TrustRegionSettings
from dale.methods.default.trust_region import LOW_RATIO, TrustRegion
from dale.models.ellipsoid import Ellipsoid
from dale.models.monomials import n_terms
from dale.models.series import QUADRATIC_RHOS, RHOS, Series
from dale.models.taylor import TaylorModel
from dale.space.domain import Domain

INITIAL_RADIUS = TrustRegionSettings().initial_radius
SHORT_STEPS = TaylorSettings(allow_long_steps=False)


def leaves_its_box(s):
    """Whether it is a long step."""
    return np.max(np.abs(s.z)) > 1 + 1e-9


def step(X, y, radius, pending=None, settings=None, seed=0, **region):
    """The step from the best of these observations."""
    return best_step(problem(X, y, int(np.argmin(y)), radius, pending, settings, **region), np.random.default_rng(seed))


def problem(X, y, center, radius, pending=None, settings=None, **region):
    n, d = X.shape
    return LocalProblem(
        X=X,
        y=y,
        constraints=np.empty((n, 0)),
        center=center,
        region=TrustRegion(X[center], radius, **region),
        pending=np.empty((0, d)) if pending is None else pending,
        domain=Domain.unit(d),
        target=float(np.min(y)),
        min_reduction=0.0,
        settings=settings or TaylorSettings(),
    )


def random_points(d, n, seed, around=None, width=1.0):
    rng = np.random.default_rng([d, n, seed])
    middle = np.full(d, 0.5) if around is None else np.array(around)
    return np.clip(middle + width * (rng.random((n, d)) - 0.5), 0.0, 1.0), rng


def bowl(X, bottom, condition=20.0):
    return np.sum(np.geomspace(1, condition, X.shape[1]) * (X - bottom) ** 2, axis=1)


def valley(X):
    """Narrow, along a diagonal."""
    steep = np.sum(X, axis=1)
    return 100 * (steep - 1.2) ** 2 + bumpy(X)


def bumpy(X):
    return np.sin(5 * X @ np.arange(1, X.shape[1] + 1)) + np.sum((X - 0.4) ** 2, axis=1)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("radius", [0.3, 0.12, 1e-4])
@pytest.mark.parametrize("shapes", [False, True])
def test_a_step_stays_in_the_cube_and_in_its_box(d, radius, shapes):
    """In the shape of the region: |z_i| <= 1, but at a face of the cube, where the box has another orientation."""
    shaped = 0
    for seed in range(8):
        X, _ = random_points(d, 2 * n_terms(d, 2) + 2, seed)
        y = valley(X)
        s = step(X, y, radius, settings=dataclasses.replace(SHORT_STEPS, shapes=shapes), seed=seed)
        frame = s.model.frame
        assert (frame.radius, frame.center.tolist()) == (radius, X[np.argmin(y)].tolist())
        assert np.all((s.point >= 0) & (s.point <= 1))
        at_face = bool(np.any((s.point == 0) | (s.point == 1))) and frame.shape is not None
        assert np.max(np.abs(s.z)) <= (np.sqrt(d) if at_face else 1) * (1 + STEP_RESOLUTION)
        np.testing.assert_allclose(s.point, frame.to_cube(s.z), rtol=0, atol=STEP_RESOLUTION * radius)
        shaped += frame.shape is not None
    assert (shaped > 0) == (shapes and d > 1)


@pytest.mark.parametrize("radius", [0.4, 0.12, 0.03])
def test_a_minimum_on_a_face_is_reached_bit_for_bit(radius):
    """Despite the change of coordinates and the rounding of the step."""
    for seed in range(10):
        X, _ = random_points(3, 30, seed, around=[0.0, 1.0, 0.6], width=radius)
        s = step(X, bowl(X, [-0.4, 1.3, 0.6]), radius, seed=seed)
        assert s.point[0] == 0.0, seed
        assert s.point[1] == 1.0, seed
        assert s.point[2] == pytest.approx(0.6, abs=1e-2 * radius)


@pytest.mark.parametrize("d", [1, 2, 5, 10])
def test_a_linear_function_is_followed_to_its_corner(d):
    """In one step, from a few points more than it has coefficients."""
    for seed in range(10):
        X, rng = random_points(d, d + 4, seed)
        gradients = rng.choice([-1, 1], d) * rng.uniform(0.2, 2, d)
        s = step(X, X @ gradients, INITIAL_RADIUS, seed=seed)
        np.testing.assert_allclose(s.point, np.where(gradients > 0, 0.0, 1.0), atol=1e-7)
        assert leaves_its_box(s) == (np.max(np.abs(s.point - X[np.argmin(X @ gradients)])) > INITIAL_RADIUS)


def rotated_bowl(rng, d):
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return lambda X: bowl(X @ Q, Q.T @ np.full(d, 0.3))


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("radius", [INITIAL_RADIUS, 0.05])
def test_a_quadratic_is_followed_to_its_minimum(d, radius):
    """Far outside a ball, from more points than a quadratic has coefficients; at most one of ten is not recognised."""
    solved = 0
    for seed in range(10):
        X, rng = random_points(d, n_terms(d, 2) + 3, seed, around=np.full(d, 0.75), width=0.5)
        f = rotated_bowl(rng, d)
        s = step(X, f(X), radius, seed=seed, settings=TaylorSettings(shapes=False))
        if f(s.point[None])[0] < 1e-12 * np.ptp(f(X)):
            solved += 1
            assert leaves_its_box(s), seed
            np.testing.assert_allclose(s.point, np.full(d, 0.3), atol=1e-6)
    assert solved >= 9


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("radius", [INITIAL_RADIUS, 0.05])
def test_a_quadratic_is_followed_to_its_minimum_in_a_shape(d, radius):
    """In one step, which may be longer than that of another function: at most one of ten is not recognised."""
    shaped, solved, lengths = 0, 0, []
    for seed in range(10):
        X, rng = random_points(d, n_terms(d, 2) + 3, seed, around=np.full(d, 0.75), width=0.5)
        f = rotated_bowl(rng, d)
        s = step(X, f(X), radius, seed=seed)
        assert leaves_its_box(s), seed
        assert s.mean == pytest.approx(f(s.point[None])[0] - np.min(f(X)), rel=1e-6)
        shaped += s.model.frame.shape is not None
        solved += f(s.point[None])[0] < 1e-9 * np.ptp(f(X))
        lengths.append(np.max(np.abs(s.z)))
    assert shaped >= 5
    assert solved >= 9
    assert max(lengths) > LONG_REACH


def certain_problem(seed, series):
    """A linear function in a narrow region far from the face where it is lowest, with a model of a given series."""
    X, _ = random_points(2, 20, seed, around=[0.2, 0.5], width=0.1)
    local = problem(X, X @ [-1.0, 0.01], int(np.argmax(X[:, 0])), 0.01, shape=np.diag([0.5, 2.0]))
    frame = dataclasses.replace(local.region, center=X[local.center]).ellipsoid
    model = TaylorModel.fit(frame, X, local.y, float(local.y[local.center]))
    vars(local)["objective"] = dataclasses.replace(model, series=series)
    return local


def test_only_a_quadratic_steps_anywhere_in_a_shape():
    """Other series reach so many radii; in a ball all of them step anywhere."""
    z = np.array([1.0, 0.0])
    for seed in range(3):
        far, near = (certain_problem(seed, Series(6, rho)) for rho in (QUADRATIC_RHOS[0], RHOS[-1]))
        box = step_box(near)
        assert long_box(near, box, z).reach == LONG_REACH
        assert long_box(far, box, z).reach == box.frame.reach > LONG_REACH
        assert long_box(near, dataclasses.replace(box, frame=Ellipsoid(box.frame.center, 0.01)), z).reach == 100.0
        corners = box.frame.to_local(np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]))
        assert np.max(np.abs(corners)) <= box.frame.reach


def test_no_long_step_after_a_failure():
    """Which has shown that the model is certain without reason; but a quadratic has the failure among its data."""
    for seed in range(5):
        few, rng = random_points(3, 8, seed, around=np.full(3, 0.75), width=0.5)
        slope = few @ rng.normal(size=3)
        many, rng = random_points(3, n_terms(3, 2) + 3, seed, around=np.full(3, 0.75), width=0.5)
        bowl = rotated_bowl(rng, 3)(many)
        assert leaves_its_box(step(few, slope, 0.05, seed=seed))
        for failures in (1, 2):
            assert not leaves_its_box(step(few, slope, 0.05, seed=seed, failures=failures))
            assert leaves_its_box(step(many, bowl, 0.05, seed=seed, failures=failures))


@pytest.mark.parametrize("d", [2, 3, 5])
def test_long_steps_along_a_kink(d):
    """None in a ball. In a shape they are rare, and lead downhill: three in four reduce the value as a success does."""
    long, ratios = 0, []
    for seed in range(40):
        X, rng = random_points(d, n_terms(d, 2) + 3, seed, around=np.full(d, 0.75), width=0.5)
        across, middle = rng.normal(size=d), np.median(X, axis=0)
        offset = np.median((X - middle) @ across)

        def kink(X, across=across, middle=middle, offset=offset):
            return np.abs((X - middle) @ across - offset) + X[:, 0]

        assert not leaves_its_box(step(X, kink(X), 0.05, settings=TaylorSettings(shapes=False), seed=seed)), seed
        s = step(X, kink(X), 0.05, seed=seed)
        if leaves_its_box(s):
            long += 1
            ratios.append((np.min(kink(X)) - kink(s.point[None])[0]) / -s.mean)
    assert long <= 10
    assert np.sum(np.array(ratios) > LOW_RATIO) >= 0.75 * long, ratios


def test_no_long_step_without_redundant_points():
    X, rng = random_points(4, 5, 0)
    assert not leaves_its_box(step(X, X @ rng.normal(size=4), 0.05))


@pytest.mark.parametrize("n_pending", [0, 2])
@pytest.mark.parametrize("d", [1, 3])
def test_the_log_ei_of_a_step_is_that_of_the_model(d, n_pending):
    for seed in range(5):
        X, rng = random_points(d, 3 * d + 3, seed)
        y, pending = bumpy(X), rng.random((n_pending, d))
        i = int(np.argsort(y)[1])  # from a point that is not the best
        s = best_step(problem(X, y, i, 0.15, pending), rng)
        mean, std = s.model.predict(s.z[None])
        target = np.min(y) - y[i]
        assert target < 0
        assert (s.mean, s.std) == (mean[0], std[0])
        assert s.log_ei == log_expected_improvement(mean, std, target).value[0]
        assert s.lowest <= s.mean + 1e-12


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("fun", [bumpy, valley])
def test_no_random_point_of_the_box_has_a_higher_log_ei(d, fun):
    """Nor a lower mean than the lowest one; in the box and the cube, whatever the shape."""
    for seed in range(5):
        X, _ = random_points(d, 2 * n_terms(d, 2) + 3, seed)
        y = fun(X)
        the_problem = problem(X, y, int(np.argmin(y)), 0.12, settings=SHORT_STEPS)
        s = best_step(the_problem, np.random.default_rng(seed))
        rng = np.random.default_rng(99)
        Z = np.vstack([step_box(the_problem).draws(rng) for _ in range(15)])
        mean, std = s.model.predict(Z)
        if not s.certain:
            assert s.log_ei >= np.max(log_expected_improvement(mean, std, 0.0).value) - 0.05
        assert s.lowest <= np.min(mean) + 1e-12 + 1e-3 * np.ptp(mean)
        assert s.certain == is_certain(s.model, s.z, s.mean) or not s.certain


@pytest.mark.parametrize("failures", [1, 3])
def test_after_an_odd_number_of_failures_the_step_goes_to_the_lowest_mean(failures):
    for seed in range(5):
        X, _ = random_points(2, 12, seed)
        s = step(X, bumpy(X), 0.12, seed=seed, failures=failures)
        assert s.mean <= s.lowest + 1e-4 * abs(s.lowest)
        assert s.lowest < 0


def test_pending_points_move_the_step_away():
    """Steps that are evaluated at the same time are separated."""
    for seed in range(10):
        X, _ = random_points(2, 8, seed)
        y = bumpy(X)
        first = step(X, y, 0.12, seed=seed)
        second = step(X, y, 0.12, first.point[None], seed=seed)
        third = step(X, y, 0.12, np.array([first.point, second.point]), seed=seed)
        assert np.linalg.norm(second.point - first.point) > 0.01, seed
        assert min(np.linalg.norm(third.point - s.point) for s in (first, second)) > 0.01, seed


def test_fantasies_are_not_better_than_the_best_value():
    X, _ = random_points(2, 12, 0)
    y = bowl(X, [0.1, 0.1])
    s = step(X, y, 0.2, np.array([[0.1, 0.1]]))
    assert s.model.predict(s.model.frame.to_local(np.array([[0.1, 0.1]])))[0][0] > -1e-3 * np.ptp(y)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_the_unit_of_the_values_does_not_matter(scale):
    X, _ = random_points(3, 11, 2)
    one, other = (step(X, factor * bumpy(X), 0.12) for factor in (1.0, scale))
    np.testing.assert_allclose(other.point, one.point, atol=2 * STEP_RESOLUTION * 0.12)
    assert other.log_ei == pytest.approx(one.log_ei + np.log(scale), abs=1e-3)


def test_the_same_generator_gives_the_same_step():
    X, _ = random_points(3, 9, 4)
    one, two = (step(X, bumpy(X), 0.1, seed=7) for _ in range(2))
    assert one.point.tolist() == two.point.tolist()
    assert dataclasses.astuple(one)[2:7] == dataclasses.astuple(two)[2:7]


@pytest.mark.parametrize("values", [np.zeros(9), np.r_[np.zeros(5), np.ones(4)]], ids=["constant", "two values"])
def test_values_without_information_give_a_valid_step(values):
    X, _ = random_points(2, 9, 5)
    s = step(X, values, 0.12)
    assert np.all((s.point >= 0) & (s.point <= 1))
    assert not np.isnan(s.log_ei)


def test_crashes_at_the_minimum_of_a_quadratic_do_not_end_the_local_search():
    """The model does not see them and is certain of the same long step again and again: then it steps less far."""
    middle = np.array([0.37, 0.61])
    for seed in range(4):
        optimizer, best = dale.Optimizer([(0, 1)] * 2, seed=seed), np.inf
        for _ in range(26):
            trial = optimizer.ask()
            if np.linalg.norm(trial.x - middle) < 0.03:
                optimizer.fail(trial, "crashed")
                continue
            value = float((trial.x - middle) ** 2 @ [1, 7])
            best = min(best, value)
            optimizer.tell(trial, value)
        assert best < 5 * 0.03**2, seed  # the lowest value outside is 0.03^2


class TestAside:
    """A step where values are rough, which must not repeat a point whose value is known."""

    frame = Ellipsoid(np.array([0.5, 0.5]), 0.1)
    known = np.array([[0.5, 0.5], [0.55, 0.5]])
    seen = np.array([0.5, 0.0])  # the second of them, in radii

    def beside(self, distance):
        return np.add(self.seen, [0.0, distance * ASIDE])

    def aside(self, z, draws):
        rough = SimpleNamespace(frame=self.frame, seen=self.known, log_acquisition=lambda Z, target: Z[:, 1] + target)
        return _aside(rough, np.asarray(z), np.asarray(draws), 3.0)

    def test_a_new_point_stays(self):
        z = self.beside(1.01)
        assert self.aside(z, [[0.9, 0.9]]).tolist() == z.tolist()

    def test_a_known_one_is_replaced_by_the_best_new_one(self):
        draws = [[0.1, 0.2], [0.3, 0.4], self.beside(0.9), [0.0, 0.5 * ASIDE]]
        assert self.aside(self.beside(0.5), draws).tolist() == [0.3, 0.4]

    def test_it_stays_where_nothing_is_new(self):
        assert self.aside(self.seen, [[0.0, 0.0], self.seen]).tolist() == self.seen.tolist()
