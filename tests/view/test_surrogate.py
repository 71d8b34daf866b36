"""The surrogate of the plots and its Sobol' indices, against closed forms."""

import math

import numpy as np
import pytest

import dale
from dale.view.sobol import _by_sampling, _in_closed_form, sobol_indices
from dale.view.surrogate import MAX_OBSERVATIONS, Correlation, PlotSurrogate, _Data

CUBE = dale.Space.from_pairs([(0, 1)] * 3)


def ishigami(X, a=7.0, b=0.1):
    x = (2 * X - 1) * np.pi
    return np.sin(x[:, 0]) + a * np.sin(x[:, 1]) ** 2 + b * x[:, 2] ** 4 * np.sin(x[:, 0])


def sample(n, d=3, seed=0):
    return np.random.default_rng(seed).random((n, d))


class TestSurrogate:
    def test_interpolates_the_observations(self):
        X = sample(40)
        y = np.sin(4 * X[:, 0]) + X[:, 1]
        mean, std = PlotSurrogate.fit(X, y, CUBE).predict(X)
        np.testing.assert_allclose(mean, y, atol=1e-3)
        assert np.all(std < 1e-2)

    def test_predicts_what_it_has_not_seen_within_its_std(self):
        X, new = sample(60), sample(200, seed=1)
        model = PlotSurrogate.fit(X, np.sin(4 * X[:, 0]) * X[:, 1], CUBE)
        mean, std = model.predict(new)
        errors = np.abs(mean - np.sin(4 * new[:, 0]) * new[:, 1]) / (std + 1e-6)
        assert np.mean(errors < 2) > 0.85
        assert model.explained > 0.98

    def test_noise_is_smoothed(self):
        X, rng = sample(150, 1), np.random.default_rng(0)
        signal = np.sin(6 * X[:, 0])
        noisy = signal + 0.3 * rng.standard_normal(150)
        model = PlotSurrogate.fit(X, noisy, dale.Space.from_pairs([(0, 1)]), np.ones(150))
        assert np.sqrt(np.mean((model.mean(X) - signal) ** 2)) < 0.12
        assert model.explained < 0.95  # noise cannot be predicted

    def test_a_parameter_without_effect_gets_a_large_length_scale(self):
        X = sample(50)
        l = PlotSurrogate.fit(X, np.sin(6 * X[:, 1]), CUBE).length_scales
        assert min(l[0], l[2]) > 5 * l[1]

    def test_constant_values(self):
        model = PlotSurrogate.fit(sample(5), np.full(5, 3.0), CUBE)
        np.testing.assert_allclose(model.mean(sample(4, seed=1)), 3.0)
        assert model.explained == 0

    def test_one_observation(self):
        assert PlotSurrogate.fit(sample(1), np.array([2.0]), CUBE).mean(sample(1))[0] == pytest.approx(2.0)

    def test_thousands_of_observations_are_thinned(self):
        X = sample(2000, 2)
        y = np.sin(6 * X[:, 0]) + X[:, 1]
        model = PlotSurrogate.fit(X, y, dale.Space.from_pairs([(0, 1)] * 2))
        assert len(model.z) <= MAX_OBSERVATIONS
        np.testing.assert_allclose(model.mean(X), y, atol=0.01 * np.ptp(y))
        assert model.mean(X)[np.argmin(y)] == pytest.approx(np.min(y), abs=1e-3)  # the best observation is kept

    @pytest.mark.parametrize("correlation", list(Correlation))
    @pytest.mark.parametrize("noisy", [False, True])
    def test_the_gradient_of_the_loss(self, correlation, noisy):
        X = sample(15)
        z = np.sin(5 * X[:, 0]) + X[:, 2]
        data = _Data.of(X, z, [slice(0, 1), slice(1, 3)], np.linspace(0.5, 2, 15) if noisy else None)
        theta = np.array([-0.7, 0.3, -2.0][: 2 + noisy])
        for i in range(len(theta)):
            step = 1e-5 * np.eye(len(theta))[i]
            difference = (data._loss(theta + step, correlation)[0] - data._loss(theta - step, correlation)[0]) / 2e-5
            assert data._loss(theta, correlation)[1][i] == pytest.approx(difference, rel=1e-4, abs=1e-6)


class TestSobolIndices:
    def test_of_ishigamis_function(self):
        """Ishigami & Homma (1990), whose indices are known: main .314, .442, 0; total .558, .442, .244."""
        X = sample(300)
        indices = sobol_indices(PlotSurrogate.fit(X, ishigami(X), CUBE), CUBE)
        np.testing.assert_allclose(indices.main, [0.3139, 0.4424, 0.0], atol=0.02)
        np.testing.assert_allclose(indices.total, [0.5576, 0.4424, 0.2437], atol=0.02)
        assert indices.pairs[0, 2] == pytest.approx(0.2437, abs=0.02)
        assert max(indices.pairs[0, 1], indices.pairs[1, 2]) < 0.01

    def test_sampling_agrees_with_the_closed_form(self):
        X = sample(60)
        model = PlotSurrogate.fit(X, 2 * X[:, 0] + np.sin(3 * X[:, 1]) * X[:, 2], CUBE)
        exact, sampled = _in_closed_form(model, CUBE), _by_sampling(model, CUBE)
        np.testing.assert_allclose(sampled.main, exact.main, atol=0.02)
        np.testing.assert_allclose(sampled.total, exact.total, atol=0.02)
        np.testing.assert_allclose(sampled.pairs, exact.pairs, atol=0.03)

    def test_options_count_with_equal_weights(self):
        space = dale.Space(c=dale.Choice(list("abc")), x=(0.0, 1.0))
        points = [{"c": c, "x": x} for c in "abc" for x in np.linspace(0, 1, 9)]
        X = np.array([space.encode(p) for p in points])
        y = np.array([{"a": 0.0, "b": 1.0, "c": 2.0}[p["c"]] + p["x"] for p in points])
        indices = sobol_indices(PlotSurrogate.fit(X, y, space), space)
        share = (2 / 3) / (2 / 3 + 1 / 12)  # variances of {0, 1, 2} and of a uniform number
        np.testing.assert_allclose(indices.main, [share, 1 - share], atol=0.02)

    def test_an_inactive_parameter_has_no_effect(self):
        space = dale.Space(on=dale.Choice([0, 1]), x=dale.Float(0, 1).when(on=1))
        points = [{"on": 0}] + [{"on": 1, "x": x} for x in np.linspace(0, 1, 12)]
        X = np.array([space.encode(p) for p in points])
        y = np.array([p.get("x", 0.5) * 4 for p in points])
        indices = sobol_indices(PlotSurrogate.fit(X, y, space), space)
        # f = 2 or 4x with equal chance: V = 2/3, V(E[f | x]) = V(1 + 2x) = 1/3, V(E[f | on]) = 0
        np.testing.assert_allclose(indices.main, [0.0, 0.5], atol=0.06)
        np.testing.assert_allclose(indices.total, [0.5, 1.0], atol=0.06)

    def test_a_constant_has_none(self):
        indices = sobol_indices(PlotSurrogate.fit(sample(6), np.ones(6), CUBE), CUBE)
        assert math.fsum(indices.total) == 0
