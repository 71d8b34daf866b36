"""Random numbers: the generator of ask number k is a function of (seed, k), so that there is no state to save."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np

STREAMS: dict[str, tuple[int, ...]] = {"global": (), "local": (1,)}  # what follows the number of the ask in the key


def generator(seed: int, *key: int) -> np.random.Generator:
    """The generator of ask number ``key[0]`` in a run with this seed; more numbers for streams of their own."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


@dataclass(frozen=True)
class RandomStreams:
    """The generators of one ask.

    Attributes:
        seed: Seed of the run.
        ask: Number of the ask.

    Examples:
        >>> RandomStreams(seed=0, ask=3)("local").random() == RandomStreams(seed=0, ask=3)("local").random()
        True
    """

    seed: int
    ask: int
    _streams: dict[str, np.random.Generator] = field(default_factory=dict, repr=False, compare=False)

    def design(self) -> np.random.Generator:
        """A generator for the initial design, the same at every ask of a run."""
        return generator(self.seed, 0)

    def __call__(self, stream: str) -> np.random.Generator:
        """The generator of one side of the method: "global" or "local". What one side draws does not change the other.

        One object for each stream, whose draws continue at the next call.
        """
        if stream not in self._streams:
            if stream not in STREAMS:
                raise ValueError(f"stream: expected one of {', '.join(map(repr, STREAMS))}, got {stream!r}")
            self._streams[stream] = generator(self.seed, self.ask, *STREAMS[stream])
        return self._streams[stream]

    def fresh(self) -> np.random.Generator:
        """A generator for a point that replaces the proposed one; begins anew at each call."""
        return generator(self.seed, self.ask)


def check_seed(seed: Any) -> int:
    """A seed as an int; a fresh one for None; drawn from a generator of NumPy, which advances it."""
    if seed is None:
        return secrets.randbits(32)
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**32))
    if isinstance(seed, np.random.RandomState):
        return int(seed.randint(2**32, dtype=np.int64))
    if isinstance(seed, bool) or not isinstance(seed, Integral):
        raise TypeError(f"seed must be a non-negative integer or None, got {seed!r}")
    if seed < 0:
        raise ValueError(f"seed must be a non-negative integer or None, got {seed!r}")
    return int(seed)
