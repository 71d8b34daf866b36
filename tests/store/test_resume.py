"""A resumed run continues as if it had not been interrupted: no value is lost, and no trial is evaluated twice."""

import dataclasses
import os
import random

import numpy as np
import pytest
from store_runs import BOUNDS, FULL, Uniform, same, same_runs, start, step, valley

import dale
from dale._blas import cpu_kind
from dale.history.trial import TrialState
from dale.store import events, sqlite, store

MIXED = dale.Space(
    rate=dale.Float(1e-4, 1.0, log=True),
    layers=dale.Int(1, 6),
    kind=dale.Choice(["a", 1, 1.0, None, (1, 2), len]),
    extra=dale.Float(0, 1).when(kind="a"),
)


def mixed(params):
    base = (np.log10(params["rate"]) + 2) ** 2 + abs(params["layers"] - 3) + (params["kind"] is len)
    return float(base + params.get("extra", 0.5))


def uninterrupted(n, objective, space, **settings):
    optimizer = dale.Optimizer(space, seed=0, **settings)
    step(optimizer, objective, n)
    return optimizer


@pytest.mark.parametrize(("objective", "space"), [(valley, BOUNDS), (mixed, MIXED)], ids=["real", "mixed"])
def test_a_run_resumed_anywhere_makes_the_same_proposals(tmp_path, objective, space):
    n = 50 if FULL else 18
    whole = uninterrupted(n, objective, space).history
    optimizer = dale.Optimizer(space, seed=0, store=tmp_path / "run.db")
    for k in range(1, n + 1):  # reopened after every evaluation, and between ask and tell
        optimizer.close()
        optimizer = dale.Optimizer(space, seed=0, store=tmp_path / "run.db")
        left = optimizer.ask()
        optimizer.close()
        optimizer = dale.Optimizer(space, store=tmp_path / "run.db")
        assert optimizer.seed == 0
        assert same(optimizer.ask(), left)
        optimizer.close()
        optimizer = dale.Optimizer(space, seed=0, store=tmp_path / "run.db")
        step(optimizer, objective, k)
    assert same_runs(optimizer.history, whole)
    assert same_runs(dale.open(tmp_path / "run.db", space).history, whole)


def narrow(x):
    """A curved valley that is no quadratic, with kinks at its bottom, so that the shape of its regions changes."""
    u, v = x[0] + x[1] - 1.4, x[0] - x[1] + 0.8 + 0.2 * x[0] ** 2
    return float(u**2 + 30 * abs(v) ** 1.5)


def shapes(history):
    return [t.reason.step.shape for t in history if t.reason.step is not None]


def test_the_shape_of_a_step_is_resumed(tmp_path, monkeypatch):
    """It is stored bit for bit, and the next proposals need it: without it, they are others."""
    n = 30
    whole = uninterrupted(n, narrow, BOUNDS).history
    assert sum(shape is not None for shape in shapes(whole)) >= 3

    def resumed(name):
        for k in range(12, n + 1, 2):
            with dale.Optimizer(BOUNDS, seed=0, store=tmp_path / name) as optimizer:
                step(optimizer, narrow, k)
        return optimizer.history

    assert same_runs(resumed("run.db"), whole)
    assert shapes(dale.open(tmp_path / "run.db").history) == shapes(whole)
    read = events.reason_from_json

    def forgetful(data):
        reason = read(data)
        return dataclasses.replace(reason, step=reason.step and dataclasses.replace(reason.step, shape=None))

    monkeypatch.setattr(events, "reason_from_json", forgetful)
    assert [t.unit_x.tolist() for t in resumed("forgetful.db")] != [t.unit_x.tolist() for t in whole]


def test_the_stored_alpha_is_resumed(tmp_path, monkeypatch):
    """The paper's method compares with alpha* of its last proposal: without it, the next proposals are others."""
    n, method = 24, dale.methods.paper()
    whole = uninterrupted(n, valley, BOUNDS, method=method).history
    assert sum(t.reason.log_alpha is not None for t in whole) >= 15  # not in the design, nor in a retry

    def resumed(name):
        for k in range(5, n + 1):
            with dale.Optimizer(BOUNDS, seed=0, method=method, store=tmp_path / name) as optimizer:
                step(optimizer, valley, k)
        return optimizer.history

    assert same_runs(resumed("run.db"), whole)
    assert [t.reason.log_alpha for t in dale.open(tmp_path / "run.db").history] == [t.reason.log_alpha for t in whole]
    read = events.reason_from_json
    monkeypatch.setattr(events, "reason_from_json", lambda data: dataclasses.replace(read(data), log_alpha=None))
    without = resumed(
        "forgetful.db"
    )  # a store that lacks it can still be resumed: it is computed, as at the first step
    assert [t.unit_x.tolist() for t in without] != [t.unit_x.tolist() for t in whole]


