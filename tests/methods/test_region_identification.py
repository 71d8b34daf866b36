"""Alg. 3: region by region and verdict by verdict what the naive oracle finds."""

import numpy as np
import pytest

import reference
from dale.methods.region_identification import (
    Candidate,
    CandidateStatus,
    MarginFrom,
    Region,
    RegionIdentification,
    Regions,
    identify_regions,
)
from dale.models.ellipsoid import Ellipsoid
from dale.models.quadratic_fit import QuadraticFit, n_unknowns


def column(*values):
    return np.array(values, float)[:, None]


# Three points around the minimum of (x - 0.52)^2, and two far away.
X_LINE = column(0.0, 0.4, 0.5, 0.6, 1.0)
Y_LINE = (X_LINE[:, 0] - 0.52) ** 2


def rejections(regions):
    return [(c.index, c.k, str(c.status)) for c in regions.candidates if c.status is not CandidateStatus.REGION]


def smooth_data(rng, d):
    """A bowl with ripples and a skew, seen at random points and up to three clusters of various sizes."""
    X = [rng.random((int(rng.integers(n_unknowns(d) + 1, 40)), d))]
    for _ in range(rng.integers(0, 4)):
        size = int(rng.integers(3, 14))
        X.append(np.clip(rng.random(d) + 10 ** rng.uniform(-2.5, -0.7) * rng.normal(size=(size, d)), 0, 1))
    X = np.vstack(X)
    H, p, w = rng.normal(size=(d, d)), rng.uniform(0.1, 0.9, d), rng.uniform(2, 9, d)
    H = H @ H.T + 0.3 * np.eye(d)
    y = rng.choice([1, 10]) * np.einsum("ni,ij,nj->n", X - p, H, X - p)
    y += rng.choice([0.05, 0.3, 1.0]) * np.sin(X @ w) + 0.02 * np.sum((X - p) ** 3, axis=1)
    return X, (y - y.mean()) / y.std()


SURFACE = {"margin_from": "surface", "continue_after": ()}  # as printed, with the distance to the ball
ALWAYS = {"continue_after": tuple(CandidateStatus)}


def assert_equals_the_oracle(X, y, margin=0.05, **reading):
    kept, refused = reference.identify_regions(X, y, margin=margin, **reading)
    regions = identify_regions(X, y, margin=margin, **reading)
    assert rejections(regions) == refused
    assert len(regions.live) == len(kept)
    for region, expected in zip(regions.live, kept, strict=True):
        np.testing.assert_array_equal(region.ball.center, expected["center"])
        assert region.ball.radius == pytest.approx(expected["radius"], abs=1e-12)
        assert region.members.tolist() == expected["members"].tolist()
        np.testing.assert_allclose(region.minimiser, expected["minimiser"], rtol=0, atol=1e-7)
        assert region.minimum == pytest.approx(expected["minimum"], abs=1e-7)
        np.testing.assert_allclose(region.fit.hessian, expected["hessian"], rtol=1e-6)
        assert not any(region.ball.overlaps(other.ball) for other in regions.live if other is not region)
    accepted = [(c.index, c.k) for c in regions.candidates if c.status is CandidateStatus.REGION]
    assert accepted == [(r["index"], r["k"]) for r in kept]
    return len(kept), {reason for _, _, reason in refused}


