"""The simulation with an Optimizer on Hartmann's function in six dimensions, and its outcome."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from dale._progress import Progress
from dale.optimizer import Optimizer
from dale_bench.fresh_process import in_fresh_process
from dale_bench.functions import Function, get
from dale_bench.jsonl import append, read
from dale_bench.scale.simulation import Ask, Clock, Farm, simulate

FUNCTION = "hart6:moved:rotated"
MIN_REGRET = 1e-8  # smaller regrets count as equal
ONE_WORKER_LIMIT = 200  # maximum number of evaluations of one worker
PIECES = 40  # of a run, for the plot of the cost


@dataclass(frozen=True)
class Outcome:
    """The outcome of a simulation; the first fields are those of `Farm`.

    Attributes:
        workers: Number of workers.
        median: Median seconds of an evaluation.
        evaluations: Number of evaluations.
        sigma: Standard deviation of the logarithm of the seconds.
        batch: Maximum number of trials per ask; 0 for no limit.
        seed: The seed.
        idle: Share of the workers' time in which they waited for a proposal.
        server_busy: Fraction of the server's time spent in `ask` and `tell`.
        proposal: Mean seconds of one proposal.
        proposal_95: 95 % quantile of the seconds of a proposal.
        tell: Mean seconds of a tell.
        largest_ask: Number of trials of the largest ask.
        max_observations: Largest number of observations at an ask.
        regret: The best value minus the minimum.
        reached: Number of evaluations until then.
        one_worker: Number of evaluations that one worker needs for the same regret; None if above the limit.
        growth: Pairs (observations, mean seconds of a proposal) along the run.
    """

    workers: int
    median: float
    evaluations: int
    sigma: float
    batch: int
    seed: int
    idle: float
    server_busy: float
    proposal: float
    proposal_95: float
    tell: float
    largest_ask: int
    max_observations: int
    regret: float
    reached: int
    one_worker: int | None
    growth: Sequence[Sequence[float]]

    @property
    def farm(self) -> Farm:
        """The farm of this outcome."""
        return Farm(self.workers, self.median, self.evaluations, self.sigma, self.batch, self.seed)


def outcome(farm: Farm, one_worker_limit: int = ONE_WORKER_LIMIT, clock: Clock = time.process_time) -> Outcome:
    """Simulate; meant to be called in a new process."""
    function = get(FUNCTION, farm.seed)
    with Progress(farm.evaluations, None) as line:
        record = simulate(
            farm,
            Optimizer(function.bounds, seed=farm.seed),
            function.fun,
            clock=clock,
            on_tell=lambda done: line.write(done, f"{farm.workers} workers, {farm.median:g} s"),
        )
    regrets = np.minimum.accumulate(np.array(record.values) - function.minimum)
    reached_regret = max(float(regrets[-1]), MIN_REGRET)
    costs = np.repeat([ask.seconds / ask.trials for ask in record.asks], [ask.trials for ask in record.asks])
    return Outcome(
        **asdict(farm),
        idle=record.idle_share,
        server_busy=record.server_share,
        proposal=float(np.mean(costs)),
        proposal_95=float(np.quantile(costs, 0.95)),
        tell=record.tell_seconds / len(record.values),
        largest_ask=max(ask.trials for ask in record.asks),
        max_observations=max(ask.n_observations for ask in record.asks),
        regret=float(regrets[-1]),
        reached=1 + int(np.argmax(regrets <= reached_regret)),
        one_worker=evaluations_of_one(function, reached_regret, farm.seed, one_worker_limit),
        growth=growth(record.asks),
    )


def evaluations_of_one(function: Function, regret: float, seed: int, limit: int) -> int | None:
    """Number of evaluations until a regret in a sequential run; None if above the limit."""
    optimizer = Optimizer(function.bounds, seed=seed)
    for done in range(1, limit + 1):
        trial = optimizer.ask()
        value = function.fun(trial.x)
        if value - function.minimum <= regret:
            return done
        optimizer.tell(trial, value)
    return None


def growth(asks: Sequence[Ask], pieces: int = PIECES) -> list[list[float]]:
    """[observations, mean seconds of a proposal] of each piece of a run, or of each ask if there are fewer."""
    parts = np.array_split(np.array(asks, dtype=float), min(pieces, len(asks)))  # rows: trials, seconds, observations
    return [[float(part[:, 2].mean()), float(part[:, 1].sum() / part[:, 0].sum())] for part in parts]


def run_missing(
    farms: Sequence[Farm],
    path: Path,
    *,
    one_worker_limit: int = ONE_WORKER_LIMIT,
    rerun: bool = False,
    run: Callable[..., Outcome] = in_fresh_process,
) -> list[Outcome]:
    """Make the simulations that are missing in the file, append each outcome, and return the outcomes of all.

    Args:
        farms: The requested simulations.
        path: The file.
        one_worker_limit: Maximum number of evaluations of the run with one worker; 0 for no such run.
        rerun: Whether to repeat the simulations that are in the file; the last outcome counts.
        run: How a simulation is made: in a new process.
    """
    known = {} if rerun else {found.farm: found for found in read(path, Outcome)}
    for farm in farms:
        if farm not in known:
            known[farm] = run(outcome, farm, one_worker_limit)
            append(path, known[farm])
    return [known[farm] for farm in farms]