def test_resuming_reads_and_verifies_every_event_once(tmp_path, monkeypatch):
    with dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db") as optimizer:
        step(optimizer, valley, 20)
    n, verified, row_checksum = len(dale.open(tmp_path / "run.db").events), [], sqlite.row_checksum
    monkeypatch.setattr(sqlite, "row_checksum", lambda row, *rest: verified.append(row[0]) or row_checksum(row, *rest))
    again = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")
    assert verified == list(range(1, n + 2))  # the last one is written: this process has opened the run
    assert same_runs(again.history, optimizer.history)
    again.ask()
    assert len(verified) == n + 2


@pytest.mark.parametrize(
    "method", [dale.methods.paper(), dale.methods.ei(), dale.methods.imgpo()], ids=["paper", "ei", "imgpo"]
)
def test_every_method_resumes(tmp_path, method):
    whole = uninterrupted(12, valley, BOUNDS, method=method).history
    for k in (4, 9, 12):
        with dale.Optimizer(BOUNDS, seed=0, method=method, store=tmp_path / "run.db") as optimizer:
            step(optimizer, valley, k)
    assert same_runs(optimizer.history, whole)


def test_input_and_outcome_constraints(tmp_path):
    def below(x):
        return x[0] + x[1] <= 2.5

    def run(optimizer, n):
        while len(optimizer.history) < n:
            trial = optimizer.ask()
            optimizer.tell(trial, valley(trial.x), constraints=[0.2 - trial.x[0], -1.0])
        return optimizer

    whole = dale.Optimizer(BOUNDS, seed=0, constraints=below)
    whole.add([2.0, 3.0], 0.1, constraints=[-1.0, -1.0])  # not allowed, but added by the user
    run(whole, 12)
    with dale.Optimizer(BOUNDS, seed=0, constraints=below, store=tmp_path / "run.db") as first:
        first.add([2.0, 3.0], 0.1, constraints=[-1.0, -1.0])
        run(first, 7)
    with dale.Optimizer(BOUNDS, seed=0, constraints=below, store=tmp_path / "run.db") as second:
        run(second, 12)
    assert same_runs(second.history, whole.history)
    assert not second.history[0].allowed
    assert same(dale.open(tmp_path / "run.db").best, whole.best)


def test_pending_trials_of_many_workers(tmp_path):
    def steps(k):
        """Five trials are pending at any time; values arrive in another order."""
        rng = random.Random(3)
        optimizer, out = dale.Optimizer(BOUNDS, seed=0, store=None if k is None else tmp_path / "run.db"), []
        for number in range(14):
            while len(out) < 5:
                out.append(optimizer.ask())
            trial = out.pop(rng.randrange(5))
            optimizer.tell(trial, valley(trial.x))
            if number == k:
                optimizer.close()
                optimizer = dale.Optimizer(BOUNDS, seed=0, store=tmp_path / "run.db")
                again = [optimizer.ask() for _ in out]
                assert [t.id for t in again] == sorted(t.id for t in out)
        optimizer.close()
        return optimizer.history

    whole = steps(None)
    for k in (0, 6, 13):
        assert same_runs(steps(k), whole)
        (tmp_path / "run.db").unlink()


