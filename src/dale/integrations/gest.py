"""A generator of the gest-api standard, which Xopt, Optimas, libEnsemble and rsopt call for their next points.

https://github.com/campa-consortium/gest-api. A problem is described by VOCS: variables, objectives, constraints and
constants by name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dale.errors import TrialError
from dale.history.direction import Direction
from dale.history.evaluation import Evaluation
from dale.history.trial import Trial
from dale.optimizer import Optimizer
from dale.space.choice import Choice
from dale.space.float import Float
from dale.space.space import Space

try:
    from gest_api.generator import Generator
    from gest_api.vocs import (
        VOCS,
        BoundsConstraint,
        ContextualVariable,
        ContinuousVariable,
        DiscreteVariable,
        GreaterThanConstraint,
        LessThanConstraint,
        MaximizeObjective,
        MinimizeObjective,
    )
except ImportError as error:
    raise ImportError(f"dale.integrations.gest needs gest-api ({error}): pip install 'dale[gest]'") from error

ID = "_id"  # key of a point's number, in the standard


class DaleGenerator(Generator):
    """Suggests points and ingests their values, for one objective with or without constraints.

    A point that was suggested is reported with its ``"_id"``; data from elsewhere has none. An objective or a
    constraint that is NaN means that the evaluation failed.

    Args:
        vocs: The problem. Numbers of a discrete variable are ordered; other values are not.
        settings: Further arguments of ``dale.Optimizer``: ``seed``, ``method``, ``noise``, ``constraints``, ``store``.

    Attributes:
        optimizer: The ``dale.Optimizer``.

    Examples:
        >>> vocs = VOCS(variables={"x": [-2, 2]}, objectives={"f": "MINIMIZE"})
        >>> generator = DaleGenerator(vocs, seed=0)
        >>> for _ in range(8):
        ...     generator.ingest([{**point, "f": (point["x"] - 1) ** 2} for point in generator.suggest(1)])
        >>> generator.optimizer.best_value < 1e-6
        True
    """

    returns_id = True

    def __init__(self, vocs: VOCS, **settings: Any) -> None:
        super().__init__(vocs)
        self.vocs = vocs
        (self._objective, kind), *_ = vocs.objectives.items()
        direction = Direction.MAXIMIZE if isinstance(kind, MaximizeObjective) else Direction.MINIMIZE
        self.optimizer = Optimizer(_space(vocs), direction=direction, **settings)

    def _validate_vocs(self, vocs: VOCS) -> None:
        if len(vocs.objectives) != 1:
            raise ValueError(f"dale minimises or maximises one objective, got {list(vocs.objectives)}")
        for name, objective in vocs.objectives.items():
            if not isinstance(objective, MinimizeObjective | MaximizeObjective):
                raise ValueError(f"objective {name!r}: expected MINIMIZE or MAXIMIZE, got {objective!r}")
        for name, variable in vocs.variables.items():
            if isinstance(variable, ContextualVariable) or not isinstance(
                variable, ContinuousVariable | DiscreteVariable
            ):
                raise ValueError(f"variable {name!r}: expected bounds or a set of values, got {variable!r}")
        for name, constraint in vocs.constraints.items():
            if not isinstance(constraint, LessThanConstraint | GreaterThanConstraint | BoundsConstraint):
                raise ValueError(f"constraint {name!r}: expected LESS_THAN, GREATER_THAN or BOUNDS, got {constraint!r}")

    def suggest(self, num_points: int | None = None) -> list[dict[str, Any]]:
        """The next points, with the constants and their numbers; one if ``num_points`` is None."""
        n = 1 if num_points is None else num_points
        with self.optimizer.transaction():  # all of them or none
            trials = self.optimizer.ask(n)
            if len(trials) < n:
                raise ValueError(f"expected {n} new points, but only {len(trials)} are left in the space")
        constants = {name: constant.value for name, constant in self.vocs.constants.items()}
        return [{**dict(trial.params), **constants, ID: trial.id} for trial in trials]

    def ingest(self, results: Sequence[Mapping[str, Any]]) -> None:
        """Record evaluated points: all of them, or none if one is refused."""
        with self.optimizer.transaction():
            for result in results:
                self._ingest(result)

    def finalize(self) -> None:
        """Release the store, if there is one."""
        self.optimizer.close()

    def _ingest(self, result: Mapping[str, Any]) -> None:
        trial = self._trial(result)
        value = float(result[self._objective])
        constraints = self._constraints(result)
        if all(map(math.isfinite, (value, *constraints))):
            self.optimizer.tell(trial, Evaluation(value, constraints=constraints))
        else:
            self.optimizer.fail(trial, f"{self._objective} = {value!r}, constraints {constraints!r}")

    def _trial(self, result: Mapping[str, Any]) -> Trial:
        """The trial that a result belongs to, or a new one at its point."""
        if ID not in result:
            return self.optimizer.ask(at={name: result[name] for name in self.vocs.variables})
        number, n = int(result[ID]), len(self.optimizer.history)
        if not 0 <= number < n:
            raise TrialError(f"{ID}: expected a number that suggest has returned, below {n}, got {result[ID]!r}")
        return self.optimizer.history[number]

    def _constraints(self, result: Mapping[str, Any]) -> list[float]:
        """Numbers that are at most 0 where the constraints hold."""
        numbers = []
        for name, constraint in self.vocs.constraints.items():
            x = float(result[name])
            if isinstance(constraint, LessThanConstraint):
                numbers.append(x - constraint.value)
            elif isinstance(constraint, GreaterThanConstraint):
                numbers.append(constraint.value - x)
            else:
                low, high = constraint.range
                numbers += [low - x, x - high]
        return numbers


def _space(vocs: VOCS) -> Space:
    return Space({name: _parameter(variable) for name, variable in vocs.variables.items()})


def _parameter(variable: Any) -> Float | Choice:
    if isinstance(variable, ContinuousVariable):
        return Float(*variable.domain)
    are_numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in variable.values)
    ordered = sorted(variable.values) if are_numbers else sorted(variable.values, key=repr)  # of a set
    return Choice(ordered, ordered=are_numbers)
