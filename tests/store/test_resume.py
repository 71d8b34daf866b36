"""A run on disk goes on as if nothing had happened; nothing that was told is lost, and nothing is evaluated twice."""

import os
import random
import time
from collections import Counter

import numpy as np
import pytest
from store_runs import BOUNDS, FULL, Uniform, same, same_runs, start, valley, without_store

import dale
from dale.history.trial import TrialState
from dale.store import sqlite

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


def step(optimizer, objective, n):
    """Bring a run to n trials, with failures of both kinds on the way."""
    while (k := len([t for t in optimizer.history if t.state is not TrialState.PENDING])) < n:
        trial = optimizer.ask()
        if k % 7 == 5:
            optimizer.fail(trial, "it broke\nhere", retry=k % 2 == 0)
        else:
            optimizer.tell(trial, objective(trial.params), noise=0.0 if k % 3 else None)


@pytest.mark.parametrize(("objective", "space"), [(valley, BOUNDS), (mixed, MIXED)], ids=["real", "mixed"])
def test_cut_anywhere_it_proposes_what_it_would_have(tmp_path, objective, space):
    n = 50 if FULL else 18
    whole = uninterrupted(n, objective, space).history
    optimizer = dale.Optimizer(space, seed=0, store=tmp_path / "run.db")
    for k in range(1, n + 1):  # opened anew after every evaluation, and once more between ask and tell
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


def test_resuming_reads_and_verifies_every_event_once(tmp_path, monkeypatch):
    with dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db") as optimizer:
        step(optimizer, valley, 20)
    n, verified, row_checksum = len(dale.open(tmp_path / "run.db").events), [], sqlite.row_checksum
    monkeypatch.setattr(sqlite, "row_checksum", lambda row, *rest: verified.append(row[0]) or row_checksum(row, *rest))
    again = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")
    assert verified == list(range(1, n + 2))  # the last is written: this process has opened the run
    assert same_runs(again.history, optimizer.history)
    again.ask()
    assert len(verified) == n + 2


@pytest.mark.parametrize(
    "method", [dale.methods.paper(), dale.methods.ei(), dale.methods.imgpo()], ids=["paper", "ei", "imgpo"]
)
def test_every_method_goes_on_as_it_would_have(tmp_path, method):
    whole = uninterrupted(12, valley, BOUNDS, method=method).history
    for k in (4, 9, 12):
        with dale.Optimizer(BOUNDS, seed=0, method=method, store=tmp_path / "run.db") as optimizer:
            step(optimizer, valley, k)
    assert same_runs(optimizer.history, whole)


def test_with_constraints_of_both_kinds(tmp_path):
    def below(x):
        return x[0] + x[1] <= 2.5

    def run(optimizer, n):
        while len(optimizer.history) < n:
            trial = optimizer.ask()
            optimizer.tell(trial, valley(trial.x), constraints=[0.2 - trial.x[0], -1.0])
        return optimizer

    whole = dale.Optimizer(BOUNDS, seed=0, constraints=below)
    whole.add([2.0, 3.0], 0.1, constraints=[-1.0, -1.0])  # not allowed, but known
    run(whole, 12)
    with dale.Optimizer(BOUNDS, seed=0, constraints=below, store=tmp_path / "run.db") as first:
        first.add([2.0, 3.0], 0.1, constraints=[-1.0, -1.0])
        run(first, 7)
    with dale.Optimizer(BOUNDS, seed=0, constraints=below, store=tmp_path / "run.db") as second:
        run(second, 12)
    assert same_runs(second.history, whole.history)
    assert not second.history[0].allowed
    assert same(dale.open(tmp_path / "run.db").best, whole.best)


