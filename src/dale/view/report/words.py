"""The summary at the top of the page: the best point, how sure it is, what limits it and what to do next."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from inspect import Parameter as Argument
from inspect import signature
from typing import Any

import numpy as np

from dale.history.failures import describe_failures
from dale.history.reason import Source
from dale.history.result import with_std
from dale.history.stopping import Status
from dale.space.point import short_repr
from dale.view.advice import Advice, ConstraintActivity, Failures, Noise, OnBound, advice
from dale.view.data.predictions import calibration_data
from dale.view.forecast import Outlook
from dale.view.run_view import RunView

N_DIGITS = 8  # of the best value
MAX_TEXT = 400  # characters of a value of the user's
RECENT = 0.2  # fraction of the evaluations: an improvement among the last of them is recent
MANY_FAILURES = 0.2  # fraction of the evaluations from which the first advice is to look at the errors
N_COVERAGE = 10  # predictions from which their calibration is stated
UNEXPLORED = "No method can rule out a {} value in parts of the space that have not been explored."


def summary_of(view: RunView, *, live: bool, budget: int | None, message: str | None) -> dict[str, Any]:
    """The summary as JSON data: lists of sentences."""
    items = advice(view)
    stated = [str(item) for item in items if not isinstance(item, Failures | Noise | ConstraintActivity | Outlook)]
    return {
        "status": _status(view, live=live, budget=budget, message=message),
        "best": _best(view),
        "sure": _how_sure(view),
        "limits": stated or [_no_limit(view)],
        "next": _next(view, items, live=live),
        "lines": _lines(view, items),
    }


def text_of(value: Any) -> str:
    """A value of the user's as text, shortened."""
    text = f"{value:.7g}" if isinstance(value, float) else value if isinstance(value, str) else short_repr(value)
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 3]}..."


def declared(view: RunView, name: str) -> str:
    """A parameter as the user declares it, without arguments that have their default."""
    parameter, text = view.space.parameters[name], short_repr(view.space.declared(name))
    given = signature(type(parameter)).parameters
    settings = [(key, value) for key, value in parameter.settings.items() if given[key].default is not value]
    shown = ", ".join(short_repr(v) if given[k].default is Argument.empty else f"{k}={v!r}" for k, v in settings)
    whole = short_repr(parameter)
    return f"{type(parameter).__name__}({shown}){text[len(whole) :]}" if text.startswith(whole) else text


def _status(view: RunView, *, live: bool, budget: int | None, message: str | None) -> str:
    n, of = view.snapshot.history.n_evaluated, "" if budget is None else f" of {budget}"
    if live:
        return f"In progress: {n}{of} evaluations"
    added = sum(t.reason.source is Source.ADDED for t in view.trials)
    counted = f"{n}{of} evaluation{'' if n == 1 and budget is None else 's'}{f' and {added} added' if added else ''}"
    ending = message or str(view.result.message)
    return f"{ending} after {counted}" if view.result.status is not Status.IN_PROGRESS or message else counted


def _best(view: RunView) -> dict[str, Any] | None:
    best = view.snapshot.incumbent
    if best.trial is None or best.value is None:
        return None
    named = view.named(best.trial)
    return {
        "value": with_std(best.value, best.std, N_DIGITS),
        "noisy": view.is_noisy,
        "trial": best.trial.id,
        "params": [[name, text_of(named[name])] for name in view.space.names if name in named],
    }


def _how_sure(view: RunView) -> list[str]:
    if view.best is None:
        return [f"{view.result.message}."] if view.finished else ["No evaluation has ended yet."]
    lines = [_minimum(view), _last_improvement(view)]
    if len(view.inliers) > 2 * len(view.space.names) and np.ptp(view.values) > 0:
        explained = 100 * max(view.surrogate.explained, 0.0)
        share = "more than 99 %" if explained > 99.5 else f"{explained:.0f} %"
        lines.append(f"The surrogate of this page explains {share} of the variance of values that it has not seen.")
    data = calibration_data(view)
    if len(data.trial) >= N_COVERAGE:
        n, kept = len(data.trial), 100 * data.coverage[-1]
        lines.append(f"Of {n} predictions, {kept:.0f} % had their value within the 95 % interval.")
    return [*lines, UNEXPLORED.format(view.direction.better)]


