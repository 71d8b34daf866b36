"""Tables: the fraction of problems solved by each method, and paired differences to one method."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dale_bench.contenders import label
from dale_bench.cutest.profiles import Study, paired_difference
from dale_bench.tables import Part

SOLVED_REMARK = "solved: f(x) <= f_L + tau (f_0 - f_L), with the least value f_L of all runs in the files"
DIFFERENCE_REMARK = "positive: {label} solves more problems; in parentheses the standard error over problems"


def solved_table(study: Study, title: str, tolerances: Sequence[float], checkpoints: Sequence[int]) -> Part:
    """The fraction of problems that each method solves at each tolerance, after some multiples of d + 1 evaluations."""
    lines = []
    for method in study.methods:
        cells = ["/".join(_number(_fraction(study, method, tau, k)) for k in checkpoints) for tau in tolerances]
        lines.append([label(method), *cells])
    remarks = [
        f"within {'/'.join(map(str, checkpoints))} (d + 1) evaluations; {len(study.problems)} problems, {study.n_runs} "
        "runs of each method",
        SOLVED_REMARK,
    ]
    if study.left_out:
        remarks.append(f"{study.left_out} problems are left out: some of the methods have no runs there")
    return Part(f"{title}: fraction of problems solved", (["method", *map(_tau, tolerances)], lines), remarks)


def difference_table(
    study: Study, title: str, method: str, tolerances: Sequence[float], checkpoints: Sequence[int]
) -> Part:
    """The fraction of problems solved by a method minus that of each other method, with its error."""
    lines = []
    for other in (m for m in study.methods if m != method):
        for k in checkpoints:
            cells = []
            for tau in tolerances:
                pair = [study.fractions(name, tau, k) for name in (other, method)]
                mean, error = paired_difference(*pair) if k <= study.factor else (math.nan, math.nan)
                cells.append(f"{_number(mean, '+')} ({_number(error)})")
            lines.append([label(other), f"{k} (d + 1)", *cells])
    header = ["against", "within", *map(_tau, tolerances)]
    return Part(
        f"{title}: {label(method)} minus each other method, fraction of problems solved",
        (header, lines),
        [DIFFERENCE_REMARK.format(label=label(method))],
    )


def _fraction(study: Study, method: str, tau: float, k: int) -> float:
    return float(study.fractions(method, tau, k).mean()) if k <= study.factor else math.nan


def _tau(tau: float) -> str:
    return f"tau = {tau:.0e}"


def _number(value: float, sign: str = "") -> str:
    """A fraction with two digits and without the leading zero."""
    return "-" if math.isnan(value) else f"{value:{sign}.2f}".replace("0.", ".", 1)
