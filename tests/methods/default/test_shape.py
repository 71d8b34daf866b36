"""The shape of a region: its rules on made-up evidence; what valleys, round functions and plateaus teach it."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from dale.methods.default.shape import (
    MAX_ASPECT,
    MAX_ROUNDS,
    MAX_STRETCH,
    MIN_DIMENSION_ONE_AXIS,
    MIN_DIMENSION_PARALLEL,
    MIN_GAIN,
    MIN_POINTS_PER_AXIS,
    learn_shape,
)
from dale.methods.default.trust_region import MAX_RADIUS
from dale.models.ellipsoid import Ellipsoid
from dale.models.monomials import n_terms
from dale.models.series import Series
from dale.models.taylor import TaylorModel


def rotation(rng, d):
    return np.linalg.qr(rng.normal(size=(d, d)))[0]


def learn(fun, X, center, radius, start=None):
    """The model of a function in the shape that its values at these points teach."""
    y, value = fun(X), float(fun(center[None])[0])

    def fit(shape, starts, **options):
        return TaylorModel.fit(Ellipsoid(center, radius, shape), X, y, value, starts=starts, **options)

    return learn_shape(fit, start, radius)


def points(rng, center, radius, n, reach=2.0):
    return np.clip(center + radius * rng.uniform(-reach, reach, (n, len(center))), 0.0, 1.0)


def axes(model):
    """Half the axes of the region, in radii, the longest first."""
    shape = model.frame.shape
    return np.ones(len(model.center)) if shape is None else np.linalg.svd(shape, compute_uv=False)


def assert_valid(model):
    """Determinant 1, no axis longer than half the cube, and not too narrow."""
    longest = max(MAX_RADIUS / model.radius, 1.0)
    assert np.prod(axes(model)) == pytest.approx(1.0, rel=1e-8)
    assert np.max(axes(model)) <= longest * (1 + 1e-8)
    assert np.max(axes(model)) <= MAX_ASPECT * np.min(axes(model)) * (1 + 1e-8)
    assert np.isfinite(model.loss)
    assert np.all(np.isfinite(model.predict(model.Z)))


VALLEYS = {
    "kinks": lambda U, weights: np.abs(U) @ weights,
    "largest": lambda U, weights: np.max(np.abs(U) * weights, axis=1),
    "sixth powers": lambda U, weights: U**6 @ weights,
    "roots": lambda U, weights: np.sqrt(np.abs(U)) @ weights,
    "ripples that follow the scale": lambda U, weights: (
        (U**2 * (1 + 0.3 * np.sin(8 * np.log(np.abs(U) + 1e-300)))) @ weights
    ),
    "ripples": lambda U, weights: U**2 @ weights + 1e-3 * np.sum(1 - np.cos(60 * U), axis=1),
}


class TestRules:
    """On models with made-up curvatures and losses."""

    d, n, radius = 2, 50, 0.01

    def learn(self, losses, start=None, curvatures=(1.0, 16.0)):
        """Losses of the ball, of the start, if there is one, and of one round after the other."""
        calls, losses = [], iter(losses)

        def fit(shape, starts, **options):
            calls.append(shape)
            return SimpleNamespace(
                loss=next(losses),
                center=np.full(self.d, 0.5),
                n_points=self.n,
                differences=np.ones(self.n),
                series=Series(2, 0.1),
                starts=(),
                frame=Ellipsoid(np.full(self.d, 0.5), self.radius, shape),
                curvatures=lambda axes: (np.eye(self.d), np.array(curvatures)),
            )

        return learn_shape(fit, start, self.radius), calls

    def test_axes_have_the_length_of_the_inverse_root_of_the_curvature(self):
        model, _ = self.learn([0.0, -100.0, -100.0])
        np.testing.assert_allclose(np.abs(model.frame.shape), np.diag([2.0, 0.5]), atol=1e-12)

    def test_an_axis_changes_by_a_limited_factor_in_a_round(self):
        model, _ = self.learn([0.0, -100.0, -100.0], curvatures=(1.0, 1e12))
        assert axes(model) == pytest.approx([MAX_STRETCH, 1 / MAX_STRETCH])

    def test_rounds_continue_from_the_last_shape_while_the_evidence_rises(self):
        model, calls = self.learn([0.0, -50.0, -60.0, -60.0 - 0.9 * MIN_GAIN])
        assert len(calls) == 4
        assert axes(model) == pytest.approx([4.0, 0.25])
        _, calls = self.learn([-50.0 * k for k in range(20)])
        assert len(calls) == 1 + MAX_ROUNDS

    def test_the_first_round_from_a_ball_may_gain_little(self):
        little = 0.1 * MIN_GAIN
        assert len(self.learn([0.0, -little, -50.0, -50.0])[1]) == 4
        assert len(self.learn([0.0, 0.0, -50.0])[1]) == 2
        start = np.diag([3.0, 1 / 3])  # improved before
        assert len(self.learn([0.0, -50.0, -50.0 - little, -60.0], start=start)[1]) == 3

    def test_a_shape_pays_half_the_logarithm_of_the_observations_for_each_freedom(self):
        freedoms = self.d * (self.d + 1) / 2 - 1
        price = freedoms * math.log(self.n) / 2
        assert self.learn([0.0, -0.99 * price, 0.0])[0].frame.shape is None
        assert self.learn([0.0, -1.01 * price, 0.0])[0].frame.shape is not None

    @pytest.mark.parametrize(("gain", "is_structured"), [(0.99, False), (1.01, True)])
    def test_small_mixed_derivatives_pay_for_one_freedom(self, gain, is_structured):
        d, n = MIN_DIMENSION_PARALLEL, MIN_POINTS_PER_AXIS * MIN_DIMENSION_PARALLEL  # too few for other shapes

        def fit(shape, starts, *, structured):
            return SimpleNamespace(
                loss=-gain * math.log(n) / 2 if structured else 0.0,
                center=np.full(d, 0.5),
                n_points=n,
                differences=np.ones(n),
                series=Series(2, 0.1, 0.01 if structured else 1.0),
                starts=(),
                frame=Ellipsoid(np.full(d, 0.5), self.radius, shape),
            )

        assert (learn_shape(fit, None, self.radius).series.mixed != 1) == is_structured

    def test_the_start_is_kept_if_it_is_the_most_probable(self):
        start = np.diag([3.0, 1 / 3])
        kept, _ = self.learn([0.0, -100.0, -100.0], start)
        assert axes(kept) == pytest.approx([3.0, 1 / 3])
        forgotten, _ = self.learn([0.0, 1.0, -100.0, -100.0], start)
        assert axes(forgotten) == pytest.approx([2.0, 0.5])
        ball, _ = self.learn([0.0, 1.0, 1.0], start)
        assert ball.frame.shape is None

    @pytest.mark.parametrize("radius", [0.5, 0.3, 0.01])
    def test_a_start_that_has_become_too_long_is_cut(self, radius):
        """What its longest axes lose, the others gain."""
        rng = np.random.default_rng(0)
        long = rotation(rng, 3) * np.array([100.0, 0.5, 0.02])
        center = np.full(3, 0.5)
        X = points(rng, center, radius, 40)
        shapes = []

        def fit(shape, starts, **options):
            shapes.append(shape)
            frame = Ellipsoid(center, radius, shape)
            model = TaylorModel.fit(frame, X, np.sum(X, axis=1), 1.5, starts=starts, **options)
            assert_valid(model)
            return model

        learn_shape(fit, long, radius, structured=False)
        assert len(shapes) >= 2
        assert np.max(np.linalg.svd(shapes[1], compute_uv=False)) == pytest.approx(min(MAX_RADIUS / radius, 100.0))


class TestQuadraticValleys:
    @pytest.mark.parametrize("d", [2, 3, 5])
    @pytest.mark.parametrize("redundancy", [1.2, 2.0])
    def test_the_axes_of_a_rotated_valley_of_condition_1e4(self, d, redundancy):
        """S' H S is the identity, up to a factor and to 5 %: S S' is proportional to the inverse of the Hessian H."""
        for seed in range(6):
            rng = np.random.default_rng([seed, d])
            Q, curvatures, center = rotation(rng, d), np.geomspace(1, 1e4, d), np.full(d, 0.5)
            bottom = center + 0.05 * rng.normal(size=d)
            X = points(rng, center, 0.004, math.ceil(redundancy * n_terms(d, 2)) + 1)
            model = learn(lambda X: ((X - bottom) @ Q) ** 2 @ curvatures, X, center, 0.004)  # noqa: B023
            assert_valid(model)
            S = model.frame.shape
            product = S.T @ (Q * curvatures @ Q.T) @ S
            product /= np.linalg.det(product) ** (1 / d)
            np.testing.assert_allclose(product, np.eye(d), atol=0.05)

    def test_no_axis_is_longer_than_half_the_cube(self):
        """Though the valley would ask for it: the longest reaches it, and the shape is still the valley's."""
        for radius in (0.5, 0.2, 0.1, 0.02):
            rng = np.random.default_rng(0)
            Q, center = rotation(rng, 2), np.full(2, 0.5)
            X = points(rng, center, radius, 15)
            model = learn(lambda X: ((X - 0.51) @ Q) ** 2 @ np.array([1.0, 1e6]), X, center, radius)  # noqa: B023
            assert_valid(model)
            assert np.max(axes(model)) * radius == pytest.approx(0.5)
            if radius < 0.5:
                along = np.linalg.svd(model.frame.shape)[0][:, 0]
                assert abs(along @ Q[:, 0]) > 0.999

    def test_the_shape_turns_with_the_points(self):
        rng = np.random.default_rng(5)
        center, R = np.full(3, 0.5), rotation(rng, 3)
        Q, curvatures = rotation(rng, 3), np.array([1.0, 30.0, 1000.0])

        def valley(X):
            U = (X - center) @ Q * np.sqrt(curvatures)
            return np.sum(U**2 + np.sin(U + 1), axis=1)

        X = points(rng, center, 0.02, 25)
        one = learn(valley, X, center, 0.02)
        other = learn(lambda A: valley(center + (A - center) @ R), center + (X - center) @ R.T, center, 0.02)
        assert np.max(axes(one)) > 3
        S, T = one.frame.shape, other.frame.shape
        np.testing.assert_allclose(T @ T.T, R @ S @ S.T @ R.T, rtol=1e-5, atol=1e-6 * np.max(S @ S.T))


