"""Outcomes as tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

import numpy as np

from dale_bench.comparison import bootstrap_error
from dale_bench.tables import Table
from dale_bench.workers.run import DEFAULT, Outcome

LABELS = {DEFAULT: "dale", "random": "random points"}


def waiting_table(outcomes: Sequence[Outcome]) -> Table:
    """One row for each kind of run: medians over the seeds, and of the share that workers wait the worst, too."""
    header = ["seconds", "evaluated in", "store", "method", "d", "waiting", "worst", "evaluations/s", "of ideal"]
    header += ["hand-over, ms", "proposal, ms", "thinking", "runs"]
    return header, [
        _row(group) for group in _grouped(outcomes, lambda o: (o.seconds, o.way, o.store, o.method, o.dimension))
    ]


def replay_table(outcomes: Sequence[Outcome]) -> Table:
    """One row for each kind of history: a proposal in the run, replayed alone, and replayed with others pending."""
    header = ["d", "evaluations", "in the run, ms", "nothing pending, ms", "others pending, ms", "ratio"]
    header += ["worst", "runs"]
    replayed = [o for o in outcomes if o.ratio is not None]
    return header, [_replay_row(group) for group in _grouped(replayed, lambda o: (o.dimension, o.evaluations))]


def remarks(outcomes: Sequence[Outcome], absent: Mapping[str, Sequence[str]]) -> list[str]:
    """What was not measured, and what else the machine did."""
    loads = [o.load for o in outcomes if o.load is not None]
    load = f"{min(loads):.1f} to {max(loads):.1f}" if loads else "not known"
    return [
        "medians over the runs; waiting: of the workers' time from the first begin to the last",
        "hand-over: from the end of an evaluation to the begin of the one in its place",
        "thinking: the time of all proposals, as a share of the run's: near 100 % it is what all wait for",
        f"load average before the runs: {load}, on {os.cpu_count()} processors",
        *(f"not measured: {way}, for there is no {' and no '.join(modules)}" for way, modules in absent.items()),
    ]


REPLAY_REMARKS = (
    "seconds of the processor, medians; the opening left out; pending: one for each other worker",
    "ratio: all seconds with others pending, by all without: the median over the runs ± bootstrap error, and the worst",
)


def _grouped(outcomes: Sequence[Outcome], key: Callable[[Outcome], tuple[object, ...]]) -> list[list[Outcome]]:
    """Those with the same key together, in the order in which keys first come."""
    order = list(dict.fromkeys(map(key, outcomes)))
    return [list(group) for _, group in groupby(sorted(outcomes, key=lambda o: order.index(key(o))), key)]


def _row(group: Sequence[Outcome]) -> list[str]:
    first = group[0]
    return [
        f"{first.seconds:g}",
        first.way,
        "yes" if first.store else "no",
        LABELS[first.method],
        str(first.dimension),
        f"{_median(group, 'waiting'):.1%}",
        f"{max(o.waiting for o in group):.1%}",
        f"{_median(group, 'rate'):.3g}",
        f"{np.median([o.rate / o.ideal for o in group]):.1%}",
        _milliseconds(group, "handover"),
        _milliseconds(group, "proposal"),
        f"{_median(group, 'thinking'):.1%}",
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
    """The median, and what 95 % stay within."""
    return f"{1e3 * _median(group, name):.3g} (95 %: {1e3 * _median(group, f'{name}_95'):.3g})"


def _median(group: Sequence[Outcome], name: str) -> float:
    return float(np.median([getattr(o, name) for o in group]))
