"""The data of a local problem: which observations its models see, in which frame, and what pending points change."""

import numpy as np
import pytest

import dale
from dale.methods.default.local_model import LocalProblem
from dale.methods.default.settings import TaylorSettings
from dale.methods.default.trust_region import TrustRegion
from dale.models.ellipsoid import Ellipsoid
from dale.models.monomials import affordable_degree, n_terms
from dale.models.taylor import TaylorModel
from dale.space.domain import Domain
from dale.space.space import as_space

NARROW = np.array([[3.0, 0.0], [0.0, 1 / 3.0]])


def problem(X, y, **details):
    """From the first of these observations."""
    d = X.shape[1]
    settings = {
        "constraints": np.empty((len(X), 0)),
        "center": 0,
        "region": TrustRegion(X[0], 0.1),
        "pending": np.empty((0, d)),
        "domain": Domain.unit(d),
        "target": float(np.min(y)),
        "min_reduction": 0.0,
        "settings": TaylorSettings(),
    }
    return LocalProblem(X=X, y=y, **settings | details)


def bumpy(X):
    return np.sin(5 * X @ np.arange(1, X.shape[1] + 1)) + np.sum((X - 0.4) ** 2, axis=1)


def valley(X):
    """Along the diagonal of two variables."""
    return 1000 * (X[:, 0] - X[:, 1]) ** 2 + (X[:, 0] + X[:, 1] - 1.1) ** 2


def data(n=12, d=2, seed=0, width=1.0, fun=bumpy):
    X = 0.5 + width * (np.random.default_rng(seed).random((n, d)) - 0.5)
    return X, fun(X)


