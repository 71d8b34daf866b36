"""The first table: on each kind of problems, dale, the best peer, and who wins.

A winner is named if the difference is larger than two standard errors (COCO, CUTEst, real problems), or if a test over
functions has p < 0.05 (classical functions), or if more problems are significantly better than worse and dale's median
is at least as good on more than half of them (practical problems). Otherwise they are level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dale._arrays import Vector
from dale_bench.coco.report import number, references_of
from dale_bench.comparison import SIGNIFICANT, Comparison
from dale_bench.contenders import label
from dale_bench.cutest.profiles import Study, paired_difference
from dale_bench.page import functions, problems
from dale_bench.page.markdown import joined, table_text
from dale_bench.page.published import DALE, RANDOM, Published, SuiteRuns
from dale_bench.problems import KINDS
from dale_bench.real.report import label as real_label
from dale_bench.real.scores import Scores
from dale_bench.tables import Table

ERRORS = 2.0  # a larger difference, in standard errors, has a winner
LEVEL = "level"
REFERENCE = "best 2009-16"
TOLERANCES = (1e-1, 1e-5)
HEADER = ["problems", "compared with", "measure", "dale", "best peer", "ahead"]
NOT_PEERS = (RANDOM, "told", "noise0", "sequential")  # baselines of our own problems
OWN = {
    "mixed": "integers, options",
    "noise": "noise",
    "rough": "rough values",
    "constraints": "outcome constraints",
    "failures": "failures",
}
REMARKS = ("ahead: by more than two standard errors or with p < 0.05; otherwise they are level",)


class Line(NamedTuple):
    """One row of the table."""

    problems: str
    against: str
    measure: str
    ours: str
    best: str
    ahead: str


def block(published: Published) -> str:
    """The table with its remarks."""
    return joined(table_text(summary_table(published), REMARKS))


def summary_table(published: Published) -> Table:
    """One row for each kind of problems that has runs of dale and of a peer."""
    return list(HEADER), [list(line) for line in lines(published)]


def lines(published: Published) -> Iterator[Line]:
    """The rows, from the problems of others to our own."""
    if published.bbob is not None:
        for d in published.bbob.runs:
            yield from suite_line(published.bbob, "BBOB", [d])
        yield from reference_line(published.bbob)
    for found, name in (
        (published.bbob_long, "BBOB, longer"),
        (published.bbob_slow, "BBOB, few functions"),
        (published.noisy_recommended, "BBOB with noise"),
        (published.mixint, "BBOB with integers"),
        (published.constrained, "BBOB with constraints"),
    ):
        if found is not None:
            for dimensions in comparable(found):
                yield from suite_line(found, name, dimensions)
    for study, name in ((published.cutest_bounds, "CUTEst"), (published.cutest_constrained, "CUTEst, constraints")):
        if study is not None:
            yield from (line for tau in TOLERANCES for line in study_line(study, name, tau))
    for kind, scores in published.real.items():
        yield from real_line(scores, kind)
    for comparison, name in (
        (functions.nineteen(published), "19 functions, d = 2 to 6"),
        (functions.ten(published), "5 functions, d = 10"),
        (functions.twenty(published), "5 functions, d = 20"),
    ):
        if comparison is not None:
            yield from classical_line(comparison, name)
    for kind, name in OWN.items():
        comparison = problems.comparison_of(published, kind)
        if comparison is not None:
            yield from own_line(comparison, kind, name)
    if published.bbob is not None:
        yield from time_line(published.bbob)


def comparable(found: SuiteRuns) -> list[list[int]]:
    """The dimensions with a peer, in groups with the same peers and after the same number of evaluations."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for d, by in found.runs.items():
        peers = [m for m in found.peers if m in by]
        if peers:
            groups.setdefault((found.evaluations(d)[-1], *peers), []).append(d)
    return list(groups.values())


def suite_line(found: SuiteRuns, name: str, dimensions: Sequence[int]) -> Iterator[Line]:
    """A suite of COCO in some dimensions, with the peers that are in all of these."""
    peers = [m for m in found.peers if all(m in found.runs[d] for d in dimensions)]
    if not peers:
        return
    scores = {m: np.concatenate([_scores(found, d, m) for d in dimensions]) for m in (DALE, *peers)}
    best = max(peers, key=lambda m: float(np.nan_to_num(np.mean(scores[m]), nan=-1)))
    difference = paired_difference(scores[best], scores[DALE])
    yield Line(
        f"{name}, d = {', '.join(map(str, dimensions))}",
        ", ".join(map(label, peers)),
        f"targets reached after {found.evaluations(dimensions[0])[-1]} evaluations",
        number(float(np.mean(scores[DALE]))),
        f"{number(float(np.mean(scores[best])))} ({label(best)})",
        _ahead(difference.mean, difference.error, label(best)),
    )


def _scores(found: SuiteRuns, d: int, method: str) -> Vector:
    runs, at = found.runs[d], found.checkpoints(d)[-1]
    return np.array([runs[method].fraction(problem, at) for problem in runs[DALE].hits])


