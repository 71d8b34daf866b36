"""Trials as tables, one row each: a data frame of pandas, or a CSV file."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from dale.history.trial import Trial, is_evidence
from dale.space.point import by_name
from dale.space.space import Space
from dale.space.table import is_database, safe_cell

TIMES = ("asked", "ended", "host", "pid")
CONSTRAINT, EXTRA = "constraint_", "extra_"  # beginnings of the names of columns


class HasTrials(Protocol):
    """A run in any form."""

    @property
    def history(self) -> tuple[Trial, ...]:
        """All trials."""
        ...

    @property
    def space(self) -> Space:
        """Their space."""
        ...


class Tabular:
    """A run that can be written as a table."""

    def to_frame(self: HasTrials) -> Any:
        """All trials as a pandas ``DataFrame``, one row each.

        The columns are ``id``, ``state``, the parameters by name (``x0``, ``x1``, ... in a space without names),
        ``value``, ``noise``, ``constraint_0``, ..., ``feasible``, ``source`` (of the proposal), one column
        ``extra_<key>`` for each key of ``Trial.extra``, and ``error``. What a trial does not have is NaN or None. A
        column gets an underscore if a parameter has the same name. pandas has to be installed.

        Examples:
            >>> import dale
            >>> optimizer = dale.Optimizer({"a": (0, 1)}, seed=0)
            >>> trial = optimizer.add({"a": 0.5}, 0.25, extra={"rmse": 0.3})
            >>> optimizer.to_frame()[["id", "state", "a", "value", "extra_rmse"]].values.tolist()
            [[0, 'complete', 0.5, 0.25, 0.3]]
        """
        return trial_frame(self.history, self.space)

    def to_csv(self: HasTrials, path: str | os.PathLike[str]) -> None:
        """Write all complete and failed trials to a CSV file that ``Optimizer.add_all`` and spreadsheets can read.

        It is the file that ``dale export --csv`` writes. The columns are the parameters, the value (empty if the trial
        failed), the constraints (``constraint_0``, ...), the noise, the reason, the error, the times (UTC), the process
        that reported the trial, and the extra values (``extra_<key>``). Only a run from ``dale.open`` knows times and
        processes; in others these columns are empty.

        A column gets an underscore if a parameter has the same name. Extra values other than text are written as JSON.
        Text that a spreadsheet would read as a formula gets an apostrophe. Characters that UTF-8 cannot encode are
        written as escape codes. Pending and discarded trials and transient failures are left out, because they say
        nothing about the objective.
        """
        write_csv(path, self.history, self.space)


def trial_frame(trials: Sequence[Trial], space: Space) -> Any:
    """Trials as a data frame; ``Tabular.to_frame`` describes the columns."""
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise ImportError(f"to_frame needs pandas ({error}): pip install pandas") from error
    points = [by_name(t.params, space.names) for t in trials]
    outcomes = _outcomes(trials)
    numbers = ["value", "noise", *(key for key in outcomes if key.startswith(CONSTRAINT))]
    for key in numbers:
        outcomes[key] = [math.nan if number is None else number for number in outcomes[key]]
    extra = [key for key in outcomes if key.startswith(EXTRA)]
    labels = _labels(outcomes, space.names)
    columns = {labels[key]: outcomes[key] for key in ("id", "state")}
    columns |= {name: [point.get(name) for point in points] for name in space.names}
    columns |= {labels[key]: outcomes[key] for key in (*numbers, "feasible", "source", *extra, "error")}
    return pandas.DataFrame(columns)


def write_csv(
    path: str | os.PathLike[str],
    trials: Sequence[Trial],
    space: Space,
    times: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    """Write trials to a CSV file; ``Tabular.to_csv`` describes the columns. ``times`` are those of each trial."""
    target = Path(path)
    if is_database(target):
        raise ValueError(f"expected the path of a CSV file, got {target}, which is a database; choose another path")
    known = [{}] * len(trials) if times is None else times
    rows = [(t, times) for t, times in zip(trials, known, strict=True) if is_evidence(t)]
    kept = [t for t, _ in rows]
    outcomes = _outcomes(kept)
    constraints = [key for key in outcomes if key.startswith(CONSTRAINT)]
    extra = [key for key in outcomes if key.startswith(EXTRA)]
    outcomes |= {key: [times.get(key) for _, times in rows] for key in TIMES}
    order = ("id", "value", *constraints, "noise", "state", "source", "reason", "error", *TIMES, *extra)
    labels = _labels(order, space.names)
    with target.open("w", newline="", encoding="utf-8", errors="backslashreplace") as file:
        writer = csv.writer(file)
        writer.writerow(map(safe_cell, (*space.names, *labels.values())))
        for i, trial in enumerate(kept):
            point = by_name(trial.params, space.names)
            cells = [safe_cell(point[name]) if name in point else "" for name in space.names]
            writer.writerow([*cells, *(_cell(outcomes[key][i]) for key in order)])


def _outcomes(trials: Sequence[Trial]) -> dict[str, list[Any]]:
    """Everything but the points, by column; None where a trial has nothing."""
    n_constraints = max((len(t.constraints) for t in trials), default=0)
    limits = [t.constraints or (None,) * n_constraints for t in trials]
    keys = dict.fromkeys(key for t in trials for key in t.extra)  # in the order in which they appeared
    return {
        "id": [t.id for t in trials],
        "state": [str(t.state) for t in trials],
        "value": [t.value for t in trials],
        "noise": [t.noise for t in trials],
        **{f"{CONSTRAINT}{i}": [row[i] for row in limits] for i in range(n_constraints)},
        "feasible": [t.feasible for t in trials],
        "source": [str(t.reason.source) for t in trials],
        "reason": [str(t.reason) for t in trials],
        "error": [t.error for t in trials],
        **{f"{EXTRA}{key}": [t.extra.get(key) for t in trials] for key in keys},
    }


def _labels(keys: Iterable[str], names: Sequence[str]) -> dict[str, str]:
    """Names of columns that are not those of parameters, and all different."""
    taken, labels = set(names), {}
    for key in keys:
        label = key
        while label in taken:
            label += "_"
        taken.add(label)
        labels[key] = label
    return labels


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return safe_cell(value if isinstance(value, str) else json.dumps(value))
