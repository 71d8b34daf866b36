"""The recommended observation of a noisy run."""

import numpy as np
import pytest

import dale
from dale.history.recommendation import INITIAL_RADIUS, NoisyData, descend
from dale.models.noisy_gp import NoisyGP
from noisy_runs import with_data


@pytest.fixture
def valley():
    """A narrow, rotated valley with noise: points, values, and the values without noise."""
    rng = np.random.default_rng(1)
    X = rng.random((80, 2))
    along, across = X @ [0.6, 0.8] - 0.7, X @ [0.8, -0.6] - 0.1
    f = along**2 + 100 * across**2
    return X, f + 0.3 * rng.standard_normal(80), f


def descended(X, y, row, feasible=None):
    """Where the search from an observation ends, in a new region."""
    data = NoisyData.of(X, y)
    return descend(
        data, data.fit(row, INITIAL_RADIUS, None), np.ones(len(y), dtype=bool) if feasible is None else feasible
    )


def test_the_model_averages_in_a_narrow_valley(valley):
    X, y, f = valley
    lowest = int(np.argmin(y))
    center = descended(X, y, lowest)
    assert f[center.row] <= f[lowest]
    assert f[center.row] < np.quantile(f, 0.1)
    assert abs(center.model.value - f[center.row]) < 4 * center.model.value_std
    assert center.model.value_std < 0.2
    assert center.model.noise_at_center == pytest.approx(0.3, rel=0.4)


def test_only_feasible_observations_are_recommended(valley):
    X, y, _ = valley
    feasible = X[:, 0] > 0.5
    row = int(np.argmin(np.where(feasible, y, np.inf)))
    center = descended(X, y, row, feasible)
    assert feasible[center.row]


def test_a_low_outlier_is_not_recommended():
    """Values without noise but for one that is much too low, and the replicate that proves noise."""
    X = np.random.default_rng(0).random((40, 2))
    f = np.sum((X - 0.4) ** 2, axis=1)
    y = f.copy()
    y[7] -= 3.0
    optimizer = with_data(np.vstack([X, X[7]]), np.append(y, f[7]))
    assert np.sum((optimizer.best.x - 0.4) ** 2) < 1.01 * np.min(f)
    assert optimizer.best_value == pytest.approx(np.min(f), abs=1e-3)


@pytest.fixture
def relative_noise():
    """Points ever closer to a minimum, values with noise of 10 % of them, and the values without noise."""
    rng = np.random.default_rng(3)
    X = np.vstack([0.4 + 0.5**k * rng.uniform(-0.4, 0.4, (6, 2)) for k in range(8)])
    f = np.sum((X - 0.4) ** 2, axis=1)
    y = f * np.exp(0.1 * rng.standard_normal(len(f)))
    return np.vstack([X, X[0]]), np.append(y, 1.1 * y[0]), np.append(f, f[0])


def test_the_minimum_of_relative_noise_is_not_lost(relative_noise):
    """A search elsewhere does not change the recommendation."""
    X, y, f = relative_noise
    assert np.sum((with_data(X, y).best.x - 0.4) ** 2) < 20 * np.min(f)


def test_many_values_of_one_point():
    """There is nothing to fit a Taylor model to; the error is that of the mean."""
    errors = np.random.default_rng(0).standard_normal(100)
    optimizer = with_data(np.full((100, 1), 0.5), 1.0 + 0.1 * errors)
    result = optimizer.result()
    assert result.fun == pytest.approx(1.0, abs=0.03)
    assert result.fun_std < 0.03
    assert optimizer.ask().x[0] != 0.5


def test_an_infeasible_replicate_is_not_recommended():
    X = np.random.default_rng(0).random((12, 2))
    optimizer = dale.Optimizer([(0.0, 1.0)] * 2, seed=0)
    for x in X:
        optimizer.add(x, float(np.sum((x - 0.3) ** 2)), constraints=[-1.0])
    for constraint, value in ((0.1, 0.0), (-0.3, 0.02), (0.1, -0.01)):  # feasible by their mean
        optimizer.add([0.3, 0.3], value, constraints=[constraint])
    assert optimizer.best.feasible
    assert optimizer.best.x.tolist() == [0.3, 0.3]


