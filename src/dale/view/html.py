"""HTML of results, optimizers, runs and spaces for notebooks. All text of the user's is escaped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from dale.history.result import Result, with_std
from dale.history.trial import Trial
from dale.optimizer import Optimizer
from dale.space.point import format_point, short_repr
from dale.space.space import Space
from dale.store.run import Run
from dale.view.advice import advice
from dale.view.run_view import RunView, view_of

MAX_TEXT = 300  # characters of one cell
N_LAST = 5  # trials at the end of the run


class Markup(str):
    """Text that is HTML already."""


def html_of(thing: Any) -> str:
    """HTML of a result, an optimizer, a stored run or a space."""
    if isinstance(thing, Space):
        return _space(thing)
    if isinstance(thing, Result):
        return _result(thing)
    if isinstance(thing, Optimizer):
        return _run(view_of(thing), f"Optimizer, method {thing.method.name}, seed {thing.seed}")
    if isinstance(thing, Run):
        return _run(view_of(thing), f"Run {thing.path}, seed {thing.seed}")
    raise TypeError(f"expected a result, an Optimizer, a run or a space, got {type(thing).__name__}")


def text_of(value: Any) -> str:
    """Text of any object, shortened, without control characters, escaped for HTML."""
    if isinstance(value, Markup):
        return str(value)
    text = value if isinstance(value, str) else f"{value:.6g}" if isinstance(value, float) else short_repr(value)
    text = text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 3]}..."
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return escape(text.encode("utf-8", errors="backslashreplace").decode())


def _result(result: Result) -> str:
    title = f"{result.get('message', 'Result')} after {result.get('nfev', 0)} evaluations"
    if "_snapshot" not in result.__dict__ and "space" not in result:
        return _page(title)
    return _run(view_of(result), title)


def _run(view: RunView, title: str) -> str:
    parts = [_best(view), _minima(view), _advice(view), _last(view), _counts(view)]
    return _page(title, *(part for part in parts if part))


def _page(title: str, *parts: str) -> str:
    return f'<div class="dale"><p><b>{text_of(title)}</b></p>{"".join(parts)}</div>'


def _best(view: RunView) -> str:
    best = view.snapshot.incumbent
    if best.trial is None or best.value is None:
        return "<p>no feasible value yet</p>"
    label = "best value" if best.noise == 0 else f"best value (noise {best.noise:.2g})"
    rows = [(label, with_std(best.value, best.std)), *_params(best.trial.params, view.space)]
    return _table(["", ""], [*rows, ("found in", f"trial {best.trial.id}")])


def _params(params: Any, space: Space) -> list[tuple[str, Any]]:
    values = params if isinstance(params, Mapping) else dict(zip(space.names, params, strict=True))
    return [(name, values[name]) for name in space.names if name in values]


def _minima(view: RunView) -> str:
    minima = view.result.local_minima
    if not minima:
        return ""
    rows = [
        (
            k,
            f"{m.fun:.6g} ± {m.error:.1g}",
            format_point(m.params),
            f"{m.condition:.3g}",
            "yes" if m.converged else "no",
        )
        for k, m in enumerate(minima, 1)
    ]
    return _table([view.direction.optimum, "predicted value", "point", "condition", "converged"], rows)


def _advice(view: RunView) -> str:
    items = "".join(f"<li>{text_of(str(item))}</li>" for item in advice(view))
    return f"<ul>{items}</ul>" if items else ""


def _counts(view: RunView) -> str:
    counts = Counter(str(t.state) for t in view.trials)
    return f"<p>trials: {text_of(', '.join(f'{n} {state}' for state, n in counts.items()) or 'none yet')}</p>"


def _last(view: RunView) -> str:
    last: Sequence[Trial] = view.trials[-N_LAST:]
    if not last:
        return ""
    rows = [
        (t.id, str(t.state) if t.value is None else f"{t.value:.6g}", format_point(t.params), str(t.reason))
        for t in last
    ]
    table = _table(["trial", "value", "point", "why"], rows)
    return f"<details><summary>last trials</summary>{table}</details>"


def _space(space: Space) -> str:
    rows = []
    for name in space.names:
        parameter = space.parameters[name]
        conditions = " and ".join(
            f"{parent} in {list(permitted.options)!r}" for parent, permitted in space.conditions.get(name, {}).items()
        )
        settings = ", ".join(f"{key}={short_repr(value)}" for key, value in parameter.settings.items())
        rows.append((name, type(parameter).__name__, settings, conditions))
    size = "" if space.cardinality is None else f", {space.cardinality} points"
    n = len(space.names)
    title = f"Space of {n} parameter{'s' if n > 1 else ''}{size}"
    has_conditions = any(row[3] for row in rows)
    head = ["parameter", "type", "settings", "active when"]
    return _page(title, _table(head if has_conditions else head[:3], [r if has_conditions else r[:3] for r in rows]))


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    body = "".join(f"<tr>{''.join(_cell(cell) for cell in row)}</tr>" for row in rows)
    if not any(head):
        return f"<table><tbody>{body}</tbody></table>"
    top = "".join(f"<th>{text_of(cell)}</th>" for cell in head)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _cell(cell: Any) -> str:
    number = isinstance(cell, int | float | np.number) and not isinstance(cell, bool)
    return f'<td style="text-align: {"right" if number else "left"}">{text_of(cell)}</td>'
