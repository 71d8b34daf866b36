"""A text summary of a run: best point, local minima with tolerances, failures, reasons for the last proposals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dale.history.failures import describe_failures
from dale.history.local_minimum import LocalMinimum
from dale.history.result import Result, with_std
from dale.space.point import Params
from dale.space.space import Space
from dale.view.advice import Failures, advice
from dale.view.run_view import view_of
from dale.view.style import SOURCE_STYLES
from dale.view.tolerances import RELATIVE_RISE, acceptable_rise, parameter_tolerances

N_EXPLAINED = 5  # trials at the end of the run
N_DIGITS = 6  # of values
ROUND = 1.5  # ratio of the axes below which a basin is called round


def summary(result: Result, *, n_explained: int = N_EXPLAINED) -> str:
    """Summarise a result in a few paragraphs of plain text.

    Args:
        result: Result of the run.
        n_explained: For how many of the last trials to print the reason of the proposal.

    Examples:
        >>> import dale
        >>> from dale.view import summary
        >>> result = dale.minimize(lambda x: (x[0] - 1) ** 2, [(-2, 2)], budget=3, seed=0)
        >>> print(summary(result).splitlines()[0])
        The budget is spent after 3 evaluations (3 initial design); seed 0.
    """
    parts = [_best(result), _minima(result), _advice(result), _failures(result), _proposals(result, n_explained)]
    return "\n\n".join(part for part in parts if part)


def _best(result: Result) -> str:
    finished = view_of(result).finished
    counts = Counter(SOURCE_STYLES[t.reason.source].label for t in finished)
    sources = ", ".join(f"{n} {label}" for label, n in counts.items())
    ending = (
        f"{result.message} after {result.nfev} evaluations{f' ({sources})' if sources else ''}; seed {result.seed}."
    )
    if result.params is None or result.fun is None:
        return ending
    best = next(t for t in finished if t.feasible and t.params is result.params)
    noise = f"; values there have noise of {result.noise:.2g}" if result.get("noise") else ""
    value = with_std(result.fun, result.get("fun_std", 0.0), N_DIGITS)
    rows = [("value", value, f"found in trial {best.id}{noise}")]
    rows += [(name, _number(value), "") for name, value in _named(result.params)]
    return ending + "\n\nBest point\n" + _table(rows)


def _minima(result: Result) -> str:
    if result.fun is None:
        return ""
    view = view_of(result)
    title = f"Local {view.direction.optima}"
    if not np.all(result.space.ordered):
        return f"{title}\n  none: a model across unordered options or conditional parameters has no meaning"
    if not result.local_minima:
        return f"{title}\n  none identified yet: no local model predicts its observations well enough"
    rise = acceptable_rise(view.values)
    limit = f"{rise:.2g} ({100 * RELATIVE_RISE:g} % of the observed range)"
    lines = [f"{title}, and how far each parameter can move before the value {view.direction.decline}s by {limit}"]
    for k, minimum in enumerate(result.local_minima, 1):
        lines += _minimum(k, minimum, rise, result.space)
    return "\n".join(lines)


def _minimum(k: int, minimum: LocalMinimum, rise: float, space: Space) -> list[str]:
    state = "converged" if minimum.converged else "not converged"
    ratio = np.sqrt(minimum.condition)  # of the longest to the shortest axis of the contours
    shape = "round" if ratio < ROUND else f"{ratio:.2g} times as long as wide"
    tolerances = parameter_tolerances(minimum, rise)
    n_free = int(np.sum(np.isfinite(tolerances.individual)))
    others = {1: "", 2: " if the other is adjusted"}.get(n_free, " if the others are adjusted")
    rows = []
    for (name, value), individual, joint in zip(
        _named(minimum.params), tolerances.individual, tolerances.joint, strict=True
    ):
        if np.isnan(individual):
            determined = space.equalities is not None and name in space.equalities.determined
            rows.append((name, _number(value, 4), "determined by the others" if determined else "fixed", ""))
            continue
        rows.append((name, _number(value, 4), f"± {individual:.2g}", f"(± {joint:.2g}{others})" if others else ""))
    value = f"{minimum.fun:.6g} ± {minimum.error:.1g}"
    head = f"  {k}. predicted value {value}, {state}; basin {shape}, fitted to {minimum.n_points} evaluations"
    return [head, _table(rows, indent=5)]


def _advice(result: Result) -> str:
    items = [item for item in advice(result) if not isinstance(item, Failures)]
    return "Advice\n" + "\n".join(f"  {item}" for item in items) if items else ""


def _failures(result: Result) -> str:
    lines = describe_failures(result.history)
    return (
        "\n".join([f"{result.n_failed} of {result.nfev} evaluations failed", *(f"  {line}" for line in lines)])
        if lines
        else ""
    )


def _proposals(result: Result, n_explained: int) -> str:
    finished = view_of(result).finished
    if not finished or n_explained < 1:
        return ""
    rows = []
    for trial in finished[-n_explained:]:
        value = "failed" if trial.value is None else f"{trial.value:.6g}" + ("" if trial.feasible else " (infeasible)")
        rows.append((f"trial {trial.id}", value, str(trial.reason)))
    return "Last trials and why they were proposed\n" + _table(rows)


def _named(params: Params) -> list[tuple[str, Any]]:
    if isinstance(params, Mapping):
        return list(params.items())
    return [(f"x{i}", float(v)) for i, v in enumerate(params)]


def _number(value: Any, digits: int = N_DIGITS) -> str:
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def _table(rows: Sequence[Sequence[str]], indent: int = 2) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        (" " * indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
        for row in rows
    )
