"""Events: trials as JSON, and trials from a sequence of events.

Every trial is stored with the reason for its choice, so that no proposal is computed again. The option of a choice is
stored as its index, so any object may be an option. Numbers are restored to the last bit.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from dale._arrays import frozen
from dale.history.direction import Direction
from dale.history.evaluation import Evaluation, check_evaluation
from dale.history.history import History
from dale.history.reason import ClosedRegion, Reason, Source, TrustRegionStep
from dale.history.transitions import corrected
from dale.history.trial import Trial, TrialState
from dale.space.point import Params, by_name
from dale.space.space import Space
from dale.store.codec import from_json, is_lossless, to_json


class EventKind(StrEnum):
    """What happened.

    Examples:
        >>> EventKind("tell")
        <EventKind.TELL: 'tell'>
    """

    OPEN = "open"  # a process opened the run
    ASK = "ask"  # a trial was proposed
    ADD = "add"  # a trial that was evaluated elsewhere was added
    TELL = "tell"  # the value of a trial was reported
    FAIL = "fail"  # the failure of a trial was reported
    AMEND = "amend"  # the value of a trial was corrected
    DISCARD = "discard"  # a trial was discarded
    REASSIGN = "reassign"  # the pending trial of a process that has ended was handed to another process


CORRECTIONS = (EventKind.AMEND, EventKind.DISCARD)


@dataclass(frozen=True)
class Event:
    """One event of a run: one row of the store.

    Attributes:
        number: 1, 2, 3, ... without gaps.
        session: Number of the session that wrote it; each process that opens the store begins one.
        kind: What happened.
        trial: Id of the trial concerned; None for ``OPEN``.
        time: UTC time in ISO 8601 format.
        content: Everything else, as JSON data.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: x[0] ** 2, [(-2, 2)], budget=1, seed=0, store="run.db")
        >>> [str(event.kind) for event in dale.open("run.db").events]
        ['open', 'ask', 'tell']
    """

    number: int
    session: int
    kind: EventKind
    trial: int | None
    time: str
    content: Mapping[str, Any]


def event_content(kind: EventKind, trial: Trial, space: Space) -> dict[str, Any]:
    """The content of an event about a trial."""
    if kind is EventKind.REASSIGN:
        return {}
    if kind is EventKind.FAIL:
        return {"error": trial.error, "retry": trial.retry}
    note = {"who": trial.corrections[-1].who, "why": trial.corrections[-1].why} if kind in CORRECTIONS else {}
    if kind is EventKind.DISCARD:
        return note
    extra = {"extra": trial.extra} if trial.extra else {}
    outcome = {"value": trial.value, "noise": trial.noise, "constraints": list(trial.constraints), **extra}
    if kind in (EventKind.TELL, EventKind.AMEND):
        return {**outcome, **note}
    proposed = {
        "params": params_to_json(trial.params, space),
        "unit_x": trial.unit_x.tolist(),
        "reason": reason_to_json(trial.reason),
        "allowed": trial.allowed,
    }
    if kind is EventKind.ASK:
        return proposed
    return {**proposed, "state": str(trial.state), "error": trial.error, **outcome}


def replay(history: History, events: Iterable[Event], space: Space) -> History:
    """The history after some more events."""
    trials, changed = list(history.trials), {}
    for event in events:
        trial = _apply(event, trials, space, history.direction)
        if trial is not None:
            trials[trial.id : trial.id + 1] = [trial]
            changed[trial.id] = trial
    return history.with_trials(changed[number] for number in sorted(changed))


def _apply(event: Event, trials: Sequence[Trial], space: Space, direction: Direction) -> Trial | None:
    """The trial that an event adds to the trials or changes; None if it does neither."""
    content = event.content
    if event.kind in (EventKind.OPEN, EventKind.REASSIGN) or event.trial is None:
        return None
    if event.kind in (EventKind.ASK, EventKind.ADD):
        return _new_trial(len(trials), content, space, direction)
    before = trials[_earlier(event.trial, len(trials))]
    if event.kind in CORRECTIONS:
        after = None if event.kind is EventKind.DISCARD else Evaluation(**_outcome(content))
        who, why = _text(content["who"]), _text(content["why"])
        return corrected(before, after, who=who, when=event.time, why=why, n_trials=len(trials))
    if event.kind is EventKind.FAIL:
        error, retry = _error(content["error"]), bool(content["retry"])
        return dataclasses.replace(before, state=TrialState.FAILED, error=error, retry=retry)
    return dataclasses.replace(before, state=TrialState.COMPLETE, error=None, retry=False, **_outcome(content))


def params_to_json(params: Params, space: Space) -> dict[str, Any]:
    """A point as JSON data, by name."""
    named = by_name(params, space.names).items()
    return {name: to_json(space.parameters[name].to_json(value)) for name, value in named}


def params_from_json(data: Mapping[str, Any], unit_x: np.ndarray, space: Space) -> Params:
    """A point from JSON data; a value that cannot be stored is decoded from the unit cube instead."""
    values: dict[str, Any] = {}
    for name in space.names:
        if name not in data:
            continue
        parameter, value = space.parameters[name], data[name]
        if is_lossless(value):
            values[name] = parameter.check(parameter.from_json(from_json(value)), name)
        else:
            decoded = space.decode(unit_x)
            values[name] = decoded[name] if isinstance(decoded, Mapping) else decoded[space.names.index(name)]
    return space.as_params(values)


def reason_to_json(reason: Reason) -> dict[str, Any]:
    """A reason as JSON data, without the fields that have their default value."""
    values = {f: getattr(reason, f.name) for f in dataclasses.fields(Reason) if f.name != "source"}
    changed = {f.name: _fields_to_json(value) for f, value in values.items() if value != f.default}
    return {"source": str(reason.source), **changed}


def reason_from_json(data: Mapping[str, Any]) -> Reason:
    """A reason from JSON data."""
    values = _known_fields(Reason, data)
    values["source"] = Source(data["source"])
    if "step" in data:
        values["step"] = TrustRegionStep(**_known_fields(TrustRegionStep, data["step"]))
    if "closed_regions" in data:
        regions = data["closed_regions"]
        values["closed_regions"] = tuple(ClosedRegion(**_known_fields(ClosedRegion, region)) for region in regions)
    return Reason(**values)


def _known_fields(kind: type, data: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers that a dataclass has as fields; a newer version of dale may have stored more."""
    return {
        f.name: _numbers(data[f.name], str(f.type))
        for f in dataclasses.fields(kind)
        if f.name in data and f.name not in ("source", "step", "closed_regions")
    }


