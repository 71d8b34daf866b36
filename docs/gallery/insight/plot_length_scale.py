"""
How the length-scale is chosen, and why a point was evaluated
=============================================================

A Gaussian process needs a length-scale. dale does not fit it to the data: it starts long and is cooled down when a
shorter one has a much larger expected improvement. What did it do in a run, and why was a certain point evaluated?
"""

import numpy as np

import dale


def ripples(x):
    return (
        (x[0] - 0.55) ** 2 + (x[1] - 0.35) ** 2 + 0.06 * (2 - np.cos(22 * (x[0] - 0.55)) - np.cos(18 * (x[1] - 0.35)))
    )


result = dale.minimize(ripples, [(0, 1), (0, 1)], budget=60, seed=1)
print(result)

# %%
# Each proposal records the length-scale and the alpha ratio: the expected improvement at half the length-scale, divided
# by that at the present one. More than 1.5 is a vote for a shorter one.

dale.plot.length_scale(result)

# %%
# ``dale.why`` explains a single trial: what was predicted, what was observed, and how the alternatives compared.

print(dale.why(result, 30))

# %%
# Were such predictions right in general? Points on the diagonal were predicted exactly.

dale.plot.calibration(result)
