"""A small neural network for handwritten digits: activation, one or two layers, their widths, and the training.

Value: log loss of 400 digits, after 12 epochs of Adam with 300 others. Splits and seeds are fixed.
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
from dale_bench.real.data import Split, few_iterations, log_loss, split
from dale_bench.real.problem import Real

EPOCHS = 12
SPACE = Space(
    activation=Choice(["relu", "tanh", "logistic"]),
    layers=Int(1, 2),
    width=Int(4, 48, log=True),
    second_width=Int(4, 48, log=True).when(layers=2),
    alpha=Float(1e-6, 1e1, log=True),
    learning_rate_init=Float(1e-4, 1e-1, log=True),
    batch_size=Int(16, 128, log=True),
)


@lru_cache
def digits() -> Split:
    """The split."""
    return split("digits", 300, 400, stream(0, "mlp"))


def value(params: Mapping[str, Any]) -> float:
    """Log loss."""
    from sklearn.neural_network import MLPClassifier

    data = digits()
    settings = {name: params[name] for name in ("activation", "alpha", "learning_rate_init", "batch_size")}
    widths = [params[name] for name in ("width", "second_width") if name in params]
    model = MLPClassifier(widths, max_iter=EPOCHS, random_state=0, **settings)
    with few_iterations():
        model.fit(data.X, data.y)
    return log_loss(model.predict_proba(data.X_test), data.y_test)


PROBLEM = Real(
    "mlp", SPACE, 80, "neural network on digits: layers, widths, training; log loss", value, modules=("sklearn",)
)
