"""
Noise: the lowest value is not the best point
=============================================

An experiment gives another value each time. The lowest of forty noisy values is low by chance. Which point should you
trust, and how good is it really?
"""

import matplotlib.pyplot as plt
import numpy as np

import dale

rng = np.random.default_rng(2)


def truth(x):
    return 2 * (x[0] - 0.3) ** 2 + (x[1] - 0.6) ** 2 + (x[0] - 0.3) * (x[1] - 0.6)


def experiment(x):
    return truth(x) + 0.1 * rng.standard_normal()


# %%
# You need not say that there is noise. dale evaluates one point a second time when its steps fail repeatedly. If the
# values differ, it models the noise.

result = dale.minimize(experiment, [(0, 1), (0, 1)], budget=50, seed=0)
print(result)

# %%
# The line is the lowest posterior mean, not the lowest value.

dale.plot.convergence(result)

# %%
# Here, and only because this is an example, we can compare with the noise-free function. ``result.x`` has the lowest
# posterior mean of all evaluated points. The lowest value lies far below what is true at its point.

lucky = result.history[int(np.argmin(result.func_vals))]
fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
for i, (name, point, claimed) in enumerate(
    [("lowest value", lucky.x, lucky.value), ("result.x, result.fun", result.x, result.fun)]
):
    ax.plot([claimed, truth(point)], [i, i], color="#999999", lw=2, zorder=1)
    ax.plot(claimed, i, "o", color="#D55E00", ms=10, label="what is reported" if i == 0 else None)
    ax.plot(truth(point), i, "D", color="#0072B2", ms=9, label="what is true at this point" if i == 0 else None)
    print(f"{name:20} reported {claimed:6.3f}, true {truth(point):.3f}")
ax.set(yticks=[0, 1], yticklabels=["lowest value", "result of dale"], ylim=(-0.6, 1.6), xlabel="value")
ax.axvline(0, color="#333333", lw=1, ls=":")
ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, 1.25), ncols=2)
plt.show()
