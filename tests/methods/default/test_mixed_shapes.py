"""The shape of a region in a mixed space: it acts on the coordinates that steps move; steps end in the domain."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

import dale
from dale.methods.default.local_model import LOG_EI, LocalProblem
from dale.methods.default.local_search import LocalSearch
from dale.methods.default.local_step import best_step
from dale.methods.default.mixed_step import is_explored, neighbours, snap
from dale.methods.default.settings import TaylorSettings, TrustRegionSettings
from dale.methods.default.shape import learn_shape
from dale.methods.default.trust_region import TrustRegion, TrustRegionSet
from dale.models.ellipsoid import Ellipsoid
from dale.space.domain import Domain

CUBIC = TaylorSettings(max_degree=3)


def valley(X):
    """A valley along (1, -1), with condition number 100."""
    return np.log1p(100 * np.sum(X - 0.45, axis=1) ** 2 + (X[:, 0] - X[:, 1]) ** 2)


def problem(X, y, domain, *, settings=CUBIC, shape=None, radius=0.12, pending=None):
    """The problem of the region around the best observation."""
    center = int(np.argmin(y))
    return LocalProblem(
        X=X,
        y=y - np.min(y),
        constraints=np.empty((len(X), 0)),
        center=center,
        region=TrustRegion(X[center], radius, shape=shape),
        pending=X[:0] if pending is None else pending,
        domain=domain,
        target=0.0,
        min_reduction=1e-14,
        settings=settings,
    )


def plane(n=20, seed=0):
    """Points around the middle of the square, and the valley there."""
    X = 0.5 + 0.2 * (np.random.default_rng(seed).random((n, 2)) - 0.5)
    return X, valley(X)


HELD = {
    "option": dale.Space(x=(0, 1), y=(0, 1), c=dale.Choice(["a", "b"])),
    "inactive": dale.Space(x=(0, 1), y=(0, 1), z=dale.Float(0, 1).when(c="b"), c=dale.Choice(["a", "b"])),
}


def encoded(space, X, options):
    """Points of the square with an option each, in the cube."""
    return np.array([space.encode({"x": x[0], "y": x[1], "c": c}) for x, c in zip(X, options, strict=True)])


def moved(space):
    """Which coordinates are those of x and y."""
    return np.all(encoded(space, [[0.9, 0.9]], "a") == 0.9, axis=0)


def is_along_the_valley(block):
    """Whether the long axis of a shape (2, 2) is along (1, -1), and at least three times as long as the other."""
    values, axes = np.linalg.eigh(block @ block.T)
    return values[1] > 9 * values[0] and abs(axes[:, 1] @ [1, -1]) / np.sqrt(2) > 0.95


@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("seed", range(3))
def test_a_shape_acts_on_the_coordinates_that_move(held, seed):
    space = HELD[held]
    X, y = plane(seed=seed)
    shape = problem(encoded(space, X, "a" * len(X)), y, Domain.of(space)).frame.shape
    assert shape is not None
    assert is_along_the_valley(shape[np.ix_(moved(space), moved(space))])
    others = ~moved(space)
    np.testing.assert_array_equal(shape[others], np.eye(len(shape))[others])
    np.testing.assert_array_equal(shape[:, others], np.eye(len(shape))[:, others])
    np.testing.assert_allclose(abs(np.linalg.det(shape)), 1)


def test_the_shape_is_long_along_the_valley_with_several_options():
    space = dale.Space(x=(0, 1), y=(0, 1), c=dale.Choice(["a", "b", "c"]))
    X, y = plane(n=30)
    options = np.random.default_rng(1).integers(3, size=30)
    points = encoded(space, X, ["abc"[k] for k in options])
    shape = problem(points, y + 0.3 * options, Domain.of(space)).frame.shape
    assert shape is not None
    np.testing.assert_array_equal(shape[np.ix_(~moved(space), ~moved(space))], np.eye(3))
    block = shape[np.ix_(moved(space), moved(space))]
    long, short = (np.linalg.norm(np.linalg.solve(block, v)) for v in ([1, -1], [1, 1]))
    assert short > 1.5 * long  # the same distance is less, in radii, along the valley


def test_an_integer_takes_part_in_the_shape():
    domain = Domain.of(dale.Space(x=(0, 1), n=dale.Int(0, 40)))
    X = domain.snap(plane()[0])
    shape = problem(X, valley(X), domain).frame.shape
    assert shape is not None
    assert is_along_the_valley(shape)


def test_one_movable_coordinate_has_no_shape():
    space = dale.Space(x=(0, 1), c=dale.Choice(["a", "b", "c"]))
    x = np.linspace(0.1, 0.9, 21)
    X = np.array([space.encode({"x": v, "c": "abc"[k % 3]}) for k, v in enumerate(x)])
    assert problem(X, np.log1p(50 * (x - 0.4) ** 2) + X[:, 0], Domain.of(space)).frame.shape is None


def test_a_shape_of_coordinates_that_no_longer_move_is_forgotten():
    """The region has moved to an option where one of them is inactive."""
    space = HELD["inactive"]
    X, y = plane()
    p = problem(encoded(space, X, "a" * len(X)), y, Domain.of(space))
    others = np.flatnonzero(~p.movable)
    across = np.eye(4)
    across[0, others[0]] = across[others[0], others[1]] = 0.5
    shapes = {}
    for name, start in {"none": None, "across": across}.items():
        tried = shapes[name] = []

        def fit(shape, *args, tried=tried, **details):
            tried.append(shape)
            return p._fit_objective(shape, *args, **details)

        learn_shape(fit, start, p.region.radius, p.movable)
    assert len(shapes["none"]) > 2
    np.testing.assert_equal(shapes["across"], shapes["none"])


def test_pending_points_do_not_change_the_shape():
    X, y = plane()
    pending = np.array([[0.56, 0.5], [0.5, 0.55]])
    without, with_pending = (problem(X, y, Domain.unit(2), pending=p) for p in (None, pending))
    assert without.frame.shape is not None
    np.testing.assert_array_equal(with_pending.frame.shape, without.frame.shape)
    Z = with_pending.frame.to_local(pending)
    before, after = without.objective.predict(Z), with_pending.objective.predict(Z)
    assert np.all(before.mean > 0)  # so the fantasies are the predictions
    np.testing.assert_allclose(after.mean, before.mean, rtol=1e-6)
    assert np.all(after.std < before.std)


SPACE = dale.Space(c=dale.Choice(["a", "b"]), n=dale.Int(0, 20), x=(0, 1), y=(0, 1))
OPTION, INTEGER = 0, 1  # coordinates
SHAPED = (1, 5, 6, 7)  # seeds of problems whose observations tell a shape


def shaped_mixed_problem(seed, n=60, **details):
    """A narrow valley in an integer and two real numbers, with an option."""
    rng, domain = np.random.default_rng(seed), Domain.of(SPACE)
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    A = np.sqrt(np.array([10.0, 300.0, 9000.0]))[:, None] * Q.T
    X = 0.5 + 0.3 * rng.normal(size=(n, 3)) / np.sqrt(np.array([1.0, 5.0, 30.0])) @ Q.T
    X = domain.snap(np.column_stack([rng.choice([0.25, 0.75], n, p=[0.8, 0.2]), np.clip(X, 0, 1)]))
    y = np.log1p(np.sum(((X[:, 1:] - 0.47) @ A.T) ** 2, axis=1)) + 0.1 * X[:, OPTION]
    return problem(X, y, domain, settings=TaylorSettings(), **details)


def of_domain(p, x):
    """Whether a point is one of the domain with the options of the center."""
    inside = np.all((x >= 0) & (x <= 1)) and x[OPTION] == p.frame.center[OPTION]
    return inside and p.domain.snap(x[None, :])[0].tolist() == x.tolist()


@pytest.mark.parametrize("seed", SHAPED)
def test_a_step_ends_at_a_new_point_of_the_domain(seed):
    p = shaped_mixed_problem(seed)
    assert p.frame.shape is not None
    x = best_step(p, np.random.default_rng(seed)).point
    assert of_domain(p, x)
    assert not np.any(np.all(x == p.X, axis=1))


@pytest.mark.parametrize("seed", SHAPED)
def test_no_random_point_of_the_domain_in_the_region_has_a_higher_log_ei(seed):
    """In the ellipsoid |z| <= 1, which every box of the region contains."""
    p = shaped_mixed_problem(seed)
    rng = np.random.default_rng(seed)
    Z = np.where(p.movable, rng.uniform(-1, 1, (20000, 4)), 0.0)
    X = p.domain.snap(np.clip(p.frame.to_cube(Z), 0, 1))
    X = X[p.frame.contains(X) & (np.max(np.abs(X - p.frame.center), axis=1) > 0)]
    assert len(X) > 100
    highest = np.max(LOG_EI(p.objective.predict(p.frame.to_local(X)), -float(p.y[p.center])))
    assert best_step(p, rng).log_ei >= highest - 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_the_next_integer_is_reached_along_the_valley(seed):
    """The center is the lowest point of its integer. The next one is lower only if the real number moves with it."""
    domain, rng = Domain.of(dale.Space(n=dale.Int(0, 10), x=(0, 1))), np.random.default_rng(seed)
    best = domain.snap(np.array([[0.5, 0.5]]))[0, 0]

    def bottom(n):
        return 0.5 - 0.6 * (n - best)

    def fun(X):
        return np.log1p(400 * (X[:, 1] - bottom(X[:, 0])) ** 2 + 4 * (X[:, 0] - best) ** 2)

    n = domain.snap(np.column_stack([rng.uniform(0.2, 0.8, 60), np.zeros(60)]))[:, 0]
    center = np.array([best - 1 / 11, bottom(best - 1 / 11)])
    X = domain.snap(np.vstack([center, np.column_stack([n, bottom(n) + rng.uniform(-0.05, 0.05, 60)])]))
    X = X[fun(X) >= fun(X[:1])]
    p = problem(X, fun(X), domain, settings=TaylorSettings(), radius=0.02)
    assert p.center == 0
    assert p.frame.shape is not None
    x = best_step(p, rng).point
    np.testing.assert_allclose(x, [best, bottom(best)], atol=0.01)


def metric():
    """A frame whose shape acts on the movable coordinates of ``SPACE``."""
    shape = np.eye(4)
    shape[1:, 1:] = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0] * [5.0, 1.0, 0.2]
    return Ellipsoid(SPACE.encode({"c": "a", "n": 10, "x": 0.5, "y": 0.5}), 0.05, shape)


def test_continuous_coordinates_follow_the_snapped_ones_by_the_shortest_step():
    frame, domain, rng = metric(), Domain.of(SPACE), np.random.default_rng(0)
    A = frame.to_cube(np.where([False, True, True, True], rng.uniform(-1, 1, (50, 4)), 0.0))
    A = A[np.all((A > 0.1) & (A < 0.9), axis=1)]
    snapped = snap(frame, domain, A)
    np.testing.assert_array_equal(domain.snap(snapped), snapped)
    np.testing.assert_array_equal(snapped[:, :2], domain.snap(A)[:, :2])
    length = np.linalg.norm(np.linalg.solve(frame.shape, (snapped - A).T), axis=0)
    for _ in range(20):
        other = snapped + np.where([False, False, True, True], 0.01 * rng.normal(size=A.shape), 0.0)
        assert np.all(np.linalg.norm(np.linalg.solve(frame.shape, (other - A).T), axis=0) >= length)


def test_snapping_in_a_ball_leaves_continuous_coordinates_alone():
    A = np.random.default_rng(0).random((20, 4))
    ball, domain = dataclasses.replace(metric(), shape=None), Domain.of(SPACE)
    np.testing.assert_array_equal(snap(ball, domain, A), domain.snap(A))


def test_neighbouring_integers_are_tried_with_and_without_moving_the_continuous_coordinates():
    frame, domain = metric(), Domain.of(SPACE)
    A, norm = neighbours(frame, domain, frame.center[None, :])
    assert len(A) == 4
    spacing = domain.spacing[INTEGER]
    np.testing.assert_allclose(np.abs(A[:, INTEGER] - frame.center[INTEGER]), spacing)
    np.testing.assert_array_equal(A[:2, 2:], np.tile(frame.center[2:], (2, 1)))
    lengths = np.linalg.norm(frame.to_local(A), axis=1)
    np.testing.assert_allclose(lengths[2:], norm)
    assert np.all(lengths[:2] > 1.5 * norm)  # across the valley
    A, norm = neighbours(dataclasses.replace(frame, shape=None), domain, frame.center[None, :])
    assert len(A) == 2
    np.testing.assert_allclose(norm, spacing / frame.radius)


def test_neighbouring_integers_are_not_tried_again_where_something_near_them_is_known():
    ball, domain = dataclasses.replace(metric(), shape=None), Domain.of(SPACE)
    center = ball.center
    A, _ = neighbours(ball, domain, center[None, :])
    near, far = A[0].copy(), A[1].copy()
    continuous = np.flatnonzero(domain.continuous)
    near[continuous[0]] += 0.9 * domain.spacing[INTEGER]
    far[continuous[0]] += 1.1 * domain.spacing[INTEGER]
    left, norm = neighbours(ball, domain, np.vstack([center, near, far]))
    np.testing.assert_array_equal(left, A[1:])
    np.testing.assert_allclose(norm, domain.spacing[INTEGER] / ball.radius)
    left, _ = neighbours(ball, domain, A)
    assert left.shape == (0, len(center))


def test_a_run_explores_a_neighbouring_integer_once():
    """The model is uncertain there, whatever is known."""

    def fun(p):
        z = 3 * p["x"] - 1
        return 100 * (z - 0.2 * p["n"]) ** 2 + (1 - z) ** 4 + 50 * p["switch"] + abs(p["n"] - 2)

    space = {"x": (0.0, 1.0), "n": dale.Int(0, 7), "switch": dale.Int(0, 1)}
    optimizer = dale.Optimizer(space, seed=0)
    for _ in range(50):
        trial = optimizer.ask()
        optimizer.tell(trial, fun(trial.params))
    explored = [t for t in optimizer.history if t.reason.step is not None and t.reason.step.is_neighbour]
    assert len(explored) > 0
    assert len({(t.reason.step.center, t.params["n"], t.params["switch"]) for t in explored}) == len(explored)
    assert optimizer.best.value < 0.1278  # the minimum for n = 2


def test_a_further_step_to_a_neighbouring_integer_counts_as_one_inside_the_box():
    """Snapping moves points of a box to the next integer, where a failure has to shrink the box."""
    domain, frame = Domain.of(SPACE), metric()
    point = frame.center.copy()
    point[INTEGER] += domain.spacing[INTEGER]
    assert not is_explored(point, frame, domain, frame.center[None, :])
    assert is_explored(point, frame, domain, point[None, :])


def test_in_a_narrow_valley_a_point_beside_it_explores_nothing():
    domain, frame = Domain.of(SPACE), metric()
    along = neighbours(frame, domain, frame.center[None, :])[0][2]  # the continuous coordinates follow
    beside = along.copy()
    free = np.flatnonzero(domain.continuous)
    across = frame.to_local(frame.center + np.eye(len(along))[free]) - frame.to_local(frame.center)
    narrow = free[np.argmax(np.max(np.abs(across), axis=1))]
    beside[narrow] += domain.spacing[INTEGER]
    assert not is_explored(along, frame, domain, beside[None, :])
    assert is_explored(along, dataclasses.replace(frame, shape=None), domain, beside[None, :])


def test_only_the_next_value_of_one_integer_counts_as_a_neighbour():
    optimizer = dale.Optimizer({"a": dale.Int(0, 40), "b": dale.Int(0, 40), "x": (0.0, 1.0)}, seed=0)
    for _ in range(40):
        trial = optimizer.ask()
        a, b = trial.params["a"], trial.params["b"]
        optimizer.tell(trial, (10 * (b - a * a / 40) ** 2 + (a - 20) ** 2) / 100 + trial.params["x"] ** 2)
    steps = [t for t in optimizer.history if t.reason.step is not None]
    moves = [
        [abs(t.params[name] - optimizer.history[t.reason.step.center].params[name]) for name in "ab"] for t in steps
    ]
    explored = [t.reason.step.is_neighbour is True for t in steps]
    assert any(explored)
    assert all(sorted(move) == [0, 1] for move, is_next in zip(moves, explored, strict=True) if is_next)
    far = [sum(move) > 1 and t.reason.step.norm > 1.01 for t, move in zip(steps, moves, strict=True)]
    assert any(far)
    assert not any(is_next and is_far for is_next, is_far in zip(explored, far, strict=True))


def local_search(optimizer):
    snapshot, rng = optimizer.snapshot, np.random.default_rng(0)
    return LocalSearch(snapshot, snapshot.history.observations.modelled, TrustRegionSettings(), TaylorSettings(), rng)


def test_next_integers_are_candidates_where_the_box_has_no_new_point():
    space = dale.Space(a=dale.Int(0, 100), b=dale.Int(0, 100))
    optimizer, rng = dale.Optimizer(space, seed=0), np.random.default_rng(0)
    for a, b in rng.integers(0, 100, (15, 2)).tolist():
        optimizer.add({"a": a, "b": b}, abs(a - 50.3) ** 0.5 + abs(b - 50.2) ** 0.5)
    found = local_search(optimizer)
    center = found.X[found.best]
    candidate = found.from_incumbent(TrustRegionSet((TrustRegion(center, 0.002),))).candidate
    assert candidate is not None
    np.testing.assert_allclose(np.sum(np.abs(candidate.step.point - center)), space.spacing[0])


@pytest.mark.parametrize(
    ("n", "z", "is_neighbour"),
    [(4, 2.0, True), (6, 2.0, False), (4, 1.0, False), (3, 2.0, False), (5, 2.0, False)],
    ids=["next", "explored", "in the box", "not the next", "the same"],
)
def test_which_steps_lead_to_an_unexplored_neighbour(n, z, is_neighbour):
    space = dale.Space(n=dale.Int(0, 10), x=(0.0, 1.0))
    optimizer = dale.Optimizer(space, seed=0)
    for value, params in enumerate([{"n": 5, "x": 0.5}, {"n": 6, "x": 0.52}, {"n": 0, "x": 0.1}, {"n": 9, "x": 0.9}]):
        optimizer.add(params, float(value))
    found = local_search(optimizer)
    frame = Ellipsoid(found.X[found.best], 0.02)
    step = SimpleNamespace(
        point=space.encode({"n": n, "x": 0.5}), z=np.array([z, 0.0]), model=SimpleNamespace(frame=frame)
    )
    assert found._is_neighbour(found.best, step) is is_neighbour