def reference_line(found: SuiteRuns) -> Iterator[Line]:
    """The best of all algorithms of the BBOB workshops, for each function and target; paired by function."""
    (at,) = {found.checkpoints(d)[-1] for d in found.runs}
    ours: list[float] = []
    theirs: list[float] = []
    for d, by in found.runs.items():
        reference = references_of(found.suite, d)[REFERENCE]
        for function in sorted({f for f, _ in by[DALE].hits}):
            ours.append(by[DALE].mean_fraction(by[DALE].problems([function]), at))
            theirs.append(reference.mean_fraction(reference.problems([function]), at))
    difference = paired_difference(np.array(theirs), np.array(ours))
    yield Line(
        f"BBOB, d = {', '.join(map(str, found.runs))}",
        f"{REFERENCE}: the best of all algorithms of these workshops for each function and target",
        f"targets reached after {at} evaluations",
        number(float(np.mean(ours))),
        number(float(np.mean(theirs))),
        _ahead(difference.mean, difference.error, REFERENCE),
    )


def study_line(study: Study, name: str, tau: float) -> Iterator[Line]:
    """CUTEst problems at one tolerance, at the end of the budget."""
    peers = [m for m in study.methods if m != DALE]
    if not peers or DALE not in study.methods:
        return
    solved = {m: study.fractions(m, tau, study.factor) for m in study.methods}
    best = max(peers, key=lambda m: float(np.mean(solved[m])))
    difference = paired_difference(solved[best], solved[DALE])
    yield Line(
        f"{name}, {len(study.problems)} problems",
        ", ".join(map(label, peers)),
        f"solved to {tau:g} within {study.factor:.0f} (d + 1) evaluations",
        number(float(np.mean(solved[DALE]))),
        f"{number(float(np.mean(solved[best])))} ({label(best)})",
        _ahead(difference.mean, difference.error, label(best)),
    )


def real_line(scores: Scores, kind: str) -> Iterator[Line]:
    """Real problems: the methods that ran on all of them."""
    methods = scores.complete_methods()
    ranks = scores.ranks(methods) if DALE in methods and len(methods) > 1 else None
    if ranks is None:
        return
    mean, error = (dict(zip(methods, values[1].tolist(), strict=True)) for values in (ranks.mean, ranks.error))

    def ahead(best: str) -> str:
        return _ahead(mean[best] - mean[DALE], math.hypot(error[best], error[DALE]), real_label(best))

    yield from _rank_line(f"{len(scores.problems)} real problems, {kind}", mean, real_label, ahead)


def classical_line(comparison: Comparison, name: str) -> Iterator[Line]:
    """Classical functions."""

    def ahead(best: str) -> str:
        difference, p, _ = comparison.paired_test(DALE, best, 1.0)
        return LEVEL if p >= SIGNIFICANT else "dale" if difference < 0 else label(best)

    yield from _rank_line(name, comparison.average_ranks(1.0), label, ahead)


def _rank_line(
    name: str, ranks: Mapping[str, float], label_of: Callable[[str], str], ahead: Callable[[str], str]
) -> Iterator[Line]:
    """The mean rank at the end, with a winner among dale and the best peer; none without ranks of a peer."""
    peers = [m for m in ranks if m not in (DALE, *NOT_PEERS)]
    if not peers:
        return
    best = min(peers, key=ranks.__getitem__)
    yield Line(
        name,
        ", ".join(map(label_of, peers)),
        "mean rank at the end, 1 is best",
        f"{ranks[DALE]:.2f}",
        f"{ranks[best]:.2f} ({label_of(best)})",
        ahead(best),
    )


def own_line(comparison: Comparison, kind: str, name: str) -> Iterator[Line]:
    """Problems of this repository: how often dale's median is at least as good, and how often significantly."""
    names = {m: KINDS[kind].contender(m).label for m in comparison.methods}
    peers = [m for m in comparison.methods if m not in (DALE, *NOT_PEERS) and comparison.common([DALE, m])]
    if not peers:
        return

    def counts(peer: str) -> tuple[int, int, int, int, int]:
        lower, higher = comparison.better_and_worse(DALE, peer, 1.0)
        better, worse = comparison.better_and_worse(DALE, peer, 1.0, SIGNIFICANT)
        return better - worse, lower - higher, lower, higher, len(comparison.common([DALE, peer]))

    best = min(peers, key=counts)
    gain, _, lower, higher, n = counts(best)
    winner = "dale" if gain > 0 and 2 * (n - higher) > n else names[best] if gain < 0 and 2 * higher > n else LEVEL
    yield Line(
        f"{n} problems with {name}",
        ", ".join(names[m] for m in peers),
        "lower median at the end",
        f"{lower} of {n}",
        f"{higher} of {n} ({names[best]})",
        winner,
    )


def time_line(found: SuiteRuns) -> Iterator[Line]:
    """The time for a proposal in the largest dimension."""
    d = max(found.runs)
    peers = [m for m in found.runs[d] if m != DALE]
    if not peers:
        return
    times = found.milliseconds[d]
    best = min(peers, key=times.__getitem__)
    yield Line(
        f"time of a proposal, BBOB, d = {d}",
        ", ".join(map(label, peers)),
        "milliseconds, median over runs",
        f"{times[DALE]:.3g}",
        f"{times[best]:.2g} ({label(best)})",
        "dale" if times[DALE] < times[best] else label(best),
    )


def _ahead(difference: float, error: float, peer: str) -> str:
    """Who is ahead, from a difference that is positive where dale is."""
    if not abs(difference) > ERRORS * error:
        return LEVEL
    return "dale" if difference > 0 else peer
