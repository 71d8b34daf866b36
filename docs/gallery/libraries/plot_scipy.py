"""
Change one argument of scipy.optimize.minimize
==============================================

Your program calls ``scipy.optimize.minimize`` with a method that needs no gradient. How many evaluations does
``method=dale.scipy_method`` save?
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import dale


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


# %%
# ``x0``, bounds, constraints, callback and the result are those of SciPy. Here we only record the values.

values = {}
for name, method, options in (
    ("Nelder-Mead", "Nelder-Mead", {"maxfev": 60}),
    ("Powell", "Powell", {"maxfev": 60}),
    ("COBYQA", "COBYQA", {"maxfev": 60}),
    ("dale", dale.scipy_method, {"maxfev": 60, "seed": 0}),
):
    recorded = values.setdefault(name, [])

    def objective(x, recorded=recorded):
        recorded.append(himmelblau(x))
        return recorded[-1]

    result = minimize(objective, [0.0, 0.0], method=method, bounds=[(-5, 5), (-5, 5)], options=options)
    print(f"{name:12} {result.fun:.1e} at {result.x.round(4)} after {len(recorded)} evaluations")

# %%
# One function and one starting point are an illustration; :doc:`/benchmarks` has a comparison. dale also explores: the
# function has four minima of the same value, and the result lists those that were identified.

for minimum in result.local_minima:
    print(f"{minimum.fun:.1e} at {minimum.x.round(4)}")

fig, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for (name, recorded), colour in zip(values.items(), ["#999999", "#56B4E9", "#E69F00", "#D55E00"], strict=True):
    best = np.maximum(np.minimum.accumulate(recorded), 1e-16)
    ax.step(range(1, len(best) + 1), best, where="post", color=colour, lw=2, label=name)
ax.set(yscale="log", xlabel="evaluations", ylabel="best value")
ax.legend(frameon=False)
plt.show()
