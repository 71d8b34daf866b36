"""A function of the user as a problem, and a task that counts its evaluations.

Values are minimised: those of a function to be maximised are negated, and negated again in the rows. The minimum is not
known, so the regret of a run is the best value so far itself.
"""

from __future__ import annotations

import hashlib
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dale._arrays import Vector
from dale.cli.run import read_function
from dale.evaluate.outcome import call, copied
from dale.history.evaluation import Evaluation
from dale.history.failures import exception_line, failure_kind
from dale.space.constraints import as_constraints
from dale.space.point import Params
from dale.space.space import Space
from dale_bench.contender import Spent
from dale_bench.problems.problem import Failed, Outcome, Problem, Task

FIRST_PENALTY = 1e6  # for a failure before the first value
MAX_EQUAL_FAILURES = 5  # at the beginning of a run, as in dale.minimize
MAX_REJECTED = 100  # points that violate an input constraint, for each evaluation of the budget


@dataclass(frozen=True, eq=False)
class OwnProblem(Problem):
    """A function on a space; `true` is the function as the user wrote it, `sign` is -1 if it is maximised."""

    sign: float = 1.0

    def observe(self, params: Params) -> Outcome:
        """The value at a point, which is minimised. Raises ``Failed`` if the function raises or returns no number."""
        outcome = call(self.true, 0, copied(params))
        if outcome.error is not None:
            raise Failed(outcome.error)
        value = outcome.value
        if isinstance(value, Evaluation):
            if len(value.constraints):
                raise TypeError(
                    f"{self.name} returned outcome constraints, which this benchmark does not support; return a number"
                )
            value = value.value
        return Outcome(self.sign * value)

    def regret_of(self, outcome: Outcome) -> float:
        """The value."""
        return outcome.value


class Rejected(Failed):
    """The point violates an input constraint. It is not evaluated and not counted."""


class OwnTask(Task):
    """A task on a function of the user. Points that violate an input constraint are rejected and cost nothing.

    A run ends with an error if its first evaluations raise the same exception: the function does not work.
    """

    def __init__(self, problem: Problem, budget: int) -> None:
        super().__init__(problem, budget)
        self.first_failure: str | None = None
        self._constraints = as_constraints(None, problem.space)
        self._n_rejected = 0
        self._kinds: set[Any] = set()

    def __call__(self, params: Params) -> Outcome:
        """Evaluate a point. Raises ``Spent`` if no budget is left, ``Rejected`` or ``Failed`` if there is no value."""
        if len(self.regrets) >= self.budget:
            raise Spent
        if self._constraints is not None and not self._constraints.allows(params):
            self._reject()
        try:
            return super().__call__(params)
        except Failed as failure:
            self._note(str(failure))
            raise

    def _reject(self) -> None:
        self._n_rejected += 1
        if self._n_rejected > MAX_REJECTED * self.budget:
            raise RuntimeError(
                f"expected points that the input constraints allow, got {self._n_rejected} proposals that violate them"
            )
        raise Rejected("an input constraint is violated")

    def _note(self, error: str) -> None:
        if self.first_failure is None:
            self.first_failure = exception_line(error)
        self._kinds.add(failure_kind(error) if "Traceback" in error else None)
        if (
            self.n_failed == len(self.regrets) == MAX_EQUAL_FAILURES
            and len(self._kinds) == 1
            and None not in self._kinds
        ):
            raise RuntimeError(f"the first {MAX_EQUAL_FAILURES} evaluations raised: {exception_line(error)}")


class Penalized:
    """A task for peers that need a value at every point: a failure or a rejected point has a penalty as its value.

    The penalty is as far above the worst value so far as that is above the best one.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.problem, self.space, self.budget, self.dimension = task.problem, task.space, task.budget, task.dimension
        self.regrets = task.regrets
        self.penalty = FIRST_PENALTY
        self._best, self._worst = math.inf, -math.inf

    def __call__(self, params: Params) -> Outcome:
        """Evaluate a point. Raises ``Spent`` if no budget is left."""
        try:
            outcome = self.task(params)
        except Failed:
            return Outcome(self.penalty)
        self._best, self._worst = min(self._best, outcome.value), max(self._worst, outcome.value)
        self.penalty = self._worst + ((self._worst - self._best) or 1.0)
        return outcome


class Cube:
    """A task on continuous parameters in the form of an objective on the unit cube, for the peers of `dale bench`."""

    is_noisy = False

    def __init__(self, task: Penalized) -> None:
        self.task = task
        self.dimension, self.budget, self.regrets = task.space.dimension, task.budget, task.regrets
        self.notes = task.task.notes

    def __call__(self, u: Vector) -> float:
        """The value at a point of the cube. Raises ``Spent`` if no budget is left."""
        return self.task(self.task.space.decode(np.clip(np.asarray(u, dtype=float), 0.0, 1.0))).value


def own_problem(function: str, space: str, budget: int, *, maximize: bool) -> OwnProblem:
    """The problem for a function, ``module:name``, and the path of a TOML file."""
    return OwnProblem(
        name=function,
        space=Space.from_toml(space),
        true=_callable(function),
        minimum=math.nan,
        minimiser=None,
        budget=budget,
        description="a function of the user",
        source="the user",
        sign=-1.0 if maximize else 1.0,
    )


def fingerprint(function: str, space: str) -> str:
    """Identifies the content of the function's module and of the file of the space."""
    digest = hashlib.sha256(Path(space).read_bytes())
    source = inspect.getsourcefile(inspect.unwrap(_callable(function)))
    if source is not None:
        digest.update(Path(source).read_bytes())
    return digest.hexdigest()[:12]


def _callable(function: str) -> Callable[[Any], Any]:
    found = read_function(function, "function")
    if not callable(found):
        raise ValueError(f"function {function}: expected a function, got {found!r}")
    return found
