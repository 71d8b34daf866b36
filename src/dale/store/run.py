"""Inspect a run on disk: ``dale.open("run.db")``. The file is not written to, and no code from it is executed."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from dale.errors import StoreError
from dale.history.evaluation import check_default_noise
from dale.history.history import History
from dale.history.run_state import RunState
from dale.history.seeding import check_seed
from dale.history.snapshot import Snapshot
from dale.history.trial_table import write_csv
from dale.space.constraints import as_constraints
from dale.space.domain import Domain
from dale.space.space import Space, as_space
from dale.store.events import CORRECTIONS, Event, EventKind, params_to_json, reason_to_json, replay
from dale.store.location import resolve_path
from dale.store.problem import MAX_SHOWN, differences, direction_of, space_from_json, space_to_json, with_equalities
from dale.store.sqlite import copy, read, translate_errors


def open_run(path: str | os.PathLike[str], space: Any = None) -> Run:
    """Open a stored run for inspection, as it is now; it may still be in progress.

    Args:
        path: The path that was passed as ``store=``.
        space: The space of the run. It is needed only if options or parameters cannot be stored: an option that is a
            function, for example, is otherwise replaced by an object with the same repr.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: (x[0] - 1) ** 2, [(-2, 2)], budget=4, seed=0, store="run.db")
        >>> run = dale.open("run.db")
        >>> len(run.history), run.best_value == result.fun
        (4, True)
    """
    resolved = resolve_path(path)
    if not resolved.is_file():
        raise StoreError(f"{resolved} does not exist; expected the path that was passed as store=")
    problem, events, _ = read(resolved)
    given = None if space is None else as_space(space)
    with translate_errors(resolved, "read"):
        found = [] if given is None else list(differences(problem["space"], space_to_json(given), ("space",)))
        if found:
            raise StoreError(f"{resolved} holds another problem: {'; '.join(found[:MAX_SHOWN])}; pass its own space")
        own = _stored_space(problem, resolved) if given is None else with_equalities(given, problem["space"])
        return Run(resolved, problem, events, own)


def _stored_space(problem: Mapping[str, Any], path: Path) -> Space:
    try:
        return space_from_json(problem["space"])
    except StoreError as error:
        raise StoreError(f"{path}: {error}") from None


class Run(RunState):
    """A stored run, as it was when it was opened. Input constraints, which are code, are known only at the trials.

    Attributes:
        path: The file.
        space: The space of the run.
        problem: The problem as JSON data: space, seed, method, noise, constraints; the direction if it is not
            ``"minimize"``, and the objective if it is a command.
        events: All events in order, with times and sessions.
        seed: The seed of the run.
        noise: Standard deviation of the noise as given, or ``"auto"``.
        snapshot: Everything derived from the trials.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: x[0] ** 2, [(-2, 2)], budget=3, seed=0, store="parabola.db")
        >>> run = dale.open("parabola.db")
        >>> [trial.id for trial in run.history]
        [0, 1, 2]
        >>> run.to_csv("parabola.csv")
    """

    def __init__(self, path: Path, problem: Mapping[str, Any], events: Sequence[Event], space: Space) -> None:
        self.path = path
        self.problem = problem
        dict(problem.get("objective", {}))  # or an error
        self.events = tuple(events)
        self.space = space
        self.seed: int = check_seed(problem["seed"])
        noise = check_default_noise(problem["noise"])
        self.noise: float | Literal["auto"] = "auto" if noise is None else noise
        self._history = replay(History.empty(space.dimension, noise, direction_of(problem)), self.events, space)
        self._snapshot = Snapshot(self._history, Domain.of(space, as_constraints(self.constraints, space)))

    def __repr__(self) -> str:
        return f"<dale.Run of {str(self.path)!r}: {len(self.history)} trials, seed {self.seed}, {self.space!r}>"

    @property
    def constraints(self) -> list[str] | None:
        """The input constraints, if all of them are text; others are code that no file can keep, and count as none."""
        stored = self.problem["constraints"]
        return list(stored) if stored and all(isinstance(c, str) for c in stored) else None

    @property
    def snapshot(self) -> Snapshot:
        """Everything derived from the trials, computed when it is first read."""
        return self._snapshot

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write all complete and failed trials to a CSV file, with times and processes; else as ``Result.to_csv``."""
        write_csv(self._target(path), self.history, self.space, self.times())

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write the whole run to a JSON file: the problem, all trials and all events.

        Numbers are exact; infinity and NaN are text. In ``params``, the option of a choice is given by its index.
        """
        trials = [
            {
                "id": t.id,
                "params": params_to_json(t.params, self.space),
                "unit_x": t.unit_x.tolist(),
                "state": str(t.state),
                "value": t.value,
                "noise": t.noise,
                "constraints": list(t.constraints),
                "error": t.error,
                "retry": t.retry,
                "allowed": t.allowed,
                "reason": reason_to_json(t.reason),
                **({"extra": t.extra} if t.extra else {}),
                **({"corrections": [dataclasses.asdict(c) for c in t.corrections]} if t.corrections else {}),
                **times,
            }
            for t, times in zip(self.history, self.times(), strict=True)
        ]
        events = [{**vars(event), "kind": str(event.kind)} for event in self.events]
        data = {"problem": self.problem, "trials": trials, "events": events}
        text = json.dumps(data, ensure_ascii=True, allow_nan=False, indent=1)
        self._target(path).write_text(text + "\n", encoding="utf-8")

    def to_db(self, path: str | os.PathLike[str]) -> None:
        """Copy the store, as it is now, to a new file; also while processes use it. The copy can be resumed."""
        copy(self.path, resolve_path(self._target(path)))

    def times(self) -> list[dict[str, Any]]:
        """For each trial, when it was ``asked`` and ``ended`` (UTC), and on which ``host`` and ``pid``."""
        workers: dict[int, Mapping[str, Any]] = {}
        times: list[dict[str, Any]] = []
        for event in self.events:
            if event.kind is EventKind.OPEN:
                workers[event.session] = event.content
            if event.trial is None or event.kind in CORRECTIONS:
                continue
            if event.kind in (EventKind.ASK, EventKind.ADD):
                times.append({"asked": event.time, "ended": None})
            worker = workers.get(event.session, {})
            times[event.trial] |= {"host": worker.get("host"), "pid": worker.get("pid")}
            if event.kind in (EventKind.ADD, EventKind.TELL, EventKind.FAIL):
                times[event.trial]["ended"] = event.time
        return times

    def _target(self, path: str | os.PathLike[str]) -> Path:
        target = Path(path)
        if target.resolve() == self.path:
            raise ValueError(f"expected a path other than that of the run itself, got {target}")
        return target
