"""Service rates of three stations in a row, each with a queue: faster service costs more, waiting costs time.

Customers arrive at random, one per minute on average, and one in four skips the second station. Service times of the
stations are exponential, gamma (regular) and lognormal (irregular). A day has 300 customers and begins empty. Value:
cost of the capacity plus the mean time in the system, in minutes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dale._arrays import Vector
from dale.space.space import Space
from dale_bench.real.problem import Real

CUSTOMERS = 300
SKIP = 0.25
PRICES = np.array([2.0, 3.0, 1.5])  # of a service rate of one per minute
SIGMA = 1.0  # of the lognormal service times

SPACE = Space({f"rate{i}": (0.8, 5.0) for i in (1, 2, 3)})


def departures(arrivals: Vector, service: Vector) -> Vector:
    """Departures from one server, in the order of arrival: d_i = max(a_i, d_(i-1)) + s_i (Lindley)."""
    done = np.cumsum(service)
    return np.asarray(done + np.maximum.accumulate(arrivals - (done - service)))


def value(params: Mapping[str, Any], rng: np.random.Generator) -> float:
    """Cost of one day."""
    rates = np.array([params[name] for name in SPACE.names])
    start = np.cumsum(rng.exponential(size=CUSTOMERS))
    services = [
        rng.exponential(size=CUSTOMERS),
        rng.gamma(4.0, 0.25, size=CUSTOMERS) * (rng.random(CUSTOMERS) > SKIP),
        rng.lognormal(-(SIGMA**2) / 2, SIGMA, size=CUSTOMERS),
    ]
    now = start
    for rate, service in zip(rates, services, strict=True):
        now = departures(now, service / rate)
    return float(PRICES @ rates + np.mean(now - start))


PROBLEM = Real("queue", SPACE, 50, "service rates of three stations in a row; cost of a day", value, 1000)
