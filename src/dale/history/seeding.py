"""Random numbers: the generator of ask number k is a function of (seed, k), so that there is no state to save."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np


def generator(seed: int, k: int) -> np.random.Generator:
    """The generator of ask number ``k`` in a run with this seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(k,)))


@dataclass(frozen=True)
class RandomStreams:
    """The generators of one ask.

    Attributes:
        seed: Seed of the run.
        ask: Number of the ask.
    """

    seed: int
    ask: int

    def design(self) -> np.random.Generator:
        """A generator for the initial design, the same at every ask of a run."""
        return generator(self.seed, 0)

    def __call__(self, stream: str) -> np.random.Generator:
        """The generator of a part of the method ("local", "global"); one object, whose draws go on at the next call."""
        return self._shared

    @cached_property
    def _shared(self) -> np.random.Generator:
        return generator(self.seed, self.ask)


def check_seed(seed: Any) -> int:
    """A seed as an int; a fresh one for None."""
    if seed is None:
        return secrets.randbits(32)
    if isinstance(seed, bool) or not isinstance(seed, Integral):
        raise TypeError(f"seed must be a non-negative integer or None, got {seed!r}")
    if seed < 0:
        raise ValueError(f"seed must be a non-negative integer or None, got {seed!r}")
    return int(seed)