class TestBalls:
    @pytest.mark.parametrize("d", [2, 3, 5])
    @pytest.mark.parametrize(
        "fun",
        [
            lambda X: np.sum((X - 0.52) ** 2, axis=1),
            lambda X: -np.exp(-4 * np.sum((X - 0.52) ** 2, axis=1)),
            lambda X: np.sum((5 * X - 2.6) ** 2 + 1 - np.cos(31 * X), axis=1),
        ],
        ids=["bowl", "well", "ripples"],
    )
    def test_a_round_function_keeps_a_ball(self, d, fun):
        """Or, in one case of ten where ripples deceive it, hardly anything else."""
        shaped = []
        for seed in range(10):
            rng = np.random.default_rng([seed, d])
            n = int(rng.integers(n_terms(d, 2) + 1, 3 * n_terms(d, 2) + 1))
            center, radius = np.full(d, 0.5), 10 ** rng.uniform(-4, -0.5)
            model = learn(fun, points(rng, center, radius, n), center, radius)
            if model.frame.shape is not None:
                shaped.append(axes(model)[0] / axes(model)[-1])
        assert len(shaped) <= 1
        assert max(shaped, default=1.0) < 3

    def test_noise_rarely_earns_a_shape(self):
        """A shape pays for its freedoms: at most one in five cases without any structure."""
        shaped = 0
        for seed in range(60):
            rng = np.random.default_rng(seed)
            d = 2 + seed % 3
            n, center = 2 * n_terms(d, 2), np.full(d, 0.5)
            X, y = points(rng, center, 0.05, n), rng.normal(size=n + 1)
            values = iter([y[:n], y[n:]])
            shaped += learn(lambda X: next(values), X, center, 0.05).frame.shape is not None  # noqa: B023
        assert shaped <= 12

    @pytest.mark.parametrize("d", [2, 3, 5])
    def test_no_shape_without_redundant_points(self, d):
        """Not even one that is known already; only one of fewer freedoms, in more variables, from fewer points on."""
        rng = np.random.default_rng(d)
        center, start = np.full(d, 0.5), rotation(rng, d) * (np.geomspace(1, 10, d) / np.sqrt(10))

        def valley(X):
            return (X - 0.51) ** 2 @ np.geomspace(1, 1e4, d)

        n = n_terms(d, 2) if d < MIN_DIMENSION_ONE_AXIS else MIN_POINTS_PER_AXIS * d
        X = points(rng, center, 0.01, n + 1)
        assert learn(valley, X[1:], center, 0.01, start).frame.shape is None
        assert learn(valley, np.vstack([X[1:], center, center]), center, 0.01).frame.shape is None  # no more points
        more = points(rng, center, 0.01, n + 5)
        assert learn(valley, more, center, 0.01).frame.shape is not None

    @pytest.mark.parametrize("d", [4, 6])
    def test_few_points_of_many_variables_teach_an_axis_parallel_shape(self, d):
        """Where the valley is axis-parallel; it pays for d - 1 freedoms only."""
        curvatures = np.geomspace(1, 1e4, d)
        for seed in range(5):
            rng = np.random.default_rng([seed, d])
            center = np.full(d, 0.5)
            X = points(rng, center, 0.01, n_terms(d, 2))
            model = learn(lambda X: (X - 0.51) ** 2 @ curvatures, X, center, 0.01)
            assert_valid(model)
            S = model.frame.shape
            np.testing.assert_array_equal(S, np.diag(np.diag(S)))
            assert np.all(np.diag(S) > 0)
            product = np.diag(S) ** 2 * curvatures
            assert np.max(product) / np.min(product) < 0.1 * np.max(curvatures)

    @pytest.mark.parametrize("d", [4, 5, 8])
    @pytest.mark.parametrize("curvature", [1e-3, 1e3], ids=["ridge", "stiff direction"])
    def test_few_points_of_many_variables_teach_one_axis(self, d, curvature):
        """Where one direction differs from all others, in any direction, before a full shape could be learnt."""
        cosines = []
        for seed in range(8):
            rng = np.random.default_rng([seed, d])
            center, u = np.full(d, 0.5), rotation(rng, d)[0]
            bottom = center + 0.01 * rng.normal(size=d)
            X = points(rng, center, 0.01, n_terms(d, 2) - 1)

            def valley(X, u=u, bottom=bottom):
                along = (X - bottom) @ u
                return np.sum((X - bottom) ** 2, axis=1) + (curvature - 1) * along**2

            model = learn(valley, X, center, 0.01)
            assert_valid(model)
            own = axes(model)[0 if curvature < 1 else -1]
            if own > 1.5 if curvature < 1 else own < 0.3:
                left = np.linalg.svd(model.frame.shape)[0]
                cosines.append(abs(left[:, 0 if curvature < 1 else -1] @ u))
        assert len(cosines) >= (5 if curvature > 1 else 3), cosines
        assert np.median(cosines) > (0.999 if curvature > 1 else 0.9), cosines

    def test_a_diagonal_start_with_negative_axes(self):
        """As a singular value decomposition may give it."""
        for d in (2, 5):
            rng = np.random.default_rng(d)
            X, start = points(rng, np.full(d, 0.5), 0.01, 30), np.diag(-np.geomspace(0.5, 2, d))
            assert_valid(learn(lambda X: np.sum(np.abs(X - 0.5), axis=1), X, np.full(d, 0.5), 0.01, start))

    def test_one_variable_has_no_shape(self):
        X = np.random.default_rng(0).random((20, 1))
        assert learn(lambda X: np.sin(9 * X[:, 0]), X, np.array([0.5]), 0.1).frame.shape is None

    @pytest.mark.parametrize("d", [2, 3, 5])
    @pytest.mark.parametrize("value", [0.0, 3.0])
    def test_a_plateau_gives_a_ball(self, d, value):
        """However the points lie, and whatever the shape was before."""
        for seed in range(10):
            rng = np.random.default_rng(seed)
            n, center, radius = int(rng.integers(n_terms(d, 2) + 1, 60)), np.full(d, 0.5), 10 ** rng.uniform(-4, -1)
            X = center + 0.1 * 10 ** rng.uniform(-3, 0, d) * rng.uniform(-1, 1, (n, d))
            start = rotation(rng, d) * np.geomspace(0.1, 10, d) if seed % 2 else None
            assert learn(lambda X: np.full(len(X), value), X, center, radius, start).frame.shape is None, seed


