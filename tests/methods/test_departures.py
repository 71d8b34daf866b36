"""What the `paper` preset does where the paper is silent, contradicts itself or would break: one test for each."""

import dataclasses
import math

import numpy as np
import pytest
from departures import CORNERS, SQUARE, bowl, cluster, context_of, data_of, given, global_beside_region, run, square

import dale
import reference
from dale.acquisition.expected_improvement import LogExpectedImprovement
from dale.history.minima import minima_in_cube
from dale.history.reason import Source
from dale.methods import bayesian_optimization as bayes
from dale.methods.bayesian_optimization import GlobalModelContext
from dale.methods.length_scale.alpha_ratio import AlphaRatio
from dale.methods.length_scale.floor import length_scale_floor
from dale.methods.region_identification import CandidateStatus, RegionIdentification, identify_regions
from dale.models.base import Prediction
from dale.models.gaussian_process import GaussianProcess
from dale.models.kernels.mixed_global_local import MixedGlobalLocal
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.preprocessing import POINT_RESOLUTION, VALUE_RESOLUTION
from dale.models.transforms import Standardize

with_region = pytest.fixture(square)


def test_the_constants_are_those_of_section_four():
    method = dale.methods.paper()
    assert method.length_scale == AlphaRatio(initial=1.0, threshold=1.5, min_correlation=0.2, denominator="stored")
    assert method.regions == RegionIdentification(
        tolerance=1e-9, margin=0.05, margin_from="center", continue_after=(CandidateStatus.IGNORES_NEIGHBOURS,)
    )
    assert method.acquisition == LogExpectedImprovement()
    assert (method.n_initial, bayes.VARIANCE_DIVISOR) == (3, 100.0)