def test_many_workers_at_once(tmp_path):
    def steps(k):
        """Five are out at any time; answers come in another order than the asks."""
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
    def test_the_same_line_again_does_what_is_left(self, tmp_path):
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
        assert len(seen) == 14 + 2  # the two that were interrupted ran again, no other
        assert result.message == whole.message == "The budget is spent"

    def test_every_point_of_the_user_s_is_evaluated_though_others_work_on_the_store(self, tmp_path):
        """Those who tell meanwhile move the count of evaluations, not the points that are next."""
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

    def test_a_larger_budget_goes_on(self, tmp_path):
        dale.minimize(valley, BOUNDS, budget=6, seed=0, store=tmp_path / "run.db")
        more = dale.minimize(valley, BOUNDS, budget=9, seed=0, store=tmp_path / "run.db")
        assert same_runs(more.history, dale.minimize(valley, BOUNDS, budget=9, seed=0).history)

    def test_a_target_that_was_reached_stays_reached(self, tmp_path):
        for _ in range(2):
            result = dale.minimize(valley, BOUNDS, budget=30, seed=0, target=0.5, store=tmp_path / "run.db")
            assert result.message == "The target is reached"
        assert result.nfev < 30

    def test_known_values_are_recorded_once(self, tmp_path):
        for budget in (3, 5):
            result = dale.minimize(valley, BOUNDS, budget=budget, x0=[0, 0], y0=1.5, store=tmp_path / "run.db")
        assert (result.nfev, len(result.history)) == (5, 6)

    def test_nothing_is_left_beside_the_file(self, tmp_path):
        dale.minimize(valley, BOUNDS, budget=3, store=tmp_path / "run.db")
        dale.open(tmp_path / "run.db")
        assert [p.name for p in tmp_path.iterdir()] == ["run.db"]

    def test_what_cannot_be_tidied_up_does_not_cost_the_result(self, tmp_path):
        def objective(x):
            lock = tmp_path / "run.db-lock"
            if lock.is_file():  # as if its folder could not be written to any more, which root always can
                lock.unlink()
                lock.mkdir()
            return valley(x)

        assert dale.minimize(objective, BOUNDS, budget=3, seed=0, store=tmp_path / "run.db").nfev == 3
        (tmp_path / "run.db-lock").rmdir()
        assert dale.minimize(valley, BOUNDS, budget=4, seed=0, store=tmp_path / "run.db").nfev == 4

    def test_points_that_are_refused_leave_a_store_that_can_be_begun(self, tmp_path):
        with pytest.raises(dale.SpaceError):
            dale.minimize(valley, BOUNDS, budget=3, x0=[[0, 0], [9, 9]], store=tmp_path / "run.db")
        assert dale.open(tmp_path / "run.db").history == ()
        assert dale.minimize(valley, BOUNDS, budget=3, x0=[[0, 0]], store=tmp_path / "run.db").nfev == 3


class TestProcessesThatAreGone:
    def test_a_trial_of_a_dead_process_is_asked_again(self, tmp_path):
        other = start("ask", tmp_path / "run.db")
        assert other.stdout.readline() == "0\n"
        optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")
        assert optimizer.ask().id == 1  # while it lives, its trial is its own
        other.kill()
        other.communicate()
        again = optimizer.ask()
        assert again.id == 0
        assert optimizer.ask().id == 2  # once
        optimizer.tell(again, 0.5)
        assert [t.state for t in dale.open(tmp_path / "run.db").history] == ["complete", "pending", "pending"]

    def test_a_trial_of_a_process_that_ended_well_is_asked_again(self, tmp_path):
        other = start("ask", tmp_path / "run.db")
        other.communicate("")
        assert other.returncode == 0
        optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")
        assert [t.id for t in optimizer.ask(2)] == [0, 1]

    def test_one_that_was_handed_over_belongs_to_the_new_process(self, tmp_path):
        first = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")
        first.ask()
        first.close()
        second = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")
        assert second.ask().id == 0
        third = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")
        assert third.ask().id == 1
        second.close()
        assert third.ask().id == 0

    def test_an_optimizer_that_nobody_holds_is_gone(self, tmp_path):
        optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")
        optimizer.ask()
        optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")  # as in a notebook
        assert optimizer.ask().id == 0

    def test_what_was_left_may_be_told_without_being_asked(self, tmp_path):
        with dale.Optimizer(BOUNDS, seed=0, store=tmp_path / "run.db") as optimizer:
            trial = optimizer.ask()
        with dale.Optimizer(BOUNDS, seed=0, store=tmp_path / "run.db") as optimizer:
            optimizer.tell(trial.id, 0.7)
            assert optimizer.ask().id == 1

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
    def test_a_forked_child_is_refused_and_harms_nothing(self, tmp_path):
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
        assert other.ask().id == 2  # this process is alive, whatever became of its child
        assert other.history[0].value == 2.0

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
    def test_a_forked_child_opens_no_store_that_was_open_at_the_fork(self, tmp_path):
        """SQLite takes the parent's locks for its own there: once the parent is gone, others would write between."""
        optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")
        child = os.fork()
        if child == 0:
            try:
                dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db")
            except dale.StoreError as error:
                os._exit(0 if "fork first" in str(error) else 2)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        optimizer.close()
        child = os.fork()
        if child == 0:
            dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=tmp_path / "run.db").ask()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(dale.open(tmp_path / "run.db").history) == 1


