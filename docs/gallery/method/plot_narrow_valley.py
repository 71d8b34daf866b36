"""
How a trust region turns into a narrow valley
=============================================

In a narrow valley that is not parallel to the axes, most methods take many small steps. dale's regions learn the shape
of the valley from the data. What does that look like, and what does it save?
"""

import matplotlib.pyplot as plt
import numpy as np

import dale
from dale.models import Ellipsoid

MINIMUM = np.array([0.72, 0.62])


def valley(x):
    """Its contour lines are ellipses, 20 times as long as wide, at 30 degrees to the axes."""
    c, s = np.cos(np.pi / 6), np.sin(np.pi / 6)
    u = (np.asarray(x) - MINIMUM) @ np.array([[c, -s], [s, c]])
    return 1 - np.exp(-(u[..., 0] ** 2 + 400 * u[..., 1] ** 2) / 2)


# %%
# The same seed twice: with round regions only, and with the default, which learns shapes.

balls_only = dale.methods.DefaultMethod(taylor=dale.methods.TaylorSettings(shapes=False))
runs = {
    "round regions": dale.minimize(valley, [(0, 1)] * 2, budget=24, seed=1, method=balls_only),
    "regions with a shape": dale.minimize(valley, [(0, 1)] * 2, budget=24, seed=1),
}
for name, result in runs.items():
    print(f"{name}: {result.fun:.0e} after {result.nfev} evaluations")

# %%
# Each proposal of a local model records its region in its reason: center, radius and shape. Light boxes are early, dark
# boxes late.


def box_of(trial, history):
    step = trial.reason.step
    shape = None if step.shape is None else np.array(step.shape)
    region = Ellipsoid(history[step.center].unit_x, step.radius, shape)
    return region.to_cube(np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]))


grid = np.linspace(0, 1, 200)
values = valley(np.stack(np.meshgrid(grid, grid), axis=-1))
fig, panels = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained", sharey=True)
for ax, (name, result) in zip(panels, runs.items(), strict=True):
    ax.contour(grid, grid, values, [0.003, 0.02, 0.07, 0.2, 0.5, 0.9], colors="#b8b8b8", linewidths=0.8)
    local = [trial for trial in result.history if trial.reason.step is not None]
    for i, trial in enumerate(local):
        ax.plot(*box_of(trial, result.history).T, color=plt.cm.Oranges(0.25 + 0.7 * i / len(local)), lw=1.3)
    ax.plot(*np.array([trial.x for trial in result.history]).T, "o", ms=4, color="#0072B2", label="evaluations")
    ax.plot(*MINIMUM, "+", color="black", ms=12, mew=2, label="minimum")
    ax.set(title=f"{name}: best value {result.fun:.0e}", xlim=(0.05, 1), ylim=(0.05, 1), aspect="equal", xlabel="x0")
panels[0].set_ylabel("x1")
panels[0].legend(frameon=False, loc="lower right")
plt.show()