class TestAlphaRatio:
    def test_both_sides_use_the_current_data_and_the_same_starting_points(self, monkeypatch):
        """Eq. 8, and the first step of Alg. 2."""
        models, starts = [], []
        search, maximize = GlobalModelContext.search, bayes.maximize

        def spy_on_models(self, posterior):
            models.append(posterior)
            return search(self, posterior)

        def spy_on_starts(values, value_and_gradient, points, box, allowed):
            starts.append(points)
            return maximize(values, value_and_gradient, points, box, allowed)

        monkeypatch.setattr(GlobalModelContext, "search", spy_on_models)
        monkeypatch.setattr(bayes, "maximize", spy_on_starts)
        X = np.random.default_rng(0).random((6, 2))
        reason = given(X, bowl(X), dale.methods.paper()).ask().reason
        assert reason.log_alpha_ratio is not None
        assert [m.kernel.length_scale for m in models[:2]] == [0.5, 1.0]
        for model in models[:2]:
            np.testing.assert_array_equal(model.points, X)
        assert len(starts) >= 2
        assert all(points is starts[0] for points in starts)

    def test_the_denominator_is_that_of_the_previous_proposal(self):
        """In units of the objective, so that the next standardisation does not change it."""
        history = run("branin", 14).history
        compared = 0
        for n in range(4, 14):
            optimizer = run("branin", n)
            context, reason = context_of(optimizer), history[n].reason
            previous = history[n - 1].reason
            assert context.previous_log_acquisition == pytest.approx(previous.log_alpha - context.scale.log_scale)
            old = context.posterior(previous.length_scale)
            candidate = max(previous.length_scale / 2, length_scale_floor(n, 2))
            if candidate >= previous.length_scale:
                assert reason.log_alpha_ratio is None
                continue
            numerator = context.max_log_acquisition(context.posterior(candidate).with_prior(old.prior))
            recorded = numerator + context.scale.log_scale - previous.log_alpha
            assert reason.log_alpha_ratio == pytest.approx(recorded, abs=1e-6)
            compared += 1
        assert compared >= 5

    def test_the_stored_value_is_undivided_and_outside_the_live_regions(self, with_region):
        context = context_of(with_region)
        reason = with_region.ask().reason
        assert (reason.source, reason.n_regions) == (Source.LOCAL, 1)
        undivided = context.search(context.posterior(reason.length_scale))
        assert reason.log_alpha == pytest.approx(undivided.value + context.scale.log_scale)
        assert not context.regions.inside(undivided.x[None, :])[0]
        divided = context.search(context.posterior(reason.length_scale).shrunk(bayes.VARIANCE_DIVISOR))
        assert divided.value < undivided.value - 1

    def test_before_the_values_vary_there_is_no_unit_to_store_it_in(self):
        """A plateau, then a step: the run does not depend on the unit of the step."""

        def points(height):
            optimizer = dale.Optimizer([(0, 1)] * 2, seed=0, method=dale.methods.paper())
            for _ in range(12):
                trial = optimizer.ask()
                optimizer.tell(trial, height * float(trial.unit_x[0] > 0.8))
            return [t.reason.log_alpha for t in optimizer.history], [t.unit_x.tolist() for t in optimizer.history]

        alphas, one = points(1.0)
        assert any(v is None for v in alphas[3:])
        assert any(v is not None for v in alphas[3:])
        np.testing.assert_allclose(one, points(1e6)[1], atol=1e-6)

    def test_other_methods_do_not_store_it(self):
        """The default method computes both sides; a policy that needs the stored value says so."""
        method = dale.methods.default()
        stored = dataclasses.replace(method.global_model, length_scale=AlphaRatio(denominator="stored"))
        optimizer = dale.Optimizer([(0, 1)] * 2, seed=0, method=dataclasses.replace(method, global_model=stored))
        for _ in range(3):
            optimizer.tell(trial := optimizer.ask(), float(bowl(trial.unit_x)))
        with pytest.raises(TypeError, match=r"AlphaRatio\(denominator='stored'\) needs a method that stores"):
            optimizer.ask()

    def test_estimated_separately_the_variance_of_a_large_length_scale_explodes(self):
        """Why both sides use one c_mu and sigma_f^2: those of the larger length-scale raise its acquisition value."""
        X = np.linspace(0, 1, 9)[:, None]
        y = Standardize.of(np.sin(20 * X[:, 0]))(np.sin(20 * X[:, 0]))
        long, half = (GaussianProcess.fit(SquaredExponential(l), X, y) for l in (0.5, 0.25))
        assert long.prior.variance > 100 * half.prior.variance

        def log_ei(posterior):
            A = np.linspace(0, 1, 400)[:, None]
            return float(np.max(LogExpectedImprovement()(posterior.predict(A), float(y.min()))))

        assert log_ei(half) - log_ei(long) < math.log(1.5)  # separately: it would never cool
        assert log_ei(half.with_prior(long.prior)) - log_ei(long) > math.log(1.5)  # together: it does

    def test_the_floor_counts_all_evaluations(self):
        """Initial design, complete, failed and pending ones."""
        optimizer = dale.Optimizer([(0, 1)] * 2, seed=0, method=dale.methods.paper())
        for trial in optimizer.ask(4):
            optimizer.tell(trial, float(bowl(trial.unit_x)))
        optimizer.fail(optimizer.ask())
        optimizer.ask(2)
        assert context_of(optimizer).n == 7

    def test_the_length_scale_soon_reaches_the_floor(self):
        """With the threshold of 1.5 hardly a halving is refused: it is nearly a schedule."""
        history = run("branin", 25).history
        scales = {t.id: t.reason.length_scale for t in history[3:]}
        assert all(scales[n] <= 2 * length_scale_floor(n, 2) for n in range(15, 25))


