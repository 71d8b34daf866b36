"""
Two minima: the deepest or the more tolerant one?
=================================================

The settings of a machine drift. A minimum that is a little less deep, but flat, may be the better choice. dale reports
the curvature of every minimum that it has identified, without further evaluations. How much does tolerance cost?
"""

import matplotlib.pyplot as plt
import numpy as np

import dale
from dale.view import advice, parameter_tolerances


def loss(x):
    sharp = np.exp(-((x[0] - 2.5) ** 2) / 0.8 - (x[1] - 7) ** 2 / 1.2)
    flat = np.exp(-((x[0] - 7) ** 2) / 9 - (x[1] - 4) ** 2 / 6)
    return 1.2 - sharp - flat


result = dale.minimize(loss, [(0, 10), (0, 10)], budget=70, seed=0)
print(result)

# %%
# How far may each setting drift before the loss rises by 0.05?

for minimum in result.local_minima[:2]:
    drift = parameter_tolerances(minimum, rise=0.05).individual
    print(f"loss {minimum.fun:.3f} at {minimum.x.round(2)}: drift of ± {drift.round(2)}")

# %%
# The advice compares both, and would also mention parameters that hardly matter or a best point on a bound.

for item in advice(result):
    print(item)

# %%
# Each ellipse is where the loss has risen by 0.05.

fig, ax = plt.subplots(figsize=(6, 5), layout="constrained")
grid = np.linspace(0, 10, 200)
values = np.array([[loss((a, b)) for a in grid] for b in grid])
ax.contourf(grid, grid, values, 20, cmap="YlGnBu_r")
angle = np.linspace(0, 2 * np.pi, 200)
for minimum, colour in zip(result.local_minima[:2], ["#D55E00", "#E69F00"], strict=False):
    half_axes = np.linalg.cholesky(np.linalg.inv(minimum.hessian) * 2 * 0.05)
    ellipse = minimum.x + np.stack([np.cos(angle), np.sin(angle)], axis=1) @ half_axes.T
    ax.plot(*ellipse.T, color=colour, lw=2.5, label=f"loss {minimum.fun:.3f}, condition {minimum.condition:.1f}")
ax.plot(*np.array([trial.x for trial in result.history]).T, ".", color="white", ms=4, label="evaluations")
ax.set(xlabel="x0", ylabel="x1", aspect="equal")
ax.legend(loc="lower left", framealpha=0.85, facecolor="#dddddd")
plt.show()
