"""Calibration of local steps: the standardised errors of their predictions, (value - mean) / std.

If mean and std are right, these errors look like draws of the standard normal distribution.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

import dale
from dale._arrays import Vector
from dale.history.trial import Trial
from dale.methods.base import Method
from dale_bench.functions import get

EDGES = (-math.inf, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, math.inf)  # of the bins
WIDTH = 50  # of the bar of a bin with half of all errors


def standardised_errors(trials: Iterable[Trial]) -> Vector:
    """(value - mean) / std of the local steps that have a value."""
    steps = (t for t in trials if t.reason.step is not None and t.value is not None)
    return np.array([(t.value - t.reason.mean) / t.reason.std for t in steps if t.reason.std])  # type: ignore[operator]


def errors_of_runs(
    functions: Sequence[str], seeds: int, method: Method | None = None, jobs: int | None = None
) -> Vector:
    """The standardised errors of all local steps in runs of the default method.

    Args:
        functions: Names, such as ``branin:moved:rotated``.
        seeds: Number of runs on each, with seeds 0, 1, ...
        method: Another method than the default one.
        jobs: Number of processes; None for one per core.
    """
    runs = [(name, seed) for name in functions for seed in range(seeds)]
    with ProcessPoolExecutor(jobs) as pool:
        return np.concatenate([np.zeros(0), *pool.map(partial(_errors_of_run, method), runs)])


def _errors_of_run(method: Method | None, run: tuple[str, int]) -> Vector:
    name, seed = run
    function = get(name, seed)
    optimizer = dale.Optimizer(function.bounds, seed=seed, method=method or dale.methods.default())
    for _ in range(function.budget):
        trial = optimizer.ask()
        optimizer.tell(trial, function.fun(trial.x))
    return standardised_errors(optimizer.history)


def histogram(errors: Vector) -> str:
    """A line for each bin: its share of the errors, that of the normal distribution, and a bar."""
    shares = np.histogram(errors, EDGES)[0] / max(len(errors), 1)
    normal = np.diff([0.5 * (1 + math.erf(edge / math.sqrt(2))) for edge in EDGES])
    lines = [f"{len(errors)} local steps: (value - mean) / std", "", "from    to  share  normal"]
    for low, high, share, expected in zip(EDGES[:-1], EDGES[1:], shares, normal, strict=True):
        bar = "#" * round(2 * WIDTH * share)
        lines.append(f"{low:4.0f}  {high:4.0f}  {share:5.3f}   {expected:5.3f}  {bar}".rstrip())
    within = [float(np.mean(np.abs(errors) < k)) if len(errors) else math.nan for k in (1, 2, 3)]
    lines += ["", "within 1, 2, 3 std: {:.3f}, {:.3f}, {:.3f} (normal: 0.683, 0.954, 0.997)".format(*within)]
    return "\n".join(lines)
