"""Runs in narrow, rotated valleys, with and without shapes, wherever regions work.

The objective is log(1 + q) with a quadratic q of condition number 1000. It is no polynomial, so round regions are held
to the width of the valley. Its minimum is known: that of a convex function, at a point where its gradient is normal to
the one active constraint or to the faces of the cube.
"""

from dataclasses import dataclass

import numpy as np
import pytest

import dale
from dale.history.history import History
from dale.history.reason import Source
from dale.history.seeding import RandomStreams
from dale.history.snapshot import Cache, Snapshot
from dale.methods.default.method import DefaultMethod
from dale.methods.default.settings import TaylorSettings
from dale.space.constraints import as_constraints
from dale.space.domain import Domain

SHAPED, ROUND = DefaultMethod(), DefaultMethod(taylor=TaylorSettings(shapes=False))
MIXED = dale.Space(n=dale.Int(0, 10), x=(0.0, 1.0), y=(0.0, 1.0))
SMALLEST = 1e-12  # regret; smaller ones are rounding errors
SLOW = pytest.mark.slow


class Valley:
    """A valley with its minimum at a point of the cube (d,), where it rises against a normal vector (d,)."""

    def __init__(self, minimiser, rng, normal=None):
        d = len(minimiser)
        Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
        self.H = (Q * np.geomspace(10, 10_000, d)) @ Q.T
        self.minimiser, self.bottom = minimiser, minimiser
        if normal is not None:  # the bottom of the quadratic is where its gradient at the minimiser is -normal
            step = np.linalg.solve(self.H, normal)
            self.bottom = minimiser + step / np.sqrt(normal @ step)
        self.minimum = self(minimiser)

    def __call__(self, x):
        r = np.asarray(x) - self.bottom
        return float(np.log1p(r @ self.H @ r))


@dataclass
class Problem:
    """What a run needs: the objective of parameters, its space, its minimum and its constraints."""

    fun: object
    minimum: float
    space: object = ((0, 1), (0, 1))
    inputs: object = None
    outcomes: object = None

    def optimizer(self, method, seed):
        return dale.Optimizer(self.space, seed=seed, method=method, constraints=self.inputs)

    def tell(self, optimizer, trial):
        outcomes = {} if self.outcomes is None else {"constraints": self.outcomes(trial.params)}
        optimizer.tell(trial, self.fun(trial.params), **outcomes)

    def run(self, method, seed, n, batch=1):
        optimizer = self.optimizer(method, seed)
        self.continue_(optimizer, n, batch)
        return optimizer

    def continue_(self, optimizer, n, batch=1):
        while len(optimizer.history) < n:
            for trial in optimizer.ask(batch):
                self.tell(optimizer, trial)


def direction(rng, d=2):
    a = rng.normal(size=d)
    return a / np.linalg.norm(a)


def inside(rng):
    valley = Valley(rng.uniform(0.2, 0.8, 2), rng)
    return Problem(valley, valley.minimum)


def on_faces(rng, n_faces):
    minimiser, outward = rng.uniform(0.2, 0.8, 2), np.zeros(2)
    outward[:n_faces] = rng.choice([-1.0, 1.0], n_faces)
    minimiser[:n_faces] = (outward[:n_faces] + 1) / 2
    valley = Valley(minimiser, rng, outward)
    return Problem(valley, valley.minimum)


def face(rng):
    return on_faces(rng, 1)


def corner(rng):
    return on_faces(rng, 2)


def input_constraint(rng):
    minimiser, normal = rng.uniform(0.3, 0.7, 2), direction(rng)
    valley = Valley(minimiser, rng, normal)
    return Problem(valley, valley.minimum, inputs=lambda x: float(normal @ (x - minimiser)))


def outcome_constraint(rng):
    """Inside a circle."""
    minimiser, normal = rng.uniform(0.3, 0.7, 2), direction(rng)
    valley = Valley(minimiser, rng, normal)
    center = minimiser - 0.3 * normal
    return Problem(valley, valley.minimum, outcomes=lambda x: [float((x - center) @ (x - center)) - 0.09])