class TestMinimize:
    def test_the_same_call_again_resumes(self, tmp_path):
        whole = dale.minimize(valley, BOUNDS, budget=14, seed=3, x0=[[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
        seen = []

        def interrupted(x):
            seen.append(tuple(x))
            if len(seen) in (2, 9):
                raise KeyboardInterrupt
            return valley(x)

        for nfev in (1, 7, 14):
            result = dale.minimize(
                interrupted,
                BOUNDS,
                budget=14,
                seed=3,
                x0=[[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]],
                store=tmp_path / "run.db",
            )
            assert result.nfev == nfev
        assert same_runs(result.history, whole.history)
        assert len(seen) == 14 + 2  # only the two that were interrupted ran again
        assert result.message == whole.message == "The budget is spent"

    def test_initial_points_are_evaluated_while_others_use_the_store(self, tmp_path):
        """Values of other processes change the number of evaluations, but not the next points."""
        points = [[0.1 * k, 0.2] for k in range(5)]
        other = []

        def objective(x):
            if not other:
                other.append(dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db"))
            for trial in other[0].ask(2):
                other[0].tell(trial, valley(trial.x))
            return valley(x)

        result = dale.minimize(
            objective, BOUNDS, budget=20, seed=0, method=Uniform(), x0=points, store=tmp_path / "run.db"
        )
        assert all(t.state is TrialState.COMPLETE for t in result.history)
        assert [t.x.tolist() for t in result.history[:5]] == points

    def test_a_finished_run_returns_at_once(self, tmp_path):
        first = dale.minimize(valley, BOUNDS, budget=6, seed=0, store=tmp_path / "run.db")
        again = dale.minimize(lambda x: 1 / 0, BOUNDS, budget=6, store=tmp_path / "run.db")
        assert same_runs(first.history, again.history)
        assert (again.fun, again.nfev, again.status, again.seed) == (first.fun, 6, 0, 0)

    def test_a_larger_budget_continues(self, tmp_path):
        dale.minimize(valley, BOUNDS, budget=6, seed=0, store=tmp_path / "run.db")
        more = dale.minimize(valley, BOUNDS, budget=9, seed=0, store=tmp_path / "run.db")
        assert same_runs(more.history, dale.minimize(valley, BOUNDS, budget=9, seed=0).history)

    def test_a_target_that_was_reached_stays_reached(self, tmp_path):
        for _ in range(2):
            result = dale.minimize(valley, BOUNDS, budget=30, seed=0, target=0.5, store=tmp_path / "run.db")
            assert result.message == "The target is reached"
        assert result.nfev < 30

    def test_initial_values_are_recorded_once(self, tmp_path):
        for budget in (3, 5):
            result = dale.minimize(valley, BOUNDS, budget=budget, x0=[0, 0], y0=1.5, store=tmp_path / "run.db")
        assert (result.nfev, len(result.history)) == (5, 6)

    def test_no_other_files_remain(self, tmp_path):
        dale.minimize(valley, BOUNDS, budget=3, store=tmp_path / "run.db")
        dale.open(tmp_path / "run.db")
        assert [p.name for p in tmp_path.iterdir()] == ["run.db"]

    @pytest.mark.parametrize(
        "wrong",
        [{"x0": [[0, 0], [9, 9]]}, {"y0": [1.0]}, {"x0": [[0, 0]], "y0": ["a"]}, {"x0": "missing.csv"}],
        ids=str,
    )
    def test_invalid_initial_points_leave_no_store(self, tmp_path, wrong):
        with pytest.raises((ValueError, TypeError, FileNotFoundError)):
            dale.minimize(valley, BOUNDS, budget=3, store=tmp_path / "run.db", **wrong)
        assert list(tmp_path.iterdir()) == []
        assert dale.minimize(valley, BOUNDS, budget=3, x0=[[0, 0]], store=tmp_path / "run.db").nfev == 3


def test_a_run_resumed_on_another_kind_of_cpu_says_so(tmp_path, monkeypatch, recwarn):
    """The kind is that of the BLAS libraries, such as Haswell or SkylakeX; OPENBLAS_CORETYPE sets it."""

    def opened():
        return dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")

    with opened() as optimizer:
        optimizer.tell(optimizer.ask(), 1.0)
    (event,) = (event for event in dale.open(tmp_path / "run.db").events if event.kind == "open")
    assert event.content["cpu"] == cpu_kind() != ""
    opened().close()
    assert len(recwarn) == 0
    monkeypatch.setattr(store, "cpu_kind", lambda: "Another")
    with pytest.warns(dale.StoreWarning, match=r"another kind of CPU \(.*, here Another\): .* in the last digits"):
        opened().close()
    recwarn.clear()
    opened().close()  # on the same kind again
    assert len(recwarn) == 0


class TestAbandonedTrials:
    def test_a_trial_of_a_killed_process_is_reassigned(self, tmp_path):
        other = start("ask", tmp_path / "run.db")
        assert other.stdout.readline() == "0\n"
        optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")
        assert optimizer.ask().id == 1  # while that process runs, it keeps its trial
        other.kill()
        other.communicate()
        again = optimizer.ask()
        assert again.id == 0
        assert optimizer.ask().id == 2  # once
        optimizer.tell(again, 0.5)
        assert [t.state for t in dale.open(tmp_path / "run.db").history] == ["complete", "pending", "pending"]

    def test_a_trial_of_an_ended_process_is_reassigned(self, tmp_path):
        other = start("ask", tmp_path / "run.db")
        other.communicate("")
        assert other.returncode == 0
        optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")
        assert [t.id for t in optimizer.ask(2)] == [0, 1]

    def test_a_reassigned_trial_belongs_to_the_new_process(self, tmp_path):
        first = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")
        first.ask()
        first.close()
        second = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")
        assert second.ask().id == 0
        third = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")
        assert third.ask().id == 1
        second.close()
        assert third.ask().id == 0

    def test_a_deleted_optimizer_abandons_its_trials(self, tmp_path):
        optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")
        optimizer.ask()
        optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")  # as in a notebook
        assert optimizer.ask().id == 0

    def test_an_abandoned_trial_can_be_told_directly(self, tmp_path):
        with dale.Optimizer(BOUNDS, seed=0, store=tmp_path / "run.db") as optimizer:
            trial = optimizer.ask()
        with dale.Optimizer(BOUNDS, seed=0, store=tmp_path / "run.db") as optimizer:
            optimizer.tell(trial.id, 0.7)
            assert optimizer.ask().id == 1

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
    def test_a_forked_child_cannot_use_the_store(self, tmp_path):
        optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")
        trial = optimizer.ask()
        child = os.fork()
        if child == 0:
            try:
                optimizer.tell(trial, 1.0)
            except dale.StoreError as error:
                os._exit(0 if "child" in str(error) else 2)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        optimizer.tell(trial, 2.0)
        other = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")
        optimizer.ask()
        assert other.ask().id == 2  # the end of the child does not end the session of its parent
        assert other.history[0].value == 2.0

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
    def test_a_forked_child_opens_the_store_itself(self, tmp_path):
        optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")
        optimizer.ask()
        child = os.fork()
        if child == 0:
            with dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db") as own:
                own.tell(own.ask(), 1.0)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert optimizer.ask().id == 2
        assert [t.value for t in optimizer.history] == [None, 1.0, None]
