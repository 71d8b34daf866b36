"""Readings of what the paper leaves open, as contenders.

A reading settles three points: what the margin of Alg. 3, line 24, is measured from; after which failures a larger
neighbourhood is tried; and the denominator of the alpha ratio (eq. 8, or Alg. 2, line 5). It runs as the contender
``reading:MARGIN-AFTER-DENOMINATOR``, which is in no list of contenders and in no comparison that does not name it.
`dale.methods.paper` follows the reading `OURS`.
"""

from __future__ import annotations

from functools import partial
from itertools import product

from dale.methods import BayesianOptimization
from dale.methods.length_scale.alpha_ratio import AlphaRatio, Denominator
from dale.methods.region_identification import CandidateStatus, MarginFrom, RegionIdentification
from dale_bench.contender import Contender
from dale_bench.ours import ask_and_tell

PREFIX = "reading:"
AFTER = {
    "break": (),  # every failure ends the neighbourhoods of a point, as printed
    "continue": (CandidateStatus.IGNORES_NEIGHBOURS,),  # all but line 26
    "always": tuple(CandidateStatus),  # none
}
READINGS = tuple("-".join(words) for words in product(MarginFrom, AFTER, Denominator))
OURS = "center-continue-stored"
# One change at a time, from the surface of the ball, `break` and eq. 8.
COMPARED = (
    "surface-break-computed",
    "center-break-computed",
    "surface-continue-computed",
    "surface-break-stored",
    OURS,
)


def method(reading: str) -> BayesianOptimization:
    """The method that follows a reading, one of `READINGS`."""
    margin_from, after, denominator = reading.split("-")
    return BayesianOptimization(
        length_scale=AlphaRatio(denominator=Denominator(denominator)),
        regions=RegionIdentification(margin_from=MarginFrom(margin_from), continue_after=AFTER[after]),
    )


def contender_name(reading: str) -> str:
    """The name of the contender that follows a reading."""
    return "paper" if reading == OURS else PREFIX + reading


def is_reading(name: str) -> bool:
    """Whether a contender follows a reading other than `OURS`."""
    return name.startswith(PREFIX)


def contender_named(name: str) -> Contender | None:
    """The contender that follows a reading; None if the name is no such contender."""
    reading = name.removeprefix(PREFIX)
    if not is_reading(name) or reading not in READINGS:
        return None
    return Contender(name, partial(ask_and_tell, lambda _: method(reading)), name)
