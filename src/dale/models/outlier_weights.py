"""Outliers of a model with noise: values that have little weight because they have much more noise than all others.

The std of the noise in the i-th value is multiplied by factor_i. It is 1 but for outliers: where the error of the
prediction from all other values, in units of its std, is above ``MAX_ERROR`` times that of a typical one (by the median
absolute error), the factor is this ratio. A model with these factors has other errors, so this is repeated. Each
outlier pays ``PRICE`` in log evidence: it is improbable, and may have any size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from dale._arrays import Vector

MAX_ERROR = 3.5  # standardised errors above this are those of outliers
PRICE = 3.0  # of an outlier, in log evidence
MAX_FACTOR = 1e70  # where most values are equal, the typical error vanishes; squares of larger factors would overflow
MAX_ROUNDS = 8
SAME_FACTOR = 0.7  # logarithm of a change of a factor that needs no further round
MAD_TO_STD = 1.4826  # std of a normal variable divided by its median absolute deviation
TINY = float(np.finfo(float).tiny)

ModelT = TypeVar("ModelT")


def outlier_factors(
    model: ModelT, errors: Callable[[ModelT], Vector], refit: Callable[[ModelT, Vector], ModelT], n: int
) -> tuple[ModelT, Vector]:
    """The last model, and its factors of the noise in n values, (n,); all are 1 if there are no outliers.

    Args:
        model: The model without outliers.
        errors: Standardised errors of predictions, each of one value from all others, by a model, (n,).
        refit: The model with other factors (n,), from the last one.
        n: The number of values.
    """
    factors = np.ones(n)
    for _ in range(MAX_ROUNDS):
        size = np.abs(errors(model)) * factors  # in units of the noise of all others
        typical = max(MAD_TO_STD * float(np.median(size)), float(np.max(size)) / MAX_FACTOR, TINY)
        new = np.where(size > MAX_ERROR * typical, size / typical, 1.0)
        if np.all(np.abs(np.log(new / factors)) < SAME_FACTOR):
            break
        factors = new
        model = refit(model, factors)
    return model, factors


def price(factors: Vector) -> float:
    """What the outliers among n values pay."""
    return PRICE * float(np.sum(factors > 1))
