"""The runs for the paper's figures, and the claims of its text.

The values of the paper's Fig. 3 are not published, so they cannot be compared. Each sentence of the text becomes a
claim about medians, which a rank test on our runs confirms or contradicts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dale._arrays import Vector
from dale_bench.comparison import RESAMPLES, SIGNIFICANT, Comparison
from dale_bench.contenders import label

RUNS = 32  # Sec. 4.3
QUICK_RUNS = 4
MIN_RUNS = 4  # for a verdict
PES_RUNS = 8  # a run takes minutes
QUICK_SHARE = 0.5  # of the budget
QUICK_STAND_INS = {"ei_optimal": "ei_optimal300"}

# Fig. 2: a different function for each seed.
FIG_2A = ("gp_l01", ("ei_optimal", "ei_loo", "ar"))
FIG_2C = ("gp_l005_quadratic", ("ei_optimal", "ei_loo", "ar"))
FIG_2F = ("gp_l03_quadratic", ("ei_optimal", "ar", "paper"))
# Fig. 3, left to right.
FIG_3 = ("quad2", "rosen2", "branin", "hart3", "hart6", "exp5_paper")
# Moved versions of those with the minimum in the center of the box, which some methods evaluate first.
FIG_3_MOVED = ("quad2:moved", "exp5_paper:moved")
# What each reading of the open points does.
READING_FUNCTIONS = ("rosen2", "branin", "hart3", "hart6", "gp_l03_quadratic")
READING_RUNS = 16
FIG_3_METHODS = ("pes", "imgpo", "ei_optimal", "paper", "default")


@dataclass(frozen=True)
class Claim:
    """A sentence of Sec. 4: on ``function`` a method ends with a lower median regret than each rival.

    ``equal`` instead claims that the method is not significantly worse; ``steadier`` that its runs vary less.
    """

    place: str
    statement: str
    function: str
    method: str
    rivals: tuple[str, ...]
    kind: str = "better"  # or "equal", "steadier"


CLAIMS = (
    Claim(
        "Fig. 2a", "on a stationary sample, LOO-CV works as well as AR", *("gp_l01", "ei_loo", ("ar",)), kind="equal"
    ),
    Claim(
        "Fig. 2a", "there, optimal hyperparameters work as well as AR", *("gp_l01", "ei_optimal", ("ar",)), kind="equal"
    ),
    Claim("Fig. 2a", "AR varies less", "gp_l01", "ar", ("ei_loo", "ei_optimal"), kind="steadier"),
    Claim("Fig. 2c", "on a mixture of scales AR is clearly superior", FIG_2C[0], "ar", ("ei_optimal", "ei_loo")),
    Claim("Fig. 2f", "where there are quadratic regions, the MGL kernel improves on AR", FIG_2F[0], "paper", ("ar",)),
    Claim("Fig. 2f", "and even on the optimal hyperparameters", FIG_2F[0], "paper", ("ei_optimal",)),
    *(
        Claim("Fig. 3", f"EI AR + MGL significantly outperforms the others on {f}", f, "paper", ("pes", "imgpo"))
        for f in ("quad2", "rosen2", "branin", "hart6", "exp5_paper")
    ),
    *(
        Claim("Fig. 3, moved", f"the same with the minimum anywhere: {f}", f, "paper", ("pes", "imgpo", "ei_optimal"))
        for f in FIG_3_MOVED
    ),
    Claim("Fig. 3", "on hart3 PES works better", "hart3", "pes", ("paper",)),
    *(
        Claim("Fig. 3", f"EI AR + MGL improves on EI with optimal hyperparameters on {f}", f, "paper", ("ei_optimal",))
        for f in FIG_3
    ),
)


@dataclass(frozen=True)
class Verdict:
    """The result of our runs for a claim."""

    claim: Claim
    outcome: str  # "confirmed", "not confirmed", "contradicted", "not tested"
    evidence: str


def judge(claim: Claim, comparison: Comparison) -> Verdict:
    """Compare a claim with the runs at the end of the budget."""
    curves = comparison.curves.get(claim.function, {})
    rivals = [r for r in claim.rivals if len(curves.get(r, ())) >= MIN_RUNS]
    if len(curves.get(claim.method, ())) < MIN_RUNS or not rivals:
        return Verdict(claim, "not tested", "too few runs")
    outcomes, evidence = [], []
    for rival in rivals:
        mine, theirs = (comparison.at(claim.function, m, 1.0) for m in (claim.method, rival))
        if claim.kind == "steadier":
            a, b, significant = _interquartile(mine), _interquartile(theirs), _ranges_differ(mine, theirs)
            evidence.append(f"interquartile range {a:.2f} against {b:.2f} ({label(rival)})")
        else:
            p = comparison.rank_test(claim.function, claim.method, rival, 1.0)
            a, b, significant = float(np.median(mine)), float(np.median(theirs)), p < SIGNIFICANT
            evidence.append(f"median {a:.2f} against {b:.2f} ({label(rival)}, p = {p:.1g})")
        if claim.kind == "equal":
            outcomes.append("contradicted" if significant and a > b else "confirmed")
        else:
            outcomes.append(("confirmed" if a < b else "contradicted") if significant else "not confirmed")
    order = ["contradicted", "not confirmed", "confirmed"]
    worst = min(outcomes, key=order.index)
    absent = [r for r in claim.rivals if r not in rivals]
    if absent:
        evidence.append(f"too few runs of {', '.join(label(r) for r in absent)}")
    return Verdict(claim, worst, "; ".join(evidence))


def _interquartile(runs: Vector) -> float:
    return float(np.subtract(*np.percentile(runs, [75, 25])))


def _ranges_differ(mine: Vector, theirs: Vector) -> bool:
    """Whether the bootstrap interval of the difference of the interquartile ranges excludes 0."""
    rng = np.random.default_rng(0)
    differences = [
        _interquartile(rng.choice(mine, len(mine))) - _interquartile(rng.choice(theirs, len(theirs)))
        for _ in range(RESAMPLES)
    ]
    low, high = np.percentile(differences, [100 * SIGNIFICANT / 2, 100 * (1 - SIGNIFICANT / 2)])
    return bool(low > 0 or high < 0)
