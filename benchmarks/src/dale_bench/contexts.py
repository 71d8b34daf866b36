"""Held parameters: one optimizer for several values of a parameter that cannot be chosen, or a run for each value.

The last parameter of a function is the context. The values of the context take turns. One optimizer learns from all of
them (``ask(fixed=...)``); the independent runs see a function of the other parameters. The regret is relative to the
minimum in the slice, found by a search from many points.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import dale
from dale._arrays import Vector
from dale_bench import jsonl
from dale_bench.comparison import bootstrap_error, log_regret
from dale_bench.functions import get
from dale_bench.functions.function import Function
from dale_bench.tables import Table

CONTEXTS = (0.15, 0.4, 0.6, 0.85)  # in the unit cube
EVALUATIONS = 24  # for each of them
CHECKPOINTS = (6, 12, 18, 24)
N_STARTS, N_SAMPLES = 12, 4096  # of the search for the minimum in a slice
HELD, APART = "held", "apart"
LABELS = {HELD: "one optimizer, held", APART: "independent runs"}


@dataclass(frozen=True)
class ContextRun:
    """The regrets of one way on one function, after each evaluation of each context, (contexts, evaluations)."""

    function: str
    way: str
    seed: int
    regret: list[list[float]]


def run_missing(functions: Sequence[str], seeds: int, path: Path, jobs: int | None = None) -> list[ContextRun]:
    """Make the runs that are not in the file, append them and return all."""
    known = jsonl.read(path, ContextRun)
    done = {(run.function, run.way, run.seed) for run in known}
    tasks = [(name, way, seed) for seed in range(seeds) for name in functions for way in LABELS]
    with ProcessPoolExecutor(jobs) as pool:
        for run in pool.map(run_contexts, [task for task in tasks if task not in done]):
            jsonl.append(path, run)
            known.append(run)
    return [run for run in known if run.function in functions and run.seed < seeds]


def run_contexts(task: tuple[str, str, int]) -> ContextRun:
    """One run over all contexts."""
    name, way, seed = task
    function = get(name, seed)
    others = [(0.0, 1.0)] * (function.dimension - 1)
    if way == HELD:
        shared = dale.Optimizer([*others, (0.0, 1.0)], seed=seed)
        optimizers = [shared] * len(CONTEXTS)
    else:
        optimizers = [dale.Optimizer(others, seed=seed * len(CONTEXTS) + k) for k in range(len(CONTEXTS))]
    values: list[list[float]] = [[] for _ in CONTEXTS]
    last = f"x{function.dimension - 1}"
    for _ in range(EVALUATIONS):
        for k, context in enumerate(CONTEXTS):
            trial = optimizers[k].ask(fixed={last: context}) if way == HELD else optimizers[k].ask()
            value = float(function.true(function.from_cube(np.append(trial.x[: len(others)], context))))
            optimizers[k].tell(trial, value)
            values[k].append(value)
    lowest = [minimum_of_slice(function, context) for context in CONTEXTS]
    best = [np.maximum(np.minimum.accumulate(v) - low, 0.0).tolist() for v, low in zip(values, lowest, strict=True)]
    return ContextRun(name, way, seed, best)


def minimum_of_slice(function: Function, context: float) -> float:
    """The lowest value where the last parameter has a value, by local searches from the best of many points."""
    rng = np.random.default_rng(0)

    def values(U: Vector) -> Vector:
        U = np.atleast_2d(U)
        return np.asarray(function.true(function.from_cube(np.column_stack([U, np.full(len(U), context)]))))

    U = rng.random((N_SAMPLES, function.dimension - 1))
    starts = U[np.argsort(values(U))[:N_STARTS]]
    bounds, options = [(0.0, 1.0)] * U.shape[1], {"ftol": 1e-15, "gtol": 1e-12}
    found = [minimize(lambda u: float(values(u)[0]), s, bounds=bounds, options=options) for s in starts]
    polished = [minimize(lambda u: float(values(u)[0]), f.x, bounds=bounds, method="Powell", tol=1e-14) for f in found]
    return float(min(f.fun for f in [*found, *polished]))


def contexts_table(runs: Sequence[ContextRun]) -> Table:
    """Median log10 regret over seeds and contexts after some evaluations of each context, with its error."""
    rows = []
    for name in dict.fromkeys(run.function for run in runs):
        for way, label in LABELS.items():
            curves = np.array([curve for run in runs if (run.function, run.way) == (name, way) for curve in run.regret])
            logs = log_regret(curves)
            cells = [f"{np.median(logs[:, n - 1]):.2f} ± {bootstrap_error(logs[:, n - 1]):.2f}" for n in CHECKPOINTS]
            rows.append([name, label, *cells, str(len(curves))])
    return ["function", "way", *(f"after {n}" for n in CHECKPOINTS), "slices"], rows
