"""Acquisition functions: against 50 digits, the oracle and differences; each case without std by name."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import precise
import reference
from dale.acquisition.base import Partials
from dale.acquisition.confidence_bound import LowerConfidenceBound
from dale.acquisition.expected_improvement import (
    SERIES_BELOW,
    ExpectedImprovement,
    LogExpectedImprovement,
    log_expected_improvement,
    log_expected_improvement_to_second_order,
    log_h,
    log_h_at,
)
from dale.acquisition.probability_of_improvement import ProbabilityOfImprovement
from dale.methods.length_scale.alpha_ratio import log_alpha_ratio
from dale.models.base import Prediction
from dale.models.gaussian_process import GaussianProcess
from dale.models.kernels.squared_exponential import SquaredExponential

LOG_EI, EI, LCB, PI = (
    LogExpectedImprovement(),
    ExpectedImprovement(),
    LowerConfidenceBound(),
    ProbabilityOfImprovement(),
)
ALL = [LOG_EI, EI, LCB, PI]


def partials(acquisition, mean, std, best):
    return acquisition.partials(Prediction(mean, std), best)


# Dense everywhere, denser around the joints of the formula at -1 and SERIES_BELOW and the zero of log h near 0.9.
GRID = np.unique(
    np.concatenate(
        [
            np.linspace(-1e3, 1e3, 4001),
            np.linspace(-60, 12, 1201),
            -np.geomspace(1e-12, 1e3, 200),
            np.geomspace(1e-12, 1e3, 200),
            [np.nextafter(-1, -2), -1.0, np.nextafter(-1, 0), np.nextafter(SERIES_BELOW, -99), SERIES_BELOW],
        ]
    )
)


def test_log_h_against_50_digits():
    value, gradient = log_h(GRID)
    exact = [precise.log_h(u) for u in GRID]
    errors = [abs((mp.mpf(v) - e) / e) for v, e in zip(value, exact, strict=True)]
    assert max(errors) <= 1e-10, GRID[np.argmax(errors)]
    exact_gradient = [mp.erfc(-mp.mpf(u) / mp.sqrt(2)) / 2 / precise.h(u) for u in GRID]
    errors = [abs(mp.mpf(s) / e - 1) for s, e in zip(gradient, exact_gradient, strict=True)]
    assert max(errors) <= 1e-10, GRID[np.argmax(errors)]


def test_log_h_at_one_number_is_the_same():
    for u, value, gradient in zip(GRID, *log_h(GRID), strict=True):
        assert log_h_at(float(u)) == pytest.approx((value, gradient), rel=1e-14)


def test_log_h_is_smooth_across_its_joints():
    for joint in (-1.0, SERIES_BELOW):
        u = joint + np.linspace(-1e-6, 1e-6, 101)
        assert np.all(np.diff(log_h(u)[0]) > 0)


@pytest.mark.parametrize("u", [-1e4, -1e8, -1e20, -1e75, -1e150, 1e4, 1e20, 1e150])
def test_log_h_far_out(u):
    value, gradient = log_h(np.array(u))
    assert np.isfinite(value)
    assert np.isfinite(gradient)
    leading = math.log(u) if u > 0 else -0.5 * u**2 - 0.5 * math.log(2 * math.pi) - 2 * math.log(-u)
    assert value == pytest.approx(leading, rel=1e-8)
    assert gradient == pytest.approx(1 / u if u > 0 else -u, rel=1e-7)


def test_log_expected_improvement_against_50_digits():
    rng = np.random.default_rng(0)
    u = np.concatenate([rng.uniform(-1e3, 1e3, 300), rng.uniform(-10, 10, 300)])
    std, best = 10 ** rng.uniform(-6, 3, 600), 0.0
    mean = best - u * std
    value, by_mean, by_std = log_expected_improvement(mean, std, best)
    for i in range(600):
        s, z = mp.mpf(std[i]), (mp.mpf(best) - mp.mpf(mean[i])) / mp.mpf(std[i])
        h, Phi = precise.h(z), mp.erfc(-z / mp.sqrt(2)) / 2
        exact = mp.log(s) + mp.log(h)
        assert abs(mp.mpf(value[i]) - exact) <= 1e-10 * max(1, abs(exact))
        assert abs(mp.mpf(by_mean[i]) / (-Phi / (s * h)) - 1) <= 1e-9
        exact_by_std = mp.npdf(z) / (s * h)  # d(s h(g/s))/ds = phi(g/s)
        assert abs(mp.mpf(by_std[i]) - exact_by_std) <= 1e-9 * exact_by_std + 1e-14 / s


class TestSecondOrder:
    """Log EI with second derivatives, which Newton searches need."""

    GRID = np.concatenate(
        [
            -np.geomspace(1e-3, 1e4, 40),
            np.geomspace(1e-3, 50, 25),
            np.linspace(-55, -45, 5),
            [0.0, np.nextafter(-1, -2), -1.0, np.nextafter(-1, 0), np.nextafter(SERIES_BELOW, -99), SERIES_BELOW],
        ]
    )

    def flat(self, mean, std, best):
        """Value, gradients and hessians, (6, m)."""
        return np.vstack(log_expected_improvement_to_second_order(np.asarray(mean), np.asarray(std), best))

    def test_against_many_digits(self):
        """Relative to themselves; far above 0, where they underflow, to what they are made of."""
        rng = np.random.default_rng(0)
        std, best = 10 ** rng.uniform(-6, 3, len(self.GRID)), 0.3
        mean = best - self.GRID * std
        ours = self.flat(mean, std, best)
        for k, s in enumerate(std):
            exact = precise.log_expected_improvement_with_derivatives(mean[k], s, best)
            for i, unit in enumerate((1.0, s, s, s**2, s**2, s**2)):
                error = abs(mp.mpf(ours[i, k]) - exact[i])
                assert error <= (1e-10 if i < 3 else 3e-8) * abs(exact[i]) + 1e-14 / unit, (self.GRID[k], i)

    def test_value_and_gradient_are_those_of_log_expected_improvement(self):
        std = np.geomspace(1e-5, 1e5, len(self.GRID))
        mean = 0.3 - self.GRID * std
        expected = np.array(log_expected_improvement(mean, std, 0.3))
        np.testing.assert_allclose(self.flat(mean, std, 0.3)[:3], expected, rtol=1e-12, atol=1e-300)

    def test_shapes(self):
        acquisition, hessian = log_expected_improvement_to_second_order(np.zeros(4), np.ones(4), 0.0)
        assert {part.shape for part in (*acquisition, *hessian)} == {(4,)}

    def test_a_concave_function_of_the_mean(self):
        assert np.all(self.flat(0.3 - self.GRID, np.ones_like(self.GRID), 0.3)[3] < 0)

    def test_without_std(self):
        """A certain gain of g has the derivatives of log g; without a gain all derivatives are 0."""
        value, by_mean, by_std, *hessian = self.flat([1.0, 1.75, 2.0, 3.0], np.zeros(4), 2.0).tolist()
        assert value == [0.0, math.log(0.25), -math.inf, -math.inf]
        assert by_mean == [-1.0, -4.0, 0.0, 0.0]
        assert by_std == [0.0] * 4
        assert hessian == [[-1.0, -16.0, 0.0, 0.0], [0.0] * 4, [0.0] * 4]

    @pytest.mark.parametrize("std", [1e-20, 1e-100, 1e-200, 1e-300, 5e-324])
    def test_the_limit_of_a_small_std(self, std):
        certain, little = self.flat([1.75], [0.0], 2.0), self.flat([1.75], [std], 2.0)
        np.testing.assert_allclose(little[[0, 1, 3]], certain[[0, 1, 3]], rtol=1e-12)

    @pytest.mark.parametrize("gain", [5e-324, 1e-310, 1e-200, 1e-160, 1e160, 1e300])
    @pytest.mark.parametrize("std", [0.0, 1e-200, 1.0, 1e200])
    def test_a_gain_whose_square_is_no_float(self, gain, std):
        """Then the hessian is infinite or 0, and the rest as ever."""
        ours = self.flat([-gain], [std], 0.0)
        expected = np.array(log_expected_improvement(np.array([-gain]), np.array([std]), 0.0))
        np.testing.assert_allclose(ours[:3], expected, rtol=1e-12)
        assert not np.any(np.isnan(ours[3]))
        assert ours[3] <= 0

    def test_nan_stays_nan(self):
        """And its neighbours stay as they are."""
        ours = self.flat([math.nan, 0.1, 0.1], [0.5, math.nan, 0.5], 0.3)
        assert np.all(np.isnan(ours[:, :2]))
        np.testing.assert_array_equal(ours[:, 2:], self.flat([0.1], [0.5], 0.3))
        assert np.all(np.isnan(self.flat([0.1], [0.5], math.nan)))

    @settings(deadline=None, derandomize=True, max_examples=300)
    @given(
        mean=st.floats(-1e100, 1e100),
        std=st.one_of(st.just(0.0), st.floats(1e-100, 1e100)),
        best=st.floats(-1e100, 1e100),
    )
    def test_any_numbers(self, mean, std, best):
        """No error, no warning, no NaN; the value and the gradients are those without hessian."""
        ours = self.flat([mean], [std], best)
        assert not np.any(np.isnan(ours))
        expected = np.array(log_expected_improvement(np.array([mean]), np.array([std]), best))
        np.testing.assert_allclose(ours[:3], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("u", [-1e3, -1e10, -1e100, -1e150, -1e200, -math.inf])
def test_log_expected_improvement_is_finite_far_out(u):
    value = log_expected_improvement(np.array([-u if math.isfinite(u) else 1e308]), np.array([1.0]), 0.0).value[0]
    assert np.isfinite(value)
    assert value < -1e5


def test_log_expected_improvement_falls_with_the_mean_and_rises_with_the_std():
    mean = np.linspace(-5, 300, 2000)
    assert np.all(np.diff(log_expected_improvement(mean, np.ones_like(mean), 0.0).value) < 0)
    std = np.geomspace(1e-3, 10, 2000)
    assert np.all(np.diff(log_expected_improvement(np.ones_like(std), std, 0.0).value) > 0)


@pytest.fixture
def states():
    rng = np.random.default_rng(0)
    std = 10 ** rng.uniform(-3, 2, 2000)
    return rng.normal(size=2000), std, 0.3


def test_expected_improvement_equals_the_oracle(states):
    mean, std, best = states
    expected = reference.expected_improvement(mean, std, best)
    seen = (best - mean) / std > -5  # the naive formula has lost its digits below
    np.testing.assert_allclose(EI(Prediction(mean, std), best)[seen], expected[seen], rtol=1e-8)
    np.testing.assert_allclose(EI(Prediction(mean, std), best), expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(log_expected_improvement(*states).value[seen], np.log(expected[seen]), atol=1e-8)


def test_bound_and_probability_equal_the_oracle(states):
    mean, std, best = states
    for beta in (0.5, 2.0):
        bound = reference.lower_confidence_bound(mean, std, beta)
        np.testing.assert_allclose(LowerConfidenceBound(beta)(Prediction(mean, std), best), -bound, rtol=1e-14)
    expected = reference.probability_of_improvement(mean, std, best)
    np.testing.assert_allclose(PI(Prediction(mean, std), best), expected, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("acquisition", ALL)
def test_partial_derivatives_against_central_differences(acquisition):
    rng = np.random.default_rng(1)
    std = 10 ** rng.uniform(-1, 1, 500)
    mean = 0.3 - rng.uniform(-6, 6, 500) * std
    _, by_mean, by_std = partials(acquisition, mean, std, 0.3)
    h = 1e-5 * std
    above, below = (acquisition(Prediction(mean + sign * h, std), 0.3) for sign in (1, -1))
    expected = (above - below) / (2 * h)
    np.testing.assert_allclose(by_mean, expected, rtol=1e-5, atol=1e-8)
    above, below = (acquisition(Prediction(mean, std + sign * h), 0.3) for sign in (1, -1))
    expected = (above - below) / (2 * h)
    np.testing.assert_allclose(by_std, expected, rtol=1e-5, atol=1e-8)


class TestWithoutStd:
    """The outcome is certain: a gain, a loss or neither."""

    mean, std, best = np.array([1.0, 2.0, 3.0]), np.zeros(3), 2.0

    def test_log_expected_improvement(self):
        value, by_mean, by_std = partials(LOG_EI, self.mean, self.std, self.best)
        assert value.tolist() == [0.0, -math.inf, -math.inf]
        assert by_mean.tolist() == [-1.0, 0.0, 0.0]
        assert by_std.tolist() == [0.0, 0.0, 0.0]

    def test_expected_improvement(self):
        value, by_mean, by_std = partials(EI, self.mean, self.std, self.best)
        assert value.tolist() == [1.0, 0.0, 0.0]
        assert by_mean.tolist() == [-1.0, 0.0, 0.0]
        assert by_std.tolist() == [0.0, 0.0, 0.0]
        np.testing.assert_array_equal(value, reference.expected_improvement(self.mean, self.std, self.best))

    def test_lower_confidence_bound(self):
        assert LCB(Prediction(self.mean, self.std), self.best).tolist() == [-1.0, -2.0, -3.0]

    def test_probability_of_improvement(self):
        value, by_mean, by_std = partials(PI, self.mean, self.std, self.best)
        assert value.tolist() == [1.0, 0.0, 0.0]
        assert by_mean.tolist() == by_std.tolist() == [0.0, 0.0, 0.0]

    @pytest.mark.parametrize("acquisition", ALL)
    def test_the_limit_of_a_small_std(self, acquisition):
        """Also where gain / std is beyond the largest float."""
        certain = partials(acquisition, self.mean, self.std, self.best)
        for std in (1e-20, 1e-100, 1e-200, 1e-300, 1e-310, 5e-324):
            little = partials(acquisition, self.mean, np.full(3, std), self.best)
            assert little.value[0] == pytest.approx(certain.value[0], rel=1e-12, abs=1e-12)
            assert little.by_mean[0] == pytest.approx(certain.by_mean[0])
            if acquisition is not PI:  # 1/2 at mean = best, and 0 or 1 beside it
                assert little.value[1] <= max(certain.value[1], -1e-12 if acquisition is LCB else 1e-12)
            assert little.value[2] == certain.value[2] or (acquisition is LOG_EI and little.value[2] < -1e5)
            assert not np.any(np.isnan(little))


@pytest.mark.parametrize("acquisition", ALL)
@settings(deadline=None, derandomize=True, max_examples=200)
@given(
    mean=st.floats(-1e100, 1e100),
    std=st.one_of(st.just(0.0), st.floats(0, 1e100, exclude_min=True)),
    best=st.floats(-1e100, 1e100),
)
def test_never_nan_and_never_a_warning(acquisition, mean, std, best):
    value, by_mean, by_std = partials(acquisition, np.array([mean]), np.array([std]), best)
    assert not np.any(np.isnan([value, by_mean, by_std]))
    assert value[0] < math.inf
    if std > 0 or acquisition is not LOG_EI or best > mean:
        assert value[0] > -math.inf


@pytest.mark.parametrize("acquisition", ALL)
@pytest.mark.parametrize("shape", [(), (1,), (7,), (2, 3)])
def test_shape_of_the_arguments(acquisition, shape):
    mean, std = np.full(shape, 0.5), np.full(shape, 0.2)
    assert np.shape(acquisition(Prediction(mean, std), 0.4)) == shape
    for part in partials(acquisition, mean, std, 0.4):
        assert np.shape(part) == shape


@pytest.mark.parametrize("acquisition", ALL)
def test_the_protocol(acquisition, states):
    """A frozen value that equals another of its kind; its call returns the values of its partial derivatives."""
    mean, std, best = states
    prediction = Prediction(mean, std)
    parts = acquisition.partials(prediction, best)
    assert isinstance(parts, Partials)
    np.testing.assert_array_equal(acquisition(prediction, best), parts.value)
    assert acquisition == type(acquisition)()
    assert hash(acquisition) == hash(type(acquisition)())
    assert acquisition.is_log is (acquisition is LOG_EI)


def test_the_logarithm_to_second_order(states):
    mean, std, best = states
    first, second = LOG_EI.to_second_order(Prediction(mean, std), best)
    np.testing.assert_allclose(first, LOG_EI.partials(Prediction(mean, std), best), rtol=1e-9, atol=1e-12)
    expected = log_expected_improvement_to_second_order(mean, std, best)[1]
    np.testing.assert_array_equal(second, expected)


@pytest.mark.parametrize("n_states", [2000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_alpha_ratio_is_finite_or_a_named_case(n_states):
    """Random states: two models of the same few data against five targets, as Alg. 2 compares them."""
    rng = np.random.default_rng(0)
    A, cases = rng.random((20, 2)), {"finite": 0, "neither": 0, "one": 0}
    for _ in range(n_states // 5):
        n = int(rng.integers(1, 5))
        X = rng.random((n, 2)) * rng.choice([1.0, 1e-6])
        y = rng.normal(size=n) * 10 ** rng.uniform(-6, 6)
        l = 10 ** rng.uniform(-3, 3)
        old = GaussianProcess.fit(SquaredExponential(l), X, y)
        new = GaussianProcess.fit(SquaredExponential(l / 2), X, y, old.prior)
        candidates = X if rng.random() < 0.2 else A  # at the observations there may be no improvement
        predictions = [p.predict(candidates) for p in (new, old)]
        for below in (0.0, 1e-9, 1.0, 1e3, 1e6):
            best, certain = float(y.min() - below), rng.random(2) < 0.1
            logs = [
                float(np.max(log_expected_improvement(mean, std * (not sure), best).value))
                for (mean, std), sure in zip(predictions, certain, strict=True)
            ]
            ratio = log_alpha_ratio(*logs)
            if ratio is None:
                assert logs == [-math.inf, -math.inf]
                cases["neither"] += 1
            elif math.isinf(ratio):
                assert logs[0 if ratio < 0 else 1] == -math.inf
                cases["one"] += 1
            else:
                assert ratio == logs[0] - logs[1]
                cases["finite"] += 1
    assert sum(cases.values()) == n_states
    assert min(cases.values()) > 10, cases  # all three happen


@pytest.mark.parametrize(
    ("log_new", "log_old", "expected"),
    [(-1.0, -3.0, 2.0), (-math.inf, -math.inf, None), (-5.0, -math.inf, math.inf), (-math.inf, -5.0, -math.inf)],
)
def test_alpha_ratio_by_name(log_new, log_old, expected):
    assert log_alpha_ratio(log_new, log_old) == expected
