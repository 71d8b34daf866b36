"""Blocks of the classical functions, and of the ablation."""

from __future__ import annotations

from dale_bench.ablation import PREFIX, compared_with_default, is_variant
from dale_bench.comparison import FAR_BEHIND, SIGNIFICANT, Comparison
from dale_bench.contenders import label
from dale_bench.functions import GROUPS
from dale_bench.page.markdown import columns, table_text
from dale_bench.page.published import DALE, RANDOM, ROTATED, Published
from dale_bench.tables import ABLATION_REMARKS, ablation_table, summary_table

NINETEEN = tuple(f"{name}{ROTATED}" for name in dict.fromkeys([*GROUPS["envelope"], *GROUPS["development"]]))
TEN = tuple(f"{name}{ROTATED}" for name in ("ellipsoid10_1e4", "rosen10", "ackley10", "levy10", "exp10"))
TWENTY = tuple(f"{name}{ROTATED}" for name in ("ellipsoid20_1e4", "rosen20", "ackley20", "levy20", "exp20"))
MODELS = (DALE, "cobyqa", "bads")
ABLATION_ROWS = "default/ablation.jsonl"
SHOWN = ["method", "cells at or below the envelope", "rank 50%", "rank 100%", "targets reached"]
ABLATION_SHOWN = ["variant", "50%", "100%", "p at 100 %", "better / worse", "significant"]


def nineteen(published: Published) -> Comparison | None:
    """The 19 functions, moved and rotated."""
    return published.classical(NINETEEN, MODELS)


def ten(published: Published) -> Comparison | None:
    """Five functions of ten variables."""
    return published.classical(TEN, (*MODELS, RANDOM))


def twenty(published: Published) -> Comparison | None:
    """Five functions of twenty variables."""
    return published.classical(TWENTY, (*MODELS, RANDOM))


def ranks(published: Published) -> str:
    """Ranks on the functions of 2 to 6, ten and twenty variables, and on how many of them dale is better."""
    groups = {"19, d = 2 to 6": nineteen(published), "5, d = 10": ten(published), "5, d = 20": twenty(published)}
    rows: list[list[str]] = []
    remarks: list[str] = []
    for name, comparison in groups.items():
        if comparison is None:
            continue
        counts = {
            label(m): "{} / {}".format(*comparison.better_and_worse(DALE, m, 1.0, SIGNIFICANT))
            for m in comparison.methods
            if m != DALE
        }
        _, lines = columns(summary_table(comparison, comparison.methods), SHOWN)
        rows += [[name, *line, counts.get(line[0], "")] for line in lines if line[0] != label(RANDOM)]
        remarks.append(f"{name}: {_where_behind(comparison)}")
    remarks.append(f"dale better / worse: functions with p < {SIGNIFICANT} between the runs at the end")
    return table_text((["functions", *SHOWN, "dale better / worse"], rows), remarks)


def _where_behind(comparison: Comparison) -> str:
    cells = [f"{name.removesuffix(ROTATED)} at {at:.0%}" for name, at in comparison.far_behind(DALE)]
    held, n = comparison.worst_runs_held(DALE)
    behind = f"more than {FAR_BEHIND} decades behind the envelope: {', '.join(cells) or 'never'}"
    return f"{behind}; worst run no worse than the best peer's on {held} of {n}"


def ablation(published: Published) -> str:
    """Variants of the default in which one part is changed."""
    rows = published.rows(ABLATION_ROWS)
    variants = list(dict.fromkeys(row.method.removeprefix(PREFIX) for row in rows if is_variant(row.method)))
    if not variants:
        return ""
    table = ablation_table({v: compared_with_default(rows, v) for v in variants})
    return table_text(columns(table, ABLATION_SHOWN), ABLATION_REMARKS)
