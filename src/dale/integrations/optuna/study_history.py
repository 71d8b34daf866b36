"""The trials of a study as a history of dale.

A proposal of dale is a function of the trials and of the reasons why they were chosen. The sampler therefore publishes
each proposal with its reason as a system attribute of its trial, before the objective starts: other processes then know
the point of a running trial, and all of them know the state of the trust regions. In an attribute, trials are called by
their Optuna numbers; here, by their position in the history.

    complete          a value, and constraints if there are any; failed if one of them is not finite
    pruned            the last reported value; failed if there is none, or if it would be the best value of all
    failed            failed, unless it has been retried
    running           pending, if all of its parameters are known
    waiting           left out

A trial that has no point in the space is left out too: without one of the parameters, or with a value out of range.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from zlib import crc32

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial
from optuna.trial import TrialState as State

from dale._arrays import Vector
from dale.errors import SpaceError
from dale.history.direction import Direction
from dale.history.history import History
from dale.history.reason import Reason, Source
from dale.history.snapshot import Cache, Snapshot
from dale.history.trial import Trial, TrialState
from dale.integrations.optuna.search_space import active_values
from dale.space.domain import Domain
from dale.space.point import Params
from dale.space.space import Space
from dale.store.events import reason_from_json, reason_to_json

PROPOSAL = "dale:proposal"  # the system attribute
CONSTRAINTS = "constraints"  # of Optuna: a list, or since Optuna 5 one attribute for each, after a colon
RETRIES = "retry_history"  # of Optuna: numbers of the failed trials that a trial retries
MAX_LENGTH = 60_000  # of an attribute as text; a column of MySQL holds 65,535 bytes


class Point(NamedTuple):
    """Where a trial is, in the user's units and in the unit cube."""

    params: Params
    unit_x: Vector


