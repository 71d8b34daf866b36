"""Blocks of the real problems."""

from __future__ import annotations

import numpy as np

from dale_bench.comparison import bootstrap_error
from dale_bench.page.markdown import bullets, console, joined, paragraph, table_text
from dale_bench.page.published import DALE, Published
from dale_bench.real.report import PAIR_REMARKS, WHAT, label, pairs_table, rank_parts
from dale_bench.real.scores import Scores
from dale_bench.tables import Table

TEXT = {
    "exact": """
Hyperparameters of an SVC, gradient boosting and a small neural network on scikit-learn's data; fits of a Lotka-Volterra
model and of reaction rates; a pressure vessel and a welded beam with constraints and steps; the options of a compressor
that runs as a program and may fail; the gains of a pendulum controller. The best feasible value counts. The minima are
not known. The four problems with options (svc, boosting, mlp, compressor), which take longest, have two seeds, the
others four: too few to tell solvers apart on one problem. Optuna's GP sampler and scikit-optimize have not been run.
""",
    "noisy": """
Problems with fresh randomness at each evaluation: cross-validation with random splits, a queue, an inventory, an
epidemic, a curve that is measured anew, the settings of an evolution strategy, a cart-pole controller. The true mean of
the recommended point counts, estimated after the run with the same replicates for all points.
""",
}
RUNS = {  # the options that made each file of rows
    "exact": (
        "--seeds 2 --methods default,optuna_tpe,bads,cobyqa,random",
        "--seeds 4 --methods default,optuna_tpe,bads,cobyqa,random \\\n"
        "    --only lotka_volterra,kinetics,pressure_vessel,welded_beam,pendulum",
    ),
    "noisy": ("--seeds 16",),
}
VALUES_REMARK = "medians ± bootstrap error at the end; the best peer of a problem is the one with the lowest median"


def section(published: Published) -> str:
    """The section on real problems."""
    parts = [_kind(kind, scores) for kind, scores in published.real.items()]
    return joined("## Real problems", *parts) if parts else ""


def _kind(kind: str, scores: Scores) -> str:
    ranks = [joined(f"{part.title}:", table_text(part.table, part.remarks)) for part in rank_parts(scores, kind)]
    return joined(
        f"### {'Exact values' if kind == 'exact' else 'Noisy values'}",
        paragraph(TEXT[kind]),
        console(*commands(kind)),
        *ranks,
        "dale against each peer, numbers of problems:",
        table_text(pairs_table(scores), PAIR_REMARKS),
        f"The {WHAT[kind]}:",
        table_text(values_table(scores)),
        bullets([VALUES_REMARK]),
    )


def commands(kind: str) -> list[str]:
    """The commands that made the rows of a kind, and one that prints all tables."""
    rows = f"benchmarks/results/real/{kind}.jsonl"
    return [
        "dale bench real list                                             # problems, budgets, solvers",
        *(f"dale bench real run --kind {kind} {options} \\\n    --rows {rows}" for options in RUNS[kind]),
        f"dale bench real table {rows}".ljust(65) + "# all tables, with costs",
    ]


def values_table(scores: Scores) -> Table:
    """One row for each problem: dale, and the peer with the lowest median at the end."""
    rows = []
    for problem, by in scores.runs.items():
        if DALE not in by:
            continue
        medians = {m: float(np.median(scores.values(problem, m, 1))) for m in by}
        peers = [m for m in by if m != DALE]
        best = min(peers, key=medians.__getitem__, default=None)
        peer = "-" if best is None else f"{_cell(scores, problem, best)} ({label(best)})"
        ahead = "-" if best is None else _lowest(medians[DALE], medians[best], label(best))
        rows.append([problem, _cell(scores, problem, DALE), peer, ahead])
    return ["problem", "dale", "best peer", "lower median"], rows


def _lowest(ours: float, theirs: float, peer: str) -> str:
    return "equal" if np.isclose(ours, theirs, rtol=1e-8, atol=0) else "dale" if ours < theirs else peer


def _cell(scores: Scores, problem: str, method: str) -> str:
    values = scores.values(problem, method, 1)
    if not np.all(np.isfinite(values)):
        return f"{_number(float(np.median(values)))}, {np.sum(np.isinf(values))} of {len(values)} runs infeasible"
    if len(values) == 1:
        return f"{_number(float(values[0]))}, one run"
    return f"{_number(float(np.median(values)))} ± {bootstrap_error(values):.2g}"


def _number(value: float) -> str:
    return "∞" if not np.isfinite(value) else f"{value:.5g}"
