"""Blocks of the classical functions, and of the ablation."""

from __future__ import annotations

from dale_bench.ablation import PREFIX, compared_with_default, is_variant
from dale_bench.comparison import Comparison
from dale_bench.contenders import label
from dale_bench.functions import GROUPS
from dale_bench.page.markdown import final_medians, joined, table_text
from dale_bench.page.published import DALE, ROTATED, Published
from dale_bench.tables import ABLATION_REMARKS, ablation_table, envelope_remarks, significance_table, summary_table

NINETEEN = tuple(f"{name}{ROTATED}" for name in dict.fromkeys([*GROUPS["envelope"], *GROUPS["development"]]))
TEN = tuple(f"{name}{ROTATED}" for name in ("ellipsoid10_1e4", "rosen10", "ackley10", "levy10", "exp10"))
TWENTY = tuple(f"{name}{ROTATED}" for name in ("ellipsoid20_1e4", "rosen20", "ackley20", "levy20", "exp20"))
MODELS = (DALE, "cobyqa", "bads")
RANDOM = "random"
ABLATION_ROWS = "default/ablation.jsonl"


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
    """Ranks on the functions of 2 to 6, ten and twenty variables, and tests on the former."""
    groups = {"19, d = 2 to 6": nineteen(published), "5, d = 10": ten(published), "5, d = 20": twenty(published)}
    found = {name: comparison for name, comparison in groups.items() if comparison is not None}
    header: list[str] = []
    rows: list[list[str]] = []
    for name, comparison in found.items():
        header, lines = summary_table(comparison, comparison.methods)
        rows += [[name, *line] for line in lines if line[0] != label(RANDOM)]
    remarks = [f"{name}: {remark}" for name, c in found.items() for remark in envelope_remarks(c, DALE)]
    first = next(iter(found.values()), None)
    if first is None:
        return ""
    others = [m for m in first.methods if m not in (DALE, RANDOM)]
    return joined(
        table_text((["functions", *header], rows), [remark.replace(ROTATED, "") for remark in remarks]),
        "Wilcoxon's signed-rank test over the 19 functions; a negative difference means that dale is better:",
        table_text(significance_table(first, DALE, others)),
    )


def without_smooth_minima(published: Published) -> str:
    """Functions on which a local polynomial could do harm: dale and plain EI."""
    found = published.classical(GROUPS["guard"], (DALE, "ei_ml"))
    return "" if found is None else table_text(final_medians(found, label))


def ablation(published: Published) -> str:
    """Variants of the default in which one part is changed."""
    rows = published.rows(ABLATION_ROWS)
    variants = list(dict.fromkeys(row.method.removeprefix(PREFIX) for row in rows if is_variant(row.method)))
    if not variants:
        return ""
    return table_text(ablation_table({v: compared_with_default(rows, v) for v in variants}), ABLATION_REMARKS)