class StudyHistory:
    """A study as dale sees it, brought up to date trial by trial.

    Args:
        space: The space.
        distributions: Those of its parameters.
        noise: Standard deviation of the noise in the values; None if unknown.
        direction: Whether the study minimises or maximises.
    """

    def __init__(
        self, space: Space, distributions: Mapping[str, BaseDistribution], noise: float | None, direction: Direction
    ) -> None:
        self.space = space
        self._distributions = distributions
        self._noise = noise
        self.direction = direction
        self._domain = Domain.of(space)
        self._cache = Cache()
        self._fingerprint = fingerprint(space)
        self._points: dict[int, tuple[dict[str, Any], Point | None]] = {}  # of finished trials by number, with params
        self._clear()

    def _clear(self) -> None:
        self._history = History.empty(self.space.dimension, self._noise, self.direction)
        self._kept: dict[int, tuple[Any, Trial]] = {}  # by number, with what it was made of
        self.numbers: list[int] = []  # of the trials in the history

    def update(self, trials: Sequence[FrozenTrial]) -> Snapshot:
        """The state of a run with these trials, in the order of their numbers."""
        names = _constraint_names(trials)
        retried = {number for t in trials for number in t.system_attrs.get(RETRIES, ())}
        used = [(t, point) for t in trials if (point := self._point(t, names, retried)) is not None]
        numbers = [t.number for t, _ in used]
        if numbers[: len(self.numbers)] != self.numbers:
            self._clear()
        self.numbers = numbers
        ids = {number: i for i, number in enumerate(numbers)}
        losses = (self.direction.loss(t.values[0]) for t, _ in used if t.state is State.COMPLETE)
        best = min(losses, default=-math.inf)
        changed = [new for t, point in used if (new := self._changed(t, point, ids, names, best)) is not None]
        self._history = self._history.with_trials(changed)
        return Snapshot(self._history, self._domain, self._cache)

    def _point(self, trial: FrozenTrial, names: Sequence[str], retried: set[int]) -> Point | None:
        """Where a trial is; None if it is left out."""
        if names and trial.state is State.COMPLETE and not constraints_of(trial).keys() >= set(names):
            return None
        if trial.state is State.WAITING or (trial.state is State.FAIL and trial.number in retried):
            return None
        if not trial.state.is_finished():
            return self._read({**self._proposed(trial), **trial.params})
        params, point = self._points.get(trial.number, (None, None))
        if params != trial.params:  # a new trial, or one of another study
            point = self._read(trial.params)
            self._points[trial.number] = trial.params, point
        return point

    def _proposed(self, trial: FrozenTrial) -> dict[str, Any]:
        """The parameters that were proposed for a running trial: it may not have asked for all of them."""
        published = trial.system_attrs.get(PROPOSAL, {"params": {}})["params"]
        known = self._distributions.keys() & published.keys()
        return {name: self._distributions[name].to_external_repr(published[name]) for name in known}

    def _read(self, params: dict[str, Any]) -> Point | None:
        try:
            return Point(*self.space.read(active_values(params, self.space)))
        except (SpaceError, TypeError):
            return None

    def _changed(
        self, trial: FrozenTrial, point: Point, ids: Mapping[int, int], names: Sequence[str], best: float
    ) -> Trial | None:
        """A trial of dale; None if it is the one that is in the history already."""
        outcome = self._outcome(trial, names, best)
        made_of = (trial.state, point.unit_x.tobytes(), tuple(outcome.values()))
        if trial.number in self._kept and self._kept[trial.number][0] == made_of:
            return None
        x, reason = self.space.as_array(point.params), self._reason(trial, ids)
        made = Trial(ids[trial.number], point.params, x, point.unit_x, reason, direction=self.direction, **outcome)
        self._kept[trial.number] = made_of, made
        return made

    def _outcome(self, trial: FrozenTrial, names: Sequence[str], best: float) -> dict[str, Any]:
        """What has become of a trial, as far as it is known."""
        if not trial.state.is_finished():
            return {"state": TrialState.PENDING}
        value = self._value(trial, best)
        constraints = tuple(float(constraints_of(trial).get(name, math.nan)) for name in names)
        if value is None or not all(map(math.isfinite, (value, *constraints))):
            return {"state": TrialState.FAILED, "error": f"the trial is {trial.state.name}"}
        return {"state": TrialState.COMPLETE, "value": value, "constraints": constraints}

    def _value(self, trial: FrozenTrial, best: float) -> float | None:
        if trial.state is State.COMPLETE:
            return float(trial.values[0])
        if trial.state is State.PRUNED and trial.last_step is not None:
            reported = float(trial.intermediate_values[trial.last_step])
            return reported if self.direction.loss(reported) > best else None
        return None

    def _reason(self, trial: FrozenTrial, ids: Mapping[int, int]) -> Reason:
        """Why a trial was chosen; not by this method if its point is not the published one, or from another space."""
        published = trial.system_attrs.get(PROPOSAL)
        if published is None or published["space"] != self._fingerprint:
            return Reason(Source.USER)
        proposed = published["params"]
        asked = proposed if trial.state.is_finished() else proposed.keys() & trial.params.keys()
        for name in asked:
            if name not in trial.params or _internal(trial, name) != proposed[name]:
                return Reason(Source.USER)
        return _renumbered(reason_from_json(published["reason"]), ids)

    def publication(self, params: Mapping[str, Any], reason: Reason) -> dict[str, Any]:
        """A proposal as the attribute of its trial, with the parameters as a storage keeps them."""
        numbered = _renumbered(reason, dict(enumerate(self.numbers)))
        internal = {name: self._distributions[name].to_internal_repr(value) for name, value in params.items()}
        data = {"space": self._fingerprint, "params": internal, "reason": reason_to_json(numbered)}
        if len(json.dumps(data)) > MAX_LENGTH and numbered.step is not None:  # its shape has d^2 numbers
            ball = dataclasses.replace(numbered, step=dataclasses.replace(numbered.step, shape=None))
            data["reason"] = reason_to_json(ball)
        return data


def constraints_of(trial: FrozenTrial) -> dict[str, float]:
    """The constraints of a trial by name, as any version of Optuna keeps them."""
    attributes, prefix = trial.system_attrs, f"{CONSTRAINTS}:"
    found = {str(i): value for i, value in enumerate(attributes.get(CONSTRAINTS) or ())}
    return {**found, **{key.removeprefix(prefix): v for key, v in attributes.items() if key.startswith(prefix)}}


def fingerprint(space: Space) -> str:
    """Tells spaces with other coordinates apart; conditions do not change the coordinates."""
    return f"{crc32(repr(sorted(space.parameters.items())).encode()):08x}"


def _constraint_names(trials: Sequence[FrozenTrial]) -> list[str]:
    """Names of the constraints of the last completed trial that has any."""
    last = (c for t in reversed(trials) if t.state is State.COMPLETE and (c := constraints_of(t)))
    return sorted(next(last, {}))


def _internal(trial: FrozenTrial, name: str) -> float:
    return trial.distributions[name].to_internal_repr(trial.params[name])


def _renumbered(reason: Reason, numbers: Mapping[int, int]) -> Reason:
    """A reason with other numbers for the trials; without what it says about trials that have none."""
    step, closed = reason.step, [c for c in reason.closed_regions if c.center in numbers]
    if step is not None:
        step = dataclasses.replace(step, center=numbers[step.center]) if step.center in numbers else None
    regions = tuple(dataclasses.replace(c, center=numbers[c.center]) for c in closed)
    return dataclasses.replace(reason, step=step, closed_regions=regions)
