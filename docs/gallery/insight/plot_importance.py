"""
Which parameters matter, and where?
===================================

A reactor has four settings. Over its whole range, one of them dominates the cost. Near the best point, it may be
another one. Which settings must be controlled tightly, and which can be left alone?
"""

import math

import dale

space = dale.Space(
    temperature=dale.Float(250, 450),  # °C
    time=dale.Float(1, 100, log=True),  # minutes
    dose=dale.Float(0, 5),  # g
    stirring=dale.Float(1, 8),  # revolutions per second
)


def cost(p):
    heat, duration = (p["temperature"] - 350) / 100, math.log10(p["time"]) - 1
    mixing = 0.3 * math.sin(2.5 * heat) * (p["dose"] - 2) + 0.01 * (p["stirring"] - 5) ** 2
    return 3 * (heat + 0.8 * duration) ** 2 + 0.3 * (heat - duration) ** 2 + 0.4 * (p["dose"] - 2) ** 2 + mixing


result = dale.minimize(cost, space, budget=45, seed=0)

# %%
# On the left are the shares of the variance over the whole space, on the right those of the curvature at the best
# minimum.

dale.plot.importance(result)

# %%
# Temperature and time can replace each other: along the sloppy direction both change, and the cost hardly does. This is
# what a correlation close to -1 means.

dale.plot.directions(result)

# %%
# The corner plot shows all pairs. On and below the diagonal is the partial dependence, above it are the evaluations.

dale.plot.corner(result, objective="cost")
