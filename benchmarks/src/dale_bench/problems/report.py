"""Tables of the rows of a benchmark, with remarks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dale._arrays import Vector
from dale_bench.comparison import RESAMPLES, SIGNIFICANT, Comparison
from dale_bench.problems.contenders import DALE, PARALLEL, SEQUENTIAL
from dale_bench.rows import Row, curves_of
from dale_bench.tables import Part, cells_table

HALF_AND_ALL = (0.5, 1.0)
TARGETS = (1e-1, 1e-2, 1e-4, 1e-8)  # relative to the initial regret


Labels = Callable[[str], str]
Tables = Callable[[Sequence[Row], Labels], list[Part]]


def regret_tables(rows: Sequence[Row], label: Labels) -> list[Part]:
    """Median log10 regret at 50 and 100 % of the budget, and the worst run."""
    comparison = Comparison(curves_of(rows))
    table = cells_table(comparison, comparison.methods, HALF_AND_ALL, label)
    return [Part("Median log10 regret ± bootstrap error", table, _remarks(comparison, label))]


def noise_tables(rows: Sequence[Row], label: Labels) -> list[Part]:
    """The same for the recommended points, and for the points with the lowest observed value."""
    recommended = Comparison(curves_of(rows))
    observed = Comparison(curves_of(replace(row, regret=row.observed) for row in rows))
    parts = []
    for title, comparison in (("recommended point", recommended), ("point with the lowest observed value", observed)):
        table = cells_table(comparison, comparison.methods, HALF_AND_ALL, label)
        parts.append(Part(f"Median log10 of the true regret of the {title}", table, _remarks(comparison, label)))
    return parts


def _remarks(comparison: Comparison, label: Labels) -> list[str]:
    """dale compared with each other contender, and runs without a feasible point."""
    found = []
    for other in comparison.methods:
        problems = comparison.common([DALE.name, other])
        if other == DALE.name or not problems:
            continue
        counts = []
        for checkpoint in HALF_AND_ALL:
            _, worse = comparison.better_and_worse(DALE.name, other, checkpoint)
            counts.append(f"{len(problems) - worse} of {len(problems)} at {checkpoint:.0%}")
        better, worse = comparison.better_and_worse(DALE.name, other, 1.0, SIGNIFICANT)
        found.append(
            f"{label(DALE.name)} at or below {label(other)} on {', '.join(counts)}; with p < {SIGNIFICANT} between the "
            f"runs at 100 %: better on {better}, worse on {worse}"
        )
    for function in comparison.functions:
        for method, runs in comparison.curves[function].items():
            lost = int(np.sum(np.isinf(runs[:, -1])))
            if lost:
                found.append(f"{label(method)} on {function}: no feasible point in {lost} of {len(runs)} runs")
    return found


@dataclass(frozen=True)
class Arrival:
    """When runs reached a target. A run that did not counts with its end.

    Attributes:
        evaluations: Number of evaluations, (runs,).
        times: Times, (runs,).
        reached: Number of runs that reached the target.
    """

    evaluations: Vector
    times: Vector
    reached: int

    @classmethod
    def of(cls, runs: Sequence[Row], target: float) -> Arrival:
        """The arrival of runs at a regret."""
        hits = [next((i for i, r in enumerate(run.regret) if r is not None and r <= target), None) for run in runs]
        last = [len(run.regret) - 1 if hit is None else hit for run, hit in zip(runs, hits, strict=True)]
        return cls(
            np.array(last) + 1.0,
            np.array([run.times[i] for run, i in zip(runs, last, strict=True)]),
            sum(hit is not None for hit in hits),
        )


def parallel_tables(rows: Sequence[Row], label: Labels) -> list[Part]:
    """Evaluations until each target, as a multiple of those of a sequential run; and the speed-up."""
    costs: list[list[str]] = []
    gains: list[list[str]] = []
    largest: dict[str, float] = {}
    fine = sorted((row for row in rows if row.error is None), key=lambda row: row.seed)
    for function in dict.fromkeys(row.function for row in rows):
        by = {c.name: [r for r in fine if (r.function, r.method) == (function, c.name)] for c in PARALLEL}
        first = np.median([row.regret[0] for runs in by.values() for row in runs])
        sequential = {row.seed: row for row in by[SEQUENTIAL]}
        for method, all_runs in by.items():
            runs = [run for run in all_runs if run.seed in sequential]
            if not runs:
                continue
            arrivals = [Arrival.of(runs, first * target) for target in TARGETS]
            singles = [Arrival.of([sequential[run.seed] for run in runs], first * target) for target in TARGETS]
            factors = [ratio(a.evaluations, b.evaluations) for a, b in zip(arrivals, singles, strict=True)]
            speed_ups = [ratio(b.times, a.times) for a, b in zip(arrivals, singles, strict=True)]
            parallel = method != SEQUENTIAL
            cells = [
                f"{np.median(arrival.evaluations):g}"
                + (f" (×{factor:.2f} ± {error:.2f})" if parallel else "")
                + ("" if arrival.reached == len(runs) else f" [{arrival.reached}]")
                for arrival, (factor, error) in zip(arrivals, factors, strict=True)
            ]
            costs.append([function, label(method), *cells, str(len(runs))])
            if parallel:
                gains.append([function, label(method), *(f"×{s:.2f} ± {e:.2f}" for s, e in speed_ups), str(len(runs))])
                largest[method] = max(largest.get(method, 0.0), *(factor for factor, _ in factors))
    header = ["function", "how", *(f"{target:g}" for target in TARGETS), "runs"]
    return [
        Part(
            "Evaluations until the regret is a given fraction of the initial one",
            (header, costs),
            _costs_remarks(largest, label),
        ),
        Part("Speed-up: time of a sequential run divided by the time", (header, gains), []),
    ]


def ratio(a: Vector, b: Vector) -> tuple[float, float]:
    """Median of a (n,) divided by that of b (n,), of the same seeds, and its bootstrap error over them."""
    draws = np.random.default_rng(0).integers(len(a), size=(RESAMPLES, len(a)))
    drawn = np.median(a[draws], axis=1) / np.median(b[draws], axis=1)
    return float(np.median(a) / np.median(b)), float(np.std(drawn))


def _costs_remarks(largest: Mapping[str, float], label: Labels) -> list[str]:
    return [
        "initial regret: median over all runs; entries: median number of evaluations, and in parentheses the ratio to "
        "sequential runs ± bootstrap error over seeds",
        "in brackets: number of runs that reached the target, if not all; the others count with the whole budget",
        *(f"{label(method)}: at most {factor:.2f} times the evaluations" for method, factor in largest.items()),
    ]
