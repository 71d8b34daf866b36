"""Runs of ``dale.minimize`` with evaluations that sleep, and their outcomes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dale import methods
from dale._progress import Progress
from dale.history.reason import Source
from dale.methods.base import Method
from dale.minimize import minimize
from dale_bench.fresh_process import in_fresh_process
from dale_bench.jsonl import append, read
from dale_bench.speed.observations import objective
from dale_bench.workers.backends import BACKENDS, THREADS
from dale_bench.workers.idle_time import Span, dispatch_delays, ideal_makespan, idle_share, makespan
from dale_bench.workers.methods import RandomPoints, Timed
from dale_bench.workers.objective import Sleeper, spans
from dale_bench.workers.replay import replay

DEFAULT, BASELINE = "default", "random"
METHODS: dict[str, Callable[[], Method]] = {DEFAULT: methods.default, BASELINE: RandomPoints}


@dataclass(frozen=True)
class Case:
    """One run.

    Attributes:
        seconds: Median time of an evaluation.
        backend: A key of `BACKENDS`.
        store: Whether the run has a store.
        seed: Seed of the function, of the times and of the method.
        method: A key of `METHODS`.
        dimension: Dimension of the function.
        evaluations: The budget.
        workers: The number of workers.
        sigma: Standard deviation of the logarithm of the times.
    """

    seconds: float
    backend: str
    store: bool
    seed: int
    method: str
    dimension: int
    evaluations: int
    workers: int
    sigma: float

    @property
    def group(self) -> tuple[Any, ...]:
        """Runs with the same group are made in sequence in one process."""
        return self.seconds, self.backend, self.store, self.seed


@dataclass(frozen=True)
class Outcome(Case):
    """The outcome of a run.

    Attributes:
        idle: Share of the workers' time in which they were idle (`idle_share`).
        rate: Evaluations per second, from the first start to the last end.
        ideal: The same without idle time.
        dispatch_delay: Median seconds from the end of an evaluation to the start of its replacement.
        dispatch_delay_95: Its 95 % quantile.
        proposal: Median wall seconds of a proposal, initial design excluded.
        proposal_95: Its 95 % quantile.
        proposal_cpu: Median CPU seconds of a proposal.
        proposing: Seconds of all proposals as a share of the time from the first start to the last end.
        serial: Median CPU seconds of a proposal, replayed without pending trials; None if not replayed.
        serial_95: Its 95 % quantile.
        parallel: The same with one pending trial for each other worker.
        parallel_95: Its 95 % quantile.
        ratio: Total seconds of the latter divided by those of the former.
        load: Load average of the machine before the run; None if the system does not provide it.
    """

    idle: float
    rate: float
    ideal: float
    dispatch_delay: float
    dispatch_delay_95: float
    proposal: float
    proposal_95: float
    proposal_cpu: float
    proposing: float
    serial: float | None
    serial_95: float | None
    parallel: float | None
    parallel_95: float | None
    ratio: float | None
    load: float | None

    @property
    def case(self) -> Case:
        """The case of this outcome."""
        return Case(*(getattr(self, field.name) for field in fields(Case)))


def cases(
    runs: Sequence[tuple[float, int, int]],
    backends: Sequence[str],
    dimensions: Sequence[int],
    workers: int,
    sigma: float,
) -> list[Case]:
    """All runs, in the order of their seeds.

    The baseline does not depend on the dimension and runs only in the highest one.

    Args:
        runs: Tuples (seconds of an evaluation, evaluations of a run, number of seeds).
        backends: Keys of `BACKENDS`.
        dimensions: Dimensions of the function.
        workers: The number of workers.
        sigma: Standard deviation of the logarithm of the times.
    """
    kinds = [*((DEFAULT, d) for d in dimensions), (BASELINE, max(dimensions))]
    return [
        Case(seconds, backend, store, seed, method, d, evaluations, workers, sigma)
        for seed in range(max(seeds for *_, seeds in runs))
        for seconds, evaluations, seeds in runs
        if seed < seeds
        for backend in backends
        for store in (False, True)
        for method, d in kinds
    ]


def outcomes(requested: Sequence[Case], directory: Path) -> list[Outcome]:
    """Run the cases of one group in sequence; meant to be called in a new process.

    Args:
        requested: The cases.
        directory: A directory on the disk that is to hold the stores.
    """
    with (
        BACKENDS[requested[0].backend](requested[0].workers) as arguments,
        TemporaryDirectory(dir=directory) as scratch,
    ):
        return [_outcome(case, arguments, Path(scratch) / str(i)) for i, case in enumerate(requested)]


def _outcome(case: Case, arguments: dict[str, Any], directory: Path) -> Outcome:
    directory.mkdir()
    function = objective(case.dimension, case.seed)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None  # not available on Windows
    log, method = directory / "log", Timed(METHODS[case.method]())
    result = minimize(
        Sleeper(function, case.seconds, case.sigma, str(log)),
        function.bounds,
        budget=case.evaluations,
        seed=case.seed,
        method=method,
        progress=False,
        store=directory / "run.db" if case.store else None,
        **arguments,
    )
    recorded = spans(log)
    if len(recorded) != case.evaluations:
        raise RuntimeError(
            f"expected {case.evaluations} recorded evaluations in {case}, got {len(recorded)}: {result.message}"
        )
    pairs = replay(method.method, result.history, case.seed, case.workers - 1) if _is_replayed(case) else []
    return Outcome(
        **asdict(case),
        **_idle_times(recorded, case.workers),
        **_proposal_times(method, recorded),
        **_replayed(pairs),
        load=load,
    )


def _is_replayed(case: Case) -> bool:
    """One backend is enough, because proposals do not depend on it."""
    return case.method == DEFAULT and case.backend == THREADS and not case.store


def _idle_times(recorded: Sequence[Span], workers: int) -> dict[str, Any]:
    between = dispatch_delays(recorded, workers) or [0.0]
    return {
        "idle": idle_share(recorded, workers),
        "rate": len(recorded) / makespan(recorded),
        "ideal": len(recorded) / ideal_makespan(recorded, workers),
        "dispatch_delay": float(np.median(between)),
        "dispatch_delay_95": float(np.quantile(between, 0.95)),
    }


def _proposal_times(method: Timed, recorded: Sequence[Span]) -> dict[str, Any]:
    times = method.times
    late = [t for t in times if t.source is not Source.INITIAL_DESIGN] or times
    return {
        "proposal": float(np.median([t.wall for t in late])),
        "proposal_95": float(np.quantile([t.wall for t in late], 0.95)),
        "proposal_cpu": float(np.median([t.cpu for t in late])),
        "proposing": sum(t.wall for t in times) / makespan(recorded),
    }


def _replayed(pairs: Sequence[tuple[float, float]]) -> dict[str, Any]:
    if not pairs:
        return dict.fromkeys(("serial", "serial_95", "parallel", "parallel_95", "ratio"))
    serial, parallel = np.array(pairs).T
    return {
        "serial": float(np.median(serial)),
        "serial_95": float(np.quantile(serial, 0.95)),
        "parallel": float(np.median(parallel)),
        "parallel_95": float(np.quantile(parallel, 0.95)),
        "ratio": float(parallel.sum() / serial.sum()),
    }


def run_missing(
    requested: Sequence[Case],
    path: Path,
    *,
    rerun: bool = False,
    run: Callable[..., list[Outcome]] = in_fresh_process,
    progress: bool | None = None,
) -> list[Outcome]:
    """Make the runs that are missing in the file, append each outcome, and return the outcomes of all.

    Args:
        requested: The requested runs.
        path: The file. Temporary stores are in the same directory.
        rerun: Whether to repeat the runs that are in the file; the last outcome counts.
        run: How a group of runs is made: in a new process.
        progress: Whether to show a progress bar; None shows it if standard error is a terminal.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    known = {} if rerun else {found.case: found for found in read(path, Outcome)}
    left = [case for case in requested if case not in known]
    with Progress(max(len(left), 1), progress) as line:
        done = 0
        for (seconds, backend, store, _), group in groupby(left, lambda case: case.group):
            line.write(done, f"{seconds:g} s, {backend}{', with a store' if store else ''}")
            for outcome in run(outcomes, list(group), path.parent):
                known[outcome.case] = outcome
                append(path, outcome)
                done += 1
    return [known[case] for case in requested]
