"""The radius of the ball that a region leaves behind when it is closed."""

import dataclasses

import numpy as np
import pytest

from dale.methods.default.settings import TrustRegionSettings
from dale.methods.default.trust_region import (
    MAX_CLOSED_RADIUS,
    MAX_MISFIT,
    MAX_RADIUS,
    MIN_CLOSED_RADIUS,
    TrustRegion,
    closing_radius,
)
from dale.models.ellipsoid import Ellipsoid
from dale.models.taylor import TaylorModel

INITIAL_RADIUS = TrustRegionSettings().initial_radius
MIDDLE = np.array([0.5, 0.5])


def quadratic(X):
    return np.sum((X - 0.5) ** 2, axis=1) + 0.3 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)


def with_rho(model, rho):
    return dataclasses.replace(model, series=model.series._replace(rho=rho))


def model_and_data(distances, wrong=()):
    """A model of a quadratic, and observations at these distances; at some of them, half of the rise is added."""
    rng = np.random.default_rng(0)
    near = 0.5 + 0.05 * rng.uniform(-1, 1, (12, 2))
    model = TaylorModel.fit(Ellipsoid(MIDDLE, 0.05), near, quadratic(near), 0.0)
    X = np.array([MIDDLE + r * np.array([np.cos(7 * r), np.sin(7 * r)]) for r in distances])
    y = quadratic(X) * np.where(np.isin(distances, wrong), 1 + 2.5 * MAX_MISFIT, 1.0)
    return with_rho(model, 10.0), X, y


class TestClosingRadius:
    region = TrustRegion(MIDDLE, 0.004, confirmed=True)

    def test_up_to_the_last_observation_before_one_that_the_model_gets_wrong(self):
        model, X, y = model_and_data([0.15, 0.03, 0.09, 0.06, 0.12], wrong=[0.12])
        assert closing_radius(model, self.region, X, y) == pytest.approx(0.09)

    def test_up_to_the_farthest_observation_if_the_model_is_right(self):
        model, X, y = model_and_data([0.15, 0.03, 0.09])
        assert closing_radius(model, self.region, X, y) == pytest.approx(0.15)

    def test_the_minimum_radius_if_the_model_is_wrong(self):
        model, X, y = model_and_data([0.03, 0.09], wrong=[0.03])
        assert closing_radius(model, self.region, X, y) == MIN_CLOSED_RADIUS

    def test_at_least_two_radii_of_the_region(self):
        model, X, y = model_and_data([0.03, 0.09], wrong=[0.03])
        assert closing_radius(model, dataclasses.replace(self.region, radius=0.04), X, y) == 0.08

    @pytest.mark.parametrize("radius", [1e-6, 0.04, MAX_RADIUS])
    def test_at_most_the_maximum_radius_or_half_of_rho(self, radius):
        model, X, y = model_and_data([0.1, 0.2, 0.3, 0.4])
        region = dataclasses.replace(self.region, radius=radius)
        assert closing_radius(model, region, X, y) == MAX_CLOSED_RADIUS
        assert closing_radius(with_rho(model, 0.1), region, X, y) == 0.05

    @pytest.mark.parametrize("radius", [1e-8, 0.01, INITIAL_RADIUS, MAX_RADIUS])
    def test_small_if_no_step_confirmed_the_model(self, radius):
        model, X, y = model_and_data([0.03, 0.09, 0.15])
        assert 0 < closing_radius(model, TrustRegion(MIDDLE, radius), X, y) <= min(2 * radius, MAX_CLOSED_RADIUS)
        narrow = with_rho(model, 0.05)
        assert 0 < closing_radius(narrow, TrustRegion(MIDDLE, radius), X, y) <= min(2 * radius, 0.025)
