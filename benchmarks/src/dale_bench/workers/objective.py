"""Evaluations that take their time and note when they began and ended."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

from dale._arrays import Vector
from dale_bench.functions import Function
from dale_bench.functions.function import Noise
from dale_bench.workers.waiting import Span


@dataclass(frozen=True, eq=False)
class Sleeper:
    """A test function that takes a log-normal time, the same at the same point wherever it is evaluated.

    Every evaluation appends a line to the diary, by one write, which the system keeps whole among those of other
    threads and processes. The clock is one that all processes of a machine share.

    Attributes:
        function: What it returns the values of.
        seconds: The median of the times.
        sigma: Standard deviation of their logarithms.
        diary: The file.
    """

    function: Function
    seconds: float
    sigma: float
    diary: str

    def __call__(self, x: Vector) -> float:
        """Evaluate, sleep for the rest of the time, and note it."""
        begin = monotonic()
        value = self.function.fun(x)
        lasts = self.seconds * math.exp(self.sigma * Noise(self.function.seed, "seconds").draw(x))
        sleep(max(begin + lasts - monotonic(), 0.0))
        line = f"{begin!r} {monotonic()!r}\n".encode()
        file = os.open(self.diary, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, line)
        finally:
            os.close(file)
        return float(value)


def spans(diary: Path) -> list[Span]:
    """When each evaluation began and ended, in the order of the begins; none where no diary was begun."""
    if not diary.exists():
        return []
    return sorted(Span(*map(float, line.split())) for line in diary.read_text(encoding="ascii").splitlines())
