"""Evaluations of another run, in memory or on disk, as data for a new one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dale.history.added_data import AddedRow, read_evaluations
from dale.history.direction import Direction
from dale.history.result import Result
from dale.history.run_state import RunState
from dale.history.transfer import rows_of_run
from dale.space.space import Space
from dale.space.table import is_database
from dale.store.problem import differences, space_to_json
from dale.store.run import Run, open_run


def read_earlier(
    source: Any, run: RunState, value: str, noise: str | None, constraints: Sequence[str]
) -> list[AddedRow]:
    """The evaluations of an earlier run or of a table, for this run; ``Optimizer.add_all`` describes the arguments."""
    space = run.space
    if isinstance(source, str | os.PathLike) and (Path(source).suffix == ".db" or is_database(Path(source))):
        source = _opened(source, space)
    if not isinstance(source, Result | RunState):
        return read_evaluations(source, space, value, noise, constraints)
    if value != "value" or noise is not None or len(constraints) > 0:
        raise TypeError(
            f"value, noise and constraints name columns of a table, got {value!r}, {noise!r} and {constraints!r} for a "
            "run, which has its own; leave them out"
        )
    _check_direction(source.get("direction") if isinstance(source, Result) else source.direction, run.direction)
    return rows_of_run(source.history, source.space, space)


def _check_direction(earlier: Direction | None, own: Direction) -> None:
    """An error if the other run optimises in the other direction: most likely, its objective has the other sign."""
    if (earlier or Direction.MINIMIZE) is not own:
        raise ValueError(
            f"expected a run with the direction {str(own)!r}, as this one, got one with {str(earlier)!r}. If its "
            "values are those of the same objective, pass them as a table: run.to_frame(). Nothing was recorded"
        )


def _opened(path: str | os.PathLike[str], space: Space) -> Run:
    """A stored run; if it has the same space, with the options themselves, also those that cannot be stored."""
    run = open_run(path)
    is_same = not any(differences(run.problem["space"], space_to_json(space), ("space",)))
    return Run(run.path, run.problem, run.events, space) if is_same else run
