"""A support vector classifier of handwritten digits: the kernel, and the parameters that this kernel has.

Value: percentage of wrong labels of 600 digits, after training with 400 others (always the same ones).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from dale.space.choice import Choice
from dale.space.float import Float
from dale.space.int import Int
from dale.space.space import Space
from dale_bench.functions.function import stream
from dale_bench.real.data import Split, split
from dale_bench.real.problem import Real

SPACE = Space(
    kernel=Choice(["linear", "poly", "rbf", "sigmoid"]),
    C=Float(1e-3, 1e3, log=True),
    gamma=Float(1e-5, 1e1, log=True).when(kernel=["poly", "rbf", "sigmoid"]),
    degree=Int(2, 5).when(kernel="poly"),
    coef0=Float(-1.0, 1.0).when(kernel=["poly", "sigmoid"]),
)


@lru_cache
def digits() -> Split:
    """The split."""
    return split("digits", 400, 600, stream(0, "svc"))


def value(params: Mapping[str, Any]) -> float:
    """Percentage of errors."""
    from sklearn.svm import SVC

    data = digits()
    labels = SVC(**params).fit(data.X, data.y).predict(data.X_test)
    return float(100 * np.mean(labels != data.y_test))


PROBLEM = Real("svc", SPACE, 60, "SVC on digits: kernel and its parameters; error in %", value, modules=("sklearn",))
