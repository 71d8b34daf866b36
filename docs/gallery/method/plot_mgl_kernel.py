r"""
The paper's Mixed-Global-Local kernel in one dimension
======================================================

One length-scale cannot describe a function with a narrow minimum in a wavy landscape. The kernel of Wabersich &
Toussaint (2016, Def. 2) uses a quadratic kernel within regions :math:`U_i` and another one, :math:`k_s`, outside:

.. math::

   k(x, x') = \begin{cases} (x^T x' + 1)^2 & x, x' \in U_i \\ k_s(x, x') & x, x' \notin \bigcup U_i \\ 0 &
   \text{otherwise} \end{cases}

What does this change in the prediction?
"""

import matplotlib.pyplot as plt
import numpy as np

import dale
from dale.models import Ellipsoid, GaussianProcess, MixedGlobalLocalPosterior, Prior
from dale.models.kernels import MixedGlobalLocal, SquaredExponential


def f(x):
    return np.where(np.abs(x - 0.6) < 0.22, 30 * (x - 0.6) ** 2 - 1.2, 0.252 + 0.12 * np.sin(14 * (x - 0.6)))


X = np.array([0.03, 0.15, 0.27, 0.45, 0.52, 0.74, 0.9])

# %%
# The region is given here. ``dale.methods.paper`` finds such regions by itself (Alg. 3).

region = Ellipsoid(np.array([0.6]), 0.16)
global_kernel = SquaredExponential(0.08)
models = {
    "squared-exponential kernel": GaussianProcess.fit(global_kernel, X[:, None], f(X), Prior(0.0, 0.5)),
    "Mixed-Global-Local kernel": MixedGlobalLocalPosterior.fit(
        MixedGlobalLocal(global_kernel, (region,), variance=0.5), X[:, None], f(X)
    ),
}

# %%
# Three observations in the region determine the quadratic. Its minimum, -1.2 at 0.6, is predicted without error, before
# any evaluation near it.

x = np.linspace(0, 1, 600)
fig, panels = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
for ax, (name, model) in zip(panels, models.items(), strict=True):
    mean, std = model.predict(x[:, None])
    print(f"{name}: lowest mean {mean.min():.3f} at {x[np.argmin(mean)]:.3f}")
    ax.fill_between(x, mean - 2 * std, mean + 2 * std, color="#56B4E9", alpha=0.3, lw=0, label="± 2 std")
    ax.plot(x, mean, color="#0072B2", lw=2, label="mean")
    ax.plot(x, f(x), color="#333333", lw=1.2, ls=(0, (4, 3)), label="function")
    ax.plot(X, f(X), "o", color="#333333", ms=6, mec="white", zorder=3, label="observations")
    ax.set(title=name, xlabel="x", xlim=(0, 1), ylim=(-2.2, 1.8))
panels[1].axvspan(0.44, 0.76, color="#E69F00", alpha=0.2, lw=0, zorder=0, label="region")
panels[1].legend(frameon=False, ncols=2, loc="upper right")
plt.show()

# %%
# The whole method of the paper in a run on this function:

result = dale.minimize(lambda x: float(f(x[0])), [(0, 1)], budget=16, seed=0, method=dale.methods.paper())
print(f"{result.fun:.6f} at {result.x[0]:.6f} after {result.nfev} evaluations")
