"""An (s, S) policy of a warehouse: when the stock is at or below s at a review, order up to S.

Demand per day is negative binomial, orders arrive after two to six days, unmet demand waits. Reviews happen every
`period` days. Value: mean cost per day of orders, stock and waiting demand, over 120 days.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dale.space.int import Int
from dale.space.space import Space
from dale_bench.real.problem import Real

DAYS = 120
ORDER, REVIEW, HOLDING, WAITING = 60.0, 8.0, 0.5, 6.0  # cost of an order and a review; of an item and a day
SPACE = Space(s=Int(0, 150), batch=Int(1, 250), period=Int(1, 14))  # S = s + batch


def value(params: Mapping[str, Any], rng: np.random.Generator) -> float:
    """Mean cost per day of one simulation."""
    demands = rng.negative_binomial(3, 0.2, size=DAYS).tolist()  # mean 12, std 7.7
    lead_times = rng.integers(2, 7, size=DAYS).tolist()
    stock = position = params["s"] + params["batch"]  # position: stock and what is ordered
    arriving = [0] * (DAYS + 7)
    cost = 0.0
    for day in range(DAYS):
        stock += arriving[day]
        if day % params["period"] == 0:
            cost += REVIEW
            if position <= params["s"]:
                amount = params["s"] + params["batch"] - position
                arriving[day + lead_times[day]] += amount
                position += amount
                cost += ORDER
        stock -= demands[day]
        position -= demands[day]
        cost += HOLDING * max(stock, 0) + WAITING * max(-stock, 0)
    return cost / DAYS


PROBLEM = Real("inventory", SPACE, 50, "(s, S) policy with reviews every few days; cost per day", value, 1000)
