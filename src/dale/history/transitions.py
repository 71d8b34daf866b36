"""How the outcome of a trial changes: reported as a value or a failure, corrected, or discarded.

Each function returns the trial with its new outcome, or raises an error that says why it cannot have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from dale.errors import TrialError
from dale.history.correction import Correction, check_who, check_why, now
from dale.history.evaluation import Evaluation, NotFinite, check_evaluation
from dale.history.trial import (
    NO_OUTCOME,
    Trial,
    TrialState,
    check_number_of_constraints,
    kept_error,
    last_evaluation,
)
from dale.space.point import short_repr

NOT_CHANGED = "Nothing was changed"


class Instructions(NamedTuple):
    """How the user who gets an error does what it suggests."""

    amend: str
    discard: str
    value: str
    report: str


IN_PYTHON = Instructions(
    amend="call amend(trial, value=...)",
    discard="use discard(trial, why)",
    value="pass value= too",
    report="Report its outcome with tell(trial, value) or fail(trial, why)",
)
ON_COMMAND_LINE = Instructions(
    amend="run dale amend with --value",
    discard="run dale discard",
    value="pass --value too",
    report="Correct it after the run has reported its outcome",
)


def told(trial: Trial, evaluation: Evaluation) -> Trial:
    """The trial with its value; itself if it has this one already."""
    _check_not_discarded(trial)
    if trial.state is TrialState.COMPLETE:
        before = last_evaluation(trial)
        if before == evaluation:
            return trial
        raise TrialError(
            f"trial {trial.id} already has {before!r}, got {evaluation!r}; nothing was changed. If the first value is "
            "wrong, correct it with amend(trial, value=...)"
        )
    return replace(trial, state=TrialState.COMPLETE, error=None, retry=False, **vars(evaluation))


def failed(trial: Trial, error: str, *, retry: bool) -> Trial:
    """The trial after a failure."""
    _check_not_discarded(trial)
    if trial.state is TrialState.COMPLETE:
        raise TrialError(
            f"trial {trial.id} already has the value {trial.value!r} and cannot fail; nothing was changed. If the "
            "value is not valid, use discard(trial, why)"
        )
    return replace(trial, state=TrialState.FAILED, error=kept_error(error), retry=retry)


def amended(
    trials: Sequence[Trial],
    trial: Trial,
    changes: Evaluation,
    who: str | None,
    why: str,
    how: Instructions = IN_PYTHON,
) -> Trial:
    """The trial with another outcome; itself if it has this one already.

    Args:
        trials: All trials of the run.
        trial: The trial to correct.
        changes: The new outcome, unchecked; None for the parts that stay as they are.
        who: Who corrects it; None for the user of the process.
        why: The reason.
        how: How the user does what an error suggests.
    """
    who, why = check_who(who), check_why(why)
    _check_finished(trial, "correct", how)
    before = last_evaluation(trial)
    evaluation = _changed(trial, before, changes, how)
    check_number_of_constraints(evaluation.constraints, trials)
    if trial.state is TrialState.COMPLETE and evaluation == before:
        return trial
    return corrected(trial, evaluation, who=who, when=now(), why=why, n_trials=len(trials))


def discarded(trials: Sequence[Trial], trial: Trial, who: str | None, why: str, how: Instructions = IN_PYTHON) -> Trial:
    """The trial without its outcome; arguments as in ``amended``."""
    who, why = check_who(who), check_why(why)
    _check_finished(trial, "discard", how)
    if trial.state is TrialState.DISCARDED:
        raise TrialError(
            f"trial {trial.id} is discarded already: {trial.corrections[-1]}. {NOT_CHANGED}; to use the trial again, "
            f"{how.amend}"
        )
    return corrected(trial, None, who=who, when=now(), why=why, n_trials=len(trials))


def corrected(trial: Trial, after: Evaluation | None, *, who: str, when: str, why: str, n_trials: int) -> Trial:
    """The trial after a correction, with another outcome or None."""
    before = last_evaluation(trial) if trial.state is TrialState.COMPLETE else None
    correction = Correction(before, after, who, when, why, n_trials, trial.error)
    state = TrialState.DISCARDED if after is None else TrialState.COMPLETE
    outcome = vars(NO_OUTCOME if after is None else after)
    corrections = (*trial.corrections, correction)
    return replace(trial, state=state, error=None, retry=False, corrections=corrections, **outcome)


def _changed(trial: Trial, before: Evaluation | None, changes: Evaluation, how: Instructions) -> Evaluation:
    """The evaluation with the changes."""
    value, noise, constraints, extra = changes.value, changes.noise, changes.constraints, changes.extra
    if value is None and noise is None and constraints is None and extra is None:
        raise TypeError(
            f"amend trial {trial.id}: expected a value, noise, constraints or extra to change, got none of them"
        )
    if value is None and trial.state is not TrialState.COMPLETE:
        raise TrialError(
            f"trial {trial.id} is {trial.state} and has no value, got only its noise, constraints or extra; "
            f"{how.value}. {NOT_CHANGED}"
        )
    base = NO_OUTCOME if before is None else before
    try:
        if isinstance(value, Evaluation):  # with its own noise and constraints
            evaluation = check_evaluation(value, noise, () if constraints is None else constraints, extra)
            return evaluation if value.extra is not None else replace(evaluation, extra=base.extra)
        return check_evaluation(
            base.value if value is None else value,
            base.noise if noise is None else noise,
            base.constraints if constraints is None else constraints,
            base.extra if extra is None else extra,
        )
    except NotFinite:
        raise NotFinite(
            f"amend trial {trial.id}: expected finite numbers, got value {short_repr(value)}, constraints "
            f"{short_repr(constraints)}; if the evaluation has no valid value, {how.discard}. {NOT_CHANGED}"
        ) from None


def _check_finished(trial: Trial, action: str, how: Instructions) -> None:
    if trial.state is TrialState.PENDING:
        raise TrialError(
            f"trial {trial.id} is pending, so there is nothing to {action}; expected a complete or failed trial. "
            f"{how.report}. {NOT_CHANGED}"
        )


def _check_not_discarded(trial: Trial) -> None:
    if trial.state is TrialState.DISCARDED:
        raise TrialError(
            f"trial {trial.id} was discarded: {trial.corrections[-1]}. {NOT_CHANGED}; to give it a value, use "
            "amend(trial, value=...)"
        )