class TestOtherValleys:
    """Functions that no power series describes: kinks, high powers, ripples."""

    @pytest.mark.parametrize("d", [2, 3, 5])
    @pytest.mark.parametrize("name", VALLEYS)
    def test_the_model_stays_valid_over_many_proposals(self, d, name):
        """Each starts from the shape of the last one; none has less evidence than the ball."""
        weights = np.geomspace(1, 100, d)
        for seed in range(6):
            rng = np.random.default_rng([seed, d])
            center, radius, Q = np.full(d, 0.5), 10 ** rng.uniform(-4, -0.5), rotation(rng, d)
            bottom, start = center + radius * rng.uniform(-1, 1, d), None
            X = points(rng, center, radius, 3 * n_terms(d, 2), reach=3.0)

            def valley(X, Q=Q, bottom=bottom):
                return VALLEYS[name]((X - bottom) @ Q, weights)

            y, value = valley(X), float(valley(center[None])[0])
            ball = TaylorModel.fit(Ellipsoid(center, radius), X, y, value)
            for _ in range(4):
                model = learn(valley, X, center, radius, start)
                assert_valid(model)
                assert model.loss <= ball.loss
                start = model.frame.shape

    @pytest.mark.parametrize("name", VALLEYS)
    def test_a_shape_of_two_variables_follows_the_valley(self, name):
        """Most often one is learnt, and its long axis then lies along the valley."""
        cosines = []
        for seed in range(20):
            rng = np.random.default_rng(seed)
            center, radius, Q = np.full(2, 0.5), 10 ** rng.uniform(-4, -1), rotation(rng, 2)
            bottom = center + radius * rng.uniform(-1, 1, 2)
            X = points(rng, center, radius, 3 * n_terms(2, 2), reach=3.0)
            model = learn(lambda X: VALLEYS[name]((X - bottom) @ Q, np.array([1.0, 100.0])), X, center, radius)  # noqa: B023
            if model.frame.shape is not None:
                cosines.append(abs(np.linalg.svd(model.frame.shape)[0][:, 0] @ Q[:, 0]))
        assert len(cosines) >= 7, cosines
        assert np.median(cosines) > 0.97, cosines