@pytest.mark.parametrize("d", [2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("margin", "reading"),
    [
        (0.05, {}),
        (0.2, {}),
        (0.2, {"continue_after": ()}),
        (0.2, ALWAYS),
        (0.05, SURFACE),
        (0.01, SURFACE),
        (0.05, {"margin_from": "surface"}),
    ],
)
def test_equals_the_oracle(d, margin, reading):
    counts, reasons = [], set()
    for seed in range(30):
        count, seen = assert_equals_the_oracle(*smooth_data(np.random.default_rng([seed, d]), d), margin, **reading)
        counts.append(count)
        reasons |= seen
    assert sum(count > 0 for count in counts) >= 5, counts  # the data do exercise it
    assert len(reasons) >= 5, reasons
    assert "ignores neighbours" in reasons or (margin, reading) == (0.05, {})  # rare with a small margin


@pytest.mark.parametrize("d", [1, 3, 4])
def test_equals_the_oracle_in_other_dimensions(d):
    for seed in range(10):
        assert_equals_the_oracle(*smooth_data(np.random.default_rng([seed, d]), d), margin=0.01)


class TestStatus:
    """Each verdict from a data set made for it."""

    def verdict_of(self, index, k, X, y, **settings):
        tried = identify_regions(X, y, **settings).candidates
        (verdict,) = [c.status for c in tried if (c.index, c.k) == (index, k)]
        named_as_there = {"eps" if name == "tolerance" else name: value for name, value in settings.items()}
        assert rejections(identify_regions(X, y, **settings)) == reference.identify_regions(X, y, **named_as_there)[1]
        return verdict

    def test_region(self):
        (region,) = identify_regions(X_LINE, Y_LINE, margin=0.35, **SURFACE).live
        assert region.minimiser == pytest.approx([0.52])
        assert region.minimum == pytest.approx(0.0, abs=1e-12)
        assert region.fit.hessian[0, 0] == pytest.approx(2.0)
        assert (region.ball.center[0], region.ball.radius) == (0.5, pytest.approx(0.1))
        assert sorted(region.members) == [1, 2, 3]

    def test_degenerate_for_points_in_one_place(self):
        X = column(0.5, 0.5, 0.5, 1.0)
        assert self.verdict_of(0, 3, X, np.zeros(4)) is CandidateStatus.DEGENERATE

    def test_degenerate_for_points_on_a_line(self):
        X = np.repeat(np.linspace(0, 1, 8)[:, None], 2, axis=1)
        assert self.verdict_of(0, 6, X, np.arange(8.0)) is CandidateStatus.DEGENERATE

    def test_not_convex(self):
        assert self.verdict_of(2, 3, X_LINE, -Y_LINE) is CandidateStatus.NOT_CONVEX

    def test_minimum_outside_the_ball(self):
        assert self.verdict_of(0, 3, X_LINE, Y_LINE) is CandidateStatus.OUTSIDE_BALL

    def test_minimum_outside_the_box(self):
        X = column(0.0, 0.1, 0.2, 1.0)
        assert self.verdict_of(0, 3, X, (X[:, 0] + 0.05) ** 2) is CandidateStatus.OUTSIDE_BOX
        assert self.verdict_of(0, 3, 1 - X, (X[:, 0] + 0.05) ** 2) is CandidateStatus.OUTSIDE_BOX

    def test_no_improvement(self):
        assert self.verdict_of(2, 3, X_LINE, Y_LINE - [1, 0, 0, 0, 0]) is CandidateStatus.NO_IMPROVEMENT

    def test_converged(self):
        assert self.verdict_of(2, 3, X_LINE, Y_LINE, tolerance=0.05) is CandidateStatus.CONVERGED

    def test_ignores_neighbours(self):
        """0.0 and 1.0 are 0.5 from the center of the ball around 0.5 and 0.4 from its surface."""
        ignored = CandidateStatus.IGNORES_NEIGHBOURS
        assert self.verdict_of(2, 3, X_LINE, Y_LINE, margin=0.51) is ignored
        assert self.verdict_of(2, 3, X_LINE, Y_LINE, margin=0.49) is not ignored
        assert self.verdict_of(2, 3, X_LINE, Y_LINE, margin=0.41, margin_from="surface") is ignored
        assert self.verdict_of(2, 3, X_LINE, Y_LINE, margin=0.39, margin_from="surface") is not ignored

    def test_an_observation_in_the_ball_is_not_left_out(self):
        """0.0 and 1.0 are as far from 0.5: a closed ball with one of them has both, so that the fit must too."""
        ignored = CandidateStatus.IGNORES_NEIGHBOURS
        assert self.verdict_of(2, 4, X_LINE, Y_LINE, margin=0.0) is ignored
        X = column(*X_LINE[:4, 0], 0.99)
        assert self.verdict_of(2, 4, X, (X[:, 0] - 0.52) ** 2, margin=0.0) is not ignored

    def test_overlaps(self):
        regions = identify_regions(X_LINE, Y_LINE)
        assert len(regions.live) == 1
        assert sum(c.status is CandidateStatus.OVERLAPS for c in regions.candidates) == 6

    def test_ignored_neighbours_are_followed_by_a_larger_neighbourhood(self):
        """`continue` at line 26: around 0.5 three points ignore the fourth, 0.04 away, and four are a region."""
        X = column(0.0, 0.48, 0.5, 0.51, 0.54, 1.0)
        y = (X[:, 0] - 0.52) ** 2
        tried = {c.k: c.status for c in identify_regions(X, y).candidates if c.index == 2}
        assert tried[3] is CandidateStatus.IGNORES_NEIGHBOURS
        assert tried[4] in (CandidateStatus.REGION, CandidateStatus.OVERLAPS)
        for margin_from in MarginFrom:
            printed = identify_regions(X, y, margin_from=margin_from, continue_after=()).candidates
            assert [(c.k, c.status) for c in printed if c.index == 2] == [(3, CandidateStatus.IGNORES_NEIGHBOURS)]

    def test_all_other_failures_end_the_neighbourhoods_of_a_point(self):
        """`break`: from 0.0 the minimum of three points is outside their ball, that of four inside."""
        for reading in ({}, SURFACE):
            tried = identify_regions(X_LINE, Y_LINE, **reading).candidates
            assert [(c.k, c.status) for c in tried if c.index == 0] == [(3, CandidateStatus.OUTSIDE_BALL)]
        tried = identify_regions(X_LINE, Y_LINE, **ALWAYS).candidates
        assert {c.k for c in tried if c.index == 0} == {3, 4}


def test_a_chain_of_overlaps_keeps_its_ends(monkeypatch):
    """A and B overlap, B and C overlap: A, the best, stays, B goes, and C stays, for it meets B alone."""
    centers, minima = (0.2, 0.45, 0.7), (-3.0, -2.0, -1.0)

    def around(self, i, *rest):
        if i < 3:
            ball = Ellipsoid(np.array([centers[i]]), 0.15)
            fit = QuadraticFit(ball, minima[i], np.zeros(1), np.eye(1), 0.0)
            yield Candidate(i, 3, CandidateStatus.REGION), Region(ball, fit, np.arange(3), fit.minimiser, fit.minimum)

    monkeypatch.setattr(RegionIdentification, "_around", around)
    regions = identify_regions(column(0.0, 0.2, 0.4, 0.6, 0.8), np.zeros(5))
    assert [r.ball.center[0] for r in regions.live] == [0.2, 0.7]
    assert rejections(regions) == [(1, 3, "overlaps")]


def test_equal_minima_go_to_the_first_found():
    """The same three points seen from each of them: one minimum up to rounding, and the lowest index has it."""
    X = column(0.45, 0.5, 0.55, 0.0, 1.0)
    for shift in np.linspace(-0.02, 0.02, 40):
        regions = identify_regions(X, (X[:, 0] - 0.5 - shift) ** 2, margin=0.3, **SURFACE)
        assert [r.ball.center[0] for r in regions.live] == [0.45]
        assert regions.live[0].minimum == pytest.approx(0.0, abs=1e-9)
        assert [c[:2] for c in rejections(regions) if c[2] == "overlaps"] == [(1, 3), (2, 3)]


def test_disjoint_minima_are_both_kept_best_first():
    X = column(0.10, 0.15, 0.20, 0.80, 0.85, 0.90)
    y = np.where(X[:, 0] < 0.5, 10 * (X[:, 0] - 0.16) ** 2, 10 * (X[:, 0] - 0.84) ** 2 - 0.0004)
    regions = identify_regions(X, y, margin=0.1, **SURFACE)
    assert [r.minimiser[0] for r in regions.live] == pytest.approx([0.84, 0.16])


@pytest.mark.parametrize("d", [1, 2, 3])
def test_no_more_points_than_unknowns(d):
    X = np.random.default_rng(d).random((n_unknowns(d), d))
    assert identify_regions(X, X[:, 0]) == Regions()


def test_no_points():
    assert identify_regions(np.empty((0, 2)), np.empty(0)) == Regions()


def test_members_and_contents():
    X, y = smooth_data(np.random.default_rng([3, 2]), 2)
    regions = identify_regions(X, y, margin=0.0)
    inside = np.zeros(len(X), dtype=bool)
    for region in regions.live:
        assert np.all(region.ball.contains(X[region.members]))
        inside |= np.linalg.norm(X - region.ball.center, axis=1) <= region.ball.radius
    np.testing.assert_array_equal(regions.inside(X), inside)
    assert not np.any(Regions().inside(X))


def test_improvement_must_exceed_the_rounding_of_the_values():
    finder = RegionIdentification(margin=0.35)
    assert len(finder(X_LINE, Y_LINE, 0.0).live) == 1  # its improvement is 4e-4
    assert len(finder(X_LINE, Y_LINE, 1e-6).live) == 1
    assert len(finder(X_LINE, Y_LINE, 1e-3).live) == 0


def test_arguments_stay_as_they_were():
    X, y = smooth_data(np.random.default_rng([0, 2]), 2)
    before = X.copy(), y.copy()
    identify_regions(X, y)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


def test_settings_are_checked():
    assert RegionIdentification(margin_from="surface").margin_from is MarginFrom.SURFACE
    assert RegionIdentification(continue_after=["converged"]).continue_after == (CandidateStatus.CONVERGED,)
    with pytest.raises(ValueError, match="'edge' is not a valid MarginFrom"):
        RegionIdentification(margin_from="edge")
    with pytest.raises(ValueError, match="'never' is not a valid CandidateStatus"):
        RegionIdentification(continue_after=("never",))
