"""The outcome of an evaluation, and the call of the objective that produces it, wherever it runs."""

from __future__ import annotations

import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dale.errors import Retry
from dale.space.point import Params


@dataclass(frozen=True)
class Outcome:
    """The outcome of an evaluation: a value or an error.

    Attributes:
        value: What the objective returned.
        error: Why there is no value; None if there is one.
        retry: The failure is transient: it does not depend on the point.
        broken: Every other evaluation would fail in the same way.
    """

    value: Any = None
    error: str | None = None
    retry: bool = False
    broken: bool = False


class TrialObjective(ABC):
    """An objective that also receives the id of the trial, and returns an ``Outcome``."""

    @abstractmethod
    def evaluate(self, trial: int, params: Any) -> Outcome:
        """Evaluate the trial with this id at this point."""


Objective = Callable[[Any], Any] | TrialObjective


def call(fun: Objective, trial: int, params: Any) -> Outcome:
    """Call the objective. An exception is returned as text, because not every exception can be pickled."""
    try:
        return fun.evaluate(trial, params) if isinstance(fun, TrialObjective) else Outcome(fun(params))
    except Exception as error:
        return Outcome(error=traceback.format_exc(), retry=isinstance(error, Retry))


def copied(params: Params) -> Any:
    """A copy of the point, which the objective may modify; the original belongs to the trial."""
    return params.copy() if isinstance(params, np.ndarray) else dict(params)
