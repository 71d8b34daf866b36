"""Optimizers and data for the tests of what the ``paper`` preset does."""

import numpy as np

import dale
from dale.history.reason import Source
from dale.history.seeding import generator
from dale.methods.bayesian_optimization import GlobalModelContext
from dale.models.cholesky import IncrementalCholesky
from dale_bench.functions import get
from snapshots import snapshot_of


def context_of(optimizer, method=None):
    """The data of the next proposal."""
    snapshot = snapshot_of(optimizer.history, optimizer.space.dimension)
    rng = generator(optimizer.seed, snapshot.history.n_asked)
    return GlobalModelContext(method or optimizer.method, snapshot, rng, IncrementalCholesky())


def given(X, y, method=None):
    """An optimizer of the unit cube that was handed these evaluations."""
    optimizer = dale.Optimizer([(0, 1)] * X.shape[1], seed=0, method=method or dale.methods.paper())
    for x, value in zip(X, y, strict=True):
        optimizer.add(x, value)
    return optimizer


def run(name, budget, seed=0):
    function = get(name)
    optimizer = dale.Optimizer(function.bounds, seed=seed, method=dale.methods.paper())
    for _ in range(budget):
        trial = optimizer.ask()
        optimizer.tell(trial, function.fun(trial.x))
    return optimizer


def bowl(X, bottom=(0.52, 0.47)):
    return np.sum((X - np.array(bottom)) ** 2, axis=-1)


CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


def cluster(width=0.1):
    """As many points around the middle of the square as a quadratic has unknowns."""
    angles = 2 * np.pi * np.arange(5) / 5
    ring = np.column_stack([np.cos(angles), np.sin(angles)]) * np.linspace(0.7, 1.0, 5)[:, None]
    return np.vstack([[[0.5, 0.5]], 0.5 + width * ring])


SQUARE = np.vstack([cluster(), CORNERS])


def data_of(posterior):
    return posterior.points, posterior.values


def global_beside_region():
    """A history whose next proposal comes from the global model although a region lives, and that proposal."""
    for seed in range(8):
        for k, trial in enumerate(run("branin", 30, seed).history):
            if trial.reason.source is Source.GLOBAL and trial.reason.n_regions:
                return run("branin", k, seed), trial
    raise AssertionError("no such proposal in eight runs: take others")


def square():
    """One region in the middle, four observations outside it."""
    optimizer = given(SQUARE, bowl(SQUARE))
    assert len(context_of(optimizer).regions.live) == 1
    return optimizer
