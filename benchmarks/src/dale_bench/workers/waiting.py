"""The arithmetic of begins and ends.

A run of N evaluations by W workers is watched from its first begin to its last begin. Until then there is always one
more evaluation to begin, so a worker without one waits; afterwards it may go home. What came before the first begin,
such as the start of a server of processes, does not count.

With begins b_0 <= b_1 <= ... and ends e_0 <= e_1 <= ..., the k-th evaluation takes the place of the one that ended as
number k - W: it was handed over in b_k - e_{k-W} seconds, and the first W in b_k - b_0. These, and what is left of the
window for those that ended in it and were not followed, sum to the time that workers waited.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple


class Span(NamedTuple):
    """When an evaluation began and ended, in seconds on one clock."""

    begin: float
    end: float


def share_waiting(spans: Sequence[Span], workers: int) -> float:
    """The share of the workers' time from the first begin to the last in which they did not evaluate.

    That is 1 - (seconds of evaluations within the window) / (workers * seconds of the window); 0 where all began at
    once.
    """
    first, last = min(s.begin for s in spans), max(s.begin for s in spans)
    if first == last:
        return 0.0
    worked = sum(min(s.end, last) - s.begin for s in spans)
    return 1.0 - worked / (workers * (last - first))


def handovers(spans: Sequence[Span], workers: int) -> list[float]:
    """Seconds from the end of an evaluation to the begin of the one in its place, without the first of each worker."""
    begins, ends = sorted(s.begin for s in spans), sorted(s.end for s in spans)
    return [begin - end for begin, end in zip(begins[workers:], ends, strict=False)]


def makespan(spans: Sequence[Span]) -> float:
    """Seconds from the first begin to the last end."""
    return max(s.end for s in spans) - min(s.begin for s in spans)


def ideal_makespan(spans: Sequence[Span], workers: int) -> float:
    """The same if nobody ever waited: evaluations as long as these, begun in the same order as workers become free."""
    free = [0.0] * workers
    for span in sorted(spans):
        heapq.heapreplace(free, free[0] + span.end - span.begin)
    return max(free)
