"""A small neural network for wines, with a random split and random initial weights for each evaluation.

Value: log loss of 80 wines, after 15 epochs of Adam with 90 others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dale.space.float import Float
from dale.space.int import Int
from dale.space.space import Space
from dale_bench.real.data import few_iterations, integer, log_loss, split
from dale_bench.real.problem import Real

EPOCHS = 15
SPACE = Space(
    width=Int(2, 32, log=True),
    alpha=Float(1e-4, 1e2, log=True),
    learning_rate_init=Float(1e-3, 1e0, log=True),
    batch_size=Int(8, 64, log=True),
)


def value(params: Mapping[str, Any], rng: np.random.Generator) -> float:
    """Log loss of one split."""
    from sklearn.neural_network import MLPClassifier

    data = split("wine", 90, 80, rng)
    settings = {name: params[name] for name in ("alpha", "learning_rate_init", "batch_size")}
    model = MLPClassifier([params["width"]], max_iter=EPOCHS, random_state=integer(rng), **settings)
    with few_iterations():
        model.fit(data.X, data.y)
    return log_loss(model.predict_proba(data.X_test), data.y_test)


PROBLEM = Real(
    "mlp_cv", SPACE, 60, "neural network on wine, random splits and weights; log loss", value, 100, modules=("sklearn",)
)
