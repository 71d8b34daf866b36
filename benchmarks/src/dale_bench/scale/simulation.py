"""Many workers and one server, event by event, on a simulated clock.

An evaluation takes a worker a log-normal time. The server holds the optimizer and does one thing after the other: it
tells what has come in, asks for as many trials as there are idle workers, and hands them out when all are ready. What
each ask and tell really costs, by a clock that can be exchanged, is what its simulated clock advances by; workers go on
meanwhile. A worker waits from the end of its evaluation (or the start of it all) until it has the next trial; when
there is none left for it, it goes home and no longer counts.
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
    """What of an Optimizer is needed."""

    def ask(self, n: int) -> list[Trial]:
        """That many trials."""
        ...

    def tell(self, trial: Trial, value: Any) -> object:
        """Record a value."""
        ...


@dataclass(frozen=True)
class Farm:
    """Who works, on how much, and how long it takes.

    Attributes:
        workers: How many.
        median: Seconds of an evaluation; half of them take longer.
        evaluations: After so many it ends.
        sigma: Standard deviation of the logarithm of an evaluation's seconds.
        batch: Trials that are asked for at once, at most; 0 for as many as there are idle workers.
        seed: Of the seconds that evaluations take, and of the optimizer.
    """

    workers: int
    median: float
    evaluations: int
    sigma: float = 0.5
    batch: int = 0
    seed: int = 0


class Ask(NamedTuple):
    """One ask of the server: how many trials, what it cost, and how many observations there were."""

    trials: int
    seconds: float
    told: int


@dataclass(frozen=True)
class Record:
    """What happened.

    Attributes:
        waited: Seconds that workers sat idle for want of a proposal, all together.
        worked: Seconds that they evaluated.
        ended: The server's clock after the last tell.
        asks: Every ask, in order.
        telling: Seconds of all tells.
        values: What was told, in order.
        times: The ends of those evaluations.
    """

    waited: float
    worked: float
    ended: float
    asks: tuple[Ask, ...]
    telling: float
    values: tuple[float, ...]
    times: tuple[float, ...]

    @property
    def share_waiting(self) -> float:
        """Of the workers' time."""
        return self.waited / (self.waited + self.worked)

    @property
    def share_serving(self) -> float:
        """Of the server's time: at 1 it is what all wait for."""
        return (sum(ask.seconds for ask in self.asks) + self.telling) / self.ended


def simulate(
    farm: Farm,
    server: Server,
    objective: Callable[[Any], float],
    *,
    clock: Clock = time.process_time,
    on_tell: Callable[[int], None] = lambda done: None,
) -> Record:
    """Run it to the end.

    Args:
        farm: Who works.
        server: The optimizer.
        objective: Its value at ``trial.x``, for nothing: the time of an evaluation is drawn.
        clock: What asks and tells are charged by.
        on_tell: Called with the number of evaluations so far.
    """
    rng = np.random.default_rng(farm.seed)
    now, waited, worked, telling = 0.0, 0.0, 0.0, 0.0
    idle = deque([0.0] * farm.workers)  # since when, the longest first
    running: list[tuple[float, int, Trial]] = []  # a heap: when it ends, the trial's number, the trial
    asks: list[Ask] = []
    values: list[float] = []
    times: list[float] = []
    handed_out = 0
    while len(values) < farm.evaluations:
        while running and running[0][0] <= now:
            end, _, trial = heapq.heappop(running)
            value = objective(trial.x)
            _, seconds = _charged(clock, server.tell, trial, value)
            now, telling = now + seconds, telling + seconds
            values.append(value)
            times.append(end)
            idle.append(end)
            on_tell(len(values))
        count = min(len(idle), farm.evaluations - handed_out, farm.batch or farm.workers)
        if count:
            trials, seconds = _charged(clock, server.ask, count)
            now += seconds
            asks.append(Ask(count, seconds, len(values)))
            handed_out += count
            for trial in trials:
                lasts = farm.median * float(np.exp(farm.sigma * rng.standard_normal()))
                waited, worked = waited + now - idle.popleft(), worked + lasts
                heapq.heappush(running, (now + lasts, trial.id, trial))
        elif running:
            now = max(now, running[0][0])
    return Record(waited, worked, now, tuple(asks), telling, tuple(values), tuple(times))


def _charged(clock: Clock, work: Callable[..., T], *args: Any) -> tuple[T, float]:
    begun = clock()
    result = work(*args)
    return result, clock() - begun