def _new_trial(number: int, content: Mapping[str, Any], space: Space, direction: Direction) -> Trial:
    unit_x = frozen(content["unit_x"])
    if unit_x.shape != (space.dimension,) or not np.all((unit_x >= 0) & (unit_x <= 1)):
        raise ValueError(f"expected {space.dimension} coordinates between 0 and 1, got {unit_x}")
    params = params_from_json(content["params"], unit_x, space)
    reason = reason_from_json(content["reason"])
    centers = [region.center for region in (*reason.closed_regions, reason.step) if region is not None]
    for earlier in (*centers, reason.retry_of, reason.probe_of):
        _earlier(0 if earlier is None else earlier, max(number, 1))
    state = TrialState(content.get("state", TrialState.PENDING))
    return Trial(
        number,
        params,
        space.as_array(params),
        unit_x,
        reason,
        state=state,
        error=_error(content.get("error")),
        allowed=bool(content["allowed"]),
        direction=direction,
        **(_outcome(content) if state is TrialState.COMPLETE else {}),
    )


def _outcome(content: Mapping[str, Any]) -> dict[str, Any]:
    return vars(check_evaluation(content["value"], content["noise"], content["constraints"], content.get("extra")))


def _error(text: Any) -> str | None:
    return None if text is None else _text(text)


def _text(text: Any) -> str:
    if not isinstance(text, str):
        raise TypeError(f"expected text, got {text!r}")
    return text


def _earlier(trial: Any, n: int) -> int:
    """The id of one of n earlier trials."""
    if not isinstance(trial, int) or not 0 <= trial < n:
        raise ValueError(f"expected the id of one of {n} trials, got {trial!r}")
    return trial


def _fields_to_json(value: Any) -> Any:
    """Numbers as Python numbers, infinity and NaN as text, tuples as lists, dataclasses as mappings without None."""
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, tuple):
        return [_fields_to_json(v) for v in value]
    if dataclasses.is_dataclass(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return {name: _fields_to_json(field) for name, field in fields.items() if field is not None}
    number = float(value)
    return number if math.isfinite(number) else repr(number)


def _numbers(data: Any, kind: str) -> Any:
    """Numbers from ``_fields_to_json``, with the annotation of their field; several are a list there, a tuple here."""
    if isinstance(data, list) and "tuple" in kind:
        return tuple(_numbers(v, "tuple" if isinstance(v, list) else "float") for v in data)
    if isinstance(data, bool) or (data is None and "None" in kind):
        return data
    number = float(data)  # or an error; text is infinity or NaN
    return data if isinstance(data, int) else number
