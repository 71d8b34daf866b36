"""Maximum likelihood, leave-one-out and no fit at all."""

import math

import numpy as np
import pytest
from scipy.stats import norm

import reference
from dale.methods.length_scale.fixed import Fixed
from dale.methods.length_scale.leave_one_out import LeaveOneOut
from dale.methods.length_scale.maximum_likelihood import MaximumLikelihood
from dale.models.gaussian_process import GaussianProcess, Prior
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.likelihood import GRID, best_of, log_leave_one_out_density, log_marginal_likelihood


class Observed:
    """A context with observations only."""

    previous = None

    def __init__(self, X, y):
        self.X, self.y = X, y
        self.n, self.dimension = X.shape
        self.n_ordered = self.dimension

    def posterior(self, length_scale):
        return GaussianProcess.fit(SquaredExponential(length_scale), self.X, self.y)

    def max_log_acquisition(self, posterior):
        raise AssertionError("this policy has no business with the acquisition")


def sample(length_scale, n, d, seed):
    """Values of a Gaussian process with this length-scale."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    K = reference.k_se(X, X, length_scale) + 1e-10 * np.eye(n)
    return Observed(X, np.linalg.cholesky(K) @ rng.normal(size=n))


def test_the_grid_spans_three_decades():
    assert GRID[0] == pytest.approx(0.01)
    assert GRID[-1] == pytest.approx(10.0)
    assert len(GRID) == 61


@pytest.mark.parametrize("seed", range(6))
def test_likelihood_is_the_best_of_a_fine_grid(seed):
    context = sample(0.3, 15, 1 + seed % 3, seed)
    decision = MaximumLikelihood().choose(context)
    fine = np.geomspace(0.01, 10, 1500)
    scores = [log_marginal_likelihood(context.posterior(float(l))) for l in fine]
    assert log_marginal_likelihood(decision.posterior) >= max(scores) - 1e-4
    assert decision.posterior.kernel.length_scale == decision.length_scale
    assert decision.cooled is False


@pytest.mark.parametrize("seed", range(6))
def test_likelihood_by_the_oracle(seed):
    """The winner of a grid under the naive profile likelihood, where the naive one is good to many digits."""
    context = sample(0.1, 10, 2, seed)
    grid = tuple(np.geomspace(0.02, 0.3, 12))

    def score(l):
        K = reference.k_se(context.X, context.X, l) + 1e-10 * np.eye(10)
        c = reference.ml_mean(K, context.y)
        return reference.log_marginal_likelihood(reference.ml_variance(K, context.y, c) * K, context.y, c)

    scores = [score(l) for l in grid]
    decision = MaximumLikelihood(grid).choose(context)
    i = int(np.argmax(scores))
    assert grid[max(i - 1, 0)] <= decision.length_scale <= grid[min(i + 1, 11)]
    assert score(decision.length_scale) >= max(scores) - 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_leave_one_out_is_the_best_of_its_grid_by_brute_force(seed):
    """Each observation is really left out, by the oracle, under the prior of the whole."""
    context = sample(0.1, 9, 2, seed)
    grid = tuple(float(l) for l in np.geomspace(0.02, 0.3, 15))

    def score(l):
        K = reference.k_se(context.X, context.X, l) + 1e-10 * np.eye(9)
        c = reference.ml_mean(K, context.y)
        s2 = reference.ml_variance(K, context.y, c)
        means, variances = reference.leave_one_out(s2 * K, context.y, c)
        return np.sum(norm.logpdf(context.y, means, np.sqrt(variances)))

    decision = LeaveOneOut(grid).choose(context)
    assert decision.length_scale == grid[int(np.argmax([score(l) for l in grid]))]
    assert decision.posterior.kernel.length_scale == decision.length_scale


def test_leave_one_out_is_exhaustive():
    context = sample(0.3, 12, 2, 0)
    decision = LeaveOneOut().choose(context)
    scores = [log_leave_one_out_density(context.posterior(l)) for l in GRID]
    assert decision.length_scale == GRID[int(np.argmax(scores))]


@pytest.mark.parametrize("policy", [MaximumLikelihood(), LeaveOneOut()])
@pytest.mark.parametrize(("length_scale", "n", "d"), [(0.05, 30, 1), (0.2, 20, 1), (0.2, 40, 2), (0.5, 40, 3)])
def test_recovers_the_length_scale_of_a_sample(policy, length_scale, n, d):
    found = [policy.choose(sample(length_scale, n, d, seed)).length_scale for seed in range(7)]
    assert abs(math.log(np.median(found) / length_scale)) < math.log(1.3), found


@pytest.mark.parametrize("policy", [MaximumLikelihood(), LeaveOneOut()])
@pytest.mark.parametrize("y", [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1e-9, -1e-9, 0.0]])
def test_few_and_equal_observations(policy, y):
    X = np.array([[0.1, 0.5], [0.4, 0.2], [0.4, 0.2]])
    decision = policy.choose(Observed(X, np.array(y)))
    assert GRID[0] <= decision.length_scale * (1 + 1e-12)
    assert decision.length_scale <= GRID[-1] * (1 + 1e-12)
    assert np.all(np.isfinite(decision.posterior.predict(X)))


@pytest.mark.parametrize("policy", [MaximumLikelihood(), LeaveOneOut(), Fixed(0.2)])
def test_one_observation(policy):
    decision = policy.choose(Observed(np.array([[0.3]]), np.array([0.0])))
    assert math.isfinite(decision.length_scale)


def test_ties_go_to_the_larger_length_scale():
    assert best_of(np.array([1.0, 3.0, 3.0, 2.0])) == 2
    assert best_of(np.array([5.0])) == 0


def test_fixed():
    context = sample(0.1, 5, 2, 0)
    decision = Fixed(0.37).choose(context)
    assert decision.length_scale == decision.posterior.kernel.length_scale == 0.37
    assert (decision.log_alpha_ratio, decision.cooled) == (None, False)


@pytest.mark.parametrize("length_scale", [0.0, -1.0, math.nan, math.inf])
def test_fixed_refuses_invalid_length_scales(length_scale):
    with pytest.raises(ValueError, match="expected a positive finite number"):
        Fixed(length_scale)


def test_fixed_with_a_known_mean_and_variance():
    class Standardised(Observed):
        """The values of the model are (y - 3) / 2."""

        def standardised(self, prior):
            return Prior((prior.mean - 3) / 2, prior.variance / 4)

    X = np.random.default_rng(0).random((5, 2))
    decision = Fixed(0.37, prior=Prior(5.0, 16.0)).choose(Standardised(X, X[:, 0]))
    assert decision.posterior.prior == Prior(1.0, 4.0)
    assert decision.posterior.kernel.length_scale == 0.37