class TestNear:
    """Which observations take part."""

    @pytest.mark.parametrize("shape", [None, NARROW], ids=["ball", "shape"])
    @pytest.mark.parametrize("radius", [0.01, 0.03])
    def test_those_within_some_radii_in_the_metric_of_the_region(self, shape, radius):
        X, y = data(400)
        region = TrustRegion(np.array([0.9, 0.9]), radius, shape=shape)  # it has moved to the center since
        found = problem(X, y, region=region)
        r = np.linalg.norm(Ellipsoid(X[0], radius, shape).to_local(X), axis=1)
        near = np.flatnonzero(r <= TaylorSettings().neighbourhood.radii)
        enough = int(TaylorSettings().neighbourhood.terms * n_terms(2, 2)) + 1
        assert sorted(found.near) == sorted(near if len(near) > enough else np.argsort(r)[:enough])
        assert found.near[0] == 0

    def test_both_rules_count(self):
        X, y = data(400)
        counts = {r: len(problem(X, y, region=TrustRegion(X[0], r)).near) for r in (1e-4, 0.01, 0.03)}
        assert counts[1e-4] == counts[0.01] == int(TaylorSettings().neighbourhood.terms * n_terms(2, 2)) + 1
        assert counts[0.03] > counts[0.01]

    @pytest.mark.parametrize(("d", "most"), [(2, 120), (16, n_terms(16, 2) * 3 // 2)])
    def test_no_more_than_the_maximum(self, d, most):
        X, y = data(400, d)
        assert len(problem(X, y, region=TrustRegion(X[0], 0.5)).near) == most + 1

    def test_all_of_a_few(self):
        X, y = data(5)
        assert sorted(problem(X, y).near) == list(range(5))

    def test_others_do_not_change_the_models_if_they_predict_nothing(self):
        X, y = data(400)
        near = problem(X, y, region=TrustRegion(X[0], 0.01)).near
        jump = 100.0 * ~np.isin(np.arange(400), near)
        base, other = (problem(X, y + k * jump, region=TrustRegion(X[0], 0.01)).objective for k in (1, 2))
        np.testing.assert_array_equal(base.weights, other.weights)
        assert base.n_points == len(near) - 1

    def test_others_take_part_where_they_predict_the_nearest(self):
        """A polynomial of degree 6 has 27 terms, more than near observations that are guaranteed."""
        X, _ = data(60)
        y = np.sum((X - 0.4) ** 2, axis=1) + X[:, 0] ** 6 - 3 * X[:, 0] ** 3 * X[:, 1] ** 2
        found = problem(X, y, region=TrustRegion(X[0], 0.01))
        assert found.objective.n_points > len(found.near)


class TestObjective:
    def test_a_valley_gets_its_shape(self):
        X, y = data(20, width=0.2, fun=valley)
        model = problem(X, y).objective
        axes = np.linalg.svd(model.frame.shape)[0]
        assert abs(axes[:, 0] @ np.ones(2)) == pytest.approx(np.sqrt(2), abs=1e-3)
        assert model.center.tolist() == X[0].tolist()
        assert model.radius == 0.1

    def test_no_shape_by_setting_but_in_a_space_with_integers(self):
        X, y = data(20, width=0.2, fun=valley)
        assert problem(X, y, settings=TaylorSettings(shapes=False)).objective.frame.shape is None
        mixed = Domain.of(as_space(dale.Space(a=dale.Float(0, 1), b=dale.Int(0, 1000))), None)
        assert problem(X, y, domain=mixed).objective.frame.shape is not None

    def test_the_search_for_a_shape_starts_from_that_of_the_region(self):
        """In a valley with kinks it is often better than what a search from the ball finds, and then kept."""
        gains = []
        for seed in range(10):
            X, _ = data(16, seed=seed, width=0.02)
            y = np.abs(X[:, 0] - 0.5) + 100 * np.abs(X[:, 1] - 0.5)
            without, known = (
                problem(X, y, region=TrustRegion(X[0], 0.01, shape=shape)) for shape in (None, np.diag([10.0, 0.1]))
            )
            assert set(without.near) == set(known.near)  # the same observations: the losses are comparable
            gains.append(without.objective.loss - known.objective.loss)
        assert np.mean(np.array(gains) > 1) >= 0.3, gains

    def test_max_degree(self):
        X, y = data(5)
        model = problem(X, y, settings=TaylorSettings(max_degree=3)).objective
        assert model.degree == 3
        assert problem(X, y).objective.degree == affordable_degree(2)

    def test_std_factor_scales_the_std_only(self):
        X, y = data(8)
        models = [problem(X, y, settings=TaylorSettings(std_factor=c)).objective for c in (1.0, 0.25)]
        Z = np.array([[0.3, 0.4], [-0.9, 0.2]])
        np.testing.assert_allclose(models[1].predict(Z)[1], 0.25 * models[0].predict(Z)[1])
        np.testing.assert_array_equal(models[1].predict(Z)[0], models[0].predict(Z)[0])


class TestPending:
    @pytest.mark.parametrize("width", [1.0, 0.2])
    def test_a_fantasy_is_the_mean_within_the_values_seen(self, width):
        """The model is conditioned on it in its own frame; degree, rho and shape stay."""
        X, y = data(20, width=width, fun=valley)
        pending = np.random.default_rng(1).random((3, 2))
        without, model = problem(X, y).objective, problem(X, y, pending=pending).objective
        assert (model.series, model.n_points) == (without.series, without.n_points + 3)
        np.testing.assert_array_equal(model.frame.shape, without.frame.shape)
        Z = model.frame.to_local(pending)
        fantasies = np.clip(without.value + without.predict(Z).mean, np.min(y), np.max(y))
        expected = without.condition(Z, fantasies - without.value)
        np.testing.assert_allclose(model.predict(Z).mean, expected.predict(Z).mean, rtol=1e-9)
        np.testing.assert_allclose(
            model.predict(Z).std, TaylorSettings().std_factor * expected.predict(Z).std, rtol=1e-9
        )

    def test_points_observed_or_pending(self):
        X, y = data(5)
        pending = np.array([[0.1, 0.2]])
        np.testing.assert_array_equal(problem(X, y, pending=pending).seen, np.vstack([X, pending]))


class TestConstraints:
    def test_their_models_have_the_frame_of_the_objective_or_a_ball(self):
        """And see the same observations."""
        X, y = data(20, width=0.2, fun=valley)
        C = np.column_stack([X[:, 0] - 0.55, np.sin(3 * X[:, 1])])
        found = problem(X, y, constraints=C)
        assert found.frame.shape is not None
        for model, c in zip(found.constraint_models, C.T, strict=True):
            assert model.frame.shape is None or model.frame is found.frame
            assert model.value == c[0]
            assert model.n_points == found.objective.n_points
            expected = TaylorModel.fit(model.frame, X[found.near], c[found.near], c[0])
            assert model.series == expected.series
            np.testing.assert_array_equal(model.weights, expected.weights)

    def test_fantasies_of_constraints_may_be_below_all_values(self):
        X, y = data(20, width=0.2, fun=valley)
        C = (X[:, 0] - 0.55)[:, None]
        pending = np.array([[0.05, 0.5]])
        [model] = problem(X, y, constraints=C, pending=pending).constraint_models
        mean = model.value + model.predict(model.frame.to_local(pending)).mean[0]
        assert mean == pytest.approx(-0.5, abs=1e-3)
        assert mean < np.min(C)
