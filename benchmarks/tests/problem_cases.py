"""All problems by name, and points of their spaces."""

import contextlib

import numpy as np

from dale_bench.contender import Spent
from dale_bench.problems import KINDS, constrained, failing, mixed

ALL = [(kind.name, name) for kind in KINDS.values() for name in kind.problems]
MIXED = {p.name: p for p in mixed.PROBLEMS}
CONSTRAINED = {p.name: p for p in constrained.PROBLEMS}
HIDDEN = {p.name: p for p in failing.HIDDEN}


def spent(run, task, seed=0):
    with contextlib.suppress(Spent):
        run(task, seed)
    return task


def draws(space, n, seed=0):
    return [space.decode(u) for u in np.random.default_rng(seed).random((n, space.dimension))]
