"""scikit-learn's data, standardised, and random splits of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from dale._arrays import Matrix, Vector


class Split(NamedTuple):
    """Data to fit a model and data to judge it."""

    X: Matrix
    y: Vector
    X_test: Matrix
    y_test: Vector


@lru_cache
def table(name: str) -> tuple[Matrix, Vector]:
    """One of scikit-learn's small data sets (digits, breast_cancer, wine, diabetes), each column standardised."""
    X, y = getattr(import_module("sklearn.datasets"), f"load_{name}")(return_X_y=True)
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0), y


def split(name: str, n_train: int, n_test: int, rng: np.random.Generator) -> Split:
    """A random split of a data set."""
    X, y = table(name)
    order = rng.permutation(len(y))
    train, test = order[:n_train], order[n_train : n_train + n_test]
    return Split(X[train], y[train], X[test], y[test])


def integer(rng: np.random.Generator) -> int:
    """A seed for scikit-learn."""
    return int(rng.integers(2**31))


def root_mean_square(errors: Vector) -> float:
    """The root of the mean square."""
    return float(np.sqrt(np.mean(errors**2)))


@contextmanager
def few_iterations() -> Iterator[None]:
    """Without scikit-learn's warning that training has not converged."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*Maximum iterations.*")
        yield


def log_loss(probabilities: Matrix, labels: Vector) -> float:
    """Mean of minus the log of the probability of the true class, which is at least 1e-6."""
    own: Any = probabilities[np.arange(len(labels)), labels.astype(int)]
    return float(-np.mean(np.log(np.maximum(own, 1e-6))))
