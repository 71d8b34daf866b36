"""Tables of runs on real problems, with remarks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dale._arrays import Vector
from dale_bench.comparison import SIGNIFICANT, bootstrap_error
from dale_bench.real import PROBLEMS
from dale_bench.real.contenders import ENTRIES
from dale_bench.real.problem import NOISY
from dale_bench.real.runs import KINDS, Run
from dale_bench.real.scores import Scores, rounded
from dale_bench.tables import Part, Table

DALE = "default"
CHECKPOINTS = ("50 %", "100 %")
WHAT = {"exact": "best feasible value", "noisy": "true mean of the recommended point"}


def label(method: str) -> str:
    """The name of a method in tables."""
    return ENTRIES[method].contender.label if method in ENTRIES else method


def tables(runs: Sequence[Run]) -> list[Part]:
    """All tables: for each kind the values, ranks, comparisons with dale, and costs."""
    parts: list[Part] = []
    for kind in KINDS:
        scores = Scores.of([run for run in runs if run.kind == kind])
        if not scores.runs:
            continue
        values = Part(f"Real problems, {kind}: median of the {WHAT[kind]}", values_table(scores), value_remarks(scores))
        against = Part(f"dale against each method, {kind} problems", pairs_table(scores), list(PAIR_REMARKS))
        cost = Part(f"Cost, {kind} problems", cost_table(scores), list(COST_REMARKS))
        parts += [values, *rank_parts(scores, kind), against, cost]
    return parts


def values_table(scores: Scores) -> Table:
    """One row for each problem and method: medians ± bootstrap error, gap to the best value of all, worst run."""
    header = ["problem", "method", *CHECKPOINTS, "gap", "worst", "runs"]
    lines = []
    for problem in scores.problems:
        reference = scores.reference(problem)
        for method in (m for m in scores.methods if m in scores.runs[problem]):
            both = [scores.values(problem, method, c) for c in (0, 1)]
            gap = float(np.median(both[1])) - reference if np.isfinite(reference) else np.inf
            cells = [f"{_number(np.median(v))} ± {_number(_error(v), 2)}" for v in both]
            lines.append([problem, label(method), *cells, _number(gap, 2), _number(np.max(both[1])), str(len(both[1]))])
    return header, lines


def value_remarks(scores: Scores) -> list[str]:
    """What the columns mean, standard errors of true means, and who takes no part."""
    found = ["gap: median at 100 % minus the lowest value of all runs of all methods, whose minimum is not known"]
    for problem in scores.problems:
        runs = [run for by in scores.runs[problem].values() for run in by.values()]
        errors = [run.errors[-1] for run in runs if run.errors]
        if errors and problem in PROBLEMS and PROBLEMS[problem].kind == NOISY:
            found.append(
                f"{problem}: true means from {PROBLEMS[problem].replicates} replicates, the same for all points; "
                f"median standard error {_number(np.median(errors), 2)}"
            )
    for method, entry in ENTRIES.items():
        obstacles = {p: entry.obstacle(PROBLEMS[p]) for p in scores.problems if p in PROBLEMS}
        absent = [f"{p} ({why})" for p, why in obstacles.items() if why]
        if method in scores.methods and absent:
            found.append(f"{label(method)} does not apply to {', '.join(absent)}")
    return found


def rank_parts(scores: Scores, kind: str) -> list[Part]:
    """Ranks of all methods that ran on all problems, and of those that have all seeds of dale, if these are fewer."""
    complete = scores.complete_methods()
    count = {m: len(scores.seeds([m])) for m in complete}
    enough = count.get(DALE, max(count.values(), default=0))
    full = tuple(m for m in complete if count[m] >= enough)
    parts = []
    for methods in dict.fromkeys([complete, full]):
        ranks = scores.ranks(methods) if len(methods) > 1 else None
        if ranks is None:
            continue
        order = np.argsort(ranks.mean[1], kind="stable")
        lines = [
            [label(methods[i])]
            + [_rank(ranks.mean[c, i], ranks.error[c, i]) for c in (0, 1)]
            + [f"{ranks.of_medians[c, i]:.2f}" for c in (0, 1)]
            for i in order
        ]
        header = ["method", *(f"rank {c}" for c in CHECKPOINTS), *(f"rank of the median {c}" for c in CHECKPOINTS)]
        seeds = "1 seed" if len(ranks.seeds) == 1 else f"{len(ranks.seeds)} seeds"
        title = f"Mean rank over {len(scores.problems)} {kind} problems and {seeds}"
        parts.append(Part(title, (header, lines), _rank_remarks(scores, methods)))
    return parts


def _rank(mean: float, error: float) -> str:
    """A mean rank, without its error if there is one seed."""
    return f"{mean:.2f}" if np.isnan(error) else f"{mean:.2f} ± {error:.2f}"


def _rank_remarks(scores: Scores, methods: Sequence[str]) -> list[str]:
    partial = [m for m in scores.methods if m not in scores.complete_methods()]
    fewer = [m for m in scores.complete_methods() if m not in methods]
    found = ["1 is best, ties share a rank; ± bootstrap error over seeds"]
    if partial:
        counts = (
            f"{label(m)} ({sum(m in by for by in scores.runs.values())} of {len(scores.problems)})" for m in partial
        )
        found.append(f"not ranked, because they do not have runs on all problems: {', '.join(counts)}")
    if fewer:
        found.append(f"not ranked here, because they have fewer seeds: {', '.join(map(label, fewer))}")
    return found


PAIR_REMARKS = (
    "problems on which the median of dale is lower / equal / higher; problems on which both have runs",
    f"significant: problems with p < {SIGNIFICANT} between the runs at 100 % (Mann-Whitney), dale lower / higher",
)


def pairs_table(scores: Scores) -> Table:
    """One row for each other method: problems on which dale is lower, equal or higher."""
    header = ["against", "problems", *CHECKPOINTS, "significant"]
    lines = []
    for other in (m for m in scores.methods if m != DALE):
        shared = [p for p, by in scores.runs.items() if DALE in by and other in by]
        if not shared:
            continue
        cells = []
        for c in (0, 1):
            medians = [[np.median(scores.values(p, m, c)) for m in (DALE, other)] for p in shared]
            ours, theirs = rounded(np.array(medians)).T
            cells.append(f"{np.sum(ours < theirs)} / {np.sum(ours == theirs)} / {np.sum(ours > theirs)}")
        signs = [significant(scores.values(p, DALE, 1), scores.values(p, other, 1)) for p in shared]
        lines.append([label(other), str(len(shared)), *cells, f"{signs.count(-1)} / {signs.count(1)}"])
    return header, lines


def significant(ours: Vector, theirs: Vector) -> int:
    """-1 if ours are significantly lower, 1 if they are higher, 0 otherwise."""
    from scipy.stats import mannwhitneyu

    if len(set(ours) | set(theirs)) == 1:
        return 0
    below = mannwhitneyu(ours, theirs, alternative="less").pvalue
    above = mannwhitneyu(ours, theirs, alternative="greater").pvalue
    return 0 if 2 * min(below, above) >= SIGNIFICANT else -1 if below < above else 1


COST_REMARKS = (
    "medians over the runs: time for the proposals of a run; sums over all runs: proposals, evaluations, true means",
)


def cost_table(scores: Scores) -> Table:
    """One row for each method: seconds."""
    header = ["method", "s per run", "runs", "proposals, s", "evaluations, s", "true means, s"]
    lines = []
    for method in scores.methods:
        runs = [run for by in scores.runs.values() for run in by.get(method, {}).values()]
        sums = [
            sum(r.seconds for r in runs),
            sum(r.evaluation_seconds for r in runs),
            sum(r.truth_seconds for r in runs),
        ]
        median = float(np.median([r.seconds for r in runs]))
        lines.append([label(method), f"{median:.2f}", str(len(runs)), *(f"{s:.0f}" for s in sums)])
    return header, lines


def _error(values: Vector) -> float:
    return bootstrap_error(values) if np.all(np.isfinite(values)) else np.inf


def _number(value: float, digits: int = 5) -> str:
    return "∞" if not np.isfinite(value) else f"{value:.{digits}g}"
