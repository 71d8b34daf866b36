"""What a run does about failed evaluations: it shows them at once, and ends if nothing else happens.

A mistake in the objective must not spend the budget in silence. The first failure of each kind is shown as a warning
with its traceback. If the first evaluations all fail in the same way, the point is not to blame, and the run ends with
that error. A value that is not finite, by which an objective says that it has no value there, is shown, but is no
reason to end; transient failures (``dale.Retry``) are only counted.
"""

from __future__ import annotations

import logging
import sys
import warnings
from typing import Any, Literal, get_args

from dale.errors import EvaluationError, EvaluationWarning
from dale.evaluate.outcome import Outcome
from dale.history.failures import FailureKind, exception_line, failure_kind
from dale.history.trial import Trial
from dale.space.point import format_point

OnError = Literal["record", "raise"]
MAX_FAILURES = 5  # evaluations at the begin of a run that may all fail in the same way
MAX_SHOWN = 5  # kinds of failures that are shown
STOPPED = "dale stopped the run"  # how the note of an exception begins
log = logging.getLogger("dale")


class FailureMonitor:
    """Sees every evaluation of a run.

    Args:
        on_error: ``"record"`` or ``"raise"``.
        budget: Number of evaluations of the run.
        has_value: Whether the objective has worked before, in an earlier run on the same store.
        store: Path of the store; None without one.
    """

    def __init__(self, on_error: Any, budget: int, *, has_value: bool = False, store: str | None = None) -> None:
        self._on_error = check_on_error(on_error)
        self._limit = max_failures(budget)
        self._has_value = has_value
        self._kept = "" if store is None else f"; {store} keeps all evaluations"
        self._shown: set[FailureKind] = set()
        self.first: list[Trial] = []  # failures before the first value, all of the same kind

    def retries(self, outcome: Outcome) -> bool:
        """Whether a failure ends the run, so that its point is evaluated again when the run is resumed."""
        return self._on_error == "raise" and outcome.error is not None and not outcome.expected

    def ends_run(self, trial: Trial, outcome: Outcome) -> bool:
        """See a trial that has its outcome; return whether the run has to end with its error."""
        if trial.error is None:
            log.info("trial %d at %s: %.10g", trial.id, _encodable(format_point(trial.params)), trial.value)
            self._has_value = True
            return False
        what = f"trial {trial.id} at {format_point(trial.params)} failed: {exception_line(trial.error)}"
        log.warning("%s", _encodable(what))
        if outcome.retry:
            return False
        if self.retries(outcome):
            return True
        self._show(trial, trial.error)
        alike = not self.first or failure_kind(self.first[0].error or "") == failure_kind(trial.error)
        if self._has_value or outcome.expected or not alike:
            self._has_value = True  # from here on, failures depend on the point
            return False
        self.first.append(trial)
        return len(self.first) >= self._limit

    def error(self, trial: Trial, outcome: Outcome) -> Exception:
        """The exception that the run ends with: that of the objective if it was raised in this process."""
        where = f"trial {trial.id} at {format_point(trial.params)} failed"
        if self._on_error == "record":
            n = len(self.first)
            where = f"the first {n} evaluations all failed in the same way" if n > 1 else "the only evaluation failed"
        hint = "" if self._on_error == "raise" else "; where a point may have no value, return NaN instead"
        error = outcome.exception
        if isinstance(error, Exception) and not isinstance(error, StopIteration | StopAsyncIteration):
            error.add_note(f"{STOPPED}: {where}{self._kept}{hint}")
            return error
        raised = EvaluationError(f"{where}{self._kept}{hint}:\n{(trial.error or '').strip()}")
        raised.__cause__ = error
        return raised

    def _show(self, trial: Trial, error: str) -> None:
        """Show the first failure of a kind as a warning, at the line that called dale."""
        kind = failure_kind(error)
        if kind in self._shown or len(self._shown) >= MAX_SHOWN:
            return
        self._shown.add(kind)
        text = (
            f"trial {trial.id} at {format_point(trial.params)} failed; the run continues, and counts failures of this "
            f"kind without another warning:\n{error.strip()}"
        )
        file, line = _caller()
        # Without a registry, the same warning is shown again for the next run of the same program.
        warnings.warn_explicit(_encodable(text), EvaluationWarning, file, line)


def _encodable(text: str) -> str:
    """The text with lone surrogates escaped: a log file in UTF-8 cannot hold them."""
    return text.encode("utf-8", errors="backslashreplace").decode()


def max_failures(budget: int) -> int:
    """How many evaluations may fail alike, and nothing else happen, before a run ends."""
    return min(MAX_FAILURES, budget)


def check_on_error(on_error: Any) -> OnError:
    """The argument ``on_error`` of ``minimize``."""
    if on_error not in get_args(OnError):
        raise ValueError(f'on_error must be "record" or "raise", got {on_error!r}')
    checked: OnError = on_error
    return checked


def describe_end(error: BaseException) -> str | None:
    """In one line, why ``minimize`` ended with an exception; None if no evaluation was the reason."""
    if isinstance(error, EvaluationError):
        text = str(error)
        return f"{text.splitlines()[0]} {exception_line(text)}"
    notes = [str(note) for note in getattr(error, "__notes__", ()) if str(note).startswith(STOPPED)]
    return f"{notes[-1].removeprefix(STOPPED + ': ')}: {type(error).__name__}: {error}" if notes else None


def _caller() -> tuple[str, int]:
    """File and line of the innermost frame outside of dale."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "dale":
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
