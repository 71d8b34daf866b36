"""Randomness: the generator of ask number k is a function of (seed, k), so there is no state to save."""

import secrets
from numbers import Integral
from typing import Any

import numpy as np


def generator(seed: int, k: int) -> np.random.Generator:
    """The generator of ask number ``k`` in a run with this seed."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(k,)))


def check_seed(seed: Any) -> int:
    """A seed as an int; a fresh one for None."""
    if seed is None:
        return secrets.randbits(32)
    if isinstance(seed, bool) or not isinstance(seed, Integral):
        raise TypeError(f"seed must be a non-negative integer or None, got {seed!r}")
    if seed < 0:
        raise ValueError(f"seed must be a non-negative integer or None, got {seed!r}")
    return int(seed)
