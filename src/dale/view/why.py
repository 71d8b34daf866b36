"""Why a trial was proposed: what was predicted, what came, what the alternatives were, how good such predictions are.

A proposal is a function of the trials before it and the seed. So the alternatives are not stored: they are computed
again from the state at which the trial was proposed, and shown only if the proposal itself comes out again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dale import methods
from dale._computing import computing
from dale.history.correction import Correction
from dale.history.direction import Direction
from dale.history.history import History
from dale.history.reason import Reason, Source
from dale.history.seeding import RandomStreams
from dale.history.snapshot import Snapshot
from dale.history.trial import Trial, TrialState, actual_reduction, find_trial
from dale.methods.base import Method, Proposal
from dale.optimizer import Optimizer
from dale.space.point import format_point
from dale.store.events import EventKind, replay
from dale.view.data.predictions import KEPT, Record, predictions, record_of
from dale.view.run_view import RunView, view_of
from dale.view.style import SOURCE_STYLES

EI_IS_NOT_ALL = "the sides do not compete by expected improvement alone: see docs/method.md"
RTOL = 1e-6  # of predictions that count as the same: libraries and processors round differently


@dataclass(frozen=True)
class Alternative:
    """A proposal that competed with the chosen one.

    Attributes:
        source: Which side proposed it.
        reason: The reason as text.
        point: The point as text.
        mean: Predicted value.
        std: Its standard deviation.
        expected_improvement: In units of the objective.
        chosen: Whether it is the trial itself.
    """

    source: Source
    reason: str
    point: str
    mean: float | None
    std: float | None
    expected_improvement: float | None
    chosen: bool


@dataclass(frozen=True)
class Why:
    """Why a trial was proposed; ``print`` shows it as text.

    Attributes:
        trial: Id of the trial.
        point: The point as text.
        state: State of the trial.
        value: Its value; None if it has none.
        feasible: Whether it is feasible.
        error_text: The error of a failed trial.
        source: Which part of the method proposed it.
        reason: The reason as text.
        predicted: Predicted value; None if no model made a prediction.
        std: Standard deviation of the prediction, noise included.
        error: Actual minus predicted value, in standard deviations.
        best_before: The best feasible value before the trial; infinite if there was none.
        noise: Standard deviation of the noise in single values; 0 for none.
        predicted_reduction: Predicted improvement of a local step on the value of its center.
        actual_reduction: The improvement that came.
        alpha_ratio: By which the length-scale was reduced or not; None if it was not computed.
        length_scale: Of the global model.
        cooled: Whether the length-scale was reduced for this proposal.
        alternatives: All proposals that competed, the chosen one included; empty if they cannot be computed again.
        alternatives_note: Why there are none.
        record: How often predictions of this source were kept in the run.
        corrections: What was changed after the outcome was reported.
        direction: Whether the objective is minimised or maximised.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: (x[0] - 1) ** 2, [(-2, 2)], budget=6, seed=0)
        >>> dale.why(result, 0).source
        <Source.INITIAL_DESIGN: 'initial_design'>
    """

    trial: int
    point: str
    state: TrialState
    value: float | None
    feasible: bool
    error_text: str | None
    source: Source
    reason: str
    predicted: float | None
    std: float | None
    error: float | None
    best_before: float
    noise: float
    predicted_reduction: float | None
    actual_reduction: float | None
    alpha_ratio: float | None
    length_scale: float | None
    cooled: bool
    alternatives: tuple[Alternative, ...]
    alternatives_note: str
    record: Record
    corrections: tuple[Correction, ...] = ()
    direction: Direction = Direction.MINIMIZE

    def __str__(self) -> str:
        return "\n".join(_text(self))


@computing()
def why(run: Any, trial: Trial | int, *, space: Any = None, method: Method | None = None) -> Why:
    """Explain a trial.

    Args:
        run: A result, an optimizer, a stored run or the path of a store.
        trial: The trial, or its id.
        space: Search space; needed only for a result that does not know it.
        method: The method of the run, if it is not the default one; an optimizer knows it.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: (x[0] - 1) ** 2, [(-2, 2)], budget=8, seed=0)
        >>> print(str(dale.why(result, 5)).splitlines()[1])
          proposed by   global model
    """
    view = view_of(run, space)
    found = find_trial(view.trials, trial)
    known = method or (run.method if isinstance(run, Optimizer) else _stored_method(view))
    alternatives, note = _alternatives(view, found, known)
    reason = found.reason
    prediction = next((p for p in predictions(view) if p.trial is found), None)
    return Why(
        trial=found.id,
        point=format_point(found.params),
        state=found.state,
        value=found.value,
        feasible=found.feasible,
        error_text=found.error,
        source=reason.source,
        reason=_reason_text(reason),
        predicted=reason.mean,
        std=reason.std if prediction is None else prediction.std,
        error=None if prediction is None else prediction.error,
        best_before=_best_before(view, found),
        noise=view.result.noise,
        predicted_reduction=None if reason.step is None else reason.step.predicted_reduction,
        actual_reduction=_actual_reduction(view, found),
        alpha_ratio=None if reason.log_alpha_ratio is None else float(np.exp(min(reason.log_alpha_ratio, 700.0))),
        length_scale=reason.length_scale,
        cooled=reason.cooled,
        alternatives=alternatives,
        alternatives_note=note,
        record=record_of(view, reason.source),
        corrections=found.corrections,
        direction=view.direction,
    )


def _reason_text(reason: Reason) -> str:
    """The reason as text; of a probe with what it tests."""
    if reason.probe_of is None:
        return str(reason)
    scatter = "" if reason.scatter is None else f", jumps of about {reason.scatter:.2g}"
    return f"{reason} (trial {reason.probe_of}{scatter})"


def _actual_reduction(view: RunView, trial: Trial) -> float | None:
    """The reduction of a local step; None for other trials, and if the step or its center has no value."""
    step = trial.reason.step
    if step is None or trial.value is None or view.trials[step.center].value is None:
        return None
    return actual_reduction(step, view.trials[step.center], trial)


def _best_before(view: RunView, trial: Trial) -> float:
    holds = view.snapshot.domain.contains
    before = (t for t in view.trials[: trial.id] if t.feasible and holds(t.unit_x[None, :])[0])
    return view.direction.from_loss(min((t.loss for t in before), default=math.inf))


def _stored_method(view: RunView) -> Method | None:
    """The default method if the store names it without changed settings, or if there is no store; else unknown."""
    default = methods.default()
    if view.run is None:
        return default
    stored = view.run.problem["method"]
    same = stored.get("name") == default.name and stored.get("revision") == default.revision
    return default if same and not stored.get("settings") else None


def _alternatives(view: RunView, trial: Trial, method: Method | None) -> tuple[tuple[Alternative, ...], str]:
    """The proposals that competed, or why they are not known."""
    reason = trial.reason
    if reason.source in (Source.ADDED, Source.USER, Source.INITIAL_DESIGN):
        return (), "none: no model was asked"
    if reason.source in (Source.REPLICATE, Source.PROBE, Source.FAILED_OPTION):
        return (), "none: this test comes before the models"
    if reason.retry_of is not None:
        return (), f"see trial {reason.retry_of}, of which this is a retry"
    if method is None or not hasattr(method, "alternatives"):
        return (), "not known for this method"
    snapshot = _snapshot_at(view, trial)
    found: tuple[Proposal, ...] = method.alternatives(
        snapshot, RandomStreams(view.result.seed, snapshot.history.n_asked)
    )
    proposals = [Proposal(point, reason.in_direction(view.direction)) for point, reason in found]
    chosen = [_is_same(p.reason, reason) for p in proposals]
    if not any(chosen):
        return (), "not known: the state at which the trial was proposed cannot be restored"
    space = view.space
    return tuple(
        Alternative(
            source=p.reason.source,
            reason=str(p.reason),
            point=format_point(space.decode(p.point)),
            mean=p.reason.mean,
            std=p.reason.std,
            expected_improvement=p.reason.expected_improvement,
            chosen=is_chosen,
        )
        for p, is_chosen in zip(proposals, chosen, strict=True)
    ), ""


def _snapshot_at(view: RunView, trial: Trial) -> Snapshot:
    """The state at which a trial was proposed. Without a store: as if all trials before it were finished by then."""
    history = view.snapshot.history
    noise = None if math.isnan(history.default_noise) else history.default_noise
    empty = History.empty(history.dimension, noise, history.direction)
    if view.run is None:
        history = empty.with_trials(view.trials[: trial.id])
    else:
        events, kinds = view.run.events, (EventKind.ASK, EventKind.ADD)
        asked = next(i for i, e in enumerate(events) if e.trial == trial.id and e.kind in kinds)
        history = replay(empty, events[:asked], view.space)
    snapshot, held = Snapshot(history, view.snapshot.domain), view.snapshot.domain.held
    return snapshot if held is None else snapshot.holding(held.values)


def _is_same(one: Reason, other: Reason) -> bool:
    if one.source is not other.source:
        return False
    if one.mean is None or other.mean is None:
        return one.mean is other.mean
    scale = max(abs(one.mean), abs(other.mean), other.std or 0.0)
    return abs(one.mean - other.mean) <= RTOL * scale


def _text(why: Why) -> list[str]:
    value = str(why.state) if why.value is None else f"{why.value:.6g}{'' if why.feasible else ' (infeasible)'}"
    lines = [f"trial {why.trial} at {why.point}: {value}"]
    rows = [("proposed by", SOURCE_STYLES[why.source].label), ("reason", why.reason)]
    rows += [("corrected", str(correction)) for correction in why.corrections]
    if why.predicted is not None:
        rows.append(("predicted", f"{why.predicted:.6g} ± {why.std or 0.0:.2g}"))
    if why.error is not None:
        side = "above" if why.error > 0 else "below"
        kept = "kept" if why.direction.loss(why.error) <= KEPT else "not kept"
        rows.append(("came", f"{value}, {abs(why.error):.2g} standard deviations {side} the prediction: {kept}"))
    if why.value is not None and math.isfinite(why.best_before):
        gain = why.direction.loss(why.best_before) - why.direction.loss(why.value)
        change = f"improved by {gain:.3g}" if why.feasible and gain > 0 else "no improvement"
        if why.noise > 0:
            change = f"single values have noise of {why.noise:.2g}, so this is no comparison of points"
        rows.append(("best before", f"{why.best_before:.6g}: {change}"))
    if why.predicted_reduction is not None and why.actual_reduction is not None:
        came = f"{why.actual_reduction:.3g}" if math.isfinite(why.actual_reduction) else "none: infeasible or failed"
        if why.noise > 0 and math.isfinite(why.actual_reduction):
            came += f" ± {math.sqrt(2) * why.noise:.2g}"
        rows.append(("step", f"predicted {why.direction.gain} {why.predicted_reduction:.3g}, actual {came}"))
    if why.length_scale is not None:
        ratio = "" if why.alpha_ratio is None else f", alpha ratio {why.alpha_ratio:.3g}"
        rows.append(("length-scale", f"{why.length_scale:.3g}, {'reduced' if why.cooled else 'kept'}{ratio}"))
    if why.error_text:
        rows.append(("error", why.error_text.strip().splitlines()[-1]))
    lines += [f"  {name:<13} {text}" for name, text in rows]
    return lines + _competition(why) + _record(why)


def _competition(why: Why) -> list[str]:
    if not why.alternatives:
        return [f"  {'alternatives':<13} {why.alternatives_note}"]
    others = [a for a in why.alternatives if not a.chosen]
    if not others:
        return [f"  {'alternatives':<13} none: no other model had a proposal"]
    lines = [f"  {'alternatives':<13} {a.reason}; at {a.point}" for a in others]
    own = max((a.expected_improvement or 0.0 for a in why.alternatives if a.chosen), default=0.0)
    if any((a.expected_improvement or 0.0) > own for a in others):
        lines.append(f"  {'':<13} ({EI_IS_NOT_ALL})")
    return lines


def _record(why: Why) -> list[str]:
    r = why.record
    if r.n == 0:
        return []
    label = SOURCE_STYLES[why.source].label
    text = f"of {r.n} predictions of the {label} in this run, {r.n_kept} were kept (value at most {KEPT:g} standard "
    text += f"deviations {why.direction.worse_side})"
    if why.noise > 0:  # the others compare single values
        return [f"  {'record':<13} {text}"]
    text += f", {r.n_improved} improved on the best value"
    if math.isfinite(r.median_ratio):
        text += f"; median of actual over predicted {why.direction.gain} {r.median_ratio:.2g}"
    return [f"  {'record':<13} {text}"]
