"""Gradient boosting of regression trees on the diabetes data: six parameters, a loss, and a quantile for one of them.

Value: root mean square error for 192 patients, after training with 250 others. Splits and seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from dale.space.choice import Choice
from dale.space.float import Float
from dale.space.int import Int
from dale.space.space import Space
from dale_bench.functions.function import stream
from dale_bench.real.data import Split, root_mean_square, split
from dale_bench.real.problem import Real

SPACE = Space(
    loss=Choice(["squared_error", "absolute_error", "huber"]),
    alpha=Float(0.5, 0.99).when(loss="huber"),
    learning_rate=Float(0.01, 1.0, log=True),
    n_estimators=Int(5, 60, log=True),
    max_depth=Int(1, 6),
    min_samples_leaf=Int(1, 50, log=True),
    subsample=Float(0.3, 1.0),
    max_features=Float(0.1, 1.0),
)


@lru_cache
def patients() -> Split:
    """The split."""
    return split("diabetes", 250, 192, stream(0, "boosting"))


def value(params: Mapping[str, Any]) -> float:
    """Root mean square error."""
    from sklearn.ensemble import GradientBoostingRegressor

    data = patients()
    model = GradientBoostingRegressor(random_state=0, **params).fit(data.X, data.y)
    return root_mean_square(model.predict(data.X_test) - data.y_test)


PROBLEM = Real(
    "boosting", SPACE, 80, "gradient boosting on diabetes: loss, trees, shrinkage; RMSE", value, modules=("sklearn",)
)
