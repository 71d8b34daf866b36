"""The incumbent with an option of which all evaluations have failed: was it the option, or something else?

A few failures among the first trials may belong to other parameters, but the model of failures expects more of them at
the same option, and the models of the objective have no value there: the option would never be tried again. So the
incumbent, whose other values are known to complete, is evaluated with this option. If that fails too, the two trials
differ in the option alone, and it is left to the models: each option is tried in this way once.
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
    """Columns and coordinates of options that have failed, but neither completed nor are pending, nor to blame."""
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
        at_option = failed[failed_active[:, columns.start]][:, columns]
        for option in dict.fromkeys(map(tuple, at_option.tolist())):
            if np.any(np.all(tried[:, columns] == option, axis=1)):
                continue
            same = np.zeros(failed.shape[1], dtype=bool)  # coordinates in which the trials need not agree
            same[columns] = True
            rows = np.flatnonzero(failed_active[:, columns.start] & np.all(failed[:, columns] == option, axis=1))
            agree = (
                np.all((failed[i] == completed) | same | ~failed_active[i] | ~completed_active, axis=1).any()
                for i in rows
            )
            if not any(agree):
                yield columns, np.array(option)
