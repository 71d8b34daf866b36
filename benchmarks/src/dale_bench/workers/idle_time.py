"""Idle times of workers and dispatch delays, from the starts and ends of evaluations.

A run of N evaluations by W workers is observed from its first start to its last start. In this window there is always
another evaluation to start, so a worker without one is idle. Time before the first start, such as that of starting a
forkserver, does not count.

With starts b_0 <= b_1 <= ... and ends e_0 <= e_1 <= ..., the k-th evaluation replaces the (k - W)-th one that ended.
Its dispatch delay is b_k - e_{k-W}; that of the first W evaluations is b_k - b_0. The sum of these, plus the rest of
the window for evaluations that ended in it and were not replaced, is the total idle time.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple


class Span(NamedTuple):
    """Start and end of an evaluation, in seconds on a common clock."""

    start: float
    end: float


def idle_share(spans: Sequence[Span], workers: int) -> float:
    """The fraction of the workers' time, from the first to the last start, in which they were idle.

    1 - (seconds of evaluations within the window) / (workers * seconds of the window); 0 if all started at once.
    """
    first, last = min(s.start for s in spans), max(s.start for s in spans)
    if first == last:
        return 0.0
    worked = sum(min(s.end, last) - s.start for s in spans)
    return 1.0 - worked / (workers * (last - first))


def dispatch_delays(spans: Sequence[Span], workers: int) -> list[float]:
    """Seconds from the end of an evaluation to the start of its replacement; the first of each worker is left out."""
    starts, ends = sorted(s.start for s in spans), sorted(s.end for s in spans)
    return [start - end for start, end in zip(starts[workers:], ends, strict=False)]


def makespan(spans: Sequence[Span]) -> float:
    """Seconds from the first start to the last end."""
    return max(s.end for s in spans) - min(s.start for s in spans)


def ideal_makespan(spans: Sequence[Span], workers: int) -> float:
    """The same without idle time: evaluations of the same lengths, started in the same order as workers become free."""
    free = [0.0] * workers
    for span in sorted(spans):
        heapq.heapreplace(free, free[0] + span.end - span.start)
    return max(free)
