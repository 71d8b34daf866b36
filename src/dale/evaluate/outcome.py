"""What came of an evaluation, and how the objective is called, wherever it runs."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dale.errors import Retry
from dale.trial import Params


@dataclass(frozen=True)
class Outcome:
    """What came of an evaluation.

    Attributes:
        value: What the objective returned, if it did.
        error: Why there is no value; None where there is one.
        retry: The machine is to blame and not the point.
    """

    value: Any = None
    error: str | None = None
    retry: bool = False


def call(fun: Callable[[Any], Any], params: Any) -> Outcome:
    """Call the objective. What it raises is brought back as text, for not every exception can travel."""
    try:
        return Outcome(fun(params))
    except Exception as error:
        return Outcome(error=traceback.format_exc(), retry=isinstance(error, Retry))


def copied(params: Params) -> Any:
    """The point for the objective to keep or to change; that of the trial is part of the history."""
    return params.copy() if isinstance(params, np.ndarray) else dict(params)
