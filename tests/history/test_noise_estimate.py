"""Noise that is specified with the values, or detected by replicates."""

import math

import numpy as np
import pytest

import dale
from dale.history.noise import MIN_LARGE
from dale.history.reason import Source
from hostile import bowl
from noisy_runs import observations, smooth_data, with_data


@pytest.fixture
def smooth():
    return smooth_data()


class TestSpecifiedNoise:
    def test_for_all_values(self, smooth):
        noise = observations(*smooth, noise=0.2).noise
        assert (noise.level, noise.modelled) == (0.2, True)
        assert noise.known.tolist() == [0.2] * 30

    def test_zero(self, smooth):
        """Noise that is specified as 0 is 0, even if replicates differ."""
        X, y = smooth
        noise = observations(np.vstack([X, X]), np.append(y, y + 1), noise=0).noise
        assert (noise.level, noise.known, noise.modelled) == (0.0, None, False)

    def test_for_each_value(self, smooth):
        each = np.linspace(0.1, 0.3, 30)
        noise = observations(*smooth, each=each).noise
        assert noise.level == pytest.approx(0.2)
        assert noise.known.tolist() == each.tolist()

    def test_for_some_values(self, smooth):
        """It says nothing about the others, which are exact until replicates prove noise."""
        noise = observations(*smooth, each=[0.1, 0.2, 0.3] + [None] * 27).noise
        assert noise.known.tolist() == [0.1, 0.2, 0.3] + [0.0] * 27
        assert (noise.level, noise.modelled, noise.is_detected) == (0.2, True, False)

    @pytest.mark.parametrize("told", [0.0, 0.5])
    def test_for_one_value_while_replicates_of_others_differ(self, smooth, told):
        X, y = smooth
        each = [told] + [None] * 30
        noise = observations(np.vstack([X, X[1:2]]), np.append(y, y[1] + 0.3), each=each).noise
        assert (noise.modelled, noise.is_detected, noise.known[0]) == (True, True, told)
        assert np.all(noise.known[1:] > 0)
        assert len(set(noise.known[1:])) == 1

    def test_a_replicate_of_a_value_with_noise_proves_nothing_about_others(self, smooth):
        X, y = smooth
        noise = observations(np.vstack([X, X[:1]]), np.append(y, y[0] + 0.3), each=[0.5] + [None] * 30).noise
        assert noise.known.tolist() == [0.5] + [0.0] * 30

    def test_of_one_value_leaves_few_others_with_the_level_of_their_replicates(self):
        noise = observations([[0.9], [0.5], [0.5]], [2.0, 1.0, 3.0], each=[0.0, None, None]).noise
        assert noise.known.tolist() == pytest.approx([0.0, math.sqrt(2), math.sqrt(2)])

    def test_of_one_value_leaves_others_with_the_noise_of_a_model(self, smooth):
        """One pair of replicates says little about the level: here it agrees by chance."""
        X, y = smooth
        y = y + 0.1 * np.random.default_rng(0).standard_normal(30)
        X, y = np.vstack([X, X[1:2]]), np.append(y, y[1] + 0.001)
        noise = observations(X, y, each=[0.0] + [None] * 30).noise
        assert noise.known[1] == pytest.approx(0.1, rel=0.4)

    def test_noise_of_a_value_overrides_the_default(self, smooth):
        noise = observations(*smooth, noise=0.5, each=[0.1] + [None] * 29).noise
        assert noise.known.tolist() == [0.1] + [0.5] * 29

    @pytest.mark.parametrize("exact", [1, 20, 29])
    def test_zero_for_some_values(self, smooth, exact):
        """A single value with noise is enough for a model with noise."""
        noise = observations(*smooth, each=[0.0] * exact + [0.3] * (30 - exact)).noise
        assert (noise.level, noise.modelled) == (0.3, True)
        assert noise.known.tolist() == [0.0] * exact + [0.3] * (30 - exact)

    def test_noise_below_a_threshold_does_not_matter_to_a_global_model(self, smooth):
        X, y = smooth
        little, enough = 0.9 * MIN_LARGE * np.std(y), 1.1 * MIN_LARGE * np.std(y)
        for level, is_large in ((little, False), (enough, True)):
            noise = observations(X, y, noise=level).noise
            assert (noise.level, noise.modelled, noise.is_large) == (pytest.approx(level), True, is_large)
        result = with_data(X, y, noise=little).result()
        assert result.fun == pytest.approx(min(y), abs=0.01 * np.std(y))
        assert result.noise == pytest.approx(little)

    def test_of_equal_values(self):
        """A constant function with noise."""
        optimizer = with_data(np.random.default_rng(0).random((6, 2)), np.ones(6), noise=0.1)
        assert optimizer.best_value == pytest.approx(1.0)
        assert optimizer.result().noise == pytest.approx(0.1)
        assert optimizer.ask().reason.source in (Source.GLOBAL, Source.LOCAL)

    @pytest.mark.parametrize("level", [1e-300, 1e-30, 1e30, 1e300])
    def test_of_any_size(self, smooth, level):
        optimizer = with_data(*smooth, noise=level)
        assert min(smooth[1]) - 1 <= optimizer.best_value <= max(smooth[1])
        optimizer.ask()

    @pytest.mark.parametrize("bad", [-0.1, math.nan, math.inf])
    def test_negative_or_infinite_noise_raises(self, bad):
        optimizer = dale.Optimizer([(0, 1)], seed=0)
        with pytest.raises(ValueError, match="at least 0"):
            optimizer.add([0.5], 1.0, noise=bad)
        with pytest.raises(ValueError, match="at least 0"):
            dale.Optimizer([(0, 1)], noise=bad)
        assert optimizer.history == ()

    @pytest.mark.parametrize("bad", [True, "much", "0.1", [0.1], 1j])
    def test_noise_that_is_not_a_number_raises(self, bad):
        with pytest.raises((TypeError, ValueError), match="noise must be"):
            dale.Optimizer([(0, 1)], noise=bad)

    def test_an_objective_may_return_it(self):
        result = dale.minimize(lambda x: dale.Evaluation(bowl(x), noise=0.1), [(0, 1)] * 2, budget=8, seed=0)
        assert [t.noise for t in result.history] == [0.1] * 8
        assert result.noise == pytest.approx(0.1)


