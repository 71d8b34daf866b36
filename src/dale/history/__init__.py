"""Trials, and everything derived from them: observations, snapshots, minima, results, stopping rules."""

from dale.history.correction import Correction
from dale.history.direction import Direction
from dale.history.evaluation import Evaluation
from dale.history.history import History
from dale.history.local_minimum import LocalMinimum
from dale.history.observations import Observations
from dale.history.reason import ClosedRegion, Reason, Source, TrustRegionStep
from dale.history.result import Result
from dale.history.seeding import RandomStreams
from dale.history.snapshot import Cache, Incumbent, Snapshot
from dale.history.stopping import Budget, Clock, Status, StoppingRule, Target, TimeLimit, Tolerance
from dale.history.trial import Trial, TrialState

__all__ = [
    "Budget",
    "Cache",
    "Clock",
    "ClosedRegion",
    "Correction",
    "Direction",
    "Evaluation",
    "History",
    "Incumbent",
    "LocalMinimum",
    "Observations",
    "RandomStreams",
    "Reason",
    "Result",
    "Snapshot",
    "Source",
    "Status",
    "StoppingRule",
    "Target",
    "TimeLimit",
    "Tolerance",
    "Trial",
    "TrialState",
    "TrustRegionStep",
]
