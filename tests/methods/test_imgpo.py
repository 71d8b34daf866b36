"""IMGPO: its tree, every evaluation against the algorithm written out naively, what it reaches and what it survives."""

import dataclasses
import itertools
import math
import pickle
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import dale
from dale.history.reason import Source
from dale.history.snapshot import Cache
from dale.history.trial import TrialState
from dale.methods.imgpo import MAX_CUTS, Leaf, Search, Tree
from dale_bench.functions import get
from naive_imgpo import naive_imgpo
from snapshots import proposal_after


def run(fun, space, budget, *, seed=0, method=None):
    optimizer = dale.Optimizer(space, seed=seed, method=method or dale.methods.imgpo())
    for _ in range(budget):
        trial = optimizer.ask()
        optimizer.tell(trial, fun(trial.x))
    return optimizer


def points(optimizer):
    return np.array([t.unit_x for t in optimizer.history])


def sources(optimizer):
    return [t.reason.source for t in optimizer.history]


def feed(search, fun, n):
    """Fulfil n requests."""
    for _ in range(n):
        search.add(search.request.point[None, :], np.array([fun(search.request.point)]))


# --- what it reaches


def test_the_centered_quadratic_is_solved_at_once():
    function = get("quad2")
    optimizer = run(function.fun, function.bounds, 1)
    assert optimizer.best.value == function.minimum
    assert sources(optimizer) == [Source.INITIAL_DESIGN]


def test_branin_reaches_a_hundredth_within_60():
    function = get("branin")
    assert run(function.fun, function.bounds, 60).best.value - function.minimum < 1e-2


def test_moved_quadratics_converge():
    regrets = []
    for seed in range(5):
        function = get("quad2:moved", seed=seed)
        regrets.append(run(function.fun, function.bounds, 30).best.value)
    assert max(regrets) < 1e-3, regrets


def test_six_dimensions():
    function = get("hart6")
    optimizer = run(function.fun, function.bounds, 60)
    assert optimizer.best.value < -1.5
    assert len(np.unique(points(optimizer), axis=0)) == 60


# --- the algorithm, naively


@pytest.mark.parametrize("name", ["branin", "branin:moved", "hart3", "hart6:moved"])
def test_every_evaluation_agrees_with_the_naive_algorithm(name):
    function = get(name, seed=1)
    optimizer = run(function.fun, function.bounds, 45)
    np.testing.assert_allclose(points(optimizer), naive_imgpo(function.on_cube(), function.dimension, 45), atol=1e-12)


# --- the tree


def box(leaf):
    half = 0.5 * 3.0 ** -np.array(leaf.cuts)
    return leaf.center - half, leaf.center + half


def check_tiling(tree):
    leaves = list(itertools.chain(*tree.levels))
    assert math.fsum(3.0**-leaf.depth for leaf in leaves) == pytest.approx(1, rel=1e-12)
    lower, upper = (np.array(ends) for ends in zip(*map(box, leaves), strict=True))
    assert np.all(lower > -1e-12)
    assert np.all(upper < 1 + 1e-12)
    overlap = np.minimum(upper[:, None], upper) - np.maximum(lower[:, None], lower)  # (n, n, d)
    disjoint = np.any(overlap < 1e-12, axis=2)
    assert np.array_equal(~disjoint, np.eye(len(leaves), dtype=bool))
    for h, level in enumerate(tree.levels):
        assert all(leaf.depth == h and max(leaf.cuts) - min(leaf.cuts) <= 1 for leaf in level)


def check_search(search):
    check_tiling(search.tree)
    leaves = list(itertools.chain(*search.tree.levels))
    for leaf in leaves:
        if leaf.row is None:  # GP-based: nobody has been there
            assert math.isfinite(leaf.bound)
            assert np.min(np.max(np.abs(search.X - leaf.center), axis=1)) > 1e-9
        else:
            assert np.max(np.abs(search.X[leaf.row] - leaf.center)) < 1e-12
            assert search.value(leaf) == search.model.z[leaf.row]
    # Each evaluation is the center of one leaf, but for that of a left side whose right side is being waited for.
    rows = sorted(leaf.row for leaf in leaves if leaf.row is not None)
    assert len(set(rows)) == len(rows)
    assert len(search.y) - 1 <= len(rows) <= len(search.y)


def test_a_leaf_is_split_along_its_first_longest_side():
    leaf = Leaf(np.array([0.5, 0.5, 1 / 6]), (0, 0, 1), row=7)
    middle, left, right = leaf.thirds()
    assert middle.center is leaf.center
    assert middle.row == 7
    assert middle.cuts == left.cuts == right.cuts == (1, 0, 1)
    assert left.row is right.row is None
    np.testing.assert_allclose([left.center, right.center], [[1 / 6, 0.5, 1 / 6], [5 / 6, 0.5, 1 / 6]])
    assert middle.thirds()[0].cuts == (1, 1, 1)
    assert middle.thirds()[0].thirds()[0].cuts == (2, 1, 1)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 4), st.lists(st.integers(0, 10**6), max_size=25))
