"""Runs with added data, for the tests of noise."""

import numpy as np

import dale
from hostile import bowl


def with_data(X, y, *, noise="auto", each=None):
    """A run with added data: points (n, d) of the cube, their values, and optionally the noise of each."""
    X = np.asarray(X, dtype=float)
    optimizer = dale.Optimizer([(0.0, 1.0)] * X.shape[1], seed=0, noise=noise)
    for i, (x, value) in enumerate(zip(X, y, strict=True)):
        optimizer.add(x, value, noise=None if each is None else each[i])
    return optimizer


def observations(*args, **kwargs):
    return with_data(*args, **kwargs).snapshot.history.observations


def smooth_data():
    """30 points of the square and the values of a smooth function there."""
    X = np.random.default_rng(1).random((30, 2))
    return X, np.array([bowl(x) for x in X])


def rough(x):
    """A standard normal number that is always the same at a point, and independent of all others."""
    return float(np.random.default_rng(np.frombuffer(np.asarray(x, dtype=float).tobytes(), dtype=np.uint8)).normal())
