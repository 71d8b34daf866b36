"""Make the missing runs, draw all nine figures and write the page with the verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dale._arrays import Matrix
from dale.view.style import save
from dale_bench import readings
from dale_bench.comparison import Comparison, log_regret
from dale_bench.contenders import label
from dale_bench.functions import get
from dale_bench.paper import drawings
from dale_bench.paper.plan import (
    CLAIMS,
    FIG_2A,
    FIG_2C,
    FIG_2F,
    FIG_3,
    FIG_3_METHODS,
    FIG_3_MOVED,
    PES_RUNS,
    QUICK_RUNS,
    QUICK_SHARE,
    QUICK_STAND_INS,
    READING_FUNCTIONS,
    READING_RUNS,
    RUNS,
    Verdict,
    judge,
)
from dale_bench.rows import Curves, curves_of, read
from dale_bench.runner import Job, run_all
from dale_bench.tables import as_markdown, cells_table

OUTCOMES = ("confirmed", "not confirmed", "contradicted", "not tested")
CAPTIONS = {
    "fig-1a": "A misleading length-scale: the maximum-likelihood model of a few observations.",
    "fig-1b": "A poor prediction of the minimum with one length-scale, and the prediction of a quadratic region.",
    "fig-2a": "Regret on samples of a Gaussian process with l = 0.1.",
    "fig-2b": "A counter-example to ordinary model adaption: a sample with l = 0.05 and quadratic regions.",
    "fig-2c": "Regret on functions like that of Fig. 2b.",
    "fig-2d": "The alpha ratio along one run; bars mark the votes to cool down.",
    "fig-2e": "A sample with l = 0.3 and quadratic regions.",
    "fig-2f": "Regret on functions like that of Fig. 2e.",
    "fig-3": "Comparison on the paper's functions.",
}


def plan(*, quick: bool) -> list[Job]:
    """All runs in the order of their seeds, so that an interrupted run has some of each."""
    jobs = []
    for seed in range(QUICK_RUNS if quick else RUNS):
        pairs = [(f, m) for f, ms in (FIG_2A, FIG_2C, FIG_2F) for m in ms]
        pairs += [(f, m) for f in FIG_3 + FIG_3_MOVED for m in FIG_3_METHODS]
        if seed < READING_RUNS and not quick:
            others = [readings.contender_name(r) for r in readings.COMPARED if r != readings.OURS]
            pairs += [(f, m) for f in READING_FUNCTIONS for m in others]
        for function, method in pairs:
            if method == "pes" and (quick or seed >= PES_RUNS):
                continue
            budget = get(function, 0).budget
            if quick:
                jobs.append(Job(function, QUICK_STAND_INS.get(method, method), seed, int(budget * QUICK_SHARE)))
            else:
                jobs.append(Job(function, method, seed, budget))
    return jobs


def reproduce(
    out: Path, *, rows: Path | None = None, quick: bool = False, processes: int = 1, only_draw: bool = False
) -> Path:
    """Run, draw and write; return the path of the page."""
    rows = rows or out / ("rows-quick.jsonl" if quick else "rows.jsonl")
    jobs = plan(quick=quick)
    if not only_draw:
        run_all(jobs, rows, processes=processes)
    requested = {job.key for job in jobs}
    stands_for = {stand_in: method for method, stand_in in QUICK_STAND_INS.items()} if quick else {}
    curves = curves_of(
        replace(row, method=stands_for.get(row.method, row.method)) for row in read(rows) if row.key in requested
    )
    comparison = Comparison(without_readings(curves))
    figures = {
        "fig-1a": drawings.misleading_likelihood(),
        "fig-1b": drawings.poor_minimum(),
        "fig-2a": drawings.regret(comparison, *FIG_2A),
        "fig-2b": drawings.surface(FIG_2C[0]),
        "fig-2c": drawings.regret(comparison, *FIG_2C),
        "fig-2d": drawings.alpha_ratio(FIG_2A[0]),
        "fig-2e": drawings.surface(FIG_2F[0]),
        "fig-2f": drawings.regret(comparison, *FIG_2F),
        "fig-3": drawings.comparison(comparison, FIG_3 + FIG_3_MOVED, FIG_3_METHODS),
    }
    for name, figure in figures.items():
        for kind in ("png", "svg"):
            save(figure, out / f"{name}.{kind}")
    page = out / "README.md"
    page.write_text(page_text(curves, quick=quick))
    return page


def without_readings(curves: Curves) -> Curves:
    """The curves of the figures and verdicts, without those of other readings of the paper."""
    return {f: {m: runs for m, runs in by.items() if not readings.is_reading(m)} for f, by in curves.items()}


def page_text(curves: Curves, *, quick: bool) -> str:
    """The page in Markdown: the runs, a verdict on each claim, the readings, the figures, and all medians."""
    compared = without_readings(curves)
    comparison = Comparison(compared)
    lines = [
        "# The paper's Section 4 from fresh runs",
        "",
        *_about_the_runs(comparison, compared, quick=quick),
        "",
        "## Verdicts",
        "",
        *_about_the_verdicts([judge(claim, comparison) for claim in CLAIMS]),
        "",
        *([] if quick else _about_the_readings(curves)),
        "## Figures",
    ]
    for name, caption in CAPTIONS.items():
        lines += ["", f"### {name.replace('fig-', 'Fig. ')}", "", caption, "", f"![{caption}]({name}.png)"]
    cells = cells_table(comparison, comparison.methods)
    return "\n".join([*lines, "", "## Median log10 regret ± bootstrap error", "", as_markdown(cells), ""])


def _about_the_runs(comparison: Comparison, curves: Curves, *, quick: bool) -> list[str]:
    counts = {m: [len(by[m]) for by in curves.values() if m in by] for m in comparison.methods}
    n_runs = [f"{label(m)} {min(n)}" + (f"-{max(n)}" if max(n) > min(n) else "") for m, n in counts.items()]
    lines = [
        f"Made with `dale bench paper{' --quick' if quick else ''}`.",
        f"Runs of each method on each function: {', '.join(n_runs)}.",
        "Error bars are one standard deviation of the median by bootstrap, as in the paper. The values of the paper's",
        "Fig. 3 are not public; our runs are compared with its text.",
        "IMGPO is deterministic, so its runs on one function are the same run. It evaluates the center of the box",
        "first, where quad2 and exp5_paper have their minimum: only the moved versions are a fair comparison.",
    ]
    if "pes" in comparison.methods:
        lines += ["PES is BoTorch's, not the code that the paper ran. A run takes minutes, so there are few."]
    missing = [m for m in FIG_3_METHODS if m not in comparison.methods]
    if missing:
        lines += [f"Not installed, so without runs: {', '.join(label(m) for m in missing)}."]
    if quick:
        lines += [
            "",
            f"**Quick look:** {QUICK_RUNS} runs, half of the budget, 300 samples for EI optimal.",
            "The verdicts need the full set.",
        ]
    return lines


def _about_the_readings(curves: Curves) -> list[str]:
    """A table of the readings: median and worst on each function, over the first seeds."""
    rows = []
    for reading in readings.COMPARED:
        runs = [curves.get(f, {}).get(readings.contender_name(reading)) for f in READING_FUNCTIONS]
        rows.append([*reading.split("-"), *("" if r is None else _median_and_worst(r[:READING_RUNS]) for r in runs)])
    header = ["margin from the", "after line 26", "alpha* of the denominator", *READING_FUNCTIONS]
    return [
        "## What each reading does",
        "",
        "The method with the margin of Alg. 3 measured from the surface of the ball, `break` at line 26 and the",
        "denominator of eq. 8 computed; with each of these changed alone; and with all three changed, which is",
        f"`dale.methods.paper()`. Median log10 regret at the end of the budget (worst), {READING_RUNS} runs. On",
        "gp_l03_quadratic a run finds the region of the minimum or not, so its median jumps. The reading was chosen",
        "after seeing verdicts; [paper.md](../../../docs/paper.md#how-close-some-verdicts-are) has those of",
        "others.",
        "",
        as_markdown((header, rows)),
        "",
    ]


def _median_and_worst(runs: Matrix) -> str:
    final = log_regret(runs)[:, -1]
    few = "" if len(runs) == READING_RUNS else f", {len(runs)} runs"
    return f"{np.median(final):.2f} ({np.max(final):.1f}{few})"


def _about_the_verdicts(verdicts: Sequence[Verdict]) -> list[str]:
    counts = {o: sum(v.outcome == o for v in verdicts) for o in OUTCOMES}
    header = ["where", "what the paper says", "our runs", "evidence (log10 regret at the end)"]
    rows = [[v.claim.place, v.claim.statement, f"**{v.outcome}**", v.evidence] for v in verdicts]
    return [
        ", ".join(f"{n} {outcome}" for outcome, n in counts.items() if n)
        + ". A claim is confirmed or contradicted if the",
        'Mann-Whitney test (a sign test against a deterministic method; for "varies less" the bootstrap interval of',
        'the difference) is significant at 5 %, and otherwise not confirmed. "Works as well as" is contradicted only',
        "by a median that is significantly worse.",
        "",
        as_markdown((header, rows)),
    ]
