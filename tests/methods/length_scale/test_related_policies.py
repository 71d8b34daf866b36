"""OneStage, UpperBounded, Ensemble, and the policies of spartan() and treed(), each against a naive formula."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

import dale
from dale.history.seeding import RandomStreams
from dale.methods.bayesian_optimization import GlobalModelContext
from dale.methods.length_scale import (
    Criterion,
    Ensemble,
    MaximumLikelihood,
    OneStage,
    PastProposal,
    SpartanLengthScales,
    TreedLengthScales,
    UpperBounded,
)
from dale.models import GaussianProcess, conditional_log_likelihood, log_marginal_likelihood
from dale.models.cholesky import IncrementalCholesky
from dale.models.kernels import Spartan, SquaredExponential
from dale_bench.functions import get

BRANIN = get("branin")
X = np.random.default_rng(3).random((12, 2))
Y = np.array([BRANIN.fun(BRANIN.from_cube(x)) for x in X])
RELATED = (
    OneStage(),
    OneStage("expected_improvement"),
    UpperBounded(),
    Ensemble(),
    SpartanLengthScales(),
    TreedLengthScales(),
)


def context_of(policy, n=12, n_pending=0):
    optimizer = dale.Optimizer([(0, 1)] * 2, seed=0, method=dale.methods.ei(policy))
    for x, y in zip(X[:n], Y[:n], strict=True):
        optimizer.add(x, y)
    if n_pending:
        optimizer.ask(n_pending)
    return GlobalModelContext(
        optimizer.method, optimizer.snapshot, RandomStreams(0, 5)("global"), IncrementalCholesky()
    )


class TestConditionalLikelihood:
    @staticmethod
    def naive(model, x, target, c, s2):
        """The conditional normal distribution of the observations, from the joint one with f(x)."""
        points = np.vstack([x, model.points])
        K = model.kernel(points, points)
        K[1:, 1:] += model.factor.jitter * np.eye(len(model.points))
        mean = c + K[1:, 0] * (target - c)
        return multivariate_normal.logpdf(model.values, mean, s2 * (K[1:, 1:] - np.outer(K[1:, 0], K[1:, 0])))

    def test_is_the_largest_density_over_mean_and_variance(self):
        z = (Y - Y.mean()) / Y.std()
        for l, x in itertools.product((0.1, 0.3), ([0.31, 0.22], [0.9, 0.95])):
            model = GaussianProcess.fit(SquaredExponential(l), X, z)

            def loss(p, model=model, x=x):
                return -self.naive(model, x, -2.0, p[0], math.exp(p[1]))

            largest = -minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10}).fun
            found = conditional_log_likelihood(model, np.array([x]), -2.0)[0]
            assert found == pytest.approx(largest, rel=1e-6)

    def test_is_evidence_times_posterior_over_prior_density(self):
        """Bayes: p(y | T) = p(y) p(T | y) / p(T), for the mean and variance that it finds."""
        model = GaussianProcess.fit(SquaredExponential(0.3), X, (Y - Y.mean()) / Y.std())
        x, target = np.array([0.4, 0.8]), -1.5

        def by_bayes(p):
            given = model.with_prior(dale.models.Prior(p[0], math.exp(p[1])))
            mean, std = (v[0] for v in given.predict(x[None, :]))
            log_normal = multivariate_normal.logpdf
            return -(
                log_marginal_likelihood(given)
                + log_normal(target, mean, std**2)
                - log_normal(target, p[0], math.exp(p[1]))
            )

        largest = -minimize(by_bayes, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10}).fun
        assert conditional_log_likelihood(model, x[None, :], target)[0] == pytest.approx(largest, rel=1e-5)

    def test_a_target_next_to_a_higher_value_is_incredible(self):
        model = GaussianProcess.fit(SquaredExponential(0.3), X, (Y - Y.mean()) / Y.std())
        near, far = conditional_log_likelihood(model, np.array([X[np.argmax(Y)] + 1e-3, [0.5, 0.02]]), -2.0)
        assert near < far - 5


class TestOneStage:
    @pytest.mark.parametrize("criterion", Criterion)
    @pytest.mark.parametrize("n", [10, 11, 12])  # one for each target
    def test_the_point_is_the_best_of_a_naive_search(self, criterion, n):
        policy = OneStage(criterion)
        context = context_of(policy, n)
        choice = policy.choose(context)
        target = context.best - policy.improvements[n % 3] * (context.worst - context.best)
        models = [context.posterior(l) for l in policy.grid]
        limit = max(map(log_marginal_likelihood, models)) - policy.max_log_ratio

        def value_and_length_scale(x):
            likelihoods = [conditional_log_likelihood(model, x[None, :], target)[0] for model in models]
            i = int(np.argmax(likelihoods))
            if criterion is Criterion.LIKELIHOOD:
                return likelihoods[i], policy.grid[i]
            if likelihoods[i] < limit:
                return -math.inf, policy.grid[i]
            return context.method.acquisition(models[i].predict(x[None, :]), context.best)[0], policy.grid[i]

        found, length_scale = value_and_length_scale(choice.point)
        assert choice.length_scale == length_scale == choice.posterior.kernel.length_scale
        start_values = [value_and_length_scale(x)[0] for x in context.starts[::8]]
        assert found >= max(start_values)
        assert np.isfinite(found)

    def test_the_proposal_is_the_point(self):
        policy = OneStage()
        optimizer = dale.Optimizer([(0, 1)] * 2, seed=0, method=dale.methods.ei(policy))
        for x, y in zip(X, Y, strict=True):
            optimizer.add(x, y)
        snapshot = optimizer.snapshot
        trial = optimizer.ask()
        context = GlobalModelContext(optimizer.method, snapshot, RandomStreams(0, 0)("global"), IncrementalCholesky())
        choice = policy.choose(context)
        np.testing.assert_allclose(trial.unit_x, choice.point, atol=1e-5)  # a global proposal is rounded
        assert trial.reason.length_scale == choice.length_scale

    def test_if_the_target_is_rejected_everywhere_the_most_credible_point(self):
        policy = OneStage("expected_improvement", improvements=(1e6,), max_log_ratio=0.0)
        context = context_of(policy)
        expected = OneStage("likelihood", improvements=(1e6,)).choose(context)
        choice = policy.choose(context)
        np.testing.assert_array_equal(choice.point, expected.point)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"improvements": ()},
            {"improvements": (0.0,)},
            {"improvements": 0.1},
            {"improvements": (math.inf,)},
            {"criterion": "best"},
            {"max_log_ratio": -1.0},
            {"max_log_ratio": math.nan},
        ],
    )
    def test_wrong_settings(self, wrong):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))}: expected"):
            OneStage(**wrong)


def past(*stds, length_scale=1.0):
    return [PastProposal(length_scale, std, 0.0) for std in stds]


class TestUpperBounded:
    @pytest.mark.parametrize(
        ("proposals", "bound"),
        [
            ([], 10.0),
            (past(*[1e-3] * 4), 10.0),
            (past(*[1e-3] * 5), 0.9),
            (past(*[1e-3] * 4, 0.5, *[1e-3] * 4), 10.0),  # not in a row
            (past(*[1e-3] * 9), 0.9),  # counts from 0 again
            ([*past(*[1e-3] * 5), *past(*[1e-3] * 5, length_scale=0.4)], 0.36),
            (past(*[1e-3] * 5, length_scale=0.005), 0.01),  # never below the smallest
        ],
    )
    def test_the_bound_by_hand(self, proposals, bound):
        assert UpperBounded().upper_bound(proposals) == pytest.approx(bound)

    def test_it_is_the_most_likely_length_scale_below_the_bound(self):
        policy = UpperBounded(grid=(0.05, 0.1, 0.2), patience=1, min_std=1e9)
        context = context_of(policy)
        assert MaximumLikelihood().choose(context).length_scale > 0.2
        assert policy.choose(context).length_scale == pytest.approx(0.2)

    def test_in_a_run_the_bound_falls(self):
        """Every proposal counts as certain, so that the bound falls after each."""
        method = dale.methods.ei(UpperBounded(patience=1, min_std=1e9))
        result = dale.minimize(lambda x: (x[0] - 0.3) ** 2, [(0, 1)], budget=9, seed=0, method=method)
        scales = [t.reason.length_scale for t in result.history if t.reason.length_scale is not None]
        assert all(b <= max(0.9 * a, 0.01) + 1e-12 for a, b in itertools.pairwise(scales))
        assert len(scales) == 6

    @pytest.mark.parametrize("wrong", [{"factor": 1.0}, {"patience": 0}, {"patience": 1.5}, {"min_std": -1.0}])
    def test_wrong_settings(self, wrong):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            UpperBounded(**wrong)


class TestEnsemble:
    def test_denser_around_the_most_successful_length_scale(self):
        policy = Ensemble(grid=(0.1, 0.4, 1.6))
        assert policy.length_scales([]) == (0.1, 0.4, 1.6)
        proposals = [PastProposal(0.1, 1.0, 0.5), PastProposal(0.4, 1.0, -1.0), PastProposal(1.6, 1.0, math.inf)]
        assert policy.length_scales(proposals) == pytest.approx((0.1, 0.4 / math.sqrt(2), 0.4, 0.4 * math.sqrt(2), 1.6))
        assert policy.length_scales([PastProposal(1.6, 1.0, math.inf)]) == policy.grid  # it failed
        assert policy.length_scales([PastProposal(1.6, 1.0, 0.0)])[-1] == 1.6  # within the grid

    @pytest.mark.parametrize("max_log_ratio", [0.0, 3.0, math.inf])
    def test_the_largest_acquisition_value_of_plausible_models(self, max_log_ratio):
        policy = Ensemble(max_log_ratio=max_log_ratio)
        context = context_of(policy)
        models = {l: context.posterior(l) for l in policy.grid}
        likelihood = {l: log_marginal_likelihood(m) for l, m in models.items()}
        plausible = [l for l in models if likelihood[l] >= max(likelihood.values()) - max_log_ratio]
        expected = max(plausible, key=lambda l: context.search(models[l]).value)
        assert policy.choose(context).length_scale == expected

    def test_wrong_settings(self):
        with pytest.raises(ValueError, match="max_log_ratio"):
            Ensemble(max_log_ratio=-1.0)


class TestSpartan:
    def test_the_largest_evidence_by_brute_force(self):
        policy = SpartanLengthScales(grid=(0.1, 0.3, 1.0), ratios=(0.2, 1.0))
        context = context_of(policy)
        X_out, z = context.outside
        center = tuple(X[np.argmin(Y)])
        kernels = [
            Spartan(SquaredExponential(l), SquaredExponential(r * l), center)
            for r in policy.ratios
            for l in policy.grid
        ]
        evidence = [log_marginal_likelihood(GaussianProcess.fit(k, X_out, z)) for k in kernels]
        choice = policy.choose(context)
        assert log_marginal_likelihood(choice.posterior) >= max(evidence) - 1e-9
        chosen = choice.posterior.kernel
        assert (chosen.broad, chosen.local) in {(k.broad, k.local) for k in kernels}
        assert choice.length_scale == chosen.broad.length_scale

    def test_the_center_is_the_best_observation_or_the_middle_of_the_best_tenth(self):
        policy = SpartanLengthScales()
        best, middle = policy.centers(context_of(policy))
        order = np.argsort(Y)
        assert best == pytest.approx(tuple(X[order[0]]))
        assert middle == pytest.approx(tuple(X[order[:2]].mean(axis=0)))

    @pytest.mark.parametrize("ratios", [(), (2.0,), (0.0, 1.0)])
    def test_wrong_settings(self, ratios):
        with pytest.raises(ValueError, match="ratios"):
            SpartanLengthScales(ratios=ratios)

    @pytest.mark.parametrize("name", ["local_std", "global_std"])
    def test_wrong_widths(self, name):
        with pytest.raises(ValueError, match=f"{name}: expected"):
            SpartanLengthScales(**{name: 0.0})


class TestTreed:
    def test_it_reports_the_length_scale_at_the_incumbent(self):
        policy = TreedLengthScales(min_leaf=3)
        context = context_of(policy)
        choice = policy.choose(context)
        assert choice.posterior is choice.model.leaf_at(X[np.argmin(Y)])
        assert choice.length_scale == choice.posterior.kernel.length_scale

    @pytest.mark.parametrize("wrong", [{"max_depth": -1}, {"min_leaf": 0}])
    def test_wrong_settings(self, wrong):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            TreedLengthScales(**wrong)


@pytest.mark.parametrize("policy", RELATED, ids=lambda p: type(p).__name__)
class TestEveryPolicy:
    def test_pending_points_are_taken_into_account(self, policy):
        """The model is certain at a pending point, or the point is far from it."""
        context = context_of(policy, n_pending=2)
        choice = policy.choose(context)
        model = choice.model or choice.posterior
        assert np.all(model.predict(context.snapshot.history.pending).std < 0.02)

    @pytest.mark.parametrize("grid", [(), (0.3, 0.1), (0.1, 0.1), (0.0, 0.1), (0.1, math.inf), (math.nan,), 0.1])
    def test_wrong_grids(self, policy, grid):
        with pytest.raises(ValueError, match="grid: expected positive length-scales in increasing order"):
            replace(policy, grid=grid)

    def test_a_list_is_a_grid(self, policy):
        assert replace(policy, grid=[0.1, 0.3]) == replace(policy, grid=(0.1, 0.3))

    def test_a_class_is_no_policy(self, policy):
        with pytest.raises(TypeError, match="length_scale: expected a policy"):
            dale.methods.ei(type(policy))

    def test_the_default_method_refuses_it(self, policy):
        settings = dale.methods.GlobalSettings(length_scale=policy)
        optimizer = dale.Optimizer([(0, 1)] * 2, seed=0, method=dale.methods.DefaultMethod(global_model=settings))
        for x, y in zip(X, Y, strict=True):
            optimizer.add(x, y)
        with pytest.raises(TypeError, match=f"{type(policy).__name__} needs .*BayesianOptimization"):
            optimizer.ask()