def kill_while_it_runs(folder, kills, rng):
    """kill -9 at random moments: while it evaluates, asks and tells, and now and then while it starts."""
    arguments = ("evaluate", folder / "run.db", 10**6, folder / "begun", folder / "told")
    begun = folder / "begun"
    for _ in range(kills):
        program = start(*arguments)
        size = begun.stat().st_size if begun.exists() else 0
        end = time.monotonic() + (2 * rng.random() if rng.random() < 0.2 else 600)
        while program.poll() is None and time.monotonic() < end:
            if begun.exists() and begun.stat().st_size > size:
                break
            time.sleep(0.001)
        time.sleep(0.04 * rng.random())
        program.kill()
        _, errors = program.communicate()
        assert errors == ""  # no start has failed


@pytest.mark.slow
def test_kill_at_random_moments_loses_and_doubles_nothing(tmp_path):
    kills, budget = (100, 200) if FULL else (8, 40)
    kill_while_it_runs(tmp_path, kills, random.Random(1))
    budget = max(budget, dale.open(tmp_path / "run.db").result().nfev + 5)
    last = start("evaluate", tmp_path / "run.db", budget, tmp_path / "begun", tmp_path / "told")
    _, errors = last.communicate()
    assert last.returncode == 0, errors
    begun = Counter((tmp_path / "begun").read_text().split())
    told = [line.split() for line in (tmp_path / "told").read_text().splitlines()]
    history = dale.open(tmp_path / "run.db").history
    assert len(history) == budget
    assert all(t.state is TrialState.COMPLETE for t in history)
    assert [line for line in told if history[int(line[0])].value.hex() != line[1]] == []  # acknowledged: it is there
    assert len({number for number, _ in told}) == len(told)  # and told once
    assert set(begun) == {str(i) for i in range(budget)}
    assert sum(begun.values()) - budget <= kills  # at most one execution again for each kill
    assert same_runs(history, without_store(budget))
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix != ".new") == ["begun", "run.db", "told"]
    print(f"{kills} kills, {budget} evaluations, {sum(begun.values()) - budget} executed again")


@pytest.mark.slow
def test_killed_while_it_thinks_minimize_goes_on_as_it_would_have(tmp_path):
    rng = random.Random(2)
    for _ in range(3):
        program = start("minimize", tmp_path / "run.db", 16)
        while program.poll() is None and not (tmp_path / "run.db").exists():
            time.sleep(0.01)
        time.sleep(rng.random())
        program.kill()
        program.communicate()
    assert start("minimize", tmp_path / "run.db", 16).communicate()[0] == "16\n"
    assert same_runs(dale.open(tmp_path / "run.db").history, dale.minimize(valley, BOUNDS, budget=16, seed=0).history)


@pytest.mark.slow
def test_two_processes_that_write_at_once(tmp_path):
    times, each = (20, 500) if FULL else (2, 60)
    for k in range(times):
        store = tmp_path / f"{k}.db"
        both = [start("add", store, each, 1000 * i) for i in range(2)]  # the first to come makes the file
        for program in both:
            _, errors = program.communicate()
            assert program.returncode == 0, errors
        run = dale.open(store)
        wanted = sorted([float(i) for i in range(each)] + [1000.0 + i for i in range(each)])
        assert sorted(t.value for t in run.history) == wanted
        assert [t.id for t in run.history] == list(range(2 * each))


@pytest.mark.slow
def test_two_runs_on_one_store_share_the_budget(tmp_path):
    both = [start("minimize", tmp_path / "run.db", 20) for _ in range(2)]
    for program in both:
        _, errors = program.communicate()
        assert program.returncode == 0, errors
    history = dale.open(tmp_path / "run.db").history
    assert 20 <= len(history) <= 21
    assert all(t.state is TrialState.COMPLETE for t in history)
    assert len({t.unit_x.tobytes() for t in history}) == len(history)


def test_two_optimizers_on_one_store_see_each_other(tmp_path):
    one = dale.Optimizer(BOUNDS, seed=0, store=tmp_path / "run.db")
    two = dale.Optimizer(BOUNDS, seed=0, store=tmp_path / "run.db")
    trials = [one.ask(), two.ask(), one.ask(), two.ask()]
    assert [t.id for t in trials] == [0, 1, 2, 3]
    assert len({t.unit_x.tobytes() for t in trials}) == 4
    two.tell(trials[0], 0.3)  # whoever has the value may tell it
    with pytest.raises(dale.TrialError, match="already has"):
        one.tell(trials[0], 0.4)
    assert same(one.tell(trials[0], 0.3), two.history[0])
    one.tell(trials[1], 0.1)
    two.fail(trials[2], "broken")
    one.ask()
    two.ask()
    assert same_runs(one.history, two.history[:-1])
    assert same(one.best, two.best)
