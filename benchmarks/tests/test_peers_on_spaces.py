"""CMA-ES with margin and SMAC: the peers that see a space. Those that are not installed are skipped by name."""

import contextlib

import numpy as np
import pytest

from dale.space.choice import Choice
from dale.space.float import Float
from dale.space.int import Int
from dale.space.space import Space
from dale_bench.coco.suites import SUITES
from dale_bench.contender import Spent
from dale_bench.problems import cma_margin
from dale_bench.problems.contenders import MARGIN, RANDOM, SMAC
from dale_bench.problems.problem import Problem, Task

SPACE = Space(a=Int(-3, 12), b=Float(-2.0, 3.0), c=Int(1, 1000, log=True), d=Float(0.0, 1.0, step=0.25))
BUDGETS = {"cma_margin": 40, "smac": 8}


class Recording(Task):
    """A task that keeps its points."""

    def __init__(self, problem, budget):
        super().__init__(problem, budget)
        self.points = []

    def __call__(self, params):
        outcome = super().__call__(params)
        self.points.append(dict(params))
        return outcome


def bowl(params):
    return (params["a"] - 4) ** 2 + params["b"] ** 2 + np.log(params["c"] / 30) ** 2 + (params["d"] - 0.5) ** 2


def task_on(space, fun, budget):
    return Recording(Problem("bowl", space, fun, 0.0, None, budget, "a bowl"), budget)


def run(peer, budget, seed=0, space=SPACE, fun=bowl):
    for module in peer.modules:
        pytest.importorskip(module, reason=f"{peer.label} is not installed (extras 'peers' and 'smac')")
    task = task_on(space, fun, budget)
    with contextlib.suppress(Spent):
        peer.run(task, seed)
    return task


@pytest.mark.parametrize("peer", [MARGIN, SMAC], ids=lambda peer: peer.name)
class TestBoth:
    def test_it_spends_the_budget_exactly_in_silence_and_depends_on_the_seed_only(self, peer, capfd):
        budget = BUDGETS[peer.name]
        first, again, other = (run(peer, budget, seed).points for seed in (1, 1, 2))
        assert len(first) == budget
        assert first == again
        assert first != other
        assert capfd.readouterr() == ("", "")

    def test_an_error_of_the_objective_passes(self, peer):
        def broken(params):
            raise RuntimeError("the simulator has crashed")

        with pytest.raises(RuntimeError, match="the simulator has crashed"):
            run(peer, 5, fun=broken)

    def test_versions(self, peer):
        run(peer, 2)
        assert set(peer.versions) == set(peer.distributions) > {"dale", "numpy", "scipy"}

    def test_it_is_a_contender_of_the_suite_with_integers_only(self, peer):
        assert SUITES["bbob-mixint"].contender(peer.name) is peer
        for suite in ("bbob", "bbob-noisy", "bbob-constrained"):
            with pytest.raises(ValueError, match="unknown method"):
                SUITES[suite].contender(peer.name)


def test_margin_beats_random_points():
    def median(peer):
        return np.median([run(peer, 150, seed).regrets[-1] for seed in range(5)])

    assert median(MARGIN) < 0.3 * median(RANDOM)


def test_the_grid_has_every_integer_at_the_center_of_its_cell():
    bounds, steps = cma_margin.grid(SPACE)
    np.testing.assert_allclose(steps, [1 / 16, 0, 0, 1 / 5])
    np.testing.assert_allclose(bounds, [[1 / 32, 31 / 32], [0, 1], [0, 1], [0.1, 0.9]])
    centers = bounds[0, 0] + steps[0] * np.arange(16)
    values = [SPACE.decode(np.array([u, 0.5, 0.5, 0.5]))["a"] for u in centers]
    assert values == list(range(-3, 13))


def test_smac_gets_options_and_conditions():
    space = Space(kernel=Choice(["linear", "poly"]), degree=Int(2, 6).when(kernel="poly"))
    points = run(SMAC, 20, space=space, fun=lambda p: p.get("degree", 7.5)).points
    assert len(points) <= 6  # all points of the space
    assert {point["kernel"] for point in points} == {"linear", "poly"}
    assert all(("degree" in point) == (point["kernel"] == "poly") for point in points)
