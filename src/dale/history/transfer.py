"""Trials of one space as evaluations in another one, for a run with other bounds or other parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from dale.errors import SpaceError
from dale.history.added_data import AddedRow, located
from dale.history.trial import Trial, is_evidence, last_evaluation
from dale.space.conditions import inactive
from dale.space.point import by_name
from dale.space.space import Space


class Transfer(NamedTuple):
    """Evaluations for a new space.

    Attributes:
        rows: Those that fit.
        n_outside: Number of complete or failed trials that do not.
    """

    rows: list[AddedRow]
    n_outside: int


def transfer(trials: Iterable[Trial], old: Space, new: Space, fill: Mapping[str, Any] | None = None) -> Transfer:
    """The complete and failed trials as points of another space. Transient failures and discarded trials stay behind.

    A trial fits if each of its values is one that the parameter can have in the new space.

    Args:
        trials: The trials.
        old: Their space.
        new: The other space.
        fill: Values that the trials had for parameters that are new.

    Examples:
        >>> import dale
        >>> optimizer = dale.Optimizer({"a": (0, 1)}, seed=0)
        >>> trials = [optimizer.add({"a": a}, a**2) for a in (0.2, 0.9)]
        >>> moved = transfer(trials, optimizer.space, dale.Space(a=(0, 0.5), b=(0, 9)), {"b": 3})
        >>> [dict(row.params) for row in moved.rows], moved.n_outside
        ([{'a': 0.2, 'b': 3.0}], 1)
    """
    filled = _check_fill(old, new, fill)
    rows, n_outside = [], 0
    for trial in trials:
        if not is_evidence(trial):
            continue
        try:
            point = new.read(_moved(trial, old, new, filled))
        except (SpaceError, TypeError):  # TypeError: a parameter has another type now
            n_outside += 1
        else:
            rows.append(AddedRow(*point, last_evaluation(trial), trial.error))
    return Transfer(rows, n_outside)


def rows_of_run(trials: Iterable[Trial], old: Space, new: Space) -> list[AddedRow]:
    """The same, where every trial has to fit and both spaces have the same parameters; else an error."""
    missing = [name for name in new.names if name not in old.parameters]
    more = [name for name, p in old.parameters.items() if name not in new.parameters and p.n_coordinates > 0]
    if missing or more:
        raise SpaceError(
            f"expected a run with the parameters {_join(new.names)}, got one with {_join(old.names)}; dale.fork begins "
            "a run in another space. Nothing was recorded"
        )
    rows = []
    for trial in filter(is_evidence, trials):
        where = f"trial {trial.id} of the run"
        try:
            point = new.read(_moved(trial, old, new, {}))
        except (SpaceError, TypeError) as error:
            raise located(where, error) from None
        rows.append(AddedRow(*point, last_evaluation(trial), trial.error, where))
    return rows


def _moved(trial: Trial, old: Space, new: Space, fill: Mapping[str, Any]) -> Any:
    """The point of a trial as the new space takes it, unchecked."""
    named = by_name(trial.params, old.names)
    own = {name: value for name, value in named.items() if name in new.parameters}  # others are fixed
    values = {**fill, **own}
    off = set(inactive(values, new.conditions))
    values = {name: value for name, value in values.items() if name in own or name not in off}
    return values if new.named else [values[name] for name in new.names]


def _check_fill(old: Space, new: Space, fill: Mapping[str, Any] | None) -> dict[str, Any]:
    """The values of new parameters in earlier trials, checked, and whether no parameter is missing or unknown."""
    if fill is not None and not isinstance(fill, Mapping):
        raise TypeError(f"fill: expected a mapping of new parameters to their values in earlier trials, got {fill!r}")
    given = dict(fill or {})
    removed = [n for n, p in old.parameters.items() if n not in new.parameters and p.n_coordinates > 0]
    if removed:
        raise SpaceError(
            f"{_join(removed)}: varied in the run, but missing in the new space; to hold a parameter at a value, "
            "declare it with that value only, such as Float(0.3, 0.3). Then the trials with this value fit"
        )
    missing = [name for name in new.names if name not in old.parameters and name not in given]
    if missing:
        raise SpaceError(
            f"{_join(missing)}: new in this space, got no value for the trials of the run; pass the value that they "
            f"had, such as fill={{{missing[0]!r}: ...}} (on the command line: --set {missing[0]}=...)"
        )
    always = [name for name in given if name in old.parameters and name not in old.conditions]
    unknown = [name for name in given if name not in new.parameters]
    if always or unknown:
        why = "which the trials have a value for" if always else f"the new space has {_join(new.names)}"
        raise SpaceError(f"fill: expected only parameters without a value, got {_join(always or unknown)}; {why}")
    return {name: new.parameters[name].check(value, f"fill, parameter {name!r}") for name, value in given.items()}


def _join(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
