"""The incumbent with an option that has failed only: when it is proposed, and that it is proposed once."""

import math

import numpy as np
import pytest

import dale
from dale.history.reason import Source
from dale.methods.default.failed_option import propose_failed_option

SPACE = dale.Space(
    x=(0.0, 1.0), n=dale.Int(1, 9), kind=dale.Choice(["a", "b", "c"]), fast=dale.Choice([False, True]),
    depth=dale.Int(1, 5).when(fast=True),
)  # fmt: skip
KNOWN = {"x": 0.3, "n": 4, "kind": "a", "fast": True, "depth": 2}


def optimizer_with(*failed, completed=(KNOWN,), space=SPACE):
    """An optimizer that knows some completed trials and some failed ones."""
    optimizer = dale.Optimizer(space, seed=0)
    for value, params in enumerate(completed):
        optimizer.add(params, float(value))
    for params in failed:
        optimizer.fail(optimizer.ask(at=params), "out of memory")
    return optimizer


def proposed(optimizer):
    """The parameters of the proposal at the best trial; None without one."""
    snapshot = optimizer.snapshot
    found = propose_failed_option(snapshot, optimizer.best.unit_x)
    return None if found is None else (found.reason.source, dict(snapshot.domain.space.decode(found.point)))


def test_the_incumbent_with_the_option_that_failed():
    failed = {"x": 0.9, "n": 8, "kind": "b", "fast": True, "depth": 5}
    assert proposed(optimizer_with(failed)) == (Source.FAILED_OPTION, {**KNOWN, "kind": "b"})


def test_an_option_that_deactivates_other_parameters():
    failed = {"x": 0.9, "n": 8, "kind": "a", "fast": False}
    without_depth = {name: value for name, value in KNOWN.items() if name != "depth"}
    assert proposed(optimizer_with(failed)) == (Source.FAILED_OPTION, {**without_depth, "fast": False})


@pytest.mark.parametrize(
    ("failed", "completed"),
    [
        ([], [KNOWN]),
        ([{**KNOWN, "x": 0.9}], [KNOWN]),  # no option has failed only
        ([{**KNOWN, "x": 0.9, "kind": "b"}], [KNOWN, {**KNOWN, "n": 9, "kind": "b"}]),
        ([{**KNOWN, "x": 0.9, "n": 9}], [KNOWN]),  # integers have no options, nor those on which others depend
    ],
)
def test_not_without_an_option_that_failed_only(failed, completed):
    assert proposed(optimizer_with(*failed, completed=completed)) is None


def test_once():
    """Also with another incumbent, and while it is pending."""
    optimizer = optimizer_with({**KNOWN, "x": 0.9, "kind": "b"})
    trial = optimizer.ask(at=proposed(optimizer)[1])
    assert proposed(optimizer) is None
    optimizer.fail(trial, "out of memory")
    assert proposed(optimizer) is None
    optimizer.add({**KNOWN, "x": 0.1}, -1.0)
    assert optimizer.best.value == -1.0
    assert proposed(optimizer) is None


def test_one_option_after_the_other():
    optimizer = optimizer_with({**KNOWN, "x": 0.9, "kind": "c"}, {**KNOWN, "x": 0.8, "kind": "b"})
    kinds = []
    while (found := proposed(optimizer)) is not None:
        kinds.append(found[1]["kind"])
        optimizer.fail(optimizer.ask(at=found[1]), "out of memory")
    assert kinds == ["c", "b"]


def test_not_where_constraints_forbid_it():
    space = dale.Space(x=(0.0, 1.0), kind=dale.Choice(["a", "b"]))
    optimizer = dale.Optimizer(space, seed=0, constraints=[lambda p: p["kind"] == "a" or p["x"] > 0.5])
    optimizer.add({"x": 0.3, "kind": "a"}, 0.0)
    optimizer.fail(optimizer.ask(at={"x": 0.9, "kind": "b"}), "out of memory")
    assert proposed(optimizer) is None


def test_not_of_a_held_parameter():
    optimizer = optimizer_with({**KNOWN, "x": 0.9, "kind": "b"})
    for _ in range(15):  # past the initial design
        trial = optimizer.ask(fixed={"kind": "a"})
        assert trial.params["kind"] == "a"
        optimizer.tell(trial, trial.params["x"])


@pytest.mark.parametrize("seed", range(4))
def test_a_run_finds_the_best_option_although_its_first_trial_failed(seed):
    """The best option completes where x < 0.6; its first trial is beyond."""

    def fun(p):
        if p["x"] > 0.6:
            return math.nan
        return (p["x"] - 0.4) ** 2 + (p["y"] - 0.6) ** 2 + {"a": 1.0, "b": 1.2, "c": 0.0, "d": 1.4}[p["kind"]]

    space = dale.Space(x=(0.0, 1.0), y=(0.0, 1.0), kind=dale.Choice(["a", "b", "c", "d"]))
    optimizer = dale.Optimizer(space, seed=seed)
    optimizer.fail(optimizer.ask(at={"x": 0.9, "y": 0.1, "kind": "c"}), "out of memory")
    for _ in range(30):
        trial = optimizer.ask()
        value = fun(trial.params)
        optimizer.fail(trial, "out of memory") if math.isnan(value) else optimizer.tell(trial, value)
    assert optimizer.best.params["kind"] == "c"
    sources = [t.reason.source for t in optimizer.history]
    assert np.sum(np.array(sources) == Source.FAILED_OPTION) <= 4
