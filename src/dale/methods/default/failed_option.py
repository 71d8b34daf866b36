"""The incumbent with an option of which all evaluations have failed: was it the option, or something else?

A few failures among the first trials may belong to other parameters, but the model of failures expects more of them at
the same option, and the models of the objective have no value there: the option would never be tried again. So the
incumbent, whose other values are known to complete, is evaluated with this option; parameters that the option activates
get a middle value. If that fails too, the two trials differ in the option and in what it activates alone, and it is
left to the models: each option is tried in this way once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dale._arrays import Vector
from dale.history.reason import Reason, Source
from dale.history.snapshot import Snapshot
from dale.methods.base import Proposal


def propose_failed_option(snapshot: Snapshot, incumbent: Vector) -> Proposal | None:
    """The incumbent (d,) with the first option that has failed only; None if no option needs this test."""
    domain = snapshot.domain
    for columns, option in _failed_only(snapshot):
        point = incumbent.copy()
        point[columns] = option
        point = domain.snap(point[None, :])
        if np.array_equal(point[0, columns], option) and domain.allowed(point)[0]:  # else inactive there, or disallowed
            return Proposal(point[0], Reason(Source.FAILED_OPTION, length_scale=snapshot.history.length_scale))
    return None


def _failed_only(snapshot: Snapshot) -> Iterator[tuple[slice, Vector]]:
    """Columns and coordinates of each option that failed, never completed, is not pending, and was not tested yet.

    It was tested if it failed with the other values of a completed trial.
    """
    observations, domain = snapshot.history.observations, snapshot.domain
    if not observations.failed.any() or domain.ordered.all():
        return
    failed, completed = observations.X[observations.failed], observations.X[observations.has_value]
    failed_active, completed_active = domain.active(failed), domain.active(completed)
    tried = np.vstack([completed, snapshot.history.pending])
    for name, parameter in domain.space.parameters.items():
        columns = domain.space.columns(name)
        if parameter.ordered or columns.start == columns.stop or (domain.held and name in domain.held.values):
            continue
        candidates = np.flatnonzero(failed_active[:, columns.start])
        for option in dict.fromkeys(map(tuple, failed[candidates][:, columns].tolist())):
            if np.any(np.all(tried[:, columns] == option, axis=1)):
                continue
            ignored = np.zeros(failed.shape[1], dtype=bool)  # coordinates in which the trials need not agree
            ignored[columns] = True
            rows = candidates[np.all(failed[candidates][:, columns] == option, axis=1)]
            is_tested = any(
                np.all((failed[i] == completed) | ignored | ~failed_active[i] | ~completed_active, axis=1).any()
                for i in rows.tolist()
            )
            if not is_tested:
                yield columns, np.array(option)
