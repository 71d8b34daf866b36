"""A discrete-event simulation of many workers and one server.

An evaluation takes a log-normal time. The server owns the optimizer and works sequentially: it records the values that
have arrived, asks for as many trials as there are idle workers, and distributes them when all are ready. The simulated
clock advances by the measured cost of each ask and tell; workers continue meanwhile. A worker is idle from the end of
its evaluation, or from the start of the run, until it gets its next trial. If no trial is left for it, it no longer
counts.
"""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from dale.history.trial import Trial

T = TypeVar("T")
Clock = Callable[[], float]


class Server(Protocol):
    """The part of an Optimizer that the simulation uses."""

    def ask(self, n: int) -> list[Trial]:
        """Propose n trials."""
        ...

    def tell(self, trial: Trial, value: Any) -> object:
        """Record a value."""
        ...


@dataclass(frozen=True)
class Farm:
    """Workers, evaluations and their times.

    Attributes:
        workers: Number of workers.
        median: Median seconds of an evaluation.
        evaluations: Number of evaluations of the run.
        sigma: Standard deviation of the logarithm of the seconds.
        batch: Maximum number of trials per ask; 0 for as many as there are idle workers.
        seed: Seed of the evaluation times and of the optimizer.
    """

    workers: int
    median: float
    evaluations: int
    sigma: float = 0.5
    batch: int = 0
    seed: int = 0


class Ask(NamedTuple):
    """One ask of the server: number of trials, seconds, number of observations."""

    trials: int
    seconds: float
    n_observations: int


@dataclass(frozen=True)
class Record:
    """The record of a simulation.

    Attributes:
        idle: Total seconds in which workers waited for a proposal.
        busy: Total seconds in which they evaluated.
        ended: The clock of the server after the last tell.
        asks: All asks in order.
        tell_seconds: Total seconds of all tells.
        values: The recorded values in order.
        times: The ends of their evaluations.
    """

    idle: float
    busy: float
    ended: float
    asks: tuple[Ask, ...]
    tell_seconds: float
    values: tuple[float, ...]
    times: tuple[float, ...]

    @property
    def idle_share(self) -> float:
        """The fraction of the workers' time in which they were idle."""
        return self.idle / (self.idle + self.busy)

    @property
    def server_share(self) -> float:
        """The fraction of the server's time spent in `ask` and `tell`; at 1, the server is the bottleneck."""
        return (sum(ask.seconds for ask in self.asks) + self.tell_seconds) / self.ended


def simulate(
    farm: Farm,
    server: Server,
    objective: Callable[[Any], float],
    *,
    clock: Clock = time.process_time,
    on_tell: Callable[[int], None] = lambda done: None,
) -> Record:
    """Run the simulation.

    Args:
        farm: The workers.
        server: The optimizer.
        objective: The value at ``trial.x``. Its real time does not count.
        clock: The clock that measures asks and tells.
        on_tell: Called with the number of evaluations so far.
    """
    rng = np.random.default_rng(farm.seed)
    now, total_idle, total_busy, tell_seconds = 0.0, 0.0, 0.0, 0.0
    idle = deque([0.0] * farm.workers)  # start of the idle time of each idle worker, in order
    running: list[tuple[float, int, Trial]] = []  # a heap of (end, trial id, trial)
    asks: list[Ask] = []
    values: list[float] = []
    times: list[float] = []
    n_started = 0
    while len(values) < farm.evaluations:
        while running and running[0][0] <= now:
            end, _, trial = heapq.heappop(running)
            value = objective(trial.x)
            _, seconds = _timed(clock, server.tell, trial, value)
            now, tell_seconds = now + seconds, tell_seconds + seconds
            values.append(value)
            times.append(end)
            idle.append(end)
            on_tell(len(values))
        count = min(len(idle), farm.evaluations - n_started, farm.batch or farm.workers)
        if count:
            trials, seconds = _timed(clock, server.ask, count)
            now += seconds
            asks.append(Ask(count, seconds, len(values)))
            n_started += count
            for trial in trials:
                lasts = farm.median * float(np.exp(farm.sigma * rng.standard_normal()))
                total_idle, total_busy = total_idle + now - idle.popleft(), total_busy + lasts
                heapq.heappush(running, (now + lasts, trial.id, trial))
        elif running:
            now = max(now, running[0][0])
    return Record(total_idle, total_busy, now, tuple(asks), tell_seconds, tuple(values), tuple(times))


def _timed(clock: Clock, work: Callable[..., T], *args: Any) -> tuple[T, float]:
    begun = clock()
    result = work(*args)
    return result, clock() - begun
