"""Spaces with discrete or conditional parameters: both sides propose points that snapping does not change."""

import numpy as np
import pytest

import dale
from dale.history.reason import Source
from dale.methods.default.global_search import GlobalSearch
from dale.methods.default.local_search import LocalSearch
from dale.methods.default.trust_region import TrustRegionSet
from dale.models.preprocessing import POINT_RESOLUTION
from dale.optim.projected_newton import FunctionValues, Tolerance, minimize_on_box
from dale.space.domain import Domain

SPACE = dale.Space(x=(0.0, 1.0), n=dale.Int(0, 10), c=dale.Choice(["u", "v", "w"]))


def mixed(p):
    """The option moves the best x, and x the best n."""
    middle, floor = {"u": (0.2, 0.3), "v": (0.7, 0.1), "w": (0.5, 0.0)}[p["c"]]
    return 10 * (p["x"] - middle) ** 2 + 0.05 * (p["n"] - 8 * p["x"]) ** 2 + floor


def run(space, fun, n, seed=0):
    optimizer = dale.Optimizer(space, seed=seed)
    for _ in range(n):
        trial = optimizer.ask()
        optimizer.tell(trial, fun(trial.params))
    return optimizer


def sides(optimizer):
    """The local and the global search at the current state."""
    method, snapshot, rng = optimizer.method, optimizer.snapshot, np.random.default_rng(0)
    observations, regions = snapshot.history.observations, TrustRegionSet.replay(optimizer.history)
    local = LocalSearch(snapshot, observations, method.trust_region, method.taylor, rng)
    return local, GlobalSearch(method.global_model, snapshot, observations, regions, rng, local.incumbent)


def test_a_space_of_floats_is_continuous():
    assert run([(0, 1)], lambda x: x[0], 1).snapshot.domain.is_continuous
    assert not run(SPACE, mixed, 1).snapshot.domain.is_continuous


@pytest.mark.parametrize("seed", range(3))
def test_the_global_search_starts_and_ends_at_snapped_points(seed):
    optimizer = run(SPACE, mixed, 12, seed)
    _, global_ = sides(optimizer)
    starts = global_.starts
    np.testing.assert_array_equal(SPACE.snap_all(starts), starts)
    assert len(np.unique(starts, axis=0)) == len(starts)
    found = global_.search(global_.posterior(0.35))
    discrete = ~SPACE.continuous
    np.testing.assert_array_equal(SPACE.snap(found.x)[discrete], found.x[discrete])


def test_every_integer_and_every_option_is_tried_at_the_incumbent():
    optimizer = run(SPACE, mixed, 12)
    _, global_ = sides(optimizer)
    best = dict(optimizer.best.params)
    starts = {global_.starts[i].tobytes() for i in range(len(global_.starts))}
    for changes in [{"n": n} for n in range(11)] + [{"c": c} for c in "uvw"]:
        assert SPACE.encode({**best, **changes}).tobytes() in starts


@pytest.mark.parametrize("seed", range(5))
def test_a_step_keeps_the_option_and_ends_at_a_snapped_point(seed):
    optimizer = run(SPACE, mixed, 16, seed)
    local, global_ = sides(optimizer)
    i = local.best
    step = local._step(i, local.region_of(i, global_.regions), 0.0, local.taylor)
    np.testing.assert_array_equal(SPACE.snap(step.point), step.point)
    assert SPACE.decode(step.point)["c"] == SPACE.decode(local.X[i])["c"]
    np.testing.assert_allclose(step.z, step.model.frame.to_local(step.point), rtol=0, atol=1e-12)
    mean, std = step.model.predict(step.z[None, :])
    assert (step.mean, step.std) == (mean[0], std[0])


