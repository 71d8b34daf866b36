"""Killed processes and several at once on one store: no value is lost, and no trial is evaluated twice."""

import random
import time
from collections import Counter

import pytest
from store_runs import BOUNDS, FULL, same, same_runs, start, valley, without_store

import dale
from dale.history.trial import TrialState


def kill_while_it_runs(directory, kills, rng):
    """kill -9 at random moments: during evaluations, ask and tell, and sometimes during the start."""
    arguments = ("evaluate", directory / "run.db", 10**6, directory / "begun", directory / "told")
    begun = directory / "begun"
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
        assert errors == ""  # every start succeeded


@pytest.mark.slow
def test_kill_at_random_moments_loses_and_repeats_nothing(tmp_path):
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
    assert [
        line for line in told if history[int(line[0])].value.hex() != line[1]
    ] == []  # acknowledged values are in the file
    assert len({number for number, _ in told}) == len(told)  # each once
    assert set(begun) == {str(i) for i in range(budget)}
    assert sum(begun.values()) - budget <= kills  # at most one repeated evaluation for each kill
    assert same_runs(history, without_store(budget))
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix != ".new") == ["begun", "run.db", "told"]
    print(f"{kills} kills, {budget} evaluations, {sum(begun.values()) - budget} evaluations repeated")


@pytest.mark.slow
def test_minimize_resumes_after_kills(tmp_path):
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
def test_two_processes_write_concurrently(tmp_path):
    times, each = (20, 500) if FULL else (2, 60)
    for k in range(times):
        store = tmp_path / f"{k}.db"
        both = [start("add", store, each, 1000 * i) for i in range(2)]  # the faster one creates the file
        for program in both:
            _, errors = program.communicate()
            assert program.returncode == 0, errors
        run = dale.open(store)
        expected = sorted([float(i) for i in range(each)] + [1000.0 + i for i in range(each)])
        assert sorted(t.value for t in run.history) == expected
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
    two.tell(trials[0], 0.3)  # any process may report the value
    with pytest.raises(dale.TrialError, match="already has"):
        one.tell(trials[0], 0.4)
    assert same(one.tell(trials[0], 0.3), two.history[0])
    one.tell(trials[1], 0.1)
    two.fail(trials[2], "broken")
    one.ask()
    two.ask()
    assert same_runs(one.history, two.history[:-1])
    assert same(one.best, two.best)
