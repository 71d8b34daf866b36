"""A run in words: what was found, how sure that is, and why the last points were chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dale.history.result import LocalMinimum, Result
from dale.history.trial import TrialState
from dale.space.point import Params, format_point
from dale.view.data import Convergence, convergence
from dale.view.tolerances import RISE, acceptable_rise, sharpness

LAST = 5  # how many choices are explained
ROUND = 1.5  # length over width below which nobody would speak of a valley


def summary(result: Result, *, last: int = LAST) -> str:
    """The result as a person wants it: a few paragraphs of plain text."""
    series = convergence(result.history)
    parts = [_best(result, series), _minima(result), _failures(result), _choices(result, series, last)]
    return "\n\n".join(part for part in parts if part)


def last_line(error: str) -> str:
    """What an error comes down to; of a traceback, and of what a program left behind, it is the last line."""
    lines = error.strip().splitlines()
    return lines[-1] if lines else "no reason given"


def _best(result: Result, series: Convergence) -> str:
    sources = ", ".join(f"{n} {source}" for source, n in Counter(series.source).items())
    ending = f"{result.message} after {result.nfev} evaluations ({sources}); seed {result.seed}."
    if result.params is None or result.fun is None:
        return ending
    done = [t for t in result.history if t.state is not TrialState.PENDING]
    found = next(n for n, t in zip(series.number, done, strict=True) if t.feasible and t.params is result.params)
    rows = [("value", f"{result.fun:.6g}", f"found by evaluation {found}")]
    rows += [(name, _number(value), "") for name, value in _named(result.params)]
    return ending + "\n\nBest point\n" + _table(rows)


def _minima(result: Result) -> str:
    if result.fun is None:
        return ""
    if not result.local_minima:
        return "Local minima\n  none yet: no group of evaluations fits a bowl closely enough to be believed"
    rise = acceptable_rise(result.func_vals)
    limit = f"{rise:.2g} ({100 * RISE:g} % of the range seen)"
    lines = [f"Local minima, and how far each parameter may move before the value rises by {limit}"]
    for k, minimum in enumerate(result.local_minima, 1):
        lines += _minimum(k, minimum, rise)
    return "\n".join(lines)


def _minimum(k: int, minimum: LocalMinimum, rise: float) -> list[str]:
    state = "reached" if minimum.converged else "not reached yet"
    longer = np.sqrt(minimum.condition)
    shape = "a round bowl" if longer < ROUND else f"a valley {longer:.2g} times as long as wide"
    moves = sharpness(minimum, rise)
    moving = int(np.sum(np.isfinite(moves.alone)))
    others = {1: "", 2: " if the other follows"}.get(moving, " if the others follow")
    rows = []
    for (name, value), alone, followed in zip(_named(minimum.params), moves.alone, moves.followed, strict=True):
        if np.isnan(alone):
            rows.append((name, _number(value, 4), "fixed", ""))
            continue
        slack = f"(± {followed:.2g}{others})" if others else ""
        rows.append((name, _number(value, 4), f"± {alone:.2g}", slack))
    value = f"{minimum.fun:.6g} ± {minimum.error:.1g}"
    head = f"  {k}. {value} predicted, {state}: {shape}, fitted to {minimum.n_points} evaluations"
    return [head, _table(rows, indent=5)]


def _failures(result: Result) -> str:
    failed = [t for t in result.history if t.state is TrialState.FAILED]
    if not failed:
        return ""
    why = last_line(failed[-1].error or "")
    return f"{len(failed)} of {result.nfev} evaluations failed; the last at {format_point(failed[-1].params)}: {why}"


def _choices(result: Result, series: Convergence, last: int) -> str:
    done = [t for t in result.history if t.state is not TrialState.PENDING]
    if not done or last < 1:
        return ""
    rows = []
    for number, trial in list(zip(series.number, done, strict=True))[-last:]:
        value = "failed" if trial.value is None else f"{trial.value:.6g}" + ("" if trial.feasible else " (infeasible)")
        rows.append((str(number), value, str(trial.reason)))
    return "Why the last points were chosen\n" + _table(rows)


def _named(params: Params) -> list[tuple[str, Any]]:
    if isinstance(params, Mapping):
        return list(params.items())
    return [(f"x{i}", float(v)) for i, v in enumerate(params)]


def _number(value: Any, digits: int = 6) -> str:
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def _table(rows: Sequence[Sequence[str]], indent: int = 2) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        (" " * indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
        for row in rows
    )
