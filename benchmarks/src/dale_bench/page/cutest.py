"""Block of the CUTEst problems."""

from __future__ import annotations

from dale_bench.cutest.report import solved_table
from dale_bench.page.markdown import table_text
from dale_bench.page.published import Published

TOLERANCES = (1e-1, 1e-3, 1e-5, 1e-7)
CHECKPOINTS = (10, 25, 50)  # multiples of d + 1
REMARK = f"the fraction of problems solved within {'/'.join(map(str, CHECKPOINTS))} (d + 1) evaluations"


def solved(published: Published) -> str:
    """The fraction of problems solved, without and with constraints."""
    header: list[str] = []
    rows: list[list[str]] = []
    for kind, study in (("bounds or none", published.cutest_bounds), ("constraints", published.cutest_constrained)):
        if study is not None:
            header, lines = solved_table(study, kind, TOLERANCES, CHECKPOINTS).table
            rows += [[f"{len(study.problems)}, {kind}", *line] for line in lines]
    return table_text((["problems", *header], rows), [REMARK])