class TestConditional:
    SPACE = dale.Space(
        a=dale.Choice(["none", "some", "all"]),
        b=dale.Float(0, 1).when(a=["some", "all"]),
        c=dale.Int(1, 9).when(a="all"),
        d=(0, 1),
        e=dale.Int(0, 3),
        f=dale.Float(0, 1).when(e=[2, 3]),
    )

    @staticmethod
    def fun(p):
        rest = (p.get("b", 0.1) - 0.3) ** 2 + 0.1 * (p.get("c", 8) - 3) ** 2 + (p.get("f", 0.9) - 0.5) ** 2
        return rest + (p["d"] - 0.6) ** 2 + (p["a"] == "all") - 0.1 * p["e"]

    @pytest.mark.parametrize("seed", range(3))
    def test_neither_side_moves_inactive_coordinates(self, seed):
        """Snapping changes a proposal only by the resolution of points."""
        optimizer = run(self.SPACE, self.fun, 0, seed)
        sources = set()
        while len(optimizer.history) < 30:
            if len(optimizer.history) >= 3:
                point, reason = optimizer._propose(optimizer.snapshot)
                np.testing.assert_allclose(self.SPACE.snap(point), point, rtol=0, atol=POINT_RESOLUTION)
                sources.add(reason.source)
            trial = optimizer.ask()
            optimizer.tell(trial, self.fun(trial.params))
        assert {Source.GLOBAL, Source.LOCAL} <= sources

    def test_a_local_step_keeps_parameters_that_others_depend_on(self):
        history = run(self.SPACE, self.fun, 40).history
        steps = [(t.params, history[t.reason.step.center].params) for t in history if t.reason.step is not None]
        assert len(steps) > 5
        for params, center in steps:
            assert (params["a"], params["e"]) == (center["a"], center["e"])
            assert set(params) == set(center)


def test_without_ordered_parameters_there_are_no_local_steps():
    space = dale.Space(a=dale.Choice(list("abcd")), b=dale.Choice(list("abcd")))
    optimizer = run(space, lambda p: (p["a"] != "c") + 2 * (p["b"] != "d"), 14)
    assert Source.LOCAL not in {t.reason.source for t in optimizer.history}
    assert optimizer.best.value == 0


@pytest.mark.parametrize("seed", range(4))
def test_a_quadratic_of_integers_is_solved_exactly(seed):
    """21^4 points; the axes of the quadratic are not those of the space."""
    R = np.linalg.qr(np.random.default_rng(5).normal(size=(4, 4)))[0]
    best = np.array([3, 17, 8, 12])
    space = dale.Space({f"k{i}": dale.Int(0, 20) for i in range(4)})

    def fun(p):
        z = R @ (np.array([p[f"k{i}"] for i in range(4)]) - best)
        return float(np.sum([1, 3, 10, 30] * z * z))

    assert run(space, fun, 45, seed).best.value == pytest.approx(0, abs=1e-20)


@pytest.mark.parametrize(("n_seeds", "n_found"), [(1, 1), pytest.param(4, 3, marks=pytest.mark.slow)])
def test_the_best_option_and_its_minimum_are_found(n_seeds, n_found):
    reached = [run(SPACE, mixed, 40, seed).best.value < 1e-6 for seed in range(n_seeds)]
    assert sum(reached) >= n_found


def test_each_start_of_a_minimisation_may_have_its_own_box():
    """The result is the same as for one start at a time."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 3))
    A = A @ A.T + np.eye(3)

    def fun(X):
        E = X - 0.4
        return FunctionValues(0.5 * np.einsum("mi,ij,mj->m", E, A, E), E @ A, np.tile(A, (len(X), 1, 1)))

    starts = rng.random((6, 3))
    lower, upper = np.where(rng.random((6, 3)) < 0.4, starts, 0.0), np.where(rng.random((6, 3)) < 0.4, starts, 1.0)
    tolerance = Tolerance(1e-13, 1e-16)
    X, values = minimize_on_box(fun, starts, lower, upper, tolerance=tolerance)
    for i in range(6):
        one, value = minimize_on_box(fun, starts[i : i + 1], lower[i], upper[i], tolerance=tolerance)
        np.testing.assert_allclose(X[i], one[0], rtol=0, atol=1e-10)
        assert values[i] == pytest.approx(value[0], rel=1e-12)
    assert np.all((lower <= X) & (upper >= X))


def test_ordered_coordinates_are_counted_as_all_are_whether_held_or_not():
    """Observations have several values of a parameter that one proposal holds."""
    domain = Domain.of(SPACE)
    assert (domain.dimension, domain.n_ordered) == (5, 2)
    held = domain.holding({"x": 0.3})
    assert (held.dimension, held.n_ordered) == (5, 2)
    assert Domain.of(dale.Space(c=dale.Choice(["u", "v", "w"]))).n_ordered == 1
