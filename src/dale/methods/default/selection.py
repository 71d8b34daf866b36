"""The selection between local and global proposals: the only place where they compete.

The global EI is a maximum over the whole cube, and therefore overstated. So a local step needs only a fraction of it:

- A step from the incumbent is taken if the local model is certain of it, or if its EI is at least
  ``min_ei_ratio_incumbent`` of the global EI. Otherwise the two sides take turns: one proposal in ``local_turns`` is
  global, and the global side waits one local step longer for each of its last proposals that did not improve on the
  best value, up to ``max_wait``. Its predictions are then wrong, as where values span decades. A step whose evaluation
  may fail takes every other turn: the boundary of a failing set is bisected slowly.
- Noise hides the reductions that the local model predicts in its region if they are less than ``NOISY_REDUCTION`` stds
  of the noise. A step then only averages: it needs the whole of the global EI, and otherwise takes every other turn.
- A step whose evaluation completes with a probability below ``MIN_COMPLETES`` would not even bisect a boundary: it
  needs the whole of the global EI.
- If a closed region covers the incumbent, the step from the best uncovered observation is taken if its EI is at least
  ``min_ei_ratio_other`` of the global EI.
- In spaces with options, the best step from observations with other options than the incumbent's is taken if its EI is
  at least that of the step from the incumbent, and ``min_ei_ratio_other`` of the global EI.
- Before ``min_evaluations_per_parameter`` evaluations per parameter, the global side proposes, unless the local model
  is certain of the step from the incumbent.
"""

from __future__ import annotations

import math
from itertools import islice

from dale.history.history import History
from dale.history.reason import Source
from dale.history.trial import TrialState
from dale.methods.default.candidates import LocalCandidate, LocalCandidates
from dale.methods.default.local_step import Step
from dale.methods.default.settings import SelectionSettings
from dale.methods.default.trust_region import NOISY_REDUCTION

MIN_COMPLETES = 0.02  # probability, relative to the highest one, that the evaluation of a step completes


def select(
    local: LocalCandidates, log_ei: float, history: History, s: SelectionSettings, *, n_parameters: int, early: bool
) -> LocalCandidate | None:
    """The local candidate to evaluate next; None for the global proposal.

    Args:
        local: The local candidates.
        log_ei: Log EI of the global proposal, in the units of the local ones.
        history: The trials; the last ones decide whose turn it is.
        s: Settings of the selection.
        n_parameters: Number of parameters.
        early: Whether there are too few values for uncertain local steps.
    """
    own = -math.inf if local.incumbent is None else local.incumbent.step.log_ei
    other = local.other_options
    if other is not None and other.step.log_ei >= max(_enough(other.step, log_ei, s.min_ei_ratio_other), own):
        return other
    if local.incumbent is not None:
        is_taken = _is_taken(local.incumbent, log_ei, history, s, n_parameters=n_parameters, early=early)
        return local.incumbent if is_taken else None
    far = local.uncovered
    return far if far is not None and far.step.log_ei >= _enough(far.step, log_ei, s.min_ei_ratio_other) else None


def _enough(step: Step, log_ei: float, ratio: float) -> float:
    """The log EI that a step needs: a ratio of the global one, or the whole of it if the step will probably fail."""
    return log_ei if step.completes < MIN_COMPLETES else log_ei + math.log(ratio)


def _is_taken(
    candidate: LocalCandidate, log_ei: float, history: History, s: SelectionSettings, *, n_parameters: int, early: bool
) -> bool:
    """Whether a step from the incumbent is taken."""
    step = candidate.step
    if step.certain:
        return True
    if early:
        return False
    noise = step.model.noise_at_center
    is_hidden = noise > 0 and -step.lowest < NOISY_REDUCTION * noise  # lowest > 0 where integers are snapped
    if step.log_ei >= _enough(step, log_ei, 1.0 if is_hidden else s.min_ei_ratio_incumbent):
        return True
    if step.completes < MIN_COMPLETES:
        return False
    max_wait = n_parameters if s.max_wait is None else s.max_wait
    turns = 2 if step.may_fail or is_hidden else s.local_turns + min(n_fruitless(history), max_wait)
    last = islice((t for t in reversed(history.trials) if not t.retry), turns - 1)
    return any(t.reason.source is not Source.LOCAL for t in last)


def n_fruitless(history: History) -> int:
    """Number of global evaluations since the last one that improved on the best feasible value.

    Those before the first local step and before the first feasible value do not count.
    """
    best, n, has_stepped = math.inf, 0, False
    for trial in history.trials:
        has_stepped = has_stepped or trial.reason.source is Source.LOCAL
        if trial.state in (TrialState.PENDING, TrialState.DISCARDED) or trial.retry:
            continue
        value = trial.loss if trial.feasible else math.inf
        if has_stepped and trial.reason.source is Source.GLOBAL and min(best, value) < math.inf:
            n = 0 if value < best else n + 1
        best = min(best, value)
    return n