class TestRegions:
    def test_a_margin_from_the_surface_rejects_clusters(self):
        """The same data at a twentieth of the size: exact quadratics, and a region only with a margin from the center.

        Seen from there, the corners of the square are close, too, and have to be in the fit.
        """
        surface = {"margin_from": "surface", "continue_after": ()}
        for size, found in ((1.0, True), (0.05, False)):
            X = 0.5 + size * (SQUARE - 0.5)
            y = bowl(SQUARE)
            assert bool(identify_regions(X, y, **surface).live) is found
            assert identify_regions(X, y, margin=0.0, **surface).live
            assert identify_regions(X, y).live
            if not found:
                statuses = {c.status for c in identify_regions(X, y, **surface).candidates if c.index == 0}
                assert statuses == {CandidateStatus.IGNORES_NEIGHBOURS}
                assert len(identify_regions(X, y).live[0].members) > len(cluster())

    def test_every_observation_within_the_margin_of_the_center_is_in_the_fit(self):
        """Whatever the data: also the converse of the status that line 26 has."""
        n_regions = 0
        for seed in range(40):
            rng = np.random.default_rng(seed)
            X = np.vstack([rng.random((12, 2)), 0.4 + 0.06 * rng.standard_normal((12, 2))])
            for region in identify_regions(X, bowl(X) + 0.002 * rng.standard_normal(24)).live:
                close = np.flatnonzero(np.linalg.norm(X - region.ball.center, axis=1) < 0.05)
                assert set(close) <= set(region.members)
                assert set(np.flatnonzero(region.ball.contains(X))) == set(region.members)
                n_regions += 1
        assert n_regions >= 10

    def test_a_ball_may_reach_beyond_the_box_if_its_minimum_does_not(self):
        X = np.vstack([cluster() - [0.42, 0.0], [[1.0, 0.0], [1.0, 1.0]]])
        (region,) = identify_regions(X, bowl(X, (0.05, 0.47))).live
        assert region.ball.center[0] - region.ball.radius < 0
        np.testing.assert_allclose(region.minimiser, [0.05, 0.47], atol=1e-9)

    def test_any_convex_fit_is_accepted_by_the_method_and_not_shown_to_the_user(self):
        accepted = 0
        for seed in range(20):
            y = np.random.default_rng(seed).standard_normal(len(SQUARE))  # pure noise
            accepted += len(identify_regions(SQUARE, y).live)
            assert minima_in_cube(SQUARE, y) == ()
        assert accepted >= 2

    def test_the_acquisition_value_of_a_region_is_its_certain_gain(self, with_region):
        context = context_of(with_region)
        (region,) = context.regions.live
        assert context.region_acquisition(region, context.posterior(1.0)) == pytest.approx(
            math.log(context.best - region.minimum)
        )
        proposal = with_region.ask()
        assert proposal.reason.source is Source.LOCAL
        assert proposal.reason.std == 0
        assert proposal.reason.mean == pytest.approx(0.0, abs=1e-12)

    def test_values_equal_up_to_rounding_are_no_improvement(self):
        """The same bowl alone, and on a level of 1e3, where its bottom is one rounding error deep."""
        y = 1e-10 * bowl(SQUARE)
        assert context_of(given(SQUARE, y)).regions.live
        assert not context_of(given(SQUARE, 1e3 + y)).regions.live

    def test_the_resolution_is_the_rounding_error_of_the_values(self):
        y = np.array([1e6, 1e6 + 1, 1e6 + 2])
        scale = Standardize.of(y)
        step = scale(np.nextafter(y, np.inf)) - scale(y)
        assert scale.resolution / 4 < step.max() <= 2 * scale.resolution


