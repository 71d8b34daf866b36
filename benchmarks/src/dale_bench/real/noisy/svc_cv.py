"""A support vector classifier of tumours, judged on a random split for each evaluation.

Value: percentage of errors on 300 of the breast cancer data, after training with 120 others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dale.space.float import Float
from dale.space.space import Space
from dale_bench.real.data import split
from dale_bench.real.problem import Real

SPACE = Space(C=Float(1e-2, 1e3, log=True), gamma=Float(1e-5, 1e0, log=True))


def value(params: Mapping[str, Any], rng: np.random.Generator) -> float:
    """Percentage of errors of one split."""
    from sklearn.svm import SVC

    data = split("breast_cancer", 120, 300, rng)
    labels = SVC(**params).fit(data.X, data.y).predict(data.X_test)
    return float(100 * np.mean(labels != data.y_test))


PROBLEM = Real("svc_cv", SPACE, 50, "SVC on breast cancer, random splits; error in %", value, 200, modules=("sklearn",))