class TestDetection:
    def test_by_one_point_with_two_values(self, smooth):
        X, y = smooth
        noise = observations(np.vstack([X, X[:1]]), np.append(y, y[0] + 0.3)).noise
        assert noise.level == pytest.approx(0.3 / math.sqrt(2))
        assert (noise.known, noise.modelled) == (None, True)

    def test_by_many_replicates(self, smooth):
        """The level is the standard deviation of a single value."""
        X, y = smooth
        rng = np.random.default_rng(0)
        X, y = np.repeat(X, 8, axis=0), np.repeat(y, 8) + 0.2 * rng.standard_normal(240)
        assert observations(X, y).noise.level == pytest.approx(0.2, rel=0.1)

    def test_not_by_equal_values(self, smooth):
        X, y = smooth
        assert observations(np.vstack([X, X]), np.append(y, y)).noise.level == 0

    def test_not_by_rounding_errors(self, smooth):
        X, y = smooth
        assert observations(np.vstack([X, X]), np.append(y, y * (1 + 4e-16))).noise.level == 0

    @pytest.mark.parametrize("distance", [2.0**-54, 1e-12, 1e-9, 1e-6, 1e-3, 0.1])
    def test_not_by_a_jump_beside_a_point(self, smooth, distance):
        """Even if the two points differ in the last bit only: a tree or a table jumps there."""
        X, y = smooth
        X[0] = [0.4, 0.4]
        beside = X[:1] + np.array([distance, 0])
        assert beside[0, 0] != 0.4
        assert observations(np.vstack([X, beside]), np.append(y, y[0] + 5.0)).noise.level == 0

    def test_not_by_points_that_only_the_objective_can_tell_apart(self):
        """In the unit cube, both of these are 0.5."""
        optimizer = dale.Optimizer([(-1, 1)], seed=0)
        for x, value in ((-1e-20, 0.0), (1e-20, 1.0), (0.3, 0.2)):
            optimizer.add([x], value)
        assert len({t.unit_x.tobytes() for t in optimizer.history}) == 2
        assert optimizer.result().noise == 0
        optimizer.add([1e-20], 1.5)
        assert optimizer.snapshot.history.observations.noise.level == pytest.approx(0.5 / math.sqrt(2))

    def test_with_names_and_options(self):
        """Equal numbers and equal options are the same point."""
        optimizer = dale.Optimizer({"a": (-1, 1), "n": dale.Int(0, 9), "c": dale.Choice(["u", "v"])}, seed=0)
        for a, n, c in ((1e-20, 7, "u"), (2e-20, 7, "u"), (1e-20, 8, "u"), (1e-20, 7, "v")):
            optimizer.add({"a": a, "n": n, "c": c}, float(len(optimizer.history)))
        assert len({t.unit_x.tobytes() for t in optimizer.history}) == 3
        assert optimizer.result().noise == 0
        optimizer.add({"a": 1e-20, "n": 7, "c": "v"}, 4.0)
        assert optimizer.snapshot.history.observations.noise.level == pytest.approx(1 / math.sqrt(2))

    def test_the_level_pools_the_variances_of_all_replicated_points(self, smooth):
        """Each point has its own mean, and a point with m values counts m - 1 times."""
        X, y = smooth
        X, y = np.vstack([X, X[:1], X[:1], X[1:2]]), np.append(y, [y[0] + 0.3, y[0] + 0.6, y[1] + 0.2])
        expected = math.sqrt((2 * 0.3**2 + 2 * 0.1**2) / 3)
        assert observations(X, y).noise.level == pytest.approx(expected)

    def test_by_an_outlier(self):
        """An outlier at a repeated point proves noise, but has no weight: the noise of the others is still tiny."""
        optimizer = dale.Optimizer([(0, 1)] * 2, seed=0)
        for x in np.random.default_rng(0).random((12, 2)):
            optimizer.add(x, bowl(x))
        optimizer.add(optimizer.best.x, 1e12)
        assert 0 < optimizer.result().noise < 0.01
        assert optimizer.best.value == min(t.value for t in optimizer.history)

    def test_with_few_values(self):
        assert observations([[0.5]], [1.0]).noise.level == 0
        assert observations([[0.5], [0.5]], [1.0, 1.0]).noise.level == 0
        assert observations([[0.5], [0.5]], [1.0, 3.0]).noise.level == pytest.approx(math.sqrt(2))

    @pytest.mark.parametrize("scale", [1e-300, 1e-155, 1e-12, 1e155, 1e300])
    @pytest.mark.parametrize("shift", [0.0, 3.0])
    def test_in_any_unit(self, smooth, scale, shift):
        X, y = smooth
        X, y = np.vstack([X, X[:1]]), np.append(y, y[0] + 0.3) + shift
        plain, scaled = observations(X, y).noise, observations(X, scale * y).noise
        assert scaled.level / scale == pytest.approx(plain.level, rel=1e-9)
        assert scaled.modelled
        row, *numbers = observations(X, scale * y).best
        expected = observations(X, y).best
        assert (row, *(number / scale for number in numbers)) == pytest.approx(expected, rel=1e-6, abs=1e-9)

    @pytest.mark.parametrize("extreme", [1.7e308, -1.7e308, 5e-324])
    def test_extreme_values(self, smooth, extreme):
        X, y = smooth
        y = np.where(np.arange(30) % 2, y * 0.0, extreme)
        assert observations(X, y).noise.level == 0
        optimizer = with_data(np.vstack([X, X[:1]]), np.append(y, extreme / 2))
        assert 0 <= optimizer.result().noise < math.inf
        optimizer.ask()