class TestGlobalModel:
    def test_it_uses_the_observations_outside_only(self, with_region):
        context = context_of(with_region)
        np.testing.assert_array_equal(context.posterior(0.5).points, CORNERS)

    def test_it_predicts_with_the_mgl_posterior(self, with_region):
        """The dense posterior of eq. 18, inside the region and outside it, with its maximum-likelihood mean."""
        context = context_of(with_region)
        choice = context.method.length_scale.choose(context)
        (region,), (mean, variance) = context.regions.live, choice.posterior.prior
        kernel = MixedGlobalLocal(SquaredExponential(choice.length_scale), (region.ball,), variance)
        A = np.array([[0.52, 0.47], [0.45, 0.5], [0.1, 0.2], [0.9, 0.6]])
        K, k_star = kernel(SQUARE, SQUARE), kernel(SQUARE, A)
        expected = reference.posterior(K, k_star, kernel.diagonal(A), context.z, mean, jitter=1e-9)
        predicted = context.model(choice).predict(A)
        np.testing.assert_allclose(predicted.mean, expected[0], rtol=0, atol=1e-4)
        np.testing.assert_allclose(predicted.std**2, expected[1], rtol=0, atol=1e-6)

    def test_it_uses_all_if_none_is_outside(self):
        """Two regions may hold every observation between them."""
        X = np.array([0.10, 0.15, 0.20, 0.80, 0.85, 0.90])[:, None]
        y = np.where(X[:, 0] < 0.5, 10 * (X[:, 0] - 0.16) ** 2, 10 * (X[:, 0] - 0.84) ** 2 - 0.0004)
        regions = RegionIdentification(margin=0.1, margin_from="surface", continue_after=())
        context = context_of(given(X, y, bayes.BayesianOptimization(AlphaRatio(), regions)))
        assert len(context.regions.live) == 2
        assert context.regions.inside(X).all()
        np.testing.assert_array_equal(context.posterior(0.5).points, X)

    def test_a_maximum_in_a_region_is_none_of_the_global_model(self, with_region):
        """Next to the region its acquisition function is larger than at its other maximum, and rises into it."""
        context = context_of(with_region)
        (region,) = context.regions.live
        points = np.vstack([CORNERS, region.ball.center, [0.85, 0.6]])
        posterior = GaussianProcess.fit(
            SquaredExponential(0.1), points, np.append(np.ones(4), context.best - np.array([1.0, 0.5]))
        )

        def values(A):
            return LogExpectedImprovement()(posterior.predict(A), context.best)

        found = context.search(posterior)
        assert found.x == pytest.approx([0.85, 0.6], abs=0.05)
        ring = np.column_stack([np.cos(t := np.linspace(0, 2 * np.pi, 100)), np.sin(t)])
        assert np.min(values(region.ball.center + 1.001 * region.ball.radius * ring)) > found.value
        assert np.max(values(found.x + 1e-3 * ring)) < found.value  # a maximum

    def test_the_variance_is_divided_in_the_comparison_with_regions_only(self, monkeypatch, with_region):
        searched = []
        search = GlobalModelContext.search

        def spy(self, posterior):
            searched.append(posterior)
            return search(self, posterior)

        monkeypatch.setattr(GlobalModelContext, "search", spy)
        reason = with_region.ask().reason
        # Alg. 2 searches for both sides of the first ratio and for alpha*, line 7 of Alg. 1 once.
        compared, stored, chosen = searched[:2], searched[2], searched[3]
        assert compared[0].prior == compared[1].prior
        own = GaussianProcess.fit(chosen.kernel, chosen.points, chosen.values).prior
        assert chosen.prior.variance == pytest.approx(own.variance / 100)
        assert chosen.prior.mean == pytest.approx(own.mean)
        assert stored.prior == own
        assert (
            compared[1].prior.variance == GaussianProcess.fit(SquaredExponential(1.0), *data_of(chosen)).prior.variance
        )
        assert reason.n_regions == 1

        searched.clear()
        X = np.random.default_rng(0).random((5, 2))
        given(X, bowl(X)).ask()
        own = GaussianProcess.fit(searched[-1].kernel, *data_of(searched[-1])).prior
        assert searched[-1].prior.variance == pytest.approx(own.variance)

    def test_the_reason_has_the_undivided_std(self):
        """A global proposal beside a live region: predicted as the model has it, chosen as the comparison has it."""
        optimizer, trial = global_beside_region()
        context = context_of(optimizer)
        posterior = context.posterior(trial.reason.length_scale)
        mean, std = posterior.predict(trial.unit_x[None, :])
        assert trial.reason.std == pytest.approx(context.scale.inverse_scale(std[0]), rel=1e-3)
        log_ei = float(LogExpectedImprovement()(Prediction(mean, std / 10), context.best)[0])
        assert trial.reason.expected_improvement == pytest.approx(
            context.scale.inverse_scale(math.exp(log_ei)), rel=1e-3
        )

    def test_values_are_rounded_and_so_are_its_proposals(self):
        optimizer = run("branin", 12)
        values = context_of(optimizer).posterior(0.3).values
        np.testing.assert_array_equal(values, VALUE_RESOLUTION * np.round(values / VALUE_RESOLUTION))
        exact = (np.array([t.value for t in optimizer.history]) - optimizer.result().func_vals.mean()) / np.std(
            optimizer.result().func_vals
        )
        np.testing.assert_allclose(values, exact, rtol=0, atol=VALUE_RESOLUTION)
        for trial in optimizer.history:
            if trial.reason.source is Source.GLOBAL:
                np.testing.assert_allclose(trial.unit_x / POINT_RESOLUTION % 1, 0, atol=1e-6)

    def test_regions_are_not_rounded(self):
        """They converge far beyond the grain: a bowl is solved to 1e-12, its minimum is on no grid."""
        trial = given(SQUARE, bowl(SQUARE, (1 / 3 + 0.2, 1 / 7 + 0.35))).ask()
        assert trial.reason.source is Source.LOCAL
        np.testing.assert_allclose(trial.unit_x, [1 / 3 + 0.2, 1 / 7 + 0.35], atol=1e-12)

    def test_neither_observed_nor_pending_points_are_proposed(self):
        optimizer = run("branin", 4)
        pending = optimizer.ask().unit_x
        observed = optimizer.history[0].unit_x
        points = np.array([observed, observed + 1e-10, observed + 1e-8, pending + 1e-7, pending + 1e-5])
        assert context_of(optimizer).allowed(points).tolist() == [False, False, True, False, True]

    def test_without_an_acquisition_value_it_is_space_filling(self, monkeypatch):
        optimizer = run("branin", 4)
        monkeypatch.setattr(bayes, "maximize", lambda *_: None)
        trial = optimizer.ask()
        assert trial.reason.source is Source.SPACE_FILLING
        others = np.array([t.unit_x for t in optimizer.history[:-1]])
        assert np.min(np.linalg.norm(others - trial.unit_x, axis=1)) > 0.3


