"""Tables of the rows of a benchmark, with remarks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dale._arrays import Vector
from dale_bench.comparison import RESAMPLES, SIGNIFICANT, Comparison
from dale_bench.problems.contenders import DALE, PARALLEL, SEQUENTIAL, TOLD
from dale_bench.rows import Row, curves_of
from dale_bench.tables import Part, cells_table

HALF_AND_ALL = (0.5, 1.0)
TARGETS = (1e-1, 1e-2, 1e-4, 1e-8)  # relative to the initial regret
REGRETS = (1e-2, 1e-4)  # targets of the problems with failures
FAILED = "failed"  # the note of a row with the number of failed evaluations

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
    """When runs reached a target. A run that did not counts with its end. Without a clock, an evaluation takes 1.

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
            np.array([run.times[i] if run.times else i + 1.0 for run, i in zip(runs, last, strict=True)]),
            sum(hit is not None for hit in hits),
        )

    @property
    def typical(self) -> bool:
        """Whether more than half of the runs reached the target, so that the median is not an end of a run."""
        return 2 * self.reached > len(self.evaluations)

    def cell(self, factor: str = "") -> str:
        """The median number of evaluations, a factor, and in brackets how many runs arrived, if not all."""
        number = f"{np.median(self.evaluations):g}" + (f" ({factor})" if factor else "")
        return number if self.reached == len(self.evaluations) else f"{number} [{self.reached}]"


def failure_tables(rows: Sequence[Row], label: Labels) -> list[Part]:
    """Regrets with the number of failures; evaluations until a regret, compared with told constraints."""
    by: dict[tuple[str, str], dict[int, Row]] = {}
    for row in rows:
        if row.error is None:
            by.setdefault((row.function, row.method), {})[row.seed] = row
    [regrets] = regret_tables(rows, label)
    header, lines = regrets.table
    failed = {(f, label(m)): np.median([r.notes[FAILED] for r in runs.values()]) for (f, m), runs in by.items()}
    counted = [[*line, f"{failed[line[0], line[1]]:g}"] for line in lines]
    remark = f"failed: median number of failed evaluations; for {label(TOLD.name)}, those that violate a constraint"
    costs: list[list[str]] = []
    for function in dict.fromkeys(function for function, _ in by):
        hidden, told = (by.get((function, contender.name), {}) for contender in (DALE, TOLD))
        seeds = sorted(hidden.keys() & told.keys())
        if seeds:
            pairs = [[Arrival.of([runs[s] for s in seeds], target) for runs in (hidden, told)] for target in REGRETS]
            cells = [cell for ours, base in pairs for cell in (ours.cell(), base.cell(), _factor(ours, base))]
            costs.append([function, *cells, str(len(seeds))])
    header_of_costs = ["function", *(f"{t:g}{of}" for t in REGRETS for of in ("", ", told", ", ratio")), "runs"]
    return [
        Part(regrets.title, ([*header, FAILED], counted), [*regrets.remarks, remark]),
        Part("Evaluations until the regret is at most a given value", (header_of_costs, costs), list(COST_REMARKS)),
    ]


COST_REMARKS = (
    "entries: median number of evaluations, without and with told constraints, and their ratio ± bootstrap error over "
    "seeds",
    "in brackets: number of runs that reached the target, if not all; the others count with the whole budget. A ratio "
    "is a lower bound (≥) if at most half of the runs reached it, and missing if at most half of the told ones did",
)


def _factor(ours: Arrival, base: Arrival) -> str:
    """The ratio of the evaluations, as far as the runs determine it."""
    factor, error = ratio(ours.evaluations, base.evaluations)
    return f"{'' if ours.typical else '≥ '}×{factor:.2f} ± {error:.2f}" if base.typical else "-"


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
                arrival.cell(f"×{factor:.2f} ± {error:.2f}" if parallel else "")
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
