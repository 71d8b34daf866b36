"""Alg. 2, choice by choice, for given acquisition values."""

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from dale.methods.length_scale.alpha_ratio import AlphaRatio
from dale.methods.length_scale.floor import length_scale_floor
from dale.models.gaussian_process import GaussianProcess, Prior
from dale.models.kernels.squared_exponential import SquaredExponential

X = np.array([[0.1, 0.2], [0.7, 0.4], [0.4, 0.9]])
Y = np.array([1.0, -1.0, 0.3])


@dataclass
class Given:
    """A context whose maximum log acquisition is a given function of the length-scale."""

    previous: float | None
    values: object  # length-scale -> log acquisition
    n: int = 50
    dimension: int = 2
    n_ordered: int = 2
    asked: list = field(default_factory=list)

    def standardised(self, prior):
        return prior

    def posterior(self, length_scale):
        return GaussianProcess.fit(SquaredExponential(length_scale), X, Y)

    def max_log_acquisition(self, posterior):
        self.asked.append(posterior)
        return self.values(posterior.kernel.length_scale)


def given_two(new, old, previous=1.0, **more):
    return Given(previous, lambda l: new if l < previous else old, **more)


LOG_THRESHOLD = math.log(1.5)


def test_cools_when_the_ratio_exceeds_the_threshold():
    choice = AlphaRatio().choose(given_two(-2.0 + LOG_THRESHOLD + 1e-9, -2.0))
    assert (choice.length_scale, choice.cooled) == (0.5, True)
    assert choice.log_alpha_ratio == pytest.approx(LOG_THRESHOLD + 1e-9)


@pytest.mark.parametrize("more", [LOG_THRESHOLD, LOG_THRESHOLD - 1e-9, 0.1, 0.0, -5.0])
def test_keeps_otherwise(more):
    choice = AlphaRatio().choose(given_two(more, 0.0))
    assert (choice.length_scale, choice.cooled) == (1.0, False)
    assert choice.log_alpha_ratio == pytest.approx(more)


def test_the_ratio_has_no_unit():
    """At acquisitions of 1e-300 000 a quotient would be 0 / 0."""
    choice = AlphaRatio().choose(given_two(-690_000.0, -690_001.0))
    assert choice.cooled
    assert choice.log_alpha_ratio == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("new", "old", "ratio", "cooled"),
    [
        (-math.inf, -math.inf, None, False),  # both are zero
        (-900.0, -math.inf, math.inf, True),  # only the old one is
        (-math.inf, -900.0, -math.inf, False),  # only the new one is
    ],
)
def test_acquisition_values_of_zero(new, old, ratio, cooled):
    choice = AlphaRatio().choose(given_two(new, old))
    assert (choice.log_alpha_ratio, choice.cooled) == (ratio, cooled)


def test_starts_at_the_side_of_the_cube():
    assert AlphaRatio().choose(Given(None, lambda l: 0.0)).length_scale == 1.0
    assert AlphaRatio(initial=0.4).choose(Given(None, lambda l: 0.0)).length_scale == 0.4
    assert AlphaRatio().choose(Given(None, lambda l: -l * 99)).length_scale == 0.5


def test_the_floor_stops_the_halving():
    floor = length_scale_floor(50, 2)
    choice = AlphaRatio().choose(given_two(9.0, 0.0, previous=1.5 * floor))
    assert (choice.length_scale, choice.cooled) == (floor, True)


@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_a_cool_down_never_increases_the_length_scale(factor):
    """At the floor or below it (it was higher when there were fewer observations) there is no candidate."""
    previous = factor * length_scale_floor(50, 2)
    context = Given(previous, lambda l: 9.0)
    choice = AlphaRatio().choose(context)
    assert (choice.length_scale, choice.cooled, choice.log_alpha_ratio) == (previous, False, None)
    assert context.asked == []


def test_settings():
    assert AlphaRatio(threshold=3.0).choose(given_two(1.0, 0.0)).cooled is False
    assert AlphaRatio(threshold=2.0).choose(given_two(1.0, 0.0)).cooled is True
    higher = AlphaRatio(min_correlation=0.9).choose(given_two(9.0, 0.0, previous=0.4))
    assert higher.length_scale == pytest.approx(length_scale_floor(50, 2, 0.9))


@dataclass
class Remembering(Given):
    """The same, with an acquisition value of the last proposal."""

    previous_log_acquisition: float | None = None