class TestPendingAndFailed:
    def test_a_fantasy_is_the_mean_within_the_observed_range(self):
        X = np.array([[0.0, 0.5], [0.3, 0.5], [1.0, 0.5]])
        optimizer = given(X, [0.0, 1.0, 0.2])
        for x in ([0.45, 0.5], [-0.0, 0.4], [0.5, 0.1]):
            optimizer.ask(at=x)
        context = context_of(optimizer)
        l = 0.4
        model = GaussianProcess.fit(SquaredExponential(l), X, context.z)
        grown = context.posterior(l)
        assert len(grown.points) == 6
        assert grown.prior.mean == pytest.approx(model.prior.mean, abs=1e-5)  # a fantasy is no observation
        first = float(model.predict(np.array([[0.45, 0.5]])).mean[0])
        assert first > context.z.max()  # the mean overshoots, the fantasy does not
        assert grown.values[3] == pytest.approx(context.z.max(), abs=VALUE_RESOLUTION)
        assert np.all(grown.values >= context.best - VALUE_RESOLUTION)
        assert context.best == context.z.min()  # and the target stays what has been seen

    def test_a_failed_point_counts_as_the_worst_and_is_part_of_no_fit(self, with_region):
        trial = with_region.ask()
        with_region.fail(trial, "diverged")
        context = context_of(with_region)
        assert context.z[-1] == context.z.max()
        assert context.scale == Standardize.of(context.observations.y[:-1])  # it does not move the unit
        has_value = context.observations.has_value
        (region,) = identify_regions(
            context.observations.X[has_value], context.z[has_value]
        ).live  # the fit is the same
        np.testing.assert_allclose(region.minimiser, trial.unit_x, atol=1e-9)

    def test_a_region_whose_minimum_failed_is_left_to_the_global_model(self, with_region):
        with_region.fail(with_region.ask(), "diverged")
        assert context_of(with_region).regions.live == ()
        assert with_region.ask().reason.source is Source.GLOBAL

    def test_replicates_are_averaged_for_the_global_model(self):
        X = np.random.default_rng(3).random((6, 2))
        optimizer = given(X, bowl(X))
        optimizer.add(X[2], float(bowl(X[2:3])[0]) + 0.5)
        context = context_of(optimizer)
        model = context.posterior(0.5)
        assert len(model.points) == 6
        assert model.values[2] == pytest.approx((context.z[2] + context.z[6]) / 2, abs=VALUE_RESOLUTION)

    def test_user_points_replace_the_design(self):
        X = np.random.default_rng(0).random((2, 2))
        optimizer = given(X, bowl(X))
        sources = [optimizer.tell(t := optimizer.ask(), float(bowl(t.unit_x))).reason.source for _ in range(2)]
        assert sources == [Source.INITIAL_DESIGN, Source.GLOBAL]

    def test_the_budget_counts_the_design(self):
        result = dale.minimize(lambda x: float(bowl(x)), [(0, 1)] * 2, budget=5, seed=0)
        assert [t.reason.source for t in result.history] == [Source.INITIAL_DESIGN] * 3 + [Source.GLOBAL] * 2


def test_the_acquisition_function_is_larger_for_better_points():
    """The paper minimises alpha = -EI; the ratio of eq. 8 is the same for both signs."""
    mean, std, best = np.array([0.5, -0.5]), np.array([0.3, 0.3]), 0.0
    value = LogExpectedImprovement()(Prediction(mean, std), best)
    np.testing.assert_allclose(np.exp(value), reference.expected_improvement(mean, std, best))
    assert value[1] > value[0]
