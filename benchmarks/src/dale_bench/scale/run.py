"""The simulation with an Optimizer on Hartmann's function in six dimensions, and what it comes to."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from dale.optimizer import Optimizer
from dale.progress import Progress
from dale_bench.alone import alone
from dale_bench.functions import Function, get
from dale_bench.lines import append, read
from dale_bench.scale.simulation import Ask, Clock, Farm, simulate

FUNCTION = "hart6:moved:rotated"
SAME = 1e-8  # regrets below count as equal
ONE_WORKER_LIMIT = 200  # evaluations of one worker, at most
PIECES = 40  # of a run, for the picture of how the cost grows


@dataclass(frozen=True)
class Outcome:
    """What a simulation came to; the first fields are those of `Farm`.

    Attributes:
        workers: How many.
        median: Seconds of an evaluation.
        evaluations: How many were made.
        sigma: Spread of the logarithm of the seconds.
        batch: Trials asked for at once, at most; 0 for no limit.
        seed: The seed.
        waiting: Share of the workers' time that they waited for a proposal.
        serving: Share of the server's time in which it asked or told.
        proposal: Mean seconds of one proposal.
        proposal_95: What 95 % of the proposals stay within.
        telling: Mean seconds of a tell.
        largest: Trials of the largest ask.
        told: Observations that an ask had to deal with, at most.
        regret: The best value above the minimum.
        reached: Evaluations until then.
        one_worker: Evaluations that one worker needs to get as far; None: more than were tried.
        growth: (observations, mean seconds of a proposal) along the run.
    """

    workers: int
    median: float
    evaluations: int
    sigma: float
    batch: int
    seed: int
    waiting: float
    serving: float
    proposal: float
    proposal_95: float
    telling: float
    largest: int
    told: int
    regret: float
    reached: int
    one_worker: int | None
    growth: Sequence[Sequence[float]]

    @property
    def farm(self) -> Farm:
        """What it is the outcome of."""
        return Farm(self.workers, self.median, self.evaluations, self.sigma, self.batch, self.seed)


def outcome(farm: Farm, one_worker_limit: int = ONE_WORKER_LIMIT, clock: Clock = time.process_time) -> Outcome:
    """Simulate; meant for a process of its own."""
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
    as_far = max(float(regrets[-1]), SAME)
    costs = np.repeat([ask.seconds / ask.trials for ask in record.asks], [ask.trials for ask in record.asks])
    return Outcome(
        **asdict(farm),
        waiting=record.share_waiting,
        serving=record.share_serving,
        proposal=float(np.mean(costs)),
        proposal_95=float(np.quantile(costs, 0.95)),
        telling=record.telling / len(record.values),
        largest=max(ask.trials for ask in record.asks),
        told=max(ask.told for ask in record.asks),
        regret=float(regrets[-1]),
        reached=1 + int(np.argmax(regrets <= as_far)),
        one_worker=evaluations_of_one(function, as_far, farm.seed, one_worker_limit),
        growth=growth(record.asks),
    )


def evaluations_of_one(function: Function, regret: float, seed: int, limit: int) -> int | None:
    """Evaluations until the regret is that small when there is one at a time; None if the limit does not suffice."""
    optimizer = Optimizer(function.bounds, seed=seed)
    for done in range(1, limit + 1):
        trial = optimizer.ask()
        value = function.fun(trial.x)
        if value - function.minimum <= regret:
            return done
        optimizer.tell(trial, value)
    return None


def growth(asks: Sequence[Ask], pieces: int = PIECES) -> list[list[float]]:
    """[observations, mean seconds of a proposal] of so many pieces of a run, or of every ask if there are fewer."""
    parts = np.array_split(np.array(asks, dtype=float), min(pieces, len(asks)))  # rows: trials, seconds, told
    return [[float(part[:, 2].mean()), float(part[:, 1].sum() / part[:, 0].sum())] for part in parts]


def run_missing(
    farms: Sequence[Farm],
    path: Path,
    *,
    one_worker_limit: int = ONE_WORKER_LIMIT,
    again: bool = False,
    run: Callable[..., Outcome] = alone,
) -> list[Outcome]:
    """Simulate what is missing in the file, append each as it comes, and return the outcomes of all.

    Args:
        farms: What to simulate.
        path: The file.
        one_worker_limit: Evaluations that the comparison with one worker may take; 0 for none.
        again: Whether what is in the file is run anew, too; the last one counts.
        run: How a simulation is made: in a process of its own.
    """
    known = {} if again else {found.farm: found for found in read(path, Outcome)}
    for farm in farms:
        if farm not in known:
            known[farm] = run(outcome, farm, one_worker_limit)
            append(path, known[farm])
    return [known[farm] for farm in farms]
