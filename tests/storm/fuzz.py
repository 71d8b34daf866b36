"""Runs with random spaces, methods, objectives and settings, interrupted and resumed at random.

Every point belongs to the space, none is repeated without noise, nothing but the promised errors is raised, and a run
that is interrupted and resumed from its store is, bit for bit, the run that was not interrupted.
"""

import random
import re
import warnings
import zlib
from dataclasses import replace

import numpy as np
from broken_objectives import RAISED, RETURNED
from store_runs import same_runs

import dale
from dale.history.reason import Source
from dale.history.trial import TrialState
from hostile import AS_VALUES, NO_VALUES

UNIT = "runs"
FLOATS = [(0.0, 1.0), (-5.0, 10.0), (1.0, 1.0 + 1e-12), (-1e12, 1e12), (-1.7e308, 1.7e308), (0.0, 1e-320), (3.0, 3.0)]
LOGS = [(1e-5, 1e-1), (1e-12, 1e12), (5e-324, 1.7e308)]
SCALES = [1.0, 1.0, 1.0, 1e-310, 1e-12, 1e15, 1e300, 1.7e308]
STRANGE = {**NO_VALUES, **AS_VALUES}


def case(rng, folder):
    space, budget, settings = a_space(rng), rng.randint(3, 28), {"seed": rng.randrange(2**32)}
    objective = Objective(rng.getrandbits(32), space, rng)
    settings["method"] = a_method(rng)
    if settings["method"].name == "default":
        settings["noise"] = rng.choice(["auto", "auto", "auto", 0, 0.1])
        if rng.random() < 0.2:
            settings["constraints"] = objective.is_allowed
    with warnings.catch_warnings(), np.errstate(all=rng.choice(["raise", "warn", "ignore"])):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", dale.EvaluationWarning)
        whole = dale.minimize(objective, space, budget=budget, **settings)
        check(whole, space, settings)
        store, parts = folder / "run.db", 1
        for _ in range(rng.randint(1, 4)):
            objective.interrupt_after = rng.randint(1, budget)
            dale.minimize(objective, space, budget=budget, store=store, **settings)
            parts += 1
        objective.interrupt_after = None
        resumed = dale.minimize(objective, space, budget=budget, store=store, **settings)
        stored = dale.open(store, space)
        for history in (resumed.history, stored.history):
            assert same_runs(*map(without_addresses, (history, whole.history))), "the resumed run is another one"
        assert str(stored.result())
    assert [p.name for p in folder.iterdir()] == ["run.db"]
    return parts


def without_addresses(history):
    """The trials, without the memory addresses of returned objects in their errors."""
    return [replace(t, error=t.error and re.sub(r"0x[0-9a-f]+", "", t.error)) for t in history]


def is_intended_repetition(reason):
    """Whether a point is evaluated again because the machine failed, or to test for noise."""
    return reason.retry_of is not None or reason.source is Source.REPLICATE


def check(result, space, settings):
    """What holds in every run."""
    allowed = settings.get("constraints", lambda params: True)
    for trial in result.history:
        assert np.all((trial.unit_x >= 0) & (trial.unit_x <= 1)), trial
        assert np.array_equal(space.encode(trial.params), trial.unit_x), trial
        assert allowed(trial.params), trial
        assert (trial.value is not None and np.isfinite(trial.value)) == (trial.state is TrialState.COMPLETE), trial
        assert trial.error is None or isinstance(trial.error, str), trial
    if result.noise == 0:
        points = [t.unit_x.tobytes() for t in result.history if not is_intended_repetition(t.reason)]
        assert len(set(points)) == len(points), "a point was proposed twice"
    assert result.fun is None or np.isfinite(result.fun)
    assert str(result)


class Objective:
    """A function of the point, some of whose evaluations raise, or return what is no number."""

    def __init__(self, key, space, rng):
        self.key, self.space = key, space
        self.scale, self.offset = rng.choice(SCALES), rng.choice([0.0, 0.0, 1.0, 1e6])
        self.step = rng.choice([0.0, 0.0, 0.1])  # of values in stairs
        self.spread = rng.choice([0.0, 0.0, 0.0, 0.05])  # of noise
        self.probability = rng.choice([0.0, 0.1, 0.3, 1.0])
        self.kinds = rng.sample([*STRANGE, *RAISED, *RETURNED], 3)
        self.interrupt_after = None  # evaluations
        self.first = None

    def __call__(self, params):
        if self.interrupt_after is not None:
            self.interrupt_after -= 1
            if self.interrupt_after < 0:
                raise KeyboardInterrupt
        u = self.space.encode(params)
        draw = random.Random(f"{self.key} {zlib.crc32(u.tobytes())}")
        value = float(np.sum((u - 0.37) ** 2) + 0.1 * np.sum(np.sin(9 * u)) + self.spread * draw.random())
        value = round(value / self.step) * self.step if self.step else value
        value = min(max(self.scale * (value + self.offset), -1.79e308), 1.79e308)
        self.first = u.tobytes() if self.first is None else self.first
        if draw.random() >= self.probability or u.tobytes() == self.first:
            return value
        kind = draw.choice(self.kinds)
        if kind in RAISED:
            raise RAISED[kind][0]()
        return STRANGE[kind](value) if kind in STRANGE else RETURNED[kind]()

    def is_allowed(self, params):
        return float(np.sum(self.space.encode(params))) <= 0.7 * self.space.dimension


def a_method(rng):
    m = dale.methods
    return rng.choice([m.default, m.default, m.default, m.paper, m.ei, m.lcb, m.imgpo])()


def a_space(rng):
    """One to five parameters of any kind, some of them with a condition."""
    parameters = {f"p{i}": a_parameter(rng) for i in range(rng.choice([1, 2, 2, 3, 3, 5]))}
    if rng.random() < 0.2:
        parameters["kind"] = dale.Choice(["a", "b", None])
        parameters["extra"] = dale.Float(0, 1).when(kind="a")
    if all(parameter == dale.Float(3.0, 3.0) for parameter in parameters.values()):
        parameters["free"] = dale.Float(0, 1)  # at least one must not be fixed
    return dale.Space(parameters)


def a_parameter(rng):
    low, high = rng.choice(FLOATS)
    return rng.choice(
        [
            lambda: dale.Float(low, high),
            lambda: dale.Float(0.0, 1.0),
            lambda: dale.Float(*rng.choice(LOGS), log=True),
            lambda: dale.Float(0.0, 4.0, step=0.1),
            lambda: dale.Int(1, rng.choice([2, 9, 1000, 2**50])),
            lambda: dale.Int(1, 1024, log=True),
            lambda: dale.Int(0, 100, step=5),
            lambda: dale.Choice([f"option {i}" for i in range(rng.choice([2, 3, 20, 100]))]),
            lambda: dale.Choice([1, 10, 100], ordered=True),
        ]
    )()
