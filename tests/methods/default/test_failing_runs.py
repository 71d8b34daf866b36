"""Runs with failing evaluations: minima at the edge of the failing set, failing cells, random failures, noise."""

import math

import numpy as np
import pytest

import dale
from dale.history.trial import TrialState

EDGE_MINIMUM = 0.2077639  # of ``half_plane``; its minimum beyond the edge is 0


def half_plane(x):
    """A quadratic that fails beyond a line, before its minimum."""
    if x[0] + 0.6 * x[1] > 0.75:
        return math.nan
    return (x[0] - 0.8) ** 2 + 2 * (x[1] - 0.7) ** 2 + 0.5 * (x[0] - 0.8) * (x[1] - 0.7)


def with_outcome(x):
    return dale.Evaluation(half_plane(x), constraints=[x[0] - 0.99])


@pytest.mark.parametrize(
    ("fun", "settings"),
    [
        (half_plane, {}),
        (half_plane, {"constraints": [lambda x: x[0] - 0.99]}),
        (with_outcome, {}),
    ],
    ids=["free", "input constraint", "outcome constraint"],
)
def test_a_minimum_at_the_edge_of_the_failing_set_is_found(fun, settings):
    result = dale.minimize(fun, [(0, 1)] * 2, budget=45, seed=0, **settings)
    assert EDGE_MINIMUM < result.fun < EDGE_MINIMUM + 3e-4
    assert result.n_failed <= 30
    assert all(m.x[0] + 0.6 * m.x[1] < 0.76 for m in result.local_minima)  # none where evaluations fail
    assert "edge of the part where evaluations fail" in str(result)
    points = np.array([t.unit_x for t in result.history])
    distances = np.linalg.norm(points[:, None] - points, axis=2)[np.triu_indices(len(points), 1)]
    assert np.min(distances) > 1e-11


def test_five_integers():
    """Fails where a + b > 4, with the minimum at that edge."""
    center = np.array([4, 3, 2, 4, 3])

    def fun(p):
        v = np.array(list(p.values()))
        return math.nan if v[0] + v[1] > 4 else float(np.sum((v - center) ** 2) + 0.5 * (v[0] - 4) * (v[1] - 3))

    result = dale.minimize(fun, dale.Space(**{k: dale.Int(0, 5) for k in "abcde"}), budget=40, seed=0)
    assert result.fun == min((a - 4) ** 2 + (1 - a) ** 2 + 0.5 * (a - 4) * (1 - a) for a in range(5))  # b = 4 - a


def test_a_cell_that_always_fails_is_left():
    """The best of ten integers fails, whatever x is."""

    def fun(p):
        return math.nan if p["n"] == 6 else 0.1 * (p["n"] - 6.2) ** 2 + (p["x"] - 0.37) ** 2

    result = dale.minimize(fun, dale.Space(n=dale.Int(0, 9), x=(0.0, 1.0)), budget=40, seed=0)
    assert result.n_failed < 15
    assert result.fun < 0.064 + 1e-4


def test_random_failures_cost_no_precision():
    """They have no boundary, so that nothing is avoided and steps stay certain."""
    rng = np.random.default_rng(0)

    def rosenbrock(x):
        if rng.random() < 0.3:
            return math.nan
        return float(100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2)

    result = dale.minimize(rosenbrock, [(-2, 2)] * 2, budget=70, seed=0)
    assert result.n_failed > 10
    assert result.fun < 1e-10


def test_random_failures_and_noise():
    def run(seed):
        rng = np.random.default_rng(seed)

        def fun(x):
            return math.nan if rng.random() < 0.4 else float(5 * np.sum((x - 0.4) ** 2) + 0.1 * rng.standard_normal())

        x = dale.minimize(fun, [(0, 1)] * 3, budget=50, seed=seed, noise=0.1).x
        return 5 * np.sum((x - 0.4) ** 2)

    assert np.median([run(seed) for seed in range(3)]) < 0.1


def test_batches_with_failures():
    optimizer = dale.Optimizer([(0, 1)] * 2, seed=0)
    for _ in range(5):
        for trial in optimizer.ask(8):
            value = half_plane(trial.x)
            if math.isnan(value):
                optimizer.fail(trial, "diverged")
            else:
                optimizer.tell(trial, value)
    points = {tuple(t.x) for t in optimizer.history}
    assert len(points) == 40
    assert sum(t.state is TrialState.FAILED for t in optimizer.history) < 30
    assert optimizer.best.value < EDGE_MINIMUM + 0.05
