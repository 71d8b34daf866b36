"""The outcome of an evaluation, and the call of the objective that produces it, wherever it runs.

Every evaluation passes ``call``: whatever the objective raises becomes a failed outcome, and whatever it returns
becomes plain numbers or a failed outcome. So an outcome can always be sent to another process.
"""

from __future__ import annotations

import json
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dale.errors import Retry
from dale.history.evaluation import Evaluation, NotFinite, are_several, check_evaluation
from dale.space.point import Params, short_repr


@dataclass(frozen=True)
class Outcome:
    """The outcome of an evaluation: a value or an error.

    Attributes:
        value: A number or an ``Evaluation``; what the objective returned, once it has passed ``call``.
        error: Why there is no value; None if there is one.
        retry: The failure is transient: it does not depend on the point.
        broken: Every other evaluation would fail in the same way.
        misuse: What to tell the user whose objective returned several values; None if it did not.
        expected: The objective itself said that it has no value there: it returned a number that is not finite.
        exception: What the objective raised, in the process that called it; None in any other process.
    """

    value: Any = None
    error: str | None = None
    retry: bool = False
    broken: bool = False
    misuse: str | None = None
    expected: bool = False
    exception: BaseException | None = None

    def to_bytes(self) -> bytes:
        """As JSON, if it has passed ``call``."""
        value = vars(self.value) if isinstance(self.value, Evaluation) else self.value
        return json.dumps({**self.__getstate__(), "value": value}).encode()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "exception": None}  # many exceptions cannot be sent to another process

    @classmethod
    def from_bytes(cls, data: bytes | bytearray) -> Outcome:
        """The outcome that ``to_bytes`` has written, exactly."""
        fields = json.loads(data)
        value = fields.pop("value")
        return cls(Evaluation(**value) if isinstance(value, dict) else value, **fields)


class TrialObjective(ABC):
    """An objective that also receives the id of the trial, and returns an ``Outcome``."""

    @abstractmethod
    def evaluate(self, trial: int, params: Any) -> Outcome:
        """Evaluate the trial with this id at this point."""


Objective = Callable[[Any], Any] | TrialObjective


@dataclass(frozen=True)
class WithArguments:
    """An objective with further arguments. Unlike a lambda, it can be sent to another process."""

    fun: Callable[..., Any]
    args: tuple[Any, ...]

    def __call__(self, x: Any) -> Any:
        """Evaluate the point."""
        return self.fun(x, *self.args)


def call(fun: Objective, trial: int, params: Any) -> Outcome:
    """Call the objective, and turn whatever it raises or returns into an outcome.

    ``BaseException`` includes ``sys.exit`` in a library and the panics of PyO3. Ctrl-C belongs to the run.
    """
    try:
        outcome = fun.evaluate(trial, params) if isinstance(fun, TrialObjective) else Outcome(fun(params))
        return _converted(outcome.value) if outcome.error is None else outcome
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        return Outcome(error=error_text(error), retry=isinstance(error, Retry), exception=error)


def _converted(value: Any) -> Outcome:
    """What an objective returned as an outcome of plain numbers. The methods of the value may raise anything."""
    try:
        evaluation = check_evaluation(value, None, ())
    except (TypeError, ValueError) as error:
        several = are_several(value.value if isinstance(value, Evaluation) else value)
        why = f"the objective returned {short_repr(value)}" + (f": {error}" if isinstance(value, Evaluation) else "")
        return Outcome(error=why, misuse=str(error) if several else None, expected=isinstance(error, NotFinite))
    return Outcome(evaluation if isinstance(value, Evaluation) else evaluation.value)


def error_text(error: BaseException) -> str:
    """The traceback of an exception."""
    try:
        return "".join(traceback.format_exception(error))
    except Exception as why:  # such as a RecursionError for deeply nested groups
        return f"{type(error).__name__}, whose traceback cannot be formatted: {why!r}"


def copied(params: Params) -> Any:
    """A copy of the point, which the objective may modify; the original belongs to the trial."""
    return params.copy() if isinstance(params, np.ndarray) else dict(params)
