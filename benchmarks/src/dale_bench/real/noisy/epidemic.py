"""When to close and to reopen schools in an epidemic: a stochastic SIR model of 5000 people, day by day.

Schools close when more than `close` people are infectious, and open again when fewer than `reopen` times as many are;
while closed, contacts decrease by `strictness`. Value: percentage of people who were infected, plus the cost of the
days of closure, which increases with the strictness.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dale.space.float import Float
from dale.space.space import Space
from dale_bench.real.problem import Real

PEOPLE, INITIAL, DAYS = 5000, 10, 200
IMPORTED = 0.3  # people per day who return from elsewhere with the infection
CONTACT, RECOVERY = 0.35, 0.14  # per day; the basic reproduction number is 2.5
PRICE = 0.4  # of a day of full closure, in percent of people infected

SPACE = Space(close=Float(5.0, 2000.0, log=True), reopen=(0.0, 1.0), strictness=(0.0, 1.0))


def value(params: Mapping[str, Any], rng: np.random.Generator) -> float:
    """Cost of one epidemic."""
    susceptible, infectious, closed, cost = PEOPLE - INITIAL, INITIAL, False, 0.0
    for _ in range(DAYS):
        limit = params["close"] * (params["reopen"] if closed else 1.0)
        closed = infectious > limit
        strictness = params["strictness"] if closed else 0.0
        cost += PRICE * strictness**1.5
        infection = 1 - np.exp(-CONTACT * (1 - strictness) * infectious / PEOPLE)
        new = min(rng.binomial(susceptible, infection) + rng.poisson(IMPORTED), susceptible)
        infectious += new - rng.binomial(infectious, 1 - np.exp(-RECOVERY))
        susceptible -= new
    return float(cost + 100 * (1 - susceptible / PEOPLE))


PROBLEM = Real(
    "epidemic", SPACE, 50, "when to close and reopen schools in an epidemic; infections and cost", value, 500
)