def mixed(rng, constrained=False):
    """An integer and two real numbers; the constraint is one of the real numbers."""
    minimiser = MIXED.encode({"n": int(rng.integers(3, 8)), "x": rng.uniform(0.2, 0.8), "y": rng.uniform(0.2, 0.8)})
    normal = np.append(0.0, direction(rng))
    valley = Valley(minimiser, rng, normal if constrained else None)
    problem = Problem(lambda params: valley(MIXED.encode(params)), valley.minimum, MIXED)
    return problem, lambda params: float(normal @ (MIXED.encode(params) - minimiser))


def integer(rng):
    return mixed(rng)[0]


def integer_and_input_constraint(rng):
    problem, constraint = mixed(rng, constrained=True)
    problem.inputs = constraint
    return problem


def integer_and_outcome_constraint(rng):
    problem, constraint = mixed(rng, constrained=True)
    problem.outcomes = lambda params: [constraint(params)]
    return problem


def options(rng):
    """Each option moves the valley, and one of them is the best."""
    space = dale.Space(x=(0.0, 1.0), y=(0.0, 1.0), kind=dale.Choice(["a", "b", "c"]))
    valley, shift = Valley(rng.uniform(0.3, 0.7, 2), rng), dict(zip("abc", rng.uniform(-0.1, 0.1, (3, 2)), strict=True))

    def fun(params):
        return valley(np.array([params["x"], params["y"]]) + shift[params["kind"]]) + 0.5 * "abc".index(params["kind"])

    return Problem(fun, 0.0, space)


def log_regret(optimizer, minimum):
    return np.log10(max(optimizer.best.value - minimum, SMALLEST)) if optimizer.best is not None else 1.0


def log_regrets(make, n, seeds, batch=1):
    """Log10 regrets after n evaluations, (2, seeds): with round regions and with shapes."""
    problems = [make(np.random.default_rng([seed, 1])) for seed in seeds]
    return np.array(
        [
            [log_regret(p.run(method, seed, n, batch), p.minimum) for p, seed in zip(problems, seeds, strict=True)]
            for method in (ROUND, SHAPED)
        ]
    )


def test_the_minimum_is_the_lowest_of_the_feasible_points():
    """Of the problems themselves."""
    for make in (inside, face, corner, input_constraint, outcome_constraint):
        for seed in range(3):
            rng = np.random.default_rng([seed, 1])
            p = make(rng)
            at = p.fun.minimiser
            X = np.clip(np.vstack([rng.random((500, 2)), at + 1e-3 * rng.normal(size=(500, 2))]), 0, 1)
            feasible = [
                x for x in X if (p.inputs is None or p.inputs(x) <= 0) and (p.outcomes is None or p.outcomes(x)[0] <= 0)
            ]
            assert len(feasible) > 100
            assert min(map(p.fun, feasible)) >= p.minimum == p.fun(at)


@pytest.mark.parametrize("make", [face, corner])
def test_on_the_boundary(make):
    without, with_shapes = log_regrets(make, 30, range(3))
    assert np.mean(with_shapes) <= np.mean(without)
    assert np.max(with_shapes) < -6


@pytest.mark.parametrize(
    ("make", "n_seeds"),
    [(inside, 2), *(pytest.param(m, 6, marks=SLOW) for m in (inside, face, input_constraint, outcome_constraint))],
)
def test_shapes_are_clearly_better(make, n_seeds):
    without, with_shapes = log_regrets(make, 40, range(n_seeds))
    assert np.mean(with_shapes) < np.mean(without) - 1, (without, with_shapes)


@pytest.mark.parametrize(
    ("make", "n_seeds"),
    [
        (integer, 6),
        pytest.param(options, 6, marks=SLOW),
        pytest.param(integer_and_input_constraint, 4, marks=SLOW),
        pytest.param(integer_and_outcome_constraint, 4, marks=SLOW),
    ],
)
def test_shapes_are_clearly_better_in_mixed_spaces(make, n_seeds):
    without, with_shapes = log_regrets(make, 60, range(n_seeds))
    assert np.mean(with_shapes) < np.mean(without) - 1, (without, with_shapes)


