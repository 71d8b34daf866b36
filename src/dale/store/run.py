"""A run on disk, to look at: ``dale.open("run.db")``. Nothing is written to it, and no code is read from it."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from dale._blas import one_blas_thread
from dale.errors import StoreError
from dale.history.history import History
from dale.history.result import Result
from dale.history.snapshot import Snapshot
from dale.history.trial import Trial, TrialState
from dale.space.domain import Domain
from dale.space.space import Space, as_space
from dale.space.table import safe_cell
from dale.store.events import Event, Kind, params_data, reason_data, replay
from dale.store.location import checked_path
from dale.store.problem import MOST_SHOWN, differences, space_data, space_from
from dale.store.store import read

COLUMNS = ("noise", "state", "source", "reason", "error", "asked", "ended", "host", "pid")  # of a CSV file, as well


def open_run(path: str | os.PathLike[str], space: Any = None) -> Run:
    """Open a run that a store keeps, as it is now, to look at.

    Args:
        path: What was given as ``store=``.
        space: The run's own space, where it has options or parameters that no file can hold: then they are the objects
            themselves, and not something that looks like them.
    """
    where = checked_path(path)
    if not where.is_file():
        raise StoreError(f"there is no file {where}; wanted what was given as store= to minimize or Optimizer")
    problem, events, _ = read(where)
    if space is not None:
        found = list(differences(problem["space"], space_data(as_space(space)), ("space",)))
        if found:
            raise StoreError(f"{where} holds another problem: {'; '.join(found[:MOST_SHOWN])}; give its own space")
    return Run(where, problem, events, space_from(problem["space"]) if space is None else as_space(space))


class Run:
    """A run as it was when it was opened.

    Attributes:
        path: Of its file.
        space: That it searches.
        problem: All that it is about, as plain data: space, seed, method, noise, constraints.
        events: All that has happened, in order, with times and processes.
        seed: Its seed.
        noise: Standard deviation of the errors in the values as it was given, or ``"auto"``.
    """

    def __init__(self, path: Path, problem: Mapping[str, Any], events: Sequence[Event], space: Space) -> None:
        self.path = path
        self.problem = problem
        self.events = tuple(events)
        self.space = space
        self.seed: int = problem["seed"]
        self.noise: float | Literal["auto"] = problem["noise"]
        noise = None if isinstance(self.noise, str) else self.noise
        history = replay(History.empty(space.dimension, noise), self.events, space)
        self.snapshot = Snapshot(history, Domain(space))

    def __repr__(self) -> str:
        return f"<dale.Run of {str(self.path)!r}: {len(self.history)} trials, seed {self.seed}, {self.space!r}>"

    @property
    def history(self) -> tuple[Trial, ...]:
        """Every trial, in the order of the asks."""
        return self.snapshot.history.trials

    @property
    def best(self) -> Trial | None:
        """As ``Optimizer.best``."""
        with one_blas_thread():
            return self.snapshot.incumbent.trial

    @property
    def best_value(self) -> float | None:
        """As ``Optimizer.best_value``."""
        with one_blas_thread():
            return self.snapshot.incumbent.value

    @property
    def n_evaluated(self) -> int:
        """As ``Optimizer.n_evaluated``."""
        return self.snapshot.history.n_evaluated

    def result(self) -> Result:
        """As ``Optimizer.result``; constraints on the inputs, which are code, are known at the trials alone."""
        with one_blas_thread():
            return Result.of(self.snapshot, self.seed)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the trials that were told or failed as a table that ``Optimizer.add_all`` and spreadsheets read.

        A column for each parameter and one for the value, which is empty where the trial failed; then constraints,
        noise, reason, error, times (UTC) and the process that ended it. Where a parameter has the name of one of these,
        that column's name gets an underscore. Text that a spreadsheet would take for a formula gets an apostrophe, and
        what is no character (of a file name in an error, say) is written as its code.
        What is pending, or was failed by the machine, says nothing about the objective and is left out.
        """
        names = list(self.space.names)
        k = max((len(t.constraints) for t in self.history), default=0)
        more = ["id", "value", *(f"constraint{i}" for i in range(k)), *COLUMNS]
        heading = [*names, *(_free(name, names) for name in more)]
        with self._target(path).open("w", newline="", encoding="utf-8", errors="backslashreplace") as file:
            writer = csv.writer(file)
            writer.writerow(map(safe_cell, heading))
            for trial, times in zip(self.history, self.times(), strict=True):
                if trial.state is not TrialState.PENDING and not trial.retry:
                    writer.writerow(self._row(trial, times, k))

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write all of the run: the problem, every trial and every event. Numbers are exact; inf and nan are text.

        In ``params`` an option stands as its number among the options of its parameter.
        """
        trials = [
            {
                "id": t.id,
                "params": params_data(t.params, self.space),
                "point": t.unit_x.tolist(),
                "state": str(t.state),
                "value": t.value,
                "noise": t.noise,
                "constraints": list(t.constraints),
                "error": t.error,
                "retry": t.retry,
                "allowed": t.allowed,
                "reason": reason_data(t.reason),
                **times,
            }
            for t, times in zip(self.history, self.times(), strict=True)
        ]
        events = [{**vars(event), "kind": str(event.kind)} for event in self.events]
        whole = {"problem": self.problem, "trials": trials, "events": events}
        text = json.dumps(whole, ensure_ascii=True, allow_nan=False, indent=1)
        self._target(path).write_text(text + "\n", encoding="utf-8")

    def _row(self, trial: Trial, times: Mapping[str, Any], k: int) -> Iterator[str]:
        params = trial.params
        given = params if isinstance(params, Mapping) else dict(zip(self.space.names, params, strict=True))
        for name in self.space.names:
            yield safe_cell(given[name]) if name in given else ""
        numbers = [trial.id, trial.value, *(trial.constraints or [None] * k), trial.noise]
        rest = [str(trial.state), str(trial.reason.source), str(trial.reason), trial.error]
        for value in [*numbers, *rest, *(times[key] for key in ("asked", "ended", "host", "pid"))]:
            yield "" if value is None else safe_cell(value)

    def times(self) -> list[dict[str, Any]]:
        """For each trial when it was ``asked`` and ``ended`` (UTC), and the ``host`` and ``pid`` of who did."""
        workers: dict[int, Mapping[str, Any]] = {}
        times: list[dict[str, Any]] = []
        for event in self.events:
            if event.kind is Kind.OPEN:
                workers[event.session] = event.content
            if event.trial is None:
                continue
            if event.kind in (Kind.ASK, Kind.ADD):
                times.append({"asked": event.time, "ended": None})
            who = workers[event.session]
            times[event.trial] |= {"host": who["host"], "pid": who["pid"]}
            if event.kind in (Kind.ADD, Kind.TELL, Kind.FAIL):
                times[event.trial]["ended"] = event.time
        return times

    def _target(self, path: str | os.PathLike[str]) -> Path:
        target = Path(path)
        if target.resolve() == self.path:
            raise ValueError(f"{target} is the run itself; give another name to write to")
        return target


def _free(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name