def test_known_noise_of_replicates():
    """The noise of one value, and the error of their mean."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.random((10, 2)), np.full((25, 2), 0.3)])
    y = np.sum((X - 0.3) ** 2, axis=1) + 0.1 * rng.standard_normal(35)
    result = with_data(X, y, noise=0.1).result()
    assert result.noise == pytest.approx(0.1)
    assert result.fun_std == pytest.approx(0.1 / 5, rel=0.2)
    assert "about 82 more evaluations near the best point would halve this error" in str(result)


@pytest.mark.parametrize(
    ("std", "difference", "expected"),
    [
        (0.05, 0.0, "about 12 more evaluations near"),
        (0.05, 0.03, "about 19 more evaluations near"),
        (0.05, 0.04, "most of this error is what the local and the global model differ by there, 0.04"),
        (1e-160, 0.0, "more than 160 more evaluations near"),
        (1e-160, 1e-160, "differ by there, 1e-160"),
        (1e3, 0.0, "about 1 more evaluation near"),
    ],
)
def test_what_reduces_the_error(std, difference, expected):
    """Of 40 values with noise of 0.1."""
    result = with_data(np.random.default_rng(0).random((40, 2)), np.zeros(40), noise=0.1).result()
    result.fun_std, result.model_difference = std, difference
    assert expected in str(result)


@pytest.mark.parametrize(
    ("replicates", "level", "lower"), [([0.0, 0.2], 0.02**0.5, 0.446), ([0.0, 0.0, 0.3], 0.03**0.5, 0.521)]
)
def test_what_replicates_prove(replicates, level, lower):
    """The lower end of the confidence interval of a standard deviation with 1 and 2 degrees of freedom."""
    X = np.vstack([np.random.default_rng(0).random((10, 2)), np.full((len(replicates), 2), 0.3)])
    y = np.append(np.sum(X[:10] ** 2, axis=1), replicates)
    assert NoisyData.of(X, y).proven_noise == pytest.approx(lower * level, rel=1e-3)
    assert NoisyData.of(X[:11], y[:11]).proven_noise == 0.0  # no replicates
    assert NoisyData.of(X, y, np.ones(len(y))).proven_noise == 0.0


@pytest.fixture(scope="module", params=[2, 5])
def two_valued(request):
    """A run of a sphere with noise of plus or minus 0.1, by a coin."""
    coin = np.random.default_rng(50 + request.param)
    return dale.minimize(
        lambda x: float(np.sum((x - 0.4) ** 2)) + 0.1 * (1 if coin.random() < 0.5 else -1),
        [(0, 1)] * 2,
        budget=60,
        seed=request.param,
    )


class TestTwoValuedNoise:
    """The local model follows the lower values: it has no noise, and errs by 0.1."""

    def test_the_noise_is_that_of_the_replicates_at_least(self, two_valued):
        observed = two_valued._snapshot.history.observations
        proven = observed.standardize.inverse_scale(observed.noisy_data.proven_noise)
        assert proven == pytest.approx(0.063, rel=0.01)
        assert observed.standardize.inverse_scale(observed.recommended.model.noise_at_center) < 0.01
        assert two_valued.noise == pytest.approx(proven)

    def test_the_error_is_what_the_models_differ_by(self, two_valued):
        true = float(np.sum((two_valued.x - 0.4) ** 2))
        assert abs(two_valued.fun - true) < 2 * two_valued.fun_std
        assert two_valued.noise < two_valued.model_difference <= two_valued.fun_std
        difference = f"{two_valued.model_difference:.2g}"
        assert f"most of this error is what the local and the global model differ by there, {difference}" in str(
            two_valued
        )
        assert "more evaluation" not in str(two_valued)


def test_replicates_elsewhere_prove_nothing_about_a_model_that_agrees(relative_noise):
    """Noise of 10 % of the values: where these vanish, it does."""
    X, y, _ = relative_noise
    observed = with_data(X, y).snapshot.history.observations
    assert observed.best.noise < 0.01 * observed.standardize.inverse_scale(observed.noisy_data.proven_noise)


def test_the_noise_is_that_of_the_model_that_decides():
    """Of the global one, where a polynomial follows the noise."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    observed = with_data(np.vstack([X, X[:1]]), rng.standard_normal(41)).snapshot.history.observations
    assert observed.recommended.is_global
    noise_std = observed.standardize.inverse_scale(observed.noisy_gp.noise_std)
    assert observed.best.noise == pytest.approx(noise_std, rel=0.2)  # a transform of the values changes it