@SLOW
@pytest.mark.parametrize(("batch", "n"), [(4, 60), (8, 80)])
def test_shapes_are_clearly_better_in_batches(batch, n):
    without, with_shapes = log_regrets(inside, n, range(6), batch)
    assert np.mean(with_shapes) < np.mean(without) - 1, (without, with_shapes)


@SLOW
def test_shapes_are_clearly_better_with_data_added_later():
    logs = []
    for method in (ROUND, SHAPED):
        for seed in range(6):
            rng = np.random.default_rng([seed, 1])
            p = inside(rng)
            optimizer = p.run(method, seed, 15)
            for x in rng.random((10, 2)):
                optimizer.add(x, p.fun(x))
            p.continue_(optimizer, 45)
            logs.append(log_regret(optimizer, p.minimum))
    assert np.mean(logs[6:]) < np.mean(logs[:6]) - 1, logs


def shapes_of(trials):
    return [t.reason.step.shape for t in trials if t.reason.step is not None and t.reason.step.shape is not None]


@pytest.mark.parametrize("space", [dale.Space(n=(0, 10), x=(0, 1)), dale.Space(n=dale.Int(0, 10), x=(0, 1))])
def test_a_shape_is_learnt_from_added_data_alone(space):
    """Observations in a valley, made elsewhere: the first proposals after them have a shape."""
    rng = np.random.default_rng(0)
    valley = Valley(np.array([0.5, 0.5]), rng)
    optimizer = dale.Optimizer(space, seed=0)
    for x in 0.5 + rng.normal(size=(40, 2)) @ np.linalg.inv(np.linalg.cholesky(valley.H)):
        params = space.decode(np.clip(x, 0, 1))
        optimizer.add(params, valley(space.encode(params)))
    assert shapes_of(optimizer.ask(4))


@pytest.mark.parametrize("make", [inside, integer, options, integer_and_outcome_constraint])
def test_batches_of_eight_are_different_points(make):
    """But for the replicates that test for noise."""
    optimizer = make(np.random.default_rng([0, 1])).run(SHAPED, 0, 64, batch=8)
    assert shapes_of(optimizer.history)
    new = [t for t in optimizer.history if t.reason.source is not Source.REPLICATE]
    assert len({t.unit_x.tobytes() for t in new}) == len(new) >= 60


@pytest.fixture(scope="module", params=[integer, options, integer_and_input_constraint, integer_and_outcome_constraint])
def mixed_run(request):
    """A problem, and a run on it in which regions learn shapes."""
    p = request.param(np.random.default_rng([0, 1]))
    return p, p.run(SHAPED, 5, 36)


def test_every_proposal_can_be_repeated_from_the_trials(mixed_run):
    """The shape of a step is in its reason, so a resumed run continues as it would have."""
    p, optimizer = mixed_run
    trials, space = optimizer.history, optimizer.space
    constraints = None if p.inputs is None else as_constraints(p.inputs, space)
    assert shapes_of(trials[24:])
    for k in range(24, len(trials)):
        snapshot = Snapshot(History.of(trials[:k], space.dimension), Domain.of(space, constraints), Cache())
        point, reason = SHAPED.propose(snapshot, RandomStreams(5, snapshot.history.n_asked))
        assert space.snap(point).tolist() == trials[k].unit_x.tolist()
        assert reason == trials[k].reason


def test_a_shape_acts_on_the_coordinates_that_move(mixed_run):
    _, optimizer = mixed_run
    held = ~optimizer.space.ordered
    shapes = shapes_of(optimizer.history)
    assert shapes
    for shape in map(np.array, shapes):
        np.testing.assert_array_equal(shape[held], np.eye(len(shape))[held])
        np.testing.assert_array_equal(shape[:, held], np.eye(len(shape))[:, held])
        np.testing.assert_allclose(abs(np.linalg.det(shape)), 1, rtol=1e-6)
