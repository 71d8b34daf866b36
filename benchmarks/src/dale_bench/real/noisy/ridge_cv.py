"""Kernel ridge regression on the diabetes data, judged on a random split for each evaluation.

The kernel is Gaussian plus `linear` times the inner product. Value: root mean square error for 200 patients, after
training with 120 others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dale._arrays import Matrix
from dale.space.float import Float
from dale.space.space import Space
from dale_bench.real.data import root_mean_square, split
from dale_bench.real.problem import Real

SPACE = Space(ridge=Float(1e-4, 1e2, log=True), gamma=Float(1e-4, 1e1, log=True), linear=Float(1e-4, 1e1, log=True))


def kernel(params: Mapping[str, Any], A: Matrix, B: Matrix) -> Matrix:
    """The kernel matrix between the rows of A and of B."""
    inner = A @ B.T
    squares = np.sum(A**2, axis=1)[:, None] + np.sum(B**2, axis=1) - 2 * inner
    return np.asarray(np.exp(-params["gamma"] * np.maximum(squares, 0.0)) + params["linear"] * inner)


def value(params: Mapping[str, Any], rng: np.random.Generator) -> float:
    """Root mean square error of one split."""
    data = split("diabetes", 120, 200, rng)
    mean = data.y.mean()
    K = kernel(params, data.X, data.X) + params["ridge"] * np.eye(len(data.y))
    predicted = mean + kernel(params, data.X_test, data.X) @ np.linalg.solve(K, data.y - mean)
    return root_mean_square(predicted - data.y_test)


PROBLEM = Real(
    "ridge_cv", SPACE, 50, "kernel ridge regression on diabetes, random splits; RMSE", value, 400, modules=("sklearn",)
)
