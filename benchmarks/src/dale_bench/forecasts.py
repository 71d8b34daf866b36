"""Calibration of forecasts: what the next evaluations were expected to gain, and what they gained.

Gains are in units of the range of the better three quarters of the values at that time, so that functions can be
compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

import dale
from dale_bench import jsonl
from dale_bench.functions import get
from dale_bench.tables import Table

AFTER = (20, 30, 40, 50, 60, 70)  # numbers of evaluations at which forecasts are made
HORIZONS = (10, 50)
EDGES = (0.0, 0.01, 0.03, 0.1, 0.3, np.inf)  # of the bins of predicted gains
FACTOR = 10.0  # predictions of local gains within this factor count as right
NEGLIGIBLE = 1e-12  # gains below this are none
NEW_BASIN = 1e-6  # gain from which an evaluation that is no step from a known point has found a better basin
BINS = "evaluations", "expected gain", "forecasts", "mean expected", "mean came", "median came"
PARTS = (
    "evaluations",
    "better basin: expected",
    "came",
    "local gain: median of expected / came",
    "within a factor of 10",
)


@dataclass(frozen=True)
class Outcome:
    """A forecast and what came.

    Attributes:
        function: The function.
        seed: Seed of the run.
        after: Number of evaluations before it.
        n: Number of evaluations that it is about.
        gain: The expected gain.
        local: The part of it near the best point.
        chance: The probability of a better basin.
        came: The gain that came.
        elsewhere: The gain that came from basins found after the forecast.
    """

    function: str
    seed: int
    after: int
    n: int
    gain: float
    local: float
    chance: float
    came: float
    elsewhere: float


def run_missing(functions: Sequence[str], seeds: int, path: Path, jobs: int | None = None) -> list[Outcome]:
    """Make the runs that are not in the file, append their outcomes and return all."""
    known = jsonl.read(path, Outcome)
    done = {(outcome.function, outcome.seed) for outcome in known}
    missing = [(name, seed) for seed in range(seeds) for name in functions if (name, seed) not in done]
    with ProcessPoolExecutor(jobs) as pool:
        for outcomes in pool.map(outcomes_of_run, missing):
            for outcome in outcomes:
                jsonl.append(path, outcome)
            known += outcomes
    return [outcome for outcome in known if outcome.function in functions and outcome.seed < seeds]


def outcomes_of_run(run: tuple[str, int]) -> list[Outcome]:
    """The forecasts of one run of the default method."""
    name, seed = run
    function = get(name, seed)
    optimizer = dale.Optimizer(function.bounds, seed=seed)
    forecasts = []
    for i in range(AFTER[-1] + HORIZONS[-1]):
        if i in AFTER:
            forecasts += [(i, optimizer.forecast(n)) for n in HORIZONS]
        trial = optimizer.ask()
        optimizer.tell(trial, function.fun(trial.x))
    values, roots = np.array([t.value for t in optimizer.history]), np.array(list(_roots(optimizer.history)))
    outcomes = []
    for after, forecast in forecasts:
        before, later = values[:after], values[after : after + forecast.n]
        best, width = float(np.min(before)), float(np.quantile(before, 0.75) - np.min(before))
        new = later[roots[after : after + forecast.n] >= after]
        came, elsewhere = (max(best - float(np.min(some, initial=best)), 0.0) / width for some in (later, new))
        gain, local = forecast.gain / width, forecast.local / width
        outcomes.append(Outcome(name, seed, after, forecast.n, gain, local, forecast.chance, came, elsewhere))
    return outcomes


def _roots(trials: Sequence[dale.Trial]) -> Iterator[int]:
    """For each trial the one from which its local steps started; itself if it is no local step."""
    roots: list[int] = []
    for trial in trials:
        step = trial.reason.step
        roots.append(trial.id if step is None else roots[step.center])
    return iter(roots)


def bins_table(outcomes: Sequence[Outcome]) -> Table:
    """Expected gains in bins, with what came."""
    rows = []
    for n in HORIZONS:
        expected, came = (np.array([getattr(o, name) for o in outcomes if o.n == n]) for name in ("gain", "came"))
        for low, high in pairwise(EDGES):
            some = (expected >= low) & (expected < high)
            if some.any():
                label = f"above {low:g}" if high == np.inf else f"{low:g} to {high:g}"
                numbers = np.mean(expected[some]), np.mean(came[some]), np.median(came[some])
                rows.append([str(n), label, str(np.sum(some)), *(f"{x:.2g}" for x in numbers)])
    return list(BINS), rows


def parts_table(outcomes: Sequence[Outcome]) -> Table:
    """How often a better basin was expected and came, and how good the local part is where both are gains."""
    rows = []
    for n in HORIZONS:
        some = [o for o in outcomes if o.n == n]
        chance, came = np.mean([o.chance for o in some]), np.mean([o.elsewhere > NEW_BASIN for o in some])
        local = [o.local / o.came for o in some if min(o.local, o.came) > NEGLIGIBLE and o.elsewhere < o.came]
        right = np.mean([1 / FACTOR <= ratio <= FACTOR for ratio in local])
        rows.append([str(n), f"{chance:.3f}", f"{came:.3f}", f"{np.median(local):.2f}", f"{right:.2f}"])
    return list(PARTS), rows
