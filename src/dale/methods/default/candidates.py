"""The local steps that compete at one proposal."""

from __future__ import annotations

from typing import NamedTuple

from dale.history.reason import ClosedRegion
from dale.methods.default.local_step import Step
from dale.methods.default.trust_region import TrustRegionSet


class LocalCandidate(NamedTuple):
    """A step, and the row of the observation that it starts from."""

    row: int
    step: Step


class LocalCandidates(NamedTuple):
    """All steps that compete at one proposal.

    Attributes:
        incumbent: The step from the best observation; None if there is none.
        other_options: The best step from observations with other options than the incumbent's.
        uncovered: The step from the best observation outside the closed regions, if the best one is inside.
        regions: All regions after these queries.
        closed: Those that they closed.
    """

    incumbent: LocalCandidate | None
    other_options: LocalCandidate | None
    uncovered: LocalCandidate | None
    regions: TrustRegionSet
    closed: tuple[ClosedRegion, ...]


class LocalResult(NamedTuple):
    """The result of a query.

    Attributes:
        candidate: The step; None if there is none.
        regions: All regions after the query.
        closed: Those that it closed.
    """

    candidate: LocalCandidate | None
    regions: TrustRegionSet
    closed: tuple[ClosedRegion, ...] = ()
