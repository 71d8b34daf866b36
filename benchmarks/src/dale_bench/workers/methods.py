"""The floor, a method that thinks of nothing; and any method, with what its proposals took."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from dale.history.history import History
from dale.history.reason import Reason, Source
from dale.history.seeding import generator
from dale.methods.base import Cache, Method, Proposal


class Thought(NamedTuple):
    """What a proposal took, on the wall and of the processor in its thread, in seconds; and where its point is from."""

    wall: float
    cpu: float
    source: Source


@dataclass(frozen=True)
class RandomPoints:
    """Points drawn evenly from the cube: what workers wait with it is due to everything but thinking."""

    name: ClassVar[str] = "random_points"
    revision: ClassVar[int] = 1

    def changed_settings(self) -> dict[str, Any]:
        """None."""
        return {}

    def propose(self, history: History, seed: int, cache: Cache) -> Proposal:
        """A random point."""
        point = generator(seed, history.n_asked).random(history.dimension)
        return Proposal(point, Reason(Source.SPACE_FILLING))


@dataclass(frozen=True)
class Timed:
    """A method, with a list of what its proposals took."""

    method: Method
    thoughts: list[Thought] = field(default_factory=list, repr=False)

    @property
    def name(self) -> str:
        """The method's."""
        return self.method.name

    @property
    def revision(self) -> int:
        """The method's."""
        return self.method.revision

    def changed_settings(self) -> Mapping[str, Any]:
        """The method's."""
        return self.method.changed_settings()

    def propose(self, history: History, seed: int, cache: Cache) -> Proposal:
        """What the method proposes."""
        wall, cpu = time.perf_counter(), time.thread_time()
        proposal = self.method.propose(history, seed, cache)
        self.thoughts.append(Thought(time.perf_counter() - wall, time.thread_time() - cpu, proposal.reason.source))
        return proposal
