"""Corrections of recorded outcomes: what was changed, by whom, when and why."""

from __future__ import annotations

import getpass
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from dale.history.evaluation import Evaluation

UNKNOWN_USER = "unknown"


@dataclass(frozen=True)
class Correction:
    """A correction of a trial by ``Optimizer.amend`` or ``Optimizer.discard``.

    Attributes:
        before: The evaluation before; None if the trial had no value.
        after: The evaluation after; None if the trial was discarded.
        who: Who made the correction.
        when: UTC time in ISO 8601 format.
        why: The reason; may be empty.
        n_trials: Number of trials of the run at that time: trials with a lower id were proposed before.
        error: Error of the trial before, if it had failed.

    Examples:
        >>> import dale
        >>> optimizer = dale.Optimizer([(0, 1)], seed=0)
        >>> trial = optimizer.tell(optimizer.ask(), 13.0)
        >>> trial = optimizer.amend(trial, value=1.3, why="misplaced decimal point", who="ada")
        >>> correction = trial.corrections[0]
        >>> correction.before.value, correction.after.value, correction.why
        (13.0, 1.3, 'misplaced decimal point')
    """

    before: Evaluation | None
    after: Evaluation | None
    who: str
    when: str
    why: str
    n_trials: int
    error: str | None = None

    @property
    def only_extra(self) -> bool:
        """Whether it changed nothing but the extra values, which no model reads."""
        if self.before is None or self.after is None:
            return False
        return replace(self.before, extra=None) == replace(self.after, extra=None)

    def __str__(self) -> str:
        what = "discarded" if self.after is None else f"-> {_format(self.after)}"
        what += ", other extra values" if self.only_extra else ""
        time = f"{datetime.fromisoformat(self.when):%Y-%m-%d %H:%M} UTC"
        return f"{_format(self.before)} {what} by {self.who}, {time}" + (f": {self.why}" if self.why else "")


def check_who(who: str | None) -> str:
    """Who makes a correction; the name of the user in the operating system for None."""
    if who is None:
        try:
            return getpass.getuser()
        except (ImportError, KeyError, OSError):  # a container without an entry for the user, or Windows without a name
            return UNKNOWN_USER
    if not isinstance(who, str) or not who.strip():
        raise TypeError(f"who must be the name of a person as a string, or None for that of the user, got {who!r}")
    return who


def check_why(why: str) -> str:
    """The reason of a correction."""
    if not isinstance(why, str):
        raise TypeError(f"why must be a string with the reason of the correction, got {why!r}")
    return why


def now() -> str:
    """The present UTC time in ISO 8601 format."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _format(evaluation: Evaluation | None) -> str:
    if evaluation is None:
        return "no value"
    noise = "" if evaluation.noise is None else f" ± {evaluation.noise:.3g}"
    numbers = ", ".join(f"{c:.6g}" for c in evaluation.constraints)
    return f"{evaluation.value:.10g}{noise}" + (f" (constraints {numbers})" if numbers else "")