def test_many_replicates():
    """Time and memory grow with the number of observations, not with that of their pairs."""
    rng = np.random.default_rng(0)
    X = rng.random((3, 2))[rng.integers(0, 3, 10_000)]
    y = np.sum(X, axis=1) + 0.05 * rng.standard_normal(10_000)
    assert observations(X, y).noise.level == pytest.approx(0.05, rel=0.1)


class TestDiscreteNoise:
    @pytest.mark.parametrize(
        ("replicate", "expected"), [(1.0, True), (0.5, False)], ids=["value of others", "value of no other"]
    )
    def test_shown_by_replicates_with_values_of_other_points(self, smooth, replicate, expected):
        X, _ = smooth
        y = (np.arange(30) % 2).astype(float)
        noise = observations(np.vstack([X, X[:1]]), np.append(y, replicate)).noise
        assert (noise.modelled, noise.is_discrete) == (True, expected)

    def test_not_by_values_that_only_the_replicates_have(self, smooth):
        X, y = smooth
        assert not observations(np.vstack([X, X[:1], X[:1]]), np.concatenate([y, y[:1] + 1, y[:1]])).noise.is_discrete

    def test_not_by_levels_that_are_closer_than_the_noise(self, smooth):
        """Counts of hundreds, say: as good as continuous."""
        X, _ = smooth
        y = (np.arange(30) % 15).astype(float)
        assert not observations(np.vstack([X, X[:1]]), np.append(y, 10.0)).noise.is_discrete

    def test_the_mean_of_successes_is_estimated(self):
        """Equal values nearby are not exact, and rare failures are no outliers."""
        rng = np.random.default_rng(0)
        X = rng.random((80, 2))
        probability = 0.2 + 0.6 * np.minimum(2 * np.sum((X - 0.5) ** 2, axis=1), 1)
        y = (rng.random(80) < probability).astype(float)
        again = int(np.argmin(y))
        result = with_data(np.vstack([X, X[again]]), np.append(y, 1.0)).result()
        true = 0.2 + 0.6 * min(2 * np.sum((result.x - 0.5) ** 2), 1)
        assert 0.3 < result.noise < 0.6
        assert 0.03 < result.fun_std < 0.3
        assert abs(result.fun - true) < 3 * result.fun_std
        assert true < 0.35
