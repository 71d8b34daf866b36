"""Confidence schedule, logarithms of bound and probability, max-value entropy: against naive formulas and sampling."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import norm

from dale.acquisition import (
    AcquisitionState,
    ConfidenceSchedule,
    LogLowerConfidenceBound,
    LogMaxValueEntropy,
    LogProbabilityOfImprovement,
    LowerConfidenceBound,
    ProbabilityOfImprovement,
    Quantity,
)
from dale.acquisition.base import adapted, quantity_of
from dale.acquisition.expected_improvement import LogExpectedImprovement
from dale.acquisition.max_value_entropy import log_entropy_reduction, sample_minima
from dale.models.base import Prediction

RNG = np.random.default_rng(0)
MEAN, STD = RNG.normal(size=40), RNG.uniform(0.05, 2, 40)
LOGARITHMS = [
    LogProbabilityOfImprovement(),
    LogLowerConfidenceBound(2.0),
    LogMaxValueEntropy(minima=(-2.5, -1.0, -0.3)),
]


def state(n=10, dimension=2, prediction=None):
    return AcquisitionState(n, dimension, 0.0, lambda: prediction)


@pytest.mark.parametrize("acquisition", LOGARITHMS, ids=lambda a: type(a).__name__)
def test_derivatives_by_differences(acquisition):
    best, step = 0.4, 1e-6
    value, by_mean, by_std = acquisition.partials(Prediction(MEAN, STD), best)
    for derivative, (dm, ds) in ((by_mean, (step, 0)), (by_std, (0, step))):
        above, below = (acquisition(Prediction(MEAN + s * dm, STD + s * ds), best) for s in (1, -1))
        usable = np.isfinite(above) & np.isfinite(below)
        assert usable.sum() > 20
        np.testing.assert_allclose(
            derivative[usable], (above[usable] - below[usable]) / (2 * step), rtol=1e-5, atol=1e-7
        )
    assert acquisition.is_log
    assert value.shape == (40,)


@pytest.mark.parametrize("acquisition", LOGARITHMS, ids=lambda a: type(a).__name__)
def test_one_point_is_as_good_as_many(acquisition):
    """Searches call them with arrays without a dimension."""
    many = acquisition.partials(Prediction(MEAN, STD), 0.0)
    for i in range(0, 40, 7):
        one = acquisition.partials(Prediction(np.array(MEAN[i]), np.array(STD[i])), 0.0)
        assert [float(v) for v in one] == pytest.approx([v[i] for v in many], rel=1e-12)


class TestSchedule:
    def test_by_the_formula(self):
        for n, d in ((1, 1), (7, 2), (60, 5)):
            expected = math.sqrt(0.2 * 2 * math.log(math.pi**2 * n ** (d / 2 + 2) / (3 * 0.1)))
            assert ConfidenceSchedule()(n, d) == pytest.approx(expected)

    def test_bounds_adapt_to_the_number_of_evaluations(self):
        beta = ConfidenceSchedule()(10, 2)
        for kind in (LowerConfidenceBound, LogLowerConfidenceBound):
            assert adapted(kind(ConfidenceSchedule()), state()) == kind(beta)
            assert adapted(kind(1.5), state()) == kind(1.5)
            with pytest.raises(TypeError, match="call adapted"):
                kind(ConfidenceSchedule())(Prediction(MEAN, STD), 0.0)

    @pytest.mark.parametrize("wrong", [{"delta": 0.0}, {"delta": 1.0}, {"scale": -1.0}, {"scale": math.inf}])
    def test_wrong_settings(self, wrong):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            ConfidenceSchedule(**wrong)

    @pytest.mark.parametrize("kind", [LowerConfidenceBound, LogLowerConfidenceBound])
    def test_wrong_bounds(self, kind):
        for wrong in ("2", ConfidenceSchedule):
            with pytest.raises(TypeError, match="beta: expected a number or a ConfidenceSchedule"):
                kind(wrong)
        for negative in (-1.0, math.inf, math.nan):
            with pytest.raises(ValueError, match="beta: expected a finite number"):
                kind(negative)
        assert kind(np.float32(1.5)).beta == 1.5


def test_the_logarithm_of_the_bound_keeps_its_order():
    best, beta = 0.0, 1.3
    log_bound = LogLowerConfidenceBound(beta)(Prediction(MEAN, STD), best)
    bound = LowerConfidenceBound(beta)(Prediction(MEAN, STD), best)
    improves = bound > -best
    assert 0 < improves.sum() < 40
    np.testing.assert_allclose(np.exp(log_bound[improves]), best + bound[improves])
    assert np.all(log_bound[~improves] == -np.inf)


def test_log_probability_of_improvement():
    prediction = Prediction(MEAN, STD)
    np.testing.assert_allclose(
        np.exp(LogProbabilityOfImprovement()(prediction, 0.3)), ProbabilityOfImprovement()(prediction, 0.3), rtol=1e-12
    )
    far = LogProbabilityOfImprovement().partials(Prediction(np.array([1e3]), np.array([1.0])), 0.0)
    exact = mp.log(mp.erfc(mp.mpf(1000) / mp.sqrt(2)) / 2)
    assert float(far.value[0]) == pytest.approx(float(exact), rel=1e-12)
    assert float(far.by_mean[0]) == pytest.approx(-1000.001, rel=1e-6)
    certain = LogProbabilityOfImprovement()(Prediction(np.array([0.0, 1.0]), np.zeros(2)), 0.5)
    assert certain.tolist() == [0.0, -math.inf]


class TestMaxValueEntropy:
    @staticmethod
    def entropy_reduction(g):
        """h(g) in 60 digits."""
        with mp.workdps(60):
            g = mp.mpf(g)
            Phi, above = mp.erfc(-g / mp.sqrt(2)) / 2, mp.erfc(g / mp.sqrt(2)) / 2
            return g * mp.npdf(g) / (2 * Phi) - (mp.log1p(-above) if g > 0 else mp.log(Phi))

    def test_against_60_digits(self):
        grid = np.concatenate([np.linspace(-55, 38, 120), [-1.0, -1e3, -1e6, 7.99, 8.01, 200.0]])
        value, slope = log_entropy_reduction(grid)
        for g, v, s in zip(grid, value, slope, strict=True):
            assert v == pytest.approx(float(mp.log(self.entropy_reduction(g))), rel=1e-8, abs=1e-9), g
            with mp.workdps(60):
                step = mp.mpf("1e-12")
                above, below = (mp.log(self.entropy_reduction(mp.mpf(g) + t)) for t in (step, -step))
                exact = (above - below) / (2 * step)
            assert s == pytest.approx(float(exact), rel=1e-5), g

    def test_it_is_the_difference_of_two_entropies(self):
        """Of a normal distribution and of the part of it above the minimum, by integration."""
        for g in (-0.7, 0.4, 2.0):
            x = np.linspace(-g, 12, 400_001)  # (f - mean) / std, above (y* - mean) / std = -g
            density = norm.pdf(x) / norm.cdf(g)
            entropy = -np.trapezoid(density * np.log(density), x)
            normal = 0.5 * math.log(2 * math.pi * math.e)
            assert math.exp(log_entropy_reduction(np.array(g))[0]) == pytest.approx(normal - entropy, abs=1e-6)

    def test_the_mean_over_the_samples(self):
        minima = (-2.0, -1.0, -0.5)
        naive = [
            math.log(sum(float(self.entropy_reduction((m - y) / s)) for y in minima) / 3)
            for m, s in zip(MEAN, STD, strict=True)
        ]
        np.testing.assert_allclose(LogMaxValueEntropy(minima=minima)(Prediction(MEAN, STD), 0.0), naive, rtol=1e-8)

    def test_samples_follow_the_minimum_of_independent_values(self):
        mean, std = RNG.normal(size=200), RNG.uniform(0.1, 1, 200)
        minima = sample_minima(Prediction(mean, std), best=math.inf, n_samples=64)
        drawn = np.min(mean + std * RNG.standard_normal((20_000, 200)), axis=1)
        quartiles = np.percentile(drawn, [25, 50, 75])
        assert np.percentile(minima, 50) == pytest.approx(quartiles[1], abs=0.03)
        assert np.subtract(*np.percentile(minima, [75, 25])) == pytest.approx(quartiles[2] - quartiles[0], rel=0.1)

    def test_samples_are_below_the_best_value(self):
        prediction = Prediction(np.array([3.0, 4.0]), np.array([0.1, 0.2]))
        assert np.all(sample_minima(prediction, 0.0, 8) < 0)
        assert np.all(sample_minima(Prediction(np.zeros(3), np.zeros(3)), 0.0, 8) < 0)

    @pytest.mark.parametrize("n_samples", [0, 2.5])
    def test_wrong_settings(self, n_samples):
        with pytest.raises(ValueError, match="n_samples: expected an integer of at least 1"):
            LogMaxValueEntropy(n_samples)

    def test_it_adapts_to_a_model(self):
        prediction = Prediction(MEAN, STD)
        found = adapted(LogMaxValueEntropy(n_samples=4), state(prediction=prediction))
        assert found.minima == tuple(sample_minima(prediction, 0.0, 4))

    def test_a_certain_outcome_tells_nothing(self):
        assert LogMaxValueEntropy()(Prediction(np.array([-1.0]), np.zeros(1)), 0.0) == -math.inf

    def test_extreme_predictions_are_finite_or_minus_infinity(self):
        values = np.array([0.0, 1e-300, 1e-8, 1.0, 1e8, 1e300])
        mean, std = (a.ravel() for a in np.meshgrid(np.concatenate([-values, values]), values))
        for acquisition in LOGARITHMS:
            found = acquisition.partials(Prediction(mean, std), 0.0)
            assert not np.isnan(found.value).any()
            assert not np.isnan(found.by_mean).any()


def test_quantities():
    assert [quantity_of(a) for a in (LogExpectedImprovement(), *LOGARITHMS)] == [
        Quantity.EXPECTED_IMPROVEMENT,
        Quantity.PROBABILITY,
        Quantity.OPTIMISTIC_IMPROVEMENT,
        Quantity.INFORMATION,
    ]
    assert [q for q in Quantity if q.has_unit] == [Quantity.EXPECTED_IMPROVEMENT, Quantity.OPTIMISTIC_IMPROVEMENT]
