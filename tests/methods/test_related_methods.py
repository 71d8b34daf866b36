"""Whole runs of the paper's neighbours: hostile objectives, resuming, batches, and which parts go together."""

import itertools

import numpy as np
import pytest

import dale
from dale.acquisition import (
    ConfidenceSchedule,
    ExpectedImprovement,
    LogLowerConfidenceBound,
    LogMaxValueEntropy,
    LogProbabilityOfImprovement,
)
from dale.cli.run import METHODS as CLI_METHODS
from dale.methods import ei, lcb, paper, spartan, treed
from dale.methods.length_scale import AlphaRatio, Ensemble, OneStage, UpperBounded
from dale_bench.functions import get
from hostile import Sometimes, bowl, checked_run, constant, diverge, stairs

BRANIN = get("branin")
COOLED = AlphaRatio(denominator="stored")
METHODS = {
    "one_stage": ei(OneStage()),
    "goal_seeking_ei": ei(OneStage("expected_improvement")),
    "upper_bounded": ei(UpperBounded()),
    "ensemble": ei(Ensemble()),
    "spartan": spartan(),
    "treed": treed(),
    "scheduled_lcb": lcb(beta=ConfidenceSchedule()),
    "cooled_lcb": ei(COOLED, acquisition=LogLowerConfidenceBound(ConfidenceSchedule())),
    "cooled_pi": ei(COOLED, acquisition=LogProbabilityOfImprovement()),
    "cooled_mes": ei(COOLED, acquisition=LogMaxValueEntropy()),
    "paper_lcb": paper(acquisition=LogLowerConfidenceBound()),
    "paper_pi": paper(acquisition=LogProbabilityOfImprovement()),
}


def hostile(name):
    return {
        "constant": constant,
        "steps": stairs,
        "outliers": Sometimes(bowl, lambda value: 1e12, 0.2),
        "failures": Sometimes(bowl, diverge, 0.3),
    }[name]


OBJECTIVES = ("constant", "steps", "outliers", "failures")


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("method", METHODS)
def test_hostile_objectives(method, objective):
    checked_run(hostile(objective), [(0.0, 1.0)] * 2, 16, 0, noisy=objective == "outliers", method=METHODS[method])


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 5])
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("method", METHODS)
def test_hostile_objectives_for_60_evaluations(method, objective, dimension):
    space = [(0.0, 1.0)] * dimension
    result = checked_run(hostile(objective), space, 60, 1, noisy=objective == "outliers", method=METHODS[method])
    assert (result.n_failed > 0) == (objective == "failures")


@pytest.mark.parametrize("method", METHODS)
def test_a_resumed_run_is_the_same_run(method, tmp_path):
    """Bit for bit; a proposal is a function of the trials and the seed."""
    options = {"seed": 3, "method": METHODS[method], "progress": False}
    whole = dale.minimize(BRANIN.fun, BRANIN.bounds, budget=14, **options)
    for budget in (9, 14):
        parts = dale.minimize(BRANIN.fun, BRANIN.bounds, budget=budget, store=tmp_path / "run.db", **options)
    assert parts.x_iters.tolist() == whole.x_iters.tolist()
    assert [t.reason for t in parts.history] == [t.reason for t in whole.history]


def test_another_setting_is_another_problem(tmp_path):
    dale.minimize(bowl, [(0, 1)], budget=4, seed=0, store=tmp_path / "a.db", method=ei(Ensemble()))
    with pytest.raises(dale.StoreError, match="method"):
        dale.minimize(bowl, [(0, 1)], budget=5, seed=0, store=tmp_path / "a.db", method=ei(UpperBounded()))


@pytest.mark.parametrize("method", METHODS)
def test_batches(method):
    """Different points, whatever the order of the values."""
    optimizer = dale.Optimizer([(0, 1)] * 2, seed=1, method=METHODS[method])
    for _ in range(3):
        for trial in reversed(optimizer.ask(4)):
            optimizer.tell(trial, bowl(trial.x))
    X = np.array([t.unit_x for t in optimizer.history])
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(X, 2)) > 1e-7


@pytest.mark.parametrize("method", ["one_stage", "ensemble", "spartan", "treed", "cooled_pi", "cooled_mes"])
def test_rescaled_values_give_the_same_points(method):
    def run(scale, shift):
        fun = lambda x: scale * bowl(x) + shift  # noqa: E731
        return dale.minimize(fun, [(0, 1)] * 2, budget=10, seed=2, method=METHODS[method], progress=False).x_iters

    np.testing.assert_allclose(run(4.0, 0.0), run(1.0, 0.0), atol=1e-9)
    np.testing.assert_allclose(run(1e6, -3e5), run(1.0, 0.0), atol=1e-4)


class TestPartsThatGoTogether:
    def test_the_paper_takes_logarithms_only(self):
        with pytest.raises(ValueError, match="compares logarithms"):
            paper(acquisition=ExpectedImprovement())

    def test_regions_need_a_value_of_certain_improvements(self):
        with pytest.raises(ValueError, match="gives no information"):
            paper(acquisition=LogMaxValueEntropy())

    @pytest.mark.parametrize("method", ["paper_lcb", "paper_pi"])
    def test_regions_propose_their_minimum(self, method):
        result = dale.minimize(bowl, [(0, 1)] * 2, budget=20, seed=0, method=METHODS[method], progress=False)
        assert any(t.reason.source == "local" for t in result.history)
        assert result.fun < 1e-3

    def test_only_an_expected_improvement_is_reported_as_one(self):
        for name, method in {**METHODS, "paper": paper()}.items():
            result = dale.minimize(bowl, [(0, 1)] * 2, budget=5, seed=0, method=method, progress=False)
            reported = result.history[-1].reason.expected_improvement is not None
            assert reported == (
                name not in ("scheduled_lcb", "cooled_lcb", "cooled_pi", "cooled_mes", "paper_lcb", "paper_pi")
            )

    def test_the_command_line_knows_them(self):
        assert CLI_METHODS["spartan"]() == spartan()
        assert CLI_METHODS["treed"]() == treed()


def test_they_are_imported_on_first_use():
    """Neither ``import dale`` nor the default method needs them."""
    import subprocess
    import sys

    code = (
        "import sys, dale; dale.minimize(lambda x: x[0] ** 2, [(0, 1)], budget=6, seed=0, progress=False);"
        "print(*[m for m in sys.modules if m.startswith('dale.')])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    new = ("ensemble", "one_stage", "upper_bounded", "spartan", "treed", "max_value_entropy")
    assert [m for m in loaded if m.endswith(new)] == []
