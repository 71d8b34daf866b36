"""Stores, forks and earlier data of a maximisation: its values have the sign of the objective."""

import copy
import json

import pytest

import dale
from dale.history.direction import Direction
from mirrored_runs import BOX, hill


def test_a_stored_run_resumes_and_keeps_the_values(tmp_path):
    path, whole = tmp_path / "run.db", dale.maximize(hill, BOX, budget=20, seed=1)
    dale.maximize(hill, BOX, budget=9, seed=1, store=path)
    resumed = dale.maximize(hill, BOX, budget=20, seed=1, store=path)
    for one, other in zip(whole.history, resumed.history, strict=True):
        assert (one.value, one.reason, one.x.tolist()) == (other.value, other.reason, other.x.tolist())
    run = dale.open(path)
    assert run.direction is Direction.MAXIMIZE
    assert run.best_value == whole.fun == max(t.value for t in run.history)
    run.to_json(tmp_path / "run.json")
    data = json.loads((tmp_path / "run.json").read_text())
    assert data["problem"]["direction"] == "maximize"
    assert [t["value"] for t in data["trials"]] == [t.value for t in whole.history]
    assert [t["reason"].get("mean") for t in data["trials"]] == [t.reason.mean for t in whole.history]
    run.to_csv(tmp_path / "run.csv")
    assert repr(whole.history[3].value) in (tmp_path / "run.csv").read_text()


def test_a_store_has_one_direction(tmp_path):
    up, down = tmp_path / "up.db", tmp_path / "down.db"
    dale.maximize(hill, BOX, budget=3, seed=1, store=up)
    dale.minimize(hill, BOX, budget=3, seed=1, store=down)
    assert "direction" not in dale.open(down).problem  # as in stores from before there was a direction
    with pytest.raises(dale.StoreError, match="direction is 'maximize' in the store and 'minimize' here"):
        dale.minimize(hill, BOX, budget=4, seed=1, store=up)
    with pytest.raises(dale.StoreError, match="direction is 'minimize' in the store and 'maximize' here"):
        dale.maximize(hill, BOX, budget=4, seed=1, store=down)
    assert len(dale.open(up).history) == len(dale.open(down).history) == 3


def test_corrections_of_a_store(tmp_path):
    path = tmp_path / "run.db"
    dale.maximize(hill, BOX, budget=6, seed=1, store=path)
    with dale.Optimizer(BOX, store=path, direction="maximize") as optimizer:
        optimizer.amend(2, value=99.0)
    assert (dale.open(path).best.id, dale.open(path).best_value) == (2, 99.0)


def test_forks_keep_the_direction(tmp_path):
    path = tmp_path / "run.db"
    result = dale.maximize(hill, BOX, budget=12, seed=1, store=path)
    for source in (result, path, dale.open(path), copy.deepcopy(result)):
        fork = dale.fork(source, at=8)
        assert fork.direction is Direction.MAXIMIZE
        assert fork.ask().x.tolist() == result.history[8].x.tolist()
        assert fork.best_value == max(t.value for t in result.history[:8])
    stored = dale.fork(path, tmp_path / "fork.db", at=8)
    assert stored.ask().x.tolist() == result.history[8].x.tolist()
    assert dale.open(tmp_path / "fork.db").direction is Direction.MAXIMIZE
    wider = dale.fork(result, space=[(-3, 3), (-1, 3)])
    assert (wider.direction, wider.best_value) == (Direction.MAXIMIZE, result.fun)


def test_a_run_with_the_other_direction_is_no_earlier_data(tmp_path):
    path = tmp_path / "run.db"
    result = dale.maximize(hill, BOX, budget=5, seed=1, store=path)
    for source in (result, path, dale.open(path)):
        with pytest.raises(ValueError, match="expected a run with the direction 'minimize', as this one"):
            dale.Optimizer(BOX).add_all(source)
        optimizer = dale.Optimizer(BOX, direction="maximize")
        optimizer.add_all(source)
        assert optimizer.best_value == result.fun
    optimizer = dale.Optimizer(BOX)
    optimizer.add_all(result.to_frame())  # values of the same objective, to be minimised now
    assert optimizer.best_value == min(t.value for t in result.history)
