"""Hashes of the proposals of nine kinds of runs, to compare them bit for bit before and after a refactoring.

The hashes are equal only on the same machine with the same versions of Python, NumPy and SciPy: another BLAS rounds
differently. The objectives are written out here, so that a change of a benchmark function does not change a hash.
"""

from __future__ import annotations

import hashlib
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import LinearConstraint

import dale
from dale import methods
from dale.history.trial import Trial

DIGITS = 16  # of each hash
BOX = [(-5, 10), (0, 15)]  # of Branin's function
CUBE6 = [(0, 1)] * 6

Run = Sequence[Trial]


class Golden(NamedTuple):
    """The hash of all runs of one kind, and the number of their trials."""

    kind: str
    digest: str
    n_trials: int


def golden(kind: str) -> Golden:
    """Make the runs of a kind, one of `KINDS`, and hash their proposals."""
    runs = [tuple(run) for run in KINDS[kind]()]
    return Golden(kind, digest(runs), sum(map(len, runs)))


def digest(runs: Iterable[Run]) -> str:
    """SHA-256 of the proposed points of all runs, in the unit cube and in order."""
    found = hashlib.sha256()
    for run in runs:
        for trial in run:
            found.update(np.ascontiguousarray(trial.unit_x).tobytes())
    return found.hexdigest()[:DIGITS]


# --- objectives ---


def branin(x: Any) -> float:
    """Branin's function."""
    a, b = float(x[0]), float(x[1])
    return float(
        (b - 5.1 / (4 * np.pi**2) * a * a + 5 / np.pi * a - 6) ** 2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10
    )


HARTMANN_A = np.array(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
)
HARTMANN_P = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann6(x: Any) -> float:
    """Hartmann's function in six dimensions."""
    return -float(np.array([1, 1.2, 3, 3.2]) @ np.exp(-np.sum(HARTMANN_A * (np.asarray(x) - HARTMANN_P) ** 2, axis=1)))


def rosenbrock(x: Any) -> float:
    """Rosenbrock's function."""
    return float(sum(100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2 for i in range(len(x) - 1)))


def mixed_space() -> dale.Space:
    """A space with every kind of parameter."""
    return dale.Space(
        lr=dale.Float(1e-4, 1.0, log=True),
        n=dale.Int(1, 12),
        q=dale.Float(0, 1, step=0.1),
        kind=dale.Choice(["a", "b", "c"]),
        deg=dale.Int(2, 5).when(kind="b"),
    )


def on_mixed_space(p: Any) -> float:
    """A smooth function on the mixed space."""
    offset = {"a": 0.0, "b": 0.3, "c": 0.7}[p["kind"]]
    return float(
        (np.log10(p["lr"]) + 2) ** 2 + 0.1 * (p["n"] - 7) ** 2 + offset + (p["q"] - 0.4) ** 2 - 0.15 * p.get("deg", 0)
    )


# --- runs ---


def plain() -> Iterator[Run]:
    """Exact values, failures, and an outlier."""
    yield from (_minimize(branin, BOX, 60, seed) for seed in (0, 1))
    yield _minimize(hartmann6, CUBE6, 80, 0)
    yield _minimize(rosenbrock, [(-2, 2)] * 4, 80, 1)
    yield _minimize(lambda x: np.nan if x[0] > 6 else branin(x), BOX, 40, 2)
    yield _minimize(lambda x: 1e12 if x[0] > 6 else branin(x), BOX, 40, 3)


def constrained() -> Iterator[Run]:
    """Input constraints, outcome constraints, and both."""
    yield _minimize(branin, BOX, 40, 0, constraints=LinearConstraint([[1, 1]], -np.inf, 8))
    yield _minimize(branin, BOX, 40, 1, constraints=lambda x: (x[0] - 2) ** 2 + (x[1] - 5) ** 2 - 25)
    yield _minimize(lambda x: dale.Evaluation(branin(x), constraints=[x[0] + x[1] - 6, 2 - x[1]]), BOX, 40, 2)
    yield _minimize(
        lambda x: dale.Evaluation(branin(x), constraints=[50 - x[0] ** 2 - x[1]]),
        BOX,
        30,
        3,
        constraints=lambda x: x[0] < 9,
    )


def mixed() -> Iterator[Run]:
    """Integers, steps, options, conditional parameters; a space that is exhausted."""
    yield from (_minimize(on_mixed_space, mixed_space(), 45, seed) for seed in (0, 1))
    finite = dale.Space(a=dale.Int(0, 6), b=dale.Choice([0, 1, 2]))
    yield _minimize(lambda p: (p["a"] - 3) ** 2 + p["b"], finite, 21, 0)
    yield _minimize(on_mixed_space, mixed_space(), 30, 2, constraints=lambda p: p["n"] <= 9)


