"""Trials as plain data, and a run from its events: nothing is thought again, every trial carries why it was chosen.

An option of a choice is stored as its number, so any object may be one. Numbers come back to the last bit.
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
from dale.history.history import History
from dale.history.reason import ClosedRegion, Reason, Source, TrustRegionStep
from dale.history.trial import Trial, TrialState
from dale.space.point import Params
from dale.space.space import Space
from dale.store.codec import is_whole, plain, restored


class Kind(StrEnum):
    """What an event of a run is."""

    OPEN = "open"  # a process began to work on the run
    ASK = "ask"  # a trial, to be evaluated
    ADD = "add"  # a trial that was evaluated elsewhere
    TELL = "tell"  # its value
    FAIL = "fail"  # its failure
    TAKE = "take"  # a trial of a process that is gone, handed out again


@dataclass(frozen=True)
class Event:
    """One thing that happened in a run; one row of the store.

    Attributes:
        number: From 1 on, without gaps.
        session: The number of the process that wrote it, among all that ever opened the store.
        kind: What it is.
        trial: Which trial it is about; None if none.
        time: When, in UTC, as ISO 8601 writes it.
        content: All else, as plain data.
    """

    number: int
    session: int
    kind: Kind
    trial: int | None
    time: str
    content: Mapping[str, Any]


def content_of(kind: Kind, trial: Trial, space: Space) -> dict[str, Any]:
    """What an event says about a trial."""
    if kind is Kind.TAKE:
        return {}
    if kind is Kind.FAIL:
        return {"error": trial.error, "retry": trial.retry}
    outcome = {"value": trial.value, "noise": trial.noise, "constraints": list(trial.constraints)}
    if kind is Kind.TELL:
        return outcome
    chosen = {
        "params": params_data(trial.params, space),
        "point": trial.unit_x.tolist(),
        "reason": reason_data(trial.reason),
        "allowed": trial.allowed,
    }
    return chosen if kind is Kind.ASK else {**chosen, "state": str(trial.state), "error": trial.error, **outcome}


def replayed(event: Event, trials: Sequence[Trial], space: Space) -> Trial | None:
    """What has become of a trial by an event; None where nothing has."""
    content = event.content
    if event.kind in (Kind.OPEN, Kind.TAKE):
        return None
    if event.kind in (Kind.ASK, Kind.ADD):
        return _new_trial(len(trials), content, space)
    before = trials[_number_of(event)]
    if event.kind is Kind.FAIL:
        return dataclasses.replace(before, state=TrialState.FAILED, error=content["error"], retry=content["retry"])
    return dataclasses.replace(before, state=TrialState.COMPLETE, error=None, retry=False, **_outcome(content))


def replay(history: History, events: Iterable[Event], space: Space) -> History:
    """The history after some more events."""
    trials, changed = list(history.trials), {}
    for event in events:
        trial = replayed(event, trials, space)
        if trial is not None:
            trials[trial.id : trial.id + 1] = [trial]
            changed[trial.id] = trial
    return history.with_trials(changed[number] for number in sorted(changed))


def params_data(params: Params, space: Space) -> dict[str, Any]:
    """A point of the user's as plain data, by name."""
    named = params if isinstance(params, Mapping) else dict(zip(space.names, params, strict=True))
    return {name: plain(space.parameters[name].to_json(value)) for name, value in named.items()}


def params_from(data: Mapping[str, Any], point: np.ndarray, space: Space) -> Params:
    """The point that data stand for; a value that no file can hold is the one that its place in the cube stands for."""
    values: dict[str, Any] = {}
    for name in space.names:
        if name not in data:
            continue
        parameter, value = space.parameters[name], data[name]
        if is_whole(value):
            values[name] = parameter.from_json(restored(value))
        else:
            decoded = space.decode(point)
            values[name] = decoded[name] if isinstance(decoded, Mapping) else decoded[space.names.index(name)]
    return space.as_params(values)


def reason_data(reason: Reason) -> dict[str, Any]:
    """A reason as plain data: what it has to say."""
    said = {f.name: getattr(reason, f.name) for f in dataclasses.fields(Reason) if f.name != "source"}
    defaults = {f.name: f.default for f in dataclasses.fields(Reason)}
    return {"source": str(reason.source)} | {k: _data(v) for k, v in said.items() if v != defaults[k]}


def reason_from(data: Mapping[str, Any]) -> Reason:
    """The reason that data stand for."""
    said = {key: _numbers(value) for key, value in data.items() if key not in ("source", "step", "closed_regions")}
    if "step" in data:
        said["step"] = TrustRegionStep(**_numbers(data["step"]))
    if "closed_regions" in data:
        said["closed_regions"] = tuple(ClosedRegion(**_numbers(region)) for region in data["closed_regions"])
    return Reason(Source(data["source"]), **said)


def _new_trial(number: int, content: Mapping[str, Any], space: Space) -> Trial:
    point = frozen(content["point"])
    params = params_from(content["params"], point, space)
    return Trial(
        number,
        params,
        space.as_array(params),
        point,
        reason_from(content["reason"]),
        state=TrialState(content.get("state", TrialState.PENDING)),
        error=content.get("error"),
        allowed=content["allowed"],
        **(_outcome(content) if "value" in content else {}),
    )


def _outcome(content: Mapping[str, Any]) -> dict[str, Any]:
    return {"value": content["value"], "noise": content["noise"], "constraints": tuple(content["constraints"])}


def _number_of(event: Event) -> int:
    return -1 if event.trial is None else event.trial


def _data(value: Any) -> Any:
    """Numbers in proper types, one that is not finite as text; tuples as lists, dataclasses as mappings."""
    if value is None or isinstance(value, bool | np.bool_):
        return None if value is None else bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, tuple):
        return [_data(v) for v in value]
    if dataclasses.is_dataclass(value):
        return {f.name: _data(getattr(value, f.name)) for f in dataclasses.fields(value)}
    number = float(value)
    return number if math.isfinite(number) else repr(number)


def _numbers(data: Any) -> Any:
    """What ``_data`` was given, mappings as such."""
    if isinstance(data, list):
        return tuple(_numbers(v) for v in data)
    if isinstance(data, Mapping):
        return {key: _numbers(value) for key, value in data.items()}
    return float(data) if isinstance(data, str) else data
