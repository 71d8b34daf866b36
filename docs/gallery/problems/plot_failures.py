"""
A simulation that fails in part of the space
============================================

A solver diverges where its time step is too long for the stiffness. It raises an exception there, and no one knows in
advance where. Does the run survive, and does it learn to stay away?
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import dale


def simulate(x):
    """The error of an explicit scheme plus its cost; it diverges where the product of both is too large."""
    stiffness, step = x
    if stiffness * step > 1.9:
        raise FloatingPointError(f"diverged at step length {step:.3f}")
    return (stiffness - 6) ** 2 / 10 + 0.05 / step + 20 * step**2


# %%
# The first failure is shown as a warning with its traceback, so that you see a mistake at once. Here failures are
# expected, so the warning is switched off.

warnings.simplefilter("ignore", dale.EvaluationWarning)
result = dale.minimize(simulate, [(1, 10), (0.01, 1)], budget=40, seed=0)
print(result)
print("failed evaluations:", result.n_failed)

# %%
# Failed points are crosses. The models treat their neighbourhood as bad, so the search leaves it alone, although
# evaluations fail in most of the space.

fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
stiffness, step = np.linspace(1, 10, 200), np.linspace(0.01, 1, 200)
diverges = np.multiply.outer(step, stiffness) > 1.9
ax.contourf(stiffness, step, diverges, levels=[0.5, 1.5], colors=["#f3d9c9"])
for trials, style in (
    ([t for t in result.history if t.error], {"marker": "x", "color": "#D55E00", "label": "failed"}),
    ([t for t in result.history if not t.error], {"marker": "o", "color": "#0072B2", "label": "succeeded"}),
):
    ax.scatter(*np.array([t.x for t in trials]).T, s=35, **style)
ax.plot(*result.x, "*", color="#333333", ms=15, mec="white", label="best")
ax.text(6.5, 0.75, "the solver diverges here", color="#8a3b00")
ax.set(xlabel="stiffness", ylabel="time step")
ax.legend(frameon=False, loc="lower left", ncols=3, bbox_to_anchor=(0, 1))
plt.show()
