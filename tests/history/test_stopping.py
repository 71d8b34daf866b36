"""Stopping rules as values, and the status of a run."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

import dale
from dale.history.stopping import Budget, Clock, Status, StoppingRule, Target, TimeLimit

NOW = Clock(seconds=10.0, n_begun=5)


def bowl(x):
    return float(x[0] ** 2 + x[1] ** 2)


@dataclass(frozen=True)
class MaxFailures:
    """A custom rule: stop after n failed evaluations."""

    n: int
    immediate: ClassVar[bool] = False

    def check(self, snapshot, clock):
        failed = sum(trial.error is not None for trial in snapshot.history.trials)
        return Status.STOPPED if failed >= self.n else None


def test_every_status_has_a_message_and_a_plan():
    assert all(status.message for status in Status)
    unplanned = {status.name for status in Status if not status.planned}
    assert unplanned == {"STOPPED", "EXECUTOR_BROKEN", "TERMINATED", "INTERRUPTED"}
    assert Status.BUDGET_SPENT == 0


def test_budget_and_time():
    assert Budget(5).check(None, NOW) is Status.BUDGET_SPENT
    assert Budget(6).check(None, NOW) is None
    assert TimeLimit(10.0).check(None, NOW) is Status.TIME_LIMIT
    assert TimeLimit(10.1).check(None, NOW) is None
    assert TimeLimit(None).check(None, NOW) is None
    assert Target(None).check(None, NOW) is None


@pytest.mark.parametrize(("rule", "invalid"), [(Budget, 0), (TimeLimit, -1.0), (Target, float("nan"))])
def test_invalid_arguments(rule, invalid):
    with pytest.raises(ValueError, match="got"):
        rule(invalid)


def test_a_custom_rule_ends_a_run():
    def fails_often(x):
        if x[0] > 0:
            raise RuntimeError("no")
        return bowl(x)

    result = dale.minimize(fails_often, [(-1, 1)] * 2, budget=40, seed=0, stopping=MaxFailures(3))
    assert result.status is Status.STOPPED
    assert sum(t.error is not None for t in result.history) == 3
    assert result.nfev < 40


def test_several_rules_and_invalid_rules():
    rules: list[StoppingRule] = [MaxFailures(3), Budget(4)]
    assert dale.minimize(bowl, [(-1, 1)] * 2, budget=40, seed=0, stopping=rules).nfev == 4
    with pytest.raises(TypeError, match=r"stopping: expected rules with check\(snapshot, clock\) and immediate, got 5"):
        dale.minimize(bowl, [(-1, 1)] * 2, budget=4, seed=0, stopping=5)


def test_a_rule_that_returns_no_status():
    class Wordy:
        immediate = True

        def check(self, snapshot, clock):
            return "stop"

    with pytest.raises(TypeError, match=r"stopping: expected a dale\.Status or None from .*Wordy.*, got 'stop'"):
        dale.minimize(bowl, [(-1, 1)] * 2, budget=4, seed=0, stopping=Wordy())


def test_the_status_of_a_result_is_an_enum_and_a_number():
    result = dale.minimize(bowl, [(-1, 1)] * 2, budget=4, seed=0)
    assert result.status is dale.Status.BUDGET_SPENT
    assert result.status == 0
    optimizer = dale.Optimizer([(-1, 1)] * 2, seed=0)
    assert optimizer.result().status is Status.NO_VALUE
    optimizer.tell(optimizer.ask(), 1.0, constraints=[1.0])
    assert optimizer.result().status is Status.NO_FEASIBLE
    optimizer.tell(optimizer.ask(), 1.0, constraints=[-1.0])
    assert optimizer.result().status is Status.IN_PROGRESS
