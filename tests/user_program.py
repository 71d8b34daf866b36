"""A small program of a user's, which passes ``mypy --strict``; ``test_types.py`` checks and runs it."""

import logging

import numpy as np
import numpy.typing as npt

import dale


def bowl(x: npt.NDArray[np.float64]) -> float:
    return float((x[0] - 1) ** 2 + x[1] ** 2)


def loss(params: dict[str, float], scale: float) -> float:
    return scale * (params["a"] - 0.3) ** 2


def stop(intermediate: dale.Result) -> bool:
    return intermediate.fun < 1e-9


def arrays() -> float:
    result = dale.minimize(bowl, [(-2, 2), (-2, 2)], budget=12, seed=0, callback=stop, on_error="raise")
    first = float(result.x[0]) + result.fun + 1
    for minimum in result.local_minima:
        first += minimum.hessian[0, 0] * minimum.x[0]
    return first + len(result.history) + result.n_failed


def names() -> float:
    space = dale.Space(a=dale.Float(0, 1), kind=dale.Choice(["u", "v"]))
    result = dale.minimize(loss, space, budget=1e1, seed=np.random.default_rng(0), args=(2.0,))
    a: float = result.params["a"]
    return a + float(sum(trial.params["a"] for trial in result.history))


def ask_and_tell() -> float:
    optimizer = dale.Optimizer({"a": (0.0, 1.0)}, seed=0)
    for trial in optimizer.ask(3):
        optimizer.tell(trial, (trial.params["a"] - 0.5) ** 2)
    assert optimizer.best is not None  # None before the first value
    return float(optimizer.best.params["a"])


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    print(arrays() + names() + ask_and_tell())