def test_any_splits_tile_the_cube(d, picks):
    tree = Tree(d)
    for pick in picks:
        leaves = list(itertools.chain(*tree.levels))
        leaf = leaves[pick % len(leaves)]
        tree.split(leaf, list(leaf.thirds()))
    check_tiling(tree)
    assert sum(map(len, tree.levels)) == 1 + 2 * len(picks)


@pytest.mark.parametrize("name", ["branin", "hart3", "quad2", "quad2:moved", "ackley5"])
def test_the_tree_is_sound_after_every_evaluation(name):
    function = get(name)
    search = Search(function.dimension)
    for _ in range(40):
        feed(search, function.on_cube(), 1)
        check_search(search)
    levels = search.tree.levels
    assert any(leaf.row is None for leaf in itertools.chain(*levels))
    assert search.M > 1
    assert len(levels) > 4


def test_an_evaluated_bound_is_overwritten():
    """No leaf at an evaluated point keeps its bound, though step 1 evaluates GP-based leaves in this run."""
    function = get("branin")
    search, was_bound = Search(2), set()
    overwritten = 0
    for _ in range(50):
        was_bound |= {tuple(leaf.center) for leaf in itertools.chain(*search.tree.levels) if leaf.row is None}
        request = tuple(search.request.point)
        feed(search, function.on_cube(), 1)
        if request in was_bound and len(search.y) > 1:
            overwritten += 1
            [leaf] = [leaf for leaf in itertools.chain(*search.tree.levels) if tuple(leaf.center) == request]
            assert search.y[leaf.row] == function.on_cube()(leaf.center)
    assert overwritten > 0


def test_boxes_have_a_minimum_size():
    search = Search(1)
    feed(search, lambda x: abs(x[0] - 0.5), 150)
    cuts = [leaf.cuts[0] for leaf in itertools.chain(*search.tree.levels)]
    assert max(cuts) <= MAX_CUTS
    check_search(search)


# --- a function of the history


@pytest.fixture(scope="module")
def branin_run():
    function = get("branin")
    return run(function.fun, function.bounds, 40)


def test_the_seed_does_not_matter(branin_run):
    function = get("branin")
    assert points(run(function.fun, function.bounds, 40, seed=9)).tolist() == points(branin_run).tolist()


def test_a_proposal_is_a_function_of_the_history(branin_run):
    for cut in (0, 1, 2, 7, 20, 39):
        proposal = proposal_after(dale.methods.imgpo(), branin_run.history[:cut], 2, 0)
        trial = branin_run.history[cut]
        assert branin_run.space.snap(proposal.point).tolist() == trial.unit_x.tolist()
        assert proposal.reason == trial.reason


def test_the_cache_does_not_change_proposals(branin_run):
    """One cache for proposals that go on, go back, and belong to other values and another dimension."""
    method, cache = pickle.loads(pickle.dumps(dale.methods.imgpo())), Cache()
    trials = branin_run.history
    failed = [*trials[:9], dataclasses.replace(trials[9], state=TrialState.FAILED, value=None), *trials[10:20]]
    later = [dataclasses.replace(t, id=i) for i, t in enumerate(trials[3:12])]
    runs = [(t, 2) for t in (trials[:10], trials[:20], trials[:15], failed, trials[:16], later)]
    runs.insert(3, (run(lambda x: x[0] ** 2, [(0, 1)] * 3, 8).history, 3))
    for some, d in runs:
        remembered, fresh = proposal_after(method, some, d, 0, cache), proposal_after(method, some, d, 0)
        assert remembered.point.tolist() == fresh.point.tolist()
        assert remembered.reason == fresh.reason


@pytest.mark.parametrize("scale", [1e-12, 3.0, 1e15])
@pytest.mark.parametrize("shift", [0.0, 0.7, -1e6])
def test_unit_and_zero_of_the_values_do_not_matter(branin_run, scale, shift):
    function = get("branin")
    again = run(lambda x: scale * function.fun(x) + scale * shift * 50, function.bounds, 40)
    np.testing.assert_allclose(points(again), points(branin_run), atol=1e-9)


@pytest.mark.parametrize("name", ["quad2", "camel6", "griewank4"])
def test_rounding_does_not_decide_between_mirror_images(name):
    function = get(name)
    one, two = (
        points(run(lambda x, a=a, b=b: a * function.fun(x) + b, function.bounds, 40))
        for a, b in ((1, 0), (19.04, 1803))
    )
    np.testing.assert_allclose(one, two, atol=1e-9)


# --- what it survives


def check_points(optimizer):
    P = points(optimizer)
    assert np.all((P >= 0) & (P <= 1))
    assert np.min(cdist(P, P) + 9 * np.eye(len(P))) > 1e-9


def test_reasons_are_in_units_of_the_objective():
    function = get("branin")
    reason = run(function.fun, function.bounds, 40).history[-1].reason
    assert reason.source is Source.GLOBAL
    other = run(lambda x: 1e3 * function.fun(x) + 7, function.bounds, 40).history[-1].reason
    assert reason.length_scale == other.length_scale
    assert other.mean == pytest.approx(1e3 * reason.mean + 7, rel=1e-6)
    assert other.std == pytest.approx(1e3 * reason.std, rel=1e-6)


