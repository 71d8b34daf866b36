"""Evaluations that were made elsewhere, read from a table: points and their outcomes, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dale._arrays import Vector
from dale.history.evaluation import Evaluation, check_evaluation
from dale.history.reason import Reason, Source
from dale.history.trial import Trial, TrialState
from dale.space.constraints import Constraints
from dale.space.point import Params
from dale.space.space import Space
from dale.space.table import points_of, rows_of, values_of


class AddedRow(NamedTuple):
    """A row of a table.

    Attributes:
        params: The point as the objective takes it.
        unit_x: The point in the unit cube.
        evaluation: Its outcome; None where the evaluation failed.
        error: Why it failed, if it is known.
    """

    params: Params
    unit_x: Vector
    evaluation: Evaluation | None
    error: str | None = None


def read_evaluations(
    table: Any, space: Space, value: str, noise: str | None, constraints: Sequence[str]
) -> list[AddedRow]:
    """The rows of a table; ``Optimizer.add_all`` describes the arguments."""
    _check_columns(space, value, noise, constraints)
    rows = rows_of(table)
    points, values = points_of(rows, space), values_of(rows, value)
    stds: list[float | None] = [None] * len(rows) if noise is None else values_of(rows, noise)
    limits = list(zip(*(values_of(rows, name) for name in constraints), strict=True)) or [()] * len(rows)
    return [
        AddedRow(*point, None if y is None or None in others else _checked(i, y, std, others))
        for i, (point, y, std, others) in enumerate(zip(points, values, stds, limits, strict=True), 1)
    ]


def added_trials(rows: Sequence[AddedRow], first: int, space: Space, constraints: Constraints | None) -> list[Trial]:
    """Trials at known points, complete or failed.

    Args:
        rows: The points and their outcomes.
        first: Id of the first trial.
        space: The space of the run.
        constraints: Its input constraints.
    """
    trials, reason = [], Reason(Source.ADDED)
    for i, (params, unit_x, evaluation, error) in enumerate(rows):
        failed: dict[str, Any] = {"state": TrialState.FAILED, "error": error or f"no value in row {i + 1}"}
        known = failed if evaluation is None else {"state": TrialState.COMPLETE, **vars(evaluation)}
        allowed = constraints is None or constraints.allows(params)
        trials.append(Trial(first + i, params, space.as_array(params), unit_x, reason, allowed=allowed, **known))
    return trials


def in_row(number: int, error: ValueError) -> ValueError:
    """The error, with the number of the row that it is about."""
    return type(error)(f"row {number} of the table: {error}. Nothing was recorded")


def _checked(number: int, value: float, std: float | None, constraints: Any) -> Evaluation:
    try:
        return check_evaluation(value, std, constraints)
    except ValueError as error:
        raise in_row(number, error) from None


def _check_columns(space: Space, value: str, noise: str | None, constraints: Sequence[str]) -> None:
    if isinstance(constraints, str) or not isinstance(constraints, Sequence):
        raise TypeError(f"constraints must be a list with names of columns, got {constraints!r}")
    for name in (value, *(() if noise is None else (noise,)), *constraints):
        if not isinstance(name, str):
            raise TypeError(f"value, noise and constraints must each be the name of a column, got {name!r}")
        if name in space.names:
            raise ValueError(f"expected the name of a column with outcomes, got {name!r}, which is a parameter")
