"""Blocks of the CUTEst problems."""

from __future__ import annotations

from dale_bench.cutest.profiles import Study
from dale_bench.cutest.report import difference_table, solved_table
from dale_bench.page.markdown import console, joined, paragraph, table_text
from dale_bench.page.published import DALE, Published

TOLERANCES = (1e-1, 1e-3, 1e-5, 1e-7)
CHECKPOINTS = (10, 25, 50)  # multiples of d + 1
TEXT = """
Problems of CUTEst (Gould et al. 2015) in Python, from S2MPJ (Gratton & Toint 2024): those without constraints or with
bounds and 2 to 12 variables, and those with inequality constraints and 2 to 8. Rules that know nothing of the results
selected at most 12 for each number of variables, 8 with constraints (`dale_bench/cutest/collection.py`). Where a
variable has no bounds, it gets an interval around the standard starting point, which is never its center
(`boxes.py`). All solvers know the box and no starting point. A run has 50 (d + 1) evaluations. It has solved a problem
with tolerance tau when f(x) <= f_L + tau (f_0 - f_L), where f_L is the least value of all runs and f_0 a reference
value, the same for all (Moré & Wild 2009). dale was not tuned on these problems.
"""
COMMANDS = (
    "dale bench cutest run --methods default,cobyqa,bobyqa,bads --rows benchmarks/results/cutest/bounds.jsonl",
    "dale bench cutest run --kind constrained --max-dimension 8 --methods default,cobyqa \\",
    "    --rows benchmarks/results/cutest/constrained.jsonl",
    "dale bench cutest table benchmarks/results/cutest/bounds.jsonl       # or constrained.jsonl",
)
FIGURE = "![Data profiles and performance profiles on CUTEst problems](images/benchmarks/cutest.png)"


def section(published: Published) -> str:
    """The section on CUTEst."""
    bounds, constrained = published.cutest_bounds, published.cutest_constrained
    if bounds is None and constrained is None:
        return ""
    return joined(
        "## CUTEst",
        FIGURE if bounds else "",
        paragraph(TEXT),
        console(*COMMANDS),
        _part(bounds, "Unconstrained problems and bounds") if bounds else "",
        _part(constrained, "Inequality constraints") if constrained else "",
    )


def _part(study: Study, title: str) -> str:
    solved = solved_table(study, title, TOLERANCES, CHECKPOINTS)
    parts = [f"{title}: the fraction of problems solved.", table_text(solved.table, solved.remarks)]
    if DALE in study.methods and len(study.methods) > 1:
        last = [k for k in CHECKPOINTS if k <= study.factor][-1:]
        difference = difference_table(study, title, DALE, TOLERANCES, last)
        parts += ["Differences at the end:", table_text(difference.table, difference.remarks)]
    return joined(*parts)
