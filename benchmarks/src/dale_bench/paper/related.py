"""The paper's neighbours compared with its method, EI and the default: runs, and a page with tables."""

from __future__ import annotations

import math
from pathlib import Path

from dale_bench.comparison import SIGNIFICANT, Comparison
from dale_bench.contenders import label
from dale_bench.functions import get
from dale_bench.ours import RELATED
from dale_bench.paper.plan import FIG_2A, FIG_2C, FIG_2F
from dale_bench.rows import Curves, curves_of, read
from dale_bench.runner import Job, run_all
from dale_bench.tables import Table, as_markdown, cells_table

SEEDS = 16
MAX_BUDGET = 30  # evaluations of a run, fewer than in the paper: there are 18 methods
QUICK_SEEDS, QUICK_BUDGET = 2, 15
BASELINES = ("default", "paper", "ar", "ei_ml", "ei_loo")
COMPARED_WITH = ("ei_ml", "paper")  # of these, the tables of differences
METHODS = (*BASELINES, *(contender.name for contender in RELATED))
# The paper's functions in two and three dimensions, moved if their minimum is in the center, and its illustrations. In
# five and six dimensions the paper's method has no region within so few evaluations.
FUNCTIONS = ("quad2:moved", "rosen2", "branin", "hart3", FIG_2A[0], FIG_2C[0], FIG_2F[0])


def plan(*, quick: bool) -> list[Job]:
    """All runs in the order of their seeds, so that an interrupted run has some of each."""
    seeds, limit = (QUICK_SEEDS, QUICK_BUDGET) if quick else (SEEDS, MAX_BUDGET)
    return [Job(f, m, s, min(get(f, 0).budget, limit)) for s in range(seeds) for f in FUNCTIONS for m in METHODS]


def compare_related(
    out: Path, *, rows: Path | None = None, quick: bool = False, processes: int = 1, only_draw: bool = False
) -> Path:
    """Make the missing runs and write the page; return its path."""
    rows = rows or out / ("related-quick.jsonl" if quick else "related.jsonl")
    jobs = plan(quick=quick)
    if not only_draw:
        run_all(jobs, rows, processes=processes)
    requested = {job.key for job in jobs}
    curves = curves_of(row for row in read(rows) if row.key in requested)
    if not curves:
        raise ValueError(f"expected runs in {rows}, got none; run without --only-draw")
    out.mkdir(parents=True, exist_ok=True)
    page = out / "related.md"
    page.write_text(page_text(curves), encoding="utf-8")
    return page


def page_text(curves: Curves) -> str:
    """The page in Markdown: a row for each method, and all cells."""
    comparison = Comparison(curves)
    methods = [m for m in METHODS if m in comparison.methods]
    counts = [len(runs) for by in curves.values() for runs in by.values()]
    runs = f"{min(counts)}" + (f"-{max(counts)}" if max(counts) > min(counts) else "")
    return "\n".join(
        [
            "# The paper's neighbours from fresh runs",
            "",
            "Made with `dale bench paper --related`.",
            f"Runs of each method on each function: {runs} of {SEEDS}, with at most {MAX_BUDGET} evaluations.",
            *(["", "**Preliminary:** too few runs for conclusions."] if min(counts) < SEEDS else []),
            "",
            "## Median log10 regret at the end ± bootstrap error, and mean rank",
            "",
            as_markdown(related_table(comparison, methods)),
            "",
            *(line for base in COMPARED_WITH if base in methods for line in _against(comparison, methods, base)),
            "## Along the budget: median log10 regret ± bootstrap error",
            "",
            as_markdown(cells_table(comparison, methods)),
            "",
        ]
    )


def _against(comparison: Comparison, methods: list[str], base: str) -> list[str]:
    """A section of the page."""
    return [f"## Difference to {label(base)} at the end", "", as_markdown(against(comparison, methods, base)), ""]


def against(comparison: Comparison, methods: list[str], base: str) -> Table:
    """One row for each other method: mean difference of the medians ± error, p, and numbers of functions won and lost.

    The error is the bootstrap error over functions and seeds, p that of Wilcoxon's signed-rank test over functions, and
    a significant difference has p < ``SIGNIFICANT`` between the runs on one function.
    """
    header = ["method", "difference", "p", "better / worse", "significant"]
    rows = []
    for method in methods:
        if method == base or not comparison.common([method, base]):
            continue
        difference, p, _ = comparison.paired_test(method, base, 1.0)
        counts = [comparison.better_and_worse(method, base, 1.0, level) for level in (math.inf, SIGNIFICANT)]
        error = comparison.paired_error(method, base, 1.0)
        rows.append(
            [label(method), f"{difference:+.2f} ± {error:.2f}", f"{p:.2g}"]
            + [f"{won} / {lost}" for won, lost in counts]
        )
    return header, rows


def related_table(comparison: Comparison, methods: list[str]) -> Table:
    """One row for each method: its median on each function, and its mean rank, by which the rows are ordered."""
    functions = list(comparison.functions)
    complete = [m for m in methods if all(m in comparison.curves[f] for f in functions)]
    ranks = comparison.average_ranks(1.0, complete)
    header = ["method", "rank", *functions]
    rows = []
    for method in sorted(methods, key=lambda m: ranks.get(m, float("inf"))):
        cells = [comparison.cell(f, method, 1.0) if method in comparison.curves[f] else None for f in functions]
        medians = [f"{cell.median:.2f} ± {cell.error:.2f}" if cell else "-" for cell in cells]
        rows.append([label(method), f"{ranks[method]:.1f}" if method in ranks else "-", *medians])
    return header, rows
