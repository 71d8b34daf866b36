"""What every peer gets: silence, seeded global generators, one thread, and an end; all put back when it is done."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from dale_bench.contender import Counted


@contextmanager
def quiet() -> Iterator[None]:
    """Keeps a library's warnings out of the benchmark's output; its errors pass."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def seeded_numpy(seed: int) -> Iterator[None]:
    """Seeds numpy's global generator, for libraries that draw from nothing else."""
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002


@contextmanager
def seeded_torch(seed: int) -> Iterator[None]:
    """Seeds torch and holds it to one thread, as all contenders are held."""
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
    """0, 1, 2, ...: starts of a solver that stops by itself, until the objective ends it all by raising ``Spent``.

    Raises:
        RuntimeError: A start came back without a single evaluation, and so would all that follow.
    """
    start = 0
    while True:
        before = len(objective.regrets)
        yield start
        if len(objective.regrets) == before:
            raise RuntimeError(f"start number {start} ended without an evaluation, so the budget would never be spent")
        start += 1