def test_few_values_have_the_error_of_an_average_at_least():
    """Too few for a local model: the noise is that of the replicates."""
    result = with_data([[0.1], [0.5], [0.5]], [0.0, 1.0, 1.2]).result()
    assert result.noise == pytest.approx(0.02**0.5)
    assert result.fun_std >= 0.99 * result.noise / 3**0.5


@pytest.mark.parametrize(("d", "n"), [(2, 30), (5, 100), (8, 100)])
def test_the_error_is_calibrated(d, n):
    """Of a quadratic with noise of 0.1: its standardised errors have a root mean square near 1."""
    errors = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = np.clip(0.4 + 0.25 * rng.standard_normal((n, d)), 0, 1)
        f = np.sum((X - 0.4) ** 2 * np.geomspace(1, 10, d), axis=1)
        y = f + 0.1 * rng.standard_normal(n)
        result = with_data(np.vstack([X, X[:1]]), np.append(y, f[0] + 0.1 * rng.standard_normal())).result()
        true = float(np.sum((result.x - 0.4) ** 2 * np.geomspace(1, 10, d)))
        errors.append((result.fun - true) / result.fun_std)
    assert np.sqrt(np.mean(np.square(errors))) < 2


def test_the_error_of_pure_noise_is_calibrated():
    """Nothing knows the mean of n values of a constant better than their average does."""
    errors = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        result = with_data(rng.random((30, 2)), rng.standard_normal(30), noise=1.0).result()
        assert result.fun_std > 0.99 / np.sqrt(30)
        errors.append(result.fun / result.fun_std)
    assert np.sqrt(np.mean(np.square(errors))) < 1.5


@pytest.mark.parametrize("seed", range(4))
def test_all_values_equal_but_one(seed):
    """Levels and factors of the noise are ratios to a typical one, which vanishes here."""
    X, y = np.random.default_rng(seed).random((30, 2)), np.zeros(30)
    y[4] = 1.0
    center = descended(X, y, 0)
    assert center.model.value == pytest.approx(0.0, abs=1e-6)
    assert 0 <= center.model.value_std < 1e-6


@pytest.mark.parametrize("difference", [0.0, 0.5, 3.0])
def test_a_difference_from_the_global_model_counts_as_an_error(monkeypatch, difference):
    """Beyond the std of the global model."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.random((40, 2)), np.full((2, 2), 0.4)])
    observations = with_data(
        X, np.sum((X - 0.4) ** 2, axis=1) + 0.1 * rng.standard_normal(42)
    ).snapshot.history.observations
    center, scale = observations.recommended, observations.inliers.standardize
    std, value = scale.inverse_scale(center.model.value_std), scale.lowest + scale.inverse_scale(center.model.value)
    at = float(scale(np.array(value + difference))), 1.0 / scale.inverse_scale(1.0)  # with a std of 1
    monkeypatch.setattr(NoisyGP, "at", lambda self, row: at)
    expected = np.hypot(std, np.sqrt(max(difference**2 - 1, 0)))
    assert observations.best.std == pytest.approx(expected, rel=1e-6)


def test_the_global_model_decides_where_the_local_one_follows_the_noise():
    """Values without a signal: a polynomial finds one, and predicts new values worse than a constant does."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    observed = with_data(np.vstack([X, X[:1]]), rng.standard_normal(41)).snapshot.history.observations
    assert observed.recommended.is_global
    mean, std = observed.noisy_gp.at(observed.recommended.row)
    assert observed.best.row == observed.recommended.row == observed.noisy_gp.lowest(observed.feasible)
    assert observed.best.value == pytest.approx(observed.standardize.inverse(mean))
    assert observed.best.std == pytest.approx(observed.standardize.inverse_scale(std))


def test_the_local_model_decides_where_it_predicts_better(relative_noise):
    X, y, _ = relative_noise
    assert not with_data(X, y).snapshot.history.observations.recommended.is_global
