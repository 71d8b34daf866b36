"""The environment of a peer: no warnings, seeded global generators, one thread, restarts. It is restored afterwards."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from dale_bench.contender import Counted


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress the warnings of a library."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def seeded_numpy(seed: int) -> Iterator[None]:
    """Seed numpy's global generator, for libraries that use it."""
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002


@contextmanager
def seeded_torch(seed: int) -> Iterator[None]:
    """Seed torch and limit it to one thread, as all contenders."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(threads)


def restarts(objective: Counted) -> Iterator[int]:
    """Numbers 0, 1, 2, ... of the starts of a solver, until the objective raises ``Spent``.

    Raises:
        RuntimeError: A start made no evaluation, so the budget would never be spent.
    """
    start = 0
    while True:
        before = len(objective.regrets)
        yield start
        if len(objective.regrets) == before:
            raise RuntimeError(
                f"expected evaluations in every start, got none in start {start}: the budget would never be spent"
            )
        start += 1
