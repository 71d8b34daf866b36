"""Blocks of the mixed, noisy, constrained, failing and parallel problems."""

from __future__ import annotations

from dale_bench.comparison import SIGNIFICANT, Comparison
from dale_bench.page.markdown import bullets, table_text
from dale_bench.page.published import DALE, RANDOM, Published
from dale_bench.problems import KINDS
from dale_bench.rows import Row, curves_of

SEEDS = range(64)  # more than any published run has
COMPARED = ("mixed", "noise", "rough", "constraints", "failures")
HEADER = ["problems", "against", "at half of the budget", "at the end", "significantly better / worse", "runs"]
REMARKS = (
    "problems on which dale's median is at or below that of the other",
    f"significantly: p < {SIGNIFICANT} between the runs at the end; runs: the fewest on a problem, of both",
)


def rows_of_kind(published: Published, kind: str) -> list[Row]:
    """The rows of a kind of problems, in the order of its problems and contenders."""
    rows = {row.key: row for row in published.rows(f"problems/{kind}.jsonl")}
    return [rows[job.key] for job in KINDS[kind].jobs((), (), SEEDS) if job.key in rows]


def comparison_of(published: Published, kind: str) -> Comparison | None:
    """The runs of a kind of problems."""
    rows = rows_of_kind(published, kind)
    return Comparison(curves_of(rows)) if rows else None


def compared(published: Published) -> str:
    """dale compared with each other solver on each kind of problems."""
    rows = []
    for kind in COMPARED:
        comparison = comparison_of(published, kind)
        if comparison is not None:
            rows += [[kind, *line] for line in _lines(comparison, kind)]
    return table_text((list(HEADER), rows), REMARKS)


def _lines(comparison: Comparison, kind: str) -> list[list[str]]:
    lines = []
    for other in comparison.methods:
        problems = comparison.common([DALE, other])
        if other in (DALE, RANDOM) or not problems:
            continue
        worse = [comparison.better_and_worse(DALE, other, at)[1] for at in (0.5, 1.0)]
        counts = [f"{len(problems) - n} of {len(problems)}" for n in worse]
        significant = comparison.better_and_worse(DALE, other, 1.0, SIGNIFICANT)
        runs = [min(len(comparison.curves[p][m]) for p in problems) for m in (DALE, other)]
        name = KINDS[kind].contender(other).label
        lines.append([name, *counts, "{} / {}".format(*significant), "{}, {}".format(*runs)])
    return lines


def parallel(published: Published) -> str:
    """Evaluations in batches and with workers, as a multiple of those of sequential runs."""
    rows = rows_of_kind(published, "parallel")
    if not rows:
        return ""
    costs = KINDS["parallel"].tables(rows, lambda name: KINDS["parallel"].contender(name).label)[0]
    return bullets(["; ".join(remark for remark in costs.remarks if "at most" in remark)])
