"""The floor, a method that thinks of nothing; and any method, with what its proposals took."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from dale.history.reason import Reason, Source
from dale.history.seeding import RandomStreams
from dale.history.snapshot import Snapshot
from dale.methods.base import Capabilities, Method, Proposal


class Thought(NamedTuple):
    """What a proposal took, on the wall and of the processor in its thread, in seconds; and where its point is from."""

    wall: float
    cpu: float
    source: Source


@dataclass(frozen=True)
class RandomPoints:
    """Points drawn evenly from the cube: what workers wait with it is due to everything but thinking."""

    name: ClassVar[str] = "random"
    revision: ClassVar[int] = 1
    capabilities: ClassVar[Capabilities] = Capabilities()

    def changed_settings(self) -> Mapping[str, Any]:
        """There are no settings."""
        return {}

    def propose(self, snapshot: Snapshot, rng: RandomStreams) -> Proposal:
        """A random point."""
        point = rng("global").random(snapshot.history.dimension)
        return Proposal(point, Reason(Source.SPACE_FILLING))


@dataclass(frozen=True)
class Timed:
    """A method, with a list of what its proposals took."""

    method: Method
    thoughts: list[Thought] = field(default_factory=list, repr=False)

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
        """What the method proposes."""
        wall, cpu = time.perf_counter(), time.thread_time()
        proposal = self.method.propose(snapshot, rng)
        self.thoughts.append(Thought(time.perf_counter() - wall, time.thread_time() - cpu, proposal.reason.source))
        return proposal