def test_the_stored_value_takes_the_place_of_the_computed_one():
    policy = AlphaRatio(denominator="stored")
    context = Remembering(1.0, lambda l: -2.0 - l, previous_log_acquisition=-3.5)
    choice = policy.choose(context)
    assert (choice.length_scale, choice.cooled, choice.log_alpha_ratio) == (0.5, True, pytest.approx(1.0))
    assert choice.log_acquisition == -2.5  # of the model that was chosen, for the next choice
    assert [p.kernel.length_scale for p in context.asked] == [0.5, 0.5]
    assert context.asked[0].prior == context.posterior(1.0).prior  # of the old length-scale on the present data
    assert context.asked[1].prior == context.posterior(0.5).prior  # its own
    kept = policy.choose(Remembering(1.0, lambda l: -2.0 - l, previous_log_acquisition=-2.8))
    assert (kept.length_scale, kept.cooled, kept.log_alpha_ratio) == (1.0, False, pytest.approx(0.3))
    assert kept.log_acquisition == -3.0


def test_without_a_stored_value_it_is_computed():
    """At the first model step."""
    values = {"denominator": -1.0, "numerator": 0.0}

    def value(l):
        return values["numerator"] if l < 1 else values["denominator"]

    first = AlphaRatio(denominator="stored").choose(Remembering(None, value))
    assert first.log_alpha_ratio == AlphaRatio().choose(Given(None, value)).log_alpha_ratio == 1.0
    assert AlphaRatio().choose(Given(None, value)).log_acquisition is None


def test_a_stored_value_of_zero():
    policy = AlphaRatio(denominator="stored")
    assert policy.choose(Remembering(1.0, lambda l: -900.0, previous_log_acquisition=-math.inf)).cooled
    none = policy.choose(Remembering(1.0, lambda l: -math.inf, previous_log_acquisition=-math.inf))
    assert (none.cooled, none.log_alpha_ratio, none.log_acquisition) == (False, None, -math.inf)


def test_a_context_without_memory_is_refused():
    with pytest.raises(TypeError, match=r"needs a method that stores the acquisition value"):
        AlphaRatio(denominator="stored").choose(Given(None, lambda l: 0.0))
    with pytest.raises(ValueError, match="'yesterday' is not a valid Denominator"):
        AlphaRatio(denominator="yesterday")


def test_both_sides_share_the_old_mean_and_variance():
    """And after the choice the model has its own."""
    context = given_two(9.0, 0.0, previous=0.6)
    choice = AlphaRatio().choose(context)
    old = context.posterior(0.6)
    assert [p.kernel.length_scale for p in context.asked] == [0.3, 0.6]
    assert [p.prior for p in context.asked] == [old.prior, old.prior]
    assert choice.posterior.prior == context.posterior(0.3).prior != old.prior
    kept = AlphaRatio().choose(given_two(0.0, 0.0, previous=0.6))
    assert kept.posterior.prior == old.prior


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    d=st.integers(1, 6),
    start=st.floats(1e-3, 10.0),
    seed=st.integers(0, 2**32),
    probability=st.sampled_from([0.2, 0.9, 1.0]),
)
def test_never_below_the_floor_unless_started_there(d, start, seed, probability):
    """Any sequence of acquisition values: it never rises, at most halves, and stays above the floor of its n."""
    rng = np.random.default_rng(seed)
    l, policy = None, AlphaRatio(initial=start)
    for n in range(1, 60):
        new, old = (5.0, 0.0) if rng.random() < probability else rng.choice([-math.inf, -3.0, 0.0, 0.4, 0.5], 2)
        previous = l if l is not None else start
        choice = policy.choose(Given(l, lambda s, p=previous, a=new, b=old: a if s < p else b, n=n, dimension=d))
        floor = length_scale_floor(n, d)
        assert previous / 2 <= choice.length_scale <= previous
        assert choice.length_scale >= min(previous, floor)
        assert choice.cooled == (choice.length_scale < previous)
        assert choice.posterior.kernel.length_scale == choice.length_scale
        candidate = max(previous / 2, reference.length_scale_floor(n, d, 0.2))
        expected = reference.alpha_ratio_step(old, new, previous, candidate)
        assert choice.length_scale == pytest.approx(expected, rel=1e-12)
        l = choice.length_scale


@pytest.mark.parametrize("n_ordered", [2, 5])
def test_a_large_variance_reduces_it_down_to_the_floor_of_the_coordinates_that_are_not_of_options(n_ordered):
    """Close points with opposite values: every length-scale above the floor extrapolates them without end."""
    points = np.random.default_rng(0).random((20, 2))
    points, values = np.vstack([points, points + 0.001]), np.repeat([1.0, -1.0], 20)

    @dataclass
    class Steep(Given):
        def posterior(self, length_scale):
            return GaussianProcess.fit(SquaredExponential(length_scale), points, values, Prior(0.0, 1.0))

    context = Steep(0.8, lambda l: 0.0, n=200, dimension=5, n_ordered=n_ordered)
    choice = AlphaRatio(max_variance_ratio=4.0).choose(context)
    least = length_scale_floor(200, n_ordered)
    assert choice.cooled
    assert least < choice.length_scale <= math.sqrt(2) * least
