"""Runs of ``dale.minimize`` with evaluations that sleep, and what they come to."""

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
from dale.history.reason import Source
from dale.methods.base import Method
from dale.minimize import minimize
from dale.progress import Progress
from dale_bench.alone import alone
from dale_bench.lines import append, read
from dale_bench.speed.observations import objective
from dale_bench.workers.methods import RandomPoints, Timed
from dale_bench.workers.objective import Sleeper, spans
from dale_bench.workers.replay import replay
from dale_bench.workers.waiting import Span, handovers, ideal_makespan, makespan, share_waiting
from dale_bench.workers.ways import THREADS, WAYS

DEFAULT, FLOOR = "default", "random"
METHODS: dict[str, Callable[[], Method]] = {DEFAULT: methods.default, FLOOR: RandomPoints}


@dataclass(frozen=True)
class Case:
    """One run.

    Attributes:
        seconds: Median of the times that evaluations take.
        way: Who evaluates, a key of `WAYS`.
        store: Whether the run is kept in a store.
        seed: Of the function, of the times and of the method.
        method: A key of `METHODS`.
        dimension: Of the function.
        evaluations: The budget.
        workers: How many evaluate at once.
        sigma: Standard deviation of the logarithms of the times.
    """

    seconds: float
    way: str
    store: bool
    seed: int
    method: str
    dimension: int
    evaluations: int
    workers: int
    sigma: float

    @property
    def place(self) -> tuple[Any, ...]:
        """What runs have in common that are made one after the other in one process."""
        return self.seconds, self.way, self.store, self.seed


@dataclass(frozen=True)
class Outcome(Case):
    """What it came to.

    Attributes:
        waiting: Share of the workers' time that they waited (`share_waiting`).
        rate: Evaluations in a second, from the first begin to the last end.
        ideal: The same if nobody ever waited.
        handover: Median of the seconds from the end of an evaluation to the begin of the one in its place.
        handover_95: What 95 % of them stay within.
        proposal: Median seconds of a proposal on the wall, but for those of the opening.
        proposal_95: What 95 % of them stay within.
        proposal_cpu: Median seconds of the processor.
        thinking: Seconds of all proposals, as a share of the time from the first begin to the last end.
        serial: Replayed with nothing pending, the median seconds of the processor; None where it was not.
        serial_95: What 95 % stay within.
        parallel: Replayed with one pending for each other worker.
        parallel_95: What 95 % stay within.
        ratio: All seconds of the latter, divided by all of the former.
        load: The machine's load average before the run; None where the system does not tell.
    """

    waiting: float
    rate: float
    ideal: float
    handover: float
    handover_95: float
    proposal: float
    proposal_95: float
    proposal_cpu: float
    thinking: float
    serial: float | None
    serial_95: float | None
    parallel: float | None
    parallel_95: float | None
    ratio: float | None
    load: float | None

    @property
    def case(self) -> Case:
        """What it is the outcome of."""
        return Case(*(getattr(self, field.name) for field in fields(Case)))


def cases(
    runs: Sequence[tuple[float, int, int]], ways: Sequence[str], dimensions: Sequence[int], workers: int, sigma: float
) -> list[Case]:
    """All runs, so that those with the first seeds are complete before the next begin.

    The floor, which does not depend on the dimension, runs beside the others in the highest one.

    Args:
        runs: (seconds of an evaluation, evaluations of a run, number of seeds).
        ways: Who evaluates.
        dimensions: Of the function.
        workers: How many evaluate at once.
        sigma: Standard deviation of the logarithms of the times.
    """
    kinds = [*((DEFAULT, d) for d in dimensions), (FLOOR, max(dimensions))]
    return [
        Case(seconds, way, store, seed, method, d, evaluations, workers, sigma)
        for seed in range(max(seeds for *_, seeds in runs))
        for seconds, evaluations, seeds in runs
        if seed < seeds
        for way in ways
        for store in (False, True)
        for method, d in kinds
    ]


def outcomes(wanted: Sequence[Case], folder: Path) -> list[Outcome]:
    """Run cases of one place, one after the other; meant for a process of its own.

    Args:
        wanted: The cases.
        folder: On the disk where stores are to be.
    """
    with WAYS[wanted[0].way](wanted[0].workers) as arguments, TemporaryDirectory(dir=folder) as scratch:
        return [_outcome(case, arguments, Path(scratch) / str(i)) for i, case in enumerate(wanted)]


def _outcome(case: Case, arguments: dict[str, Any], folder: Path) -> Outcome:
    folder.mkdir()
    function = objective(case.dimension, case.seed)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None  # there is none on Windows
    diary, method = folder / "diary", Timed(METHODS[case.method]())
    result = minimize(
        Sleeper(function, case.seconds, case.sigma, str(diary)),
        function.bounds,
        budget=case.evaluations,
        seed=case.seed,
        method=method,
        progress=False,
        store=folder / "run.db" if case.store else None,
        **arguments,
    )
    noted = spans(diary)
    if len(noted) != case.evaluations:
        raise RuntimeError(
            f"{case} was to note {case.evaluations} evaluations; it noted {len(noted)}: {result.message}"
        )
    pairs = replay(method.method, result.history, case.seed, case.workers - 1) if _is_replayed(case) else []
    return Outcome(
        **asdict(case), **_watched(noted, case.workers), **_thought(method, noted), **_replayed(pairs), load=load
    )


def _is_replayed(case: Case) -> bool:
    """One way is enough: the method does not see who evaluates."""
    return case.method == DEFAULT and case.way == THREADS and not case.store


def _watched(noted: Sequence[Span], workers: int) -> dict[str, Any]:
    between = handovers(noted, workers) or [0.0]
    return {
        "waiting": share_waiting(noted, workers),
        "rate": len(noted) / makespan(noted),
        "ideal": len(noted) / ideal_makespan(noted, workers),
        "handover": float(np.median(between)),
        "handover_95": float(np.quantile(between, 0.95)),
    }


def _thought(method: Timed, noted: Sequence[Span]) -> dict[str, Any]:
    all_of_them = method.thoughts
    late = [thought for thought in all_of_them if thought.source is not Source.INITIAL_DESIGN] or all_of_them
    return {
        "proposal": float(np.median([t.wall for t in late])),
        "proposal_95": float(np.quantile([t.wall for t in late], 0.95)),
        "proposal_cpu": float(np.median([t.cpu for t in late])),
        "thinking": sum(t.wall for t in all_of_them) / makespan(noted),
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
    wanted: Sequence[Case],
    path: Path,
    *,
    again: bool = False,
    run: Callable[..., list[Outcome]] = alone,
    progress: bool | None = None,
) -> list[Outcome]:
    """Run what is missing in the file, append each as it comes, and return the outcomes of all.

    Args:
        wanted: The runs.
        path: The file; stores are beside it while they are needed.
        again: Whether what is in the file is run anew, too; the last one counts.
        run: How those of one place are made: in a process of their own.
        progress: Whether to show a line of progress; None: if standard error is a terminal.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    known = {} if again else {found.case: found for found in read(path, Outcome)}
    left = [case for case in wanted if case not in known]
    with Progress(max(len(left), 1), progress) as line:
        done = 0
        for (seconds, way, store, _), group in groupby(left, lambda case: case.place):
            line.write(done, f"{seconds:g} s, {way}{', with a store' if store else ''}")
            for outcome in run(outcomes, list(group), path.parent):
                known[outcome.case] = outcome
                append(path, outcome)
                done += 1
    return [known[case] for case in wanted]
