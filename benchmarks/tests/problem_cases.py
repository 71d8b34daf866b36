"""All problems by name, and points of their spaces."""

import contextlib

import numpy as np

from dale.space.domain import Domain
from dale_bench.contender import Spent
from dale_bench.problems import KINDS, constrained, equal, failing, mixed

ALL = [(kind.name, name) for kind in KINDS.values() for name in kind.problems]
MIXED = {p.name: p for p in mixed.PROBLEMS}
CONSTRAINED = {p.name: p for p in constrained.PROBLEMS}
EQUAL = {p.name: p for p in equal.PROBLEMS}
HIDDEN = {p.name: p for p in failing.HIDDEN}


def spent(run, task, seed=0):
    with contextlib.suppress(Spent):
        run(task, seed)
    return task


def draws(space, n, seed=0):
    """Random points; with equalities, those of them that are within the bounds."""
    points = np.random.default_rng(seed).random((n, space.dimension))
    return [space.decode(u) for u in points[Domain.of(space).allowed(points)]]