def noisy() -> Iterator[Run]:
    """Noise that is detected, given for the run, and given for each value."""
    for seed in (0, 1):
        yield _minimize(_with_noise(3, seed), BOX, 60, seed)
    yield _minimize(_with_noise(3, 7), BOX, 40, 2, noise=3.0)
    value = _with_noise(1, 8)
    yield _minimize(lambda x: dale.Evaluation(value(x), noise=1.0, constraints=[x[0] - 8]), BOX, 40, 3)


def pending() -> Iterator[Run]:
    """Batches, values in another order than the trials, failures and retries."""
    rng = np.random.default_rng(0)
    yield _in_batches(dale.Optimizer(BOX, seed=0), lambda trial: branin(trial.x), 10, 4, rng)
    yield _in_batches(dale.Optimizer(mixed_space(), seed=1), lambda trial: on_mixed_space(trial.params), 8, 3, rng)
    optimizer = dale.Optimizer([(0, 1)] * 3, seed=2)
    for number in range(1, 26):
        trial = optimizer.ask()
        if number % 7 == 0:
            optimizer.fail(trial, "x", retry=True)
        elif number % 5 == 0:
            optimizer.fail(trial, "y")
        else:
            optimizer.tell(trial, hartmann6([*trial.x, 0.5, 0.5, 0.5]))
    yield optimizer.history


def paper() -> Iterator[Run]:
    """The paper's method, EI and LCB; the paper's method in batches."""
    yield _minimize(branin, BOX, 40, 0, method=methods.paper())
    yield _minimize(hartmann6, CUBE6, 50, 1, method=methods.paper())
    yield _minimize(branin, BOX, 25, 2, method=methods.ei())
    yield _minimize(branin, BOX, 25, 3, method=methods.lcb())
    optimizer = dale.Optimizer(BOX, seed=4, method=methods.paper())
    for _ in range(8):
        for trial in optimizer.ask(3):
            optimizer.tell(trial, branin(trial.x))
    yield optimizer.history


def imgpo() -> Iterator[Run]:
    """IMGPO."""
    yield _minimize(branin, BOX, 50, 0, method=methods.imgpo())
    yield _minimize(hartmann6, CUBE6, 40, 0, method=methods.imgpo())


def resumed() -> Iterator[Run]:
    """Runs on disk that are resumed."""
    with tempfile.TemporaryDirectory() as directory:
        for budget in (17, 31, 45):
            run = _minimize(branin, BOX, budget, 5, store=Path(directory) / "branin.db")
        yield run
        for budget in (20, 35):
            run = _minimize(on_mixed_space, mixed_space(), budget, 5, store=Path(directory) / "mixed.db")
        yield run


def tolerance() -> Iterator[Run]:
    """Runs that stop by the tolerance, with a callback and a target."""
    yield _minimize(branin, BOX, 80, 0, tolerance=0.05, target=-1e9, callback=lambda intermediate: None)
    yield _minimize(lambda x: np.sum((x - 0.3) ** 2), [(0, 1)] * 3, 60, 0, tolerance=0.01)


KINDS: dict[str, Callable[[], Iterator[Run]]] = {
    "plain": plain,
    "constrained": constrained,
    "mixed": mixed,
    "noisy": noisy,
    "pending": pending,
    "paper": paper,
    "imgpo": imgpo,
    "resumed": resumed,
    "tolerance": tolerance,
}


def _minimize(fun: Callable[[Any], Any], space: Any, budget: int, seed: int, **options: Any) -> Run:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dale.minimize(fun, space, budget=budget, seed=seed, progress=False, **options).history


def _with_noise(std: float, seed: int) -> Callable[[Any], float]:
    rng = np.random.default_rng(seed)
    return lambda x: branin(x) + std * rng.standard_normal()


def _in_batches(
    optimizer: dale.Optimizer, value: Callable[[Trial], float], rounds: int, n: int, rng: np.random.Generator
) -> Run:
    """Ask for n trials, then record n of the pending ones in a random order; again and again."""
    pending: list[Trial] = []
    for _ in range(rounds):
        pending += optimizer.ask(n)
        rng.shuffle(pending)
        for trial in pending[:n]:
            optimizer.tell(trial, value(trial))
        pending = pending[n:]
    return optimizer.history
