"""Proposals and results do not depend on the state of the caller's NumPy, warning filters or locale."""

import locale
import warnings
from contextlib import contextmanager, suppress

import numpy as np
import pytest

import dale
from dale.methods import ei, imgpo, lcb, paper


@contextmanager
def hostile_state():
    """Floating-point errors and warnings raise, arrays print two digits, and numbers have a decimal comma."""
    before = locale.setlocale(locale.LC_ALL)
    with np.errstate(all="raise"), np.printoptions(precision=2, threshold=3), warnings.catch_warnings():
        warnings.simplefilter("error")
        with suppress(locale.Error):  # where it is not installed
            locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
        try:
            yield
        finally:
            locale.setlocale(locale.LC_ALL, before)


def narrow(x):
    """Large values, tiny differences and a narrow valley: underflow and overflow in every model."""
    return float(1e6 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2)


def bounded(x):
    return dale.Evaluation(narrow(x), constraints=[0.5 - x[0]])


def mixed(params):
    return (np.log10(params["rate"]) + 3) ** 2 + abs(params["n"] - 3) + {"a": 0.0, "b": 1.0}[params["kind"]]


SPACE = {"rate": dale.Float(1e-300, 1e10, log=True), "n": dale.Int(1, 9), "kind": dale.Choice(["a", "b"])}
BOX = [(-2.0, 2.0), (-2.0, 2.0)]
CASES = {
    "default": (narrow, BOX, {}),
    "noise": (lambda x: narrow(x) + np.sin(1e6 * x[0]), BOX, {"noise": 0.7}),
    "outcome constraints": (bounded, BOX, {}),
    "input constraints": (narrow, BOX, {"constraints": lambda x: x[0] + x[1] - 1}),
    "mixed": (mixed, SPACE, {}),
    "huge": (lambda x: 1e300 * narrow(x), BOX, {}),
    "paper": (narrow, BOX, {"method": paper()}),
    "ei": (narrow, BOX, {"method": ei()}),
    "lcb": (narrow, BOX, {"method": lcb()}),
    "imgpo": (narrow, BOX, {"method": imgpo()}),
}


def run(fun, space, settings):
    """The points and the text of a run, minima included; the objective runs in the state of the caller."""
    states = []

    def observed(x):
        states.append(np.geterr())
        with np.errstate(all="warn", under="ignore"):
            return fun(x)

    result = dale.minimize(observed, space, budget=20, seed=0, tolerance=1e-12, **settings)
    assert all(state == np.geterr() for state in states)
    return [t.unit_x.tobytes() for t in result.history], str(result)


@pytest.mark.parametrize("case", CASES)
def test_a_run_is_the_same_whatever_the_state_of_the_caller(case):
    expected = run(*CASES[case])
    with hostile_state():
        assert run(*CASES[case]) == expected


def test_a_stored_run_is_read_in_the_same_state(tmp_path):
    fun, space, settings = CASES["noise"]
    dale.minimize(fun, space, budget=20, seed=0, store=tmp_path / "run.db", **settings)

    def read():
        run = dale.open(tmp_path / "run.db")
        return str(run.result()), run.best.id, run.best_value

    expected = read()
    with hostile_state():
        assert read() == expected
