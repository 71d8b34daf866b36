"""Evaluations that were made elsewhere, read from a table: points and their outcomes, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dale._arrays import Vector
from dale.history.direction import Direction
from dale.history.evaluation import Evaluation, check_evaluation
from dale.history.reason import Reason, Source
from dale.history.trial import Trial, TrialState
from dale.space.constraints import Constraints
from dale.space.point import Params
from dale.space.space import Space
from dale.space.table import Row, points_of, rows_of, values_of

STATE, OPTUNA_PREFIX = "state", "params_"  # columns of a table of trials; of parameters in one of Optuna
COMPLETE, FAILED = ("complete", "COMPLETE"), ("failed", "FAIL")  # in dale, in Optuna
LEFT_OUT = ("pending", "discarded", "RUNNING", "WAITING", "PRUNED")  # no outcome; PRUNED has that of an early step


class AddedRow(NamedTuple):
    """A row of a table.

    Attributes:
        params: The point as the objective takes it.
        unit_x: The point in the unit cube.
        evaluation: Its outcome; None where the evaluation failed.
        error: Why it failed, if it is known.
        where: Where it comes from, for messages: ``"row 3 of the table"``.
    """

    params: Params
    unit_x: Vector
    evaluation: Evaluation | None
    error: str | None = None
    where: str = ""


def read_evaluations(
    table: Any, space: Space, value: str, noise: str | None, constraints: Sequence[str]
) -> list[AddedRow]:
    """The rows of a table; ``Optimizer.add_all`` describes the arguments."""
    _check_columns(space, value, noise, constraints)
    rows = [_renamed(row, space) for row in rows_of(table)]
    states = _states(rows, (*space.names, value, noise, *constraints))
    numbers = [i for i, state in enumerate(states, 1) if state not in LEFT_OUT]
    rows = [rows[i - 1] for i in numbers]
    points, values = points_of(rows, space, numbers), values_of(rows, value, numbers)
    stds: list[float | None] = [None] * len(rows) if noise is None else values_of(rows, noise, numbers)
    limits = list(zip(*(values_of(rows, name, numbers) for name in constraints), strict=True)) or [()] * len(rows)
    added = []
    for i, point, y, std, others in zip(numbers, points, values, stds, limits, strict=True):
        where = f"row {i} of the table"
        failed = y is None or None in others or states[i - 1] in FAILED
        evaluation = None if y is None or failed else _checked(where, y, std, others)
        added.append(AddedRow(*point, evaluation, f"no value in row {i}" if failed else None, where))
    return added


def _renamed(row: Row, space: Space) -> Row:
    """A row with the parameters by name, also one of Optuna, with a prefix."""
    found = {name: row[OPTUNA_PREFIX + name] for name in space.names if name not in row and OPTUNA_PREFIX + name in row}
    return {**row, **found} if found else row


def _states(rows: Sequence[Row], others: Sequence[str | None]) -> list[str]:
    """The states of trials of dale or Optuna; empty if another column has this name, or other words are in it."""
    states = [str(row.get(STATE)) for row in rows]
    known = STATE not in others and {*COMPLETE, *FAILED, *LEFT_OUT}.issuperset(states)
    return states if known else [""] * len(rows)


def added_trials(
    rows: Sequence[AddedRow],
    first: int,
    space: Space,
    constraints: Constraints | None,
    direction: Direction = Direction.MINIMIZE,
) -> list[Trial]:
    """Trials at known points, complete or failed.

    Args:
        rows: The points and their outcomes.
        first: Id of the first trial.
        space: The space of the run.
        constraints: Its input constraints.
        direction: Whether its objective is minimised or maximised.
    """
    trials, reason = [], Reason(Source.ADDED)
    for i, (params, unit_x, evaluation, error, _) in enumerate(rows):
        failed: dict[str, Any] = {"state": TrialState.FAILED, "error": error or f"no value in row {i + 1}"}
        known = failed if evaluation is None else {"state": TrialState.COMPLETE, **vars(evaluation)}
        known |= {"allowed": constraints is None or constraints.allows(params), "direction": direction}
        trials.append(Trial(first + i, params, space.as_array(params), unit_x, reason, **known))
    return trials


def located(where: str, error: ValueError | TypeError) -> ValueError | TypeError:
    """The error, with the row or the trial that it is about."""
    return type(error)(f"{where}: {error}. Nothing was recorded")


def _checked(where: str, value: float, std: float | None, constraints: Any) -> Evaluation:
    try:
        return check_evaluation(value, std, constraints)
    except ValueError as error:
        raise located(where, error) from None


def _check_columns(space: Space, value: str, noise: str | None, constraints: Sequence[str]) -> None:
    if isinstance(constraints, str) or not isinstance(constraints, Sequence):
        raise TypeError(f"constraints must be a list with names of columns, got {constraints!r}")
    for name in (value, *(() if noise is None else (noise,)), *constraints):
        if not isinstance(name, str):
            raise TypeError(f"value, noise and constraints must each be the name of a column, got {name!r}")
        if name in space.names:
            raise ValueError(f"expected the name of a column with outcomes, got {name!r}, which is a parameter")
