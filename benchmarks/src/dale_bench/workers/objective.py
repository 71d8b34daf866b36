"""Evaluations that sleep, and record when they started and ended."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

from dale._arrays import Vector
from dale_bench.functions import Function
from dale_bench.functions.function import Noise
from dale_bench.workers.idle_time import Span


@dataclass(frozen=True, eq=False)
class Sleeper:
    """A test function that takes a log-normal time, which depends only on the point.

    Every evaluation appends a line to the log by a single write, so that lines of several threads and processes do not
    mix. All processes of a machine share the clock.

    Attributes:
        function: The test function.
        seconds: Median of the times.
        sigma: Standard deviation of their logarithms.
        log: The file of starts and ends.
    """

    function: Function
    seconds: float
    sigma: float
    log: str

    def __call__(self, x: Vector) -> float:
        """Evaluate, sleep for the rest of the time, and record start and end."""
        start = monotonic()
        value = self.function.fun(x)
        lasts = self.seconds * math.exp(self.sigma * Noise(self.function.seed, "seconds").draw(x))
        sleep(max(start + lasts - monotonic(), 0.0))
        line = f"{start!r} {monotonic()!r}\n".encode()
        file = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, line)
        finally:
            os.close(file)
        return float(value)


def spans(log: Path) -> list[Span]:
    """Starts and ends of the evaluations, in the order of the starts; none if the file does not exist."""
    if not log.exists():
        return []
    return sorted(Span(*map(float, line.split())) for line in log.read_text(encoding="ascii").splitlines())
