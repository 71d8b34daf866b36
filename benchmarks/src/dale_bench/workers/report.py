"""Tables of outcomes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

import numpy as np

from dale_bench.comparison import bootstrap_error
from dale_bench.tables import Table
from dale_bench.workers.run import DEFAULT, Outcome

LABELS = {DEFAULT: "dale", "random": "random points"}


def idle_table(outcomes: Sequence[Outcome]) -> Table:
    """One row for each kind of run: medians over the seeds, and the largest idle share."""
    header = ["seconds", "evaluated in", "store", "method", "d", "idle", "worst", "evaluations/s", "of ideal"]
    header += ["dispatch delay, ms", "proposal, ms", "proposing", "runs"]
    return header, [
        _row(group) for group in _grouped(outcomes, lambda o: (o.seconds, o.backend, o.store, o.method, o.dimension))
    ]


def replay_table(outcomes: Sequence[Outcome]) -> Table:
    """One row for each kind of history: a proposal in the run, and replayed without and with pending trials."""
    header = ["d", "evaluations", "in the run, ms", "none pending, ms", "others pending, ms", "ratio"]
    header += ["worst", "runs"]
    replayed = [o for o in outcomes if o.ratio is not None]
    return header, [_replay_row(group) for group in _grouped(replayed, lambda o: (o.dimension, o.evaluations))]


def remarks(outcomes: Sequence[Outcome], absent: Mapping[str, Sequence[str]]) -> list[str]:
    """Definitions, the load of the machine, and what was not measured."""
    loads = [o.load for o in outcomes if o.load is not None]
    load = f"{min(loads):.1f} to {max(loads):.1f}" if loads else "unknown"
    return [
        "medians over the runs; idle: share of the workers' time from the first to the last start",
        "dispatch delay: from the end of an evaluation to the start of its replacement",
        "proposing: share of the run's time that proposals take; near 100 %, all workers wait for proposals",
        f"load average before the runs: {load}, on {os.cpu_count()} processors",
        *(f"not measured: {backend} (not installed: {', '.join(modules)})" for backend, modules in absent.items()),
    ]


REPLAY_REMARKS = (
    "median CPU time, initial design excluded; pending: one trial for each other worker",
    "ratio: total CPU time with pending trials divided by that without: median over the runs ± bootstrap error, worst",
)


def _grouped(outcomes: Sequence[Outcome], key: Callable[[Outcome], tuple[object, ...]]) -> list[list[Outcome]]:
    """Groups of outcomes with the same key, in the order of first appearance."""
    order = list(dict.fromkeys(map(key, outcomes)))
    return [list(group) for _, group in groupby(sorted(outcomes, key=lambda o: order.index(key(o))), key)]


def _row(group: Sequence[Outcome]) -> list[str]:
    first = group[0]
    return [
        f"{first.seconds:g}",
        first.backend,
        "yes" if first.store else "no",
        LABELS[first.method],
        str(first.dimension),
        f"{_median(group, 'idle'):.1%}",
        f"{max(o.idle for o in group):.1%}",
        f"{_median(group, 'rate'):.3g}",
        f"{np.median([o.rate / o.ideal for o in group]):.1%}",
        _milliseconds(group, "dispatch_delay"),
        _milliseconds(group, "proposal"),
        f"{_median(group, 'proposing'):.1%}",
        str(len(group)),
    ]


def _replay_row(group: Sequence[Outcome]) -> list[str]:
    ratios = np.array([o.ratio for o in group], dtype=float)
    return [
        str(group[0].dimension),
        str(group[0].evaluations),
        f"{1e3 * _median(group, 'proposal_cpu'):.3g}",
        _milliseconds(group, "serial"),
        _milliseconds(group, "parallel"),
        f"{np.median(ratios):.2f} ± {bootstrap_error(ratios):.2f}",
        f"{ratios.max():.2f}",
        str(len(group)),
    ]


def _milliseconds(group: Sequence[Outcome], name: str) -> str:
    """The median and the 95 % quantile."""
    return f"{1e3 * _median(group, name):.3g} (95 %: {1e3 * _median(group, f'{name}_95'):.3g})"


def _median(group: Sequence[Outcome], name: str) -> float:
    return float(np.median([getattr(o, name) for o in group]))