def _minimum(view: RunView) -> str:
    minima, best, way = view.result.local_minima, view.snapshot.incumbent.value, view.direction
    if not np.all(view.space.ordered):
        return (
            f"With unordered options or conditional parameters, local {way.optima} and their errors are not computed."
        )
    if not minima or best is None:
        return f"No local {way.optimum} is identified yet: no local model predicts its observations well enough."
    first = minima[0]
    if first.converged:
        return (
            f"Converged: the local model, fitted to {first.n_points} evaluations, expects no {way.better} value near "
            f"the best point (error {first.error:.1g})."
        )
    gain = way.loss(best) - way.loss(first.fun)
    by = f", {gain:.2g} {way.better_side} the best value" if gain > first.error else ""
    return f"Not converged: the local model predicts a {way.optimum} of {first.fun:.6g} ± {first.error:.1g}{by}."


def _last_improvement(view: RunView) -> str:
    trial, later = _improvement(view)
    return f"The last improvement was trial {trial}; {later} evaluation{'' if later == 1 else 's'} ended after it."


def _improvement(view: RunView) -> tuple[int, int]:
    """The trial of the last improvement, and how many finished trials came after it."""
    if view.is_noisy and view.best is not None:
        last = view.best.id
    else:
        lowest, last = math.inf, 0
        for trial in view.finished:
            if trial.feasible and trial.loss < lowest:
                lowest, last = trial.loss, trial.id
    return last, sum(t.id > last for t in view.finished)


def _no_limit(view: RunView) -> str:
    return "Nothing that dale can see." if view.best is not None else "There is no feasible value yet."


def _next(view: RunView, items: tuple[Advice, ...], *, live: bool) -> list[str]:
    steps = []
    failures = next((item for item in items if isinstance(item, Failures)), None)
    if failures is not None and failures.n >= MANY_FAILURES * failures.n_evaluated:
        steps.append("Look at the errors in the table of trials first: failed evaluations use up the budget.")
    if live:
        return [*steps, "Wait: the run is in progress, and this page reloads itself."]
    if view.best is None:
        return [*steps, "Evaluate more points, or start from a point that is known to work (x0)."]
    if any(isinstance(item, OnBound) for item in items):
        steps.append("Extend the range of the parameters that lie on a bound, and run again.")
    _, later = _improvement(view)
    minima = view.result.local_minima
    if minima and minima[0].converged:
        way = view.direction
        steps.append(
            f"More evaluations hardly improve this {way.optimum}. Continue only to look for other {way.optima}."
        )
    elif later <= RECENT * len(view.finished):
        steps.append("The best value improved recently: continue with a larger budget.")
    else:
        steps.append(f"Continue with a larger budget if a {view.direction.better} value is worth it.")
    steps += [str(item) for item in items if isinstance(item, Outlook)]
    if view.run is not None:
        steps.append(f"To continue, re-run the same command with a larger budget; {view.run.path.name} keeps the run.")
    else:
        steps.append("This run has no store: pass store= next time, so that it can be continued.")
    return steps


def _lines(view: RunView, items: tuple[Advice, ...]) -> list[list[str]]:
    """Noise, failures and constraints in one line each."""
    found = {type(item): str(item) for item in items}
    states = Counter(str(t.state) for t in view.trials)
    trials = ", ".join(f"{n} {state}" for state, n in states.items()) or "none yet"
    no_constraints = "no outcome constraints" if view.snapshot.domain.allowed_set is None else "on the inputs only"
    rows = [
        ["Trials", trials],
        ["Noise", found.get(Noise, "none detected" if view.inliers else "not known yet")],
        ["Failures", found.get(Failures, "none")],
        ["Constraints", found.get(ConstraintActivity, no_constraints)],
    ]
    kinds = describe_failures(view.trials)
    if len(kinds) > 1:
        rows += [["", line] for line in kinds]
    return rows


def facts_of(view: RunView) -> list[list[str]]:
    """Seed, method, store and times."""
    facts = [["Seed", str(view.result.seed)]]
    if view.snapshot.domain.held is not None:
        held = view.snapshot.domain.held.values
        facts.append(["Held", ", ".join(f"{text_of(name)} = {text_of(value)}" for name, value in held.items())])
    if view.run is None:
        return facts
    method: Mapping[str, Any] = view.run.problem["method"]
    events = view.run.events
    facts += [["Method", text_of(str(method.get("name")))], ["Store", str(view.run.path.name)]]
    if events:
        facts += [["First event", f"{events[0].time[:19]} UTC"], ["Last event", f"{events[-1].time[:19]} UTC"]]
    return facts
