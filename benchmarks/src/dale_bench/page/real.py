"""Block of the real problems."""

from __future__ import annotations

import numpy as np

from dale_bench.comparison import SIGNIFICANT
from dale_bench.page.commands import real_commands
from dale_bench.page.markdown import table_text
from dale_bench.page.published import DALE, Published
from dale_bench.real.report import label, pairs_table, rank_parts, significant
from dale_bench.real.scores import Scores, rounded

HEADER = ["problems", "method", "rank 50 %", "rank 100 %", "dale lower / equal / higher", "significant"]
REMARKS = (
    "rank: the mean over problems and seeds ± bootstrap error over seeds, of the methods with runs on all problems",
    f"dale lower / equal / higher: problems, by the median at the end; significant: p < {SIGNIFICANT}, lower / higher",
)


def compared(published: Published) -> str:
    """Ranks on exact and on noisy problems, where a peer is better, and the commands."""
    rows, remarks, commands = [], list(REMARKS), []
    for kind, scores in published.real.items():
        rows += _lines(scores, kind)
        remarks.append(f"{kind}: {_where_behind(scores)}")
        commands += real_commands(scores, kind)
    return table_text((HEADER, rows), remarks, commands)


def _lines(scores: Scores, kind: str) -> list[list[str]]:
    """One row for each method, those with a rank first."""
    name = f"{len(scores.problems)} {kind}"
    ranks = {line[0]: line[1:3] for part in rank_parts(scores, kind)[:1] for line in part.table[1]}
    pairs = {line[0]: line[3:5] for line in pairs_table(scores)[1]}
    methods = dict.fromkeys([*ranks, *map(label, scores.methods)])
    return [[name, m, *ranks.get(m, ["-", "-"]), *pairs.get(m, ["", ""])] for m in methods]


def _where_behind(scores: Scores) -> str:
    """How many seeds there are, and on which problems dale is not the best."""
    counts: dict[int, list[str]] = {}
    lower, better = [], []
    for problem, by in scores.runs.items():
        counts.setdefault(min(len(by[m]) for m in scores.complete_methods()), []).append(problem)
        if DALE not in by:
            continue
        values = {m: scores.values(problem, m, 1) for m in by}
        medians = {m: float(rounded(np.array([np.median(v)]))[0]) for m, v in values.items()}
        best = min(medians, key=medians.__getitem__)
        if medians[best] < medians[DALE]:
            lower.append(f"{problem} ({label(best)})")
        better += [f"{problem} ({label(m)})" for m, v in values.items() if significant(values[DALE], v) > 0]
    seeds = [
        f"{n} seed{'s' * (n > 1)}" + (f" on {', '.join(names)}" if len(counts) > 1 else "")
        for n, names in counts.items()
    ]
    fewer = [
        f"{label(m)} {min(ns)}" + (f" to {max(ns)}" if max(ns) > min(ns) else "")
        for m in scores.methods
        if m not in scores.complete_methods() and (ns := [len(by[m]) for by in scores.runs.values() if m in by])
    ]
    seeds += [f"of the others {', '.join(fewer)}"] if fewer else []
    found = f"{', '.join(seeds)}; a peer has the lowest median on {', '.join(lower) or 'none'}"
    return f"{found}, and is significantly better on {', '.join(better) or 'none'}"
