"""Gradient boosting of regression trees on the diabetes data, with a random split and seed for each evaluation.

Value: root mean square error for 200 patients, after training with 150 others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dale.space.float import Float
from dale.space.int import Int
from dale.space.space import Space
from dale_bench.real.data import integer, root_mean_square, split
from dale_bench.real.problem import Real

SPACE = Space(
    learning_rate=Float(0.01, 1.0, log=True),
    n_estimators=Int(5, 50, log=True),
    max_depth=Int(1, 6),
    subsample=Float(0.2, 1.0),
)


def value(params: Mapping[str, Any], rng: np.random.Generator) -> float:
    """Root mean square error of one split."""
    from sklearn.ensemble import GradientBoostingRegressor

    data = split("diabetes", 150, 200, rng)
    model = GradientBoostingRegressor(random_state=integer(rng), **params).fit(data.X, data.y)
    return root_mean_square(model.predict(data.X_test) - data.y_test)


PROBLEM = Real(
    "boosting_cv", SPACE, 60, "gradient boosting on diabetes, random splits; RMSE", value, 100, modules=("sklearn",)
)
