"""Random points, the baseline without computation; and a wrapper that times the proposals of a method."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from dale.history.reason import Reason, Source
from dale.history.seeding import RandomStreams
from dale.history.snapshot import Snapshot
from dale.methods.base import Capabilities, Method, Proposal


class ProposalTime(NamedTuple):
    """Seconds of a proposal, wall time and CPU time of its thread, and the source of its point."""

    wall: float
    cpu: float
    source: Source


@dataclass(frozen=True)
class RandomPoints:
    """Uniform random points. With this method, idle time of workers is overhead and not computation."""

    name: ClassVar[str] = "random"
    revision: ClassVar[int] = 1
    capabilities: ClassVar[Capabilities] = Capabilities()

    def changed_settings(self) -> Mapping[str, Any]:
        """There are no settings."""
        return {}

    def propose(self, snapshot: Snapshot, rng: RandomStreams) -> Proposal:
        """A uniform random point."""
        point = rng("global").random(snapshot.history.dimension)
        return Proposal(point, Reason(Source.SPACE_FILLING))


@dataclass(frozen=True)
class Timed:
    """A method with a list of the times of its proposals."""

    method: Method
    times: list[ProposalTime] = field(default_factory=list, repr=False)

    @property
    def name(self) -> str:
        """That of the method."""
        return self.method.name

    @property
    def revision(self) -> int:
        """That of the method."""
        return self.method.revision

    @property
    def capabilities(self) -> Capabilities:
        """Those of the method."""
        return self.method.capabilities

    def changed_settings(self) -> Mapping[str, Any]:
        """Those of the method."""
        return self.method.changed_settings()

    def propose(self, snapshot: Snapshot, rng: RandomStreams) -> Proposal:
        """The proposal of the method, timed."""
        wall, cpu = time.perf_counter(), time.thread_time()
        proposal = self.method.propose(snapshot, rng)
        self.times.append(ProposalTime(time.perf_counter() - wall, time.thread_time() - cpu, proposal.reason.source))
        return proposal
