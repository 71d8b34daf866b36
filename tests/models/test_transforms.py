"""Outcome transforms: each against its formula and its inverse, at any size of the values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dale.models.transforms import Asinh, Log1p, Standardize

values = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=12).map(np.array)


class TestStandardize:
    @settings(deadline=None, derandomize=True, max_examples=200)
    @given(y=values, exponent=st.integers(-280, 280))
    def test_mean_and_std_at_any_size(self, y, exponent):
        scale = 2.0**exponent
        z = Standardize.of(y * scale)(y * scale)
        assert np.all(np.isfinite(z))
        if np.ptp(y) > 1e-6 * np.max(np.abs(y)):
            assert np.mean(z) == pytest.approx(0.0, abs=1e-9)
            assert np.std(z) == pytest.approx(1.0, rel=1e-9)

    @settings(deadline=None, derandomize=True, max_examples=200)
    @given(y=values)
    def test_inverse(self, y):
        standardize = Standardize.of(y)
        back = [standardize.inverse(float(z)) for z in standardize(y)]
        np.testing.assert_allclose(back, y, atol=1e-12 * max(1.0, float(np.max(np.abs(y)))))
        difference = standardize.inverse_scale(float(standardize(y)[1] - standardize(y)[0]))
        assert difference == pytest.approx(y[1] - y[0], abs=1e-12 * max(1.0, float(np.max(np.abs(y)))))

    def test_differences_to_the_lowest_keep_their_digits(self):
        y = np.array([1e6, 1e6 + 1e-9, 2e6])
        standardize = Standardize.of(y)
        ours = standardize.above_lowest(y)[1] / standardize.above_lowest(y)[2]
        assert ours == pytest.approx((y[1] - y[0]) / (y[2] - y[0]), rel=1e-12)
        assert standardize.above_lowest(y)[0] == 0

    def test_equal_values_and_the_largest_floats(self):
        assert Standardize.of(np.full(3, 7.0))(np.full(3, 7.0)).tolist() == [0.0] * 3
        z = Standardize.of(np.array([-1.7e308, 1.7e308]))(np.array([-1.7e308, 1.7e308]))
        np.testing.assert_allclose(z, [-1.0, 1.0])


class TestLog1p:
    @settings(deadline=None, derandomize=True, max_examples=200)
    @given(lowest=st.floats(-10, 10), scale=st.floats(1e-3, 1e3), v=st.floats(0, 50))
    def test_inverse_and_its_slope(self, lowest, scale, v):
        transform = Log1p(lowest, scale)
        z = transform.inverse(v)
        assert float(transform(np.array(z))) == pytest.approx(v, abs=1e-9)
        h = 1e-5
        slope = (transform.inverse(v + h) - transform.inverse(v - h)) / (2 * h)
        assert transform.inverse_slope(v) == pytest.approx(slope, rel=1e-6, abs=1e-4)

    def test_slopes_at_values(self):
        """Values that the transform was not fitted to may be lower than all others; a slope is never negative."""
        transform = Log1p(2.0, 3.0)
        slopes = [transform.inverse_slope(float(v)) for v in transform(np.array([2.0, 5.0, 8.0]))]
        np.testing.assert_allclose(transform.inverse_slopes(np.array([-9.0, 2.0, 5.0, 8.0])), [3.0, *slopes])

    def test_by_hand(self):
        np.testing.assert_allclose(Log1p(2.0, 3.0)(np.array([2.0, 5.0, 8.0])), np.log([1.0, 2.0, 3.0]))

    def test_a_huge_prediction_stays_finite(self):
        assert np.isfinite([Log1p(0.0, 1.0).inverse(1e4), Log1p(0.0, 1.0).inverse_slope(1e4)]).all()


class TestAsinh:
    def test_sign_scale_and_inverse(self):
        C = np.array([[-3.0, 1e6], [1.0, -2e6], [2.0, 4e6], [1e9, 1.0]])
        transform = Asinh.of(C)
        np.testing.assert_allclose(transform.scales, [2.5, 1.5e6])
        np.testing.assert_allclose(transform(C), np.arcsinh(C / [2.5, 1.5e6]))
        np.testing.assert_array_equal(np.sign(transform(C)), np.sign(C))
        np.testing.assert_allclose(transform.inverse(transform(C)), C, rtol=1e-9)

    def test_scales_without_a_median(self):
        np.testing.assert_array_equal(Asinh.of(np.array([[0.0, 0.0], [0.0, 0.0], [-4.0, 0.0]])).scales, [4.0, 1.0])
