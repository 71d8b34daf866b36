"""The selection between local and global proposals: the only place where they compete.

A global model overstates its expected improvement, which is a maximum over the whole cube. So a step from the incumbent
is taken if the local model is certain of it, or if it expects at least ``min_ei_ratio_incumbent`` of the global EI, and
else two times out of three; a step from another center if it expects at least ``min_ei_ratio_other`` of the global EI.
Before ``min_evaluations_per_parameter`` evaluations per parameter the global side proposes, unless the local model is
certain. Where there are options, the best observations with other options than the incumbent's have regions too: the
best of their steps is taken if it expects more than that from the incumbent, and ``min_ei_ratio_other`` of the global
EI.
"""

from __future__ import annotations

import math
from itertools import islice

from dale.history.history import History
from dale.history.reason import Source
from dale.methods.default.local_search import LocalCandidate, LocalResult, LocalSearch
from dale.methods.default.settings import SelectionSettings


def select(local: LocalResult, search: LocalSearch, log_ei: float, s: SelectionSettings) -> LocalResult:
    """The local candidate that is taken; None in its place where the global proposal is.

    Args:
        local: The step from the incumbent.
        search: Finds steps from other centers.
        log_ei: Log EI of the global proposal, in the units of the local one.
        s: Settings.
    """
    history = search.snapshot.history
    enough = s.min_evaluations_per_parameter * search.snapshot.domain.n_parameters
    mine, regions, closed = local
    if len(search.observations.X) >= enough:
        other, regions, more = search.from_other_options(regions)
        closed += more
        own = -math.inf if mine is None else mine.step.log_ei
        if other is not None and other.step.log_ei >= max(log_ei + math.log(s.min_ei_ratio_other), own):
            return LocalResult(other, regions, closed)
    if mine is not None:
        early = len(search.observations.X) < enough
        return LocalResult(mine if _is_taken(mine, log_ei, history, s, early=early) else None, regions, closed)
    if search.is_best_closed(regions) and search.n >= enough:
        other, regions, more = search.from_best_uncovered(regions)
        taken = other is not None and other.step.log_ei >= log_ei + math.log(s.min_ei_ratio_other)
        return LocalResult(other if taken else None, regions, closed + more)
    return LocalResult(None, regions, closed)


def _is_taken(candidate: LocalCandidate, log_ei: float, history: History, s: SelectionSettings, *, early: bool) -> bool:
    """Whether a step from the incumbent is taken."""
    step = candidate.step
    if step.certain:
        return True
    if early:
        return False
    if step.log_ei >= log_ei + math.log(s.min_ei_ratio_incumbent):
        return True
    last = islice((t for t in reversed(history.trials) if not t.retry), s.local_turns - 1)
    return any(t.reason.source is not Source.LOCAL for t in last)
