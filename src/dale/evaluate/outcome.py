"""What came of an evaluation, and how the objective is called, wherever it runs."""

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
    """What came of an evaluation.

    Attributes:
        value: What the objective returned, if it did.
        error: Why there is no value; None where there is one.
        retry: The machine is to blame and not the point.
        broken: No other evaluation would fare better.
    """

    value: Any = None
    error: str | None = None
    retry: bool = False
    broken: bool = False


class Numbered(ABC):
    """An objective that is told which trial it evaluates, and tells itself what came of it."""

    @abstractmethod
    def evaluate(self, trial: int, params: Any) -> Outcome:
        """Evaluate a trial, given by its number and its point."""


Objective = Callable[[Any], Any] | Numbered


def call(fun: Objective, trial: int, params: Any) -> Outcome:
    """Call the objective. What it raises is brought back as text, for not every exception can travel."""
    try:
        return fun.evaluate(trial, params) if isinstance(fun, Numbered) else Outcome(fun(params))
    except Exception as error:
        return Outcome(error=traceback.format_exc(), retry=isinstance(error, Retry))


def copied(params: Params) -> Any:
    """The point for the objective to keep or to change; that of the trial is part of the history."""
    return params.copy() if isinstance(params, np.ndarray) else dict(params)