def test_while_the_tree_waits_proposals_are_space_filling():
    function = get("branin")
    plain = run(function.fun, function.bounds, 6)
    optimizer = run(function.fun, function.bounds, 5)
    trials = optimizer.ask(4)
    assert [t.reason.source for t in trials] == [Source.GLOBAL] + [Source.SPACE_FILLING] * 3
    assert trials[0].unit_x.tolist() == plain.history[5].unit_x.tolist()
    optimizer.tell(trials[2], function.fun(trials[2].x))
    assert optimizer.ask().reason.source is Source.SPACE_FILLING
    optimizer.tell(trials[0], function.fun(trials[0].x))
    assert optimizer.ask().reason.source is Source.GLOBAL
    check_points(optimizer)


def test_the_order_of_the_tells_does_not_matter():
    function, proposals = get("branin"), []
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        optimizer = run(function.fun, function.bounds, 5)
        trials = optimizer.ask(4)
        for i in order:
            optimizer.tell(trials[i], function.fun(trials[i].x))
        proposals.append(optimizer.ask())
    assert proposals[0].unit_x.tolist() == proposals[1].unit_x.tolist()
    assert proposals[0].reason.source is Source.GLOBAL


def test_four_workers():
    function, rng = get("quad2:moved", seed=1), np.random.default_rng(0)
    optimizer = dale.Optimizer(function.bounds, seed=0, method=dale.methods.imgpo())
    pending = optimizer.ask(4)
    for _ in range(60):
        trial = pending.pop(rng.integers(4))
        optimizer.tell(trial, function.fun(trial.x))
        pending.append(optimizer.ask())
    check_points(optimizer)
    assert sources(optimizer).count(Source.GLOBAL) >= 10
    assert optimizer.best.value < 0.02


@pytest.mark.parametrize(
    "fails",
    [lambda i, x: True, lambda i, x: i == 0, lambda i, x: i % 3 == 1, lambda i, x: x[0] < 1],
    ids=["all", "first", "every third", "a half"],
)
def test_failed_evaluations(fails):
    function = get("branin")
    optimizer = dale.Optimizer(function.bounds, seed=0, method=dale.methods.imgpo())
    for i in range(30):
        trial = optimizer.ask()
        assert trial.reason.source in (Source.INITIAL_DESIGN, Source.GLOBAL)
        if fails(i, trial.x):
            optimizer.fail(trial, "diverged")
        else:
            optimizer.tell(trial, function.fun(trial.x))
    check_points(optimizer)
    assert optimizer.best is None or optimizer.best.value < 10


def test_a_failure_counts_as_the_worst_value():
    search = Search(2)
    feed(search, lambda x: math.nan, 1)
    feed(search, lambda x: 3.0 if x[0] < 0.5 else 5.0, 2)
    assert search.model.g.tolist() == [-5.0, -3.0, -5.0]


def test_user_points_inform_the_model_and_are_not_evaluated_again():
    function = get("branin")
    plain = run(function.fun, function.bounds, 12)
    optimizer = dale.Optimizer(function.bounds, seed=0, method=dale.methods.imgpo())
    for trial in (plain.history[0], plain.history[3]):  # the center, and a point that the tree wants later
        optimizer.add(trial.x, trial.value)
    optimizer.add([1.0, 2.0], function.fun(np.array([1.0, 2.0])))
    for _ in range(20):
        trial = optimizer.ask()
        optimizer.tell(trial, function.fun(trial.x))
    optimizer.tell(optimizer.ask(at=[7.0, 7.0]), function.fun(np.array([7.0, 7.0])))
    optimizer.ask()
    check_points(optimizer)
    assert sources(optimizer)[3:] == [Source.GLOBAL] * 20 + [Source.USER, Source.GLOBAL]
    assert points(optimizer)[3].tolist() == points(plain)[1].tolist()


@pytest.mark.parametrize(
    "fun",
    [lambda x: 1.0, lambda x: -1e30, lambda x: float(x[0] > 4), lambda x: 1e307 * x[0], lambda x: 1e-310 * x[1]],
    ids=["constant", "large constant", "step", "huge", "tiny"],
)
def test_extreme_values(fun):
    optimizer = run(fun, get("branin").bounds, 40)
    assert set(sources(optimizer)[1:]) == {Source.GLOBAL}
    check_points(optimizer)


@pytest.mark.parametrize(
    ("constant", "number", "name"),
    [("MAX_CUTS", 2, "branin"), ("MAX_IDLE_ROUNDS", 0, "quad2")],
    ids=["no box is left to split", "bounds rule out all that is left"],
)
def test_without_a_request_of_the_tree_the_proposal_is_space_filling(monkeypatch, constant, number, name):
    monkeypatch.setattr(sys.modules[Search.__module__], constant, number)
    optimizer = run(get(name).fun, get(name).bounds, 90)
    assert {Source.GLOBAL, Source.SPACE_FILLING} <= set(sources(optimizer))
    check_points(optimizer)
