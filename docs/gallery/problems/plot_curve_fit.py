"""
Fit a curve: how well are its parameters determined?
====================================================

A drug is injected once, and its concentration in the blood is measured eight times. The model has a rate of absorption
and a rate of elimination. Each evaluation of the misfit solves a differential equation. Which values of the rates agree
with the data?
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp

import dale

HOURS = np.array([0.25, 0.5, 1, 2, 4, 6, 9, 12])
NOISE = 0.15  # standard deviation of a measurement, in mg/l


def concentration(params, hours=HOURS):
    absorption, elimination = params["absorption"], params["elimination"]

    def slope(_, amount):  # in the tissue, in the blood
        return [-absorption * amount[0], absorption * amount[0] - elimination * amount[1]]

    return solve_ivp(slope, (0, 12), [10.0, 0.0], t_eval=hours, rtol=1e-8, atol=1e-10).y[1]


truth = {"absorption": 1.1, "elimination": 0.25}
measured = concentration(truth) + NOISE * np.random.default_rng(3).standard_normal(len(HOURS))


def misfit(params):
    """The negative log-likelihood up to a constant: half the sum of squared residuals in units of the noise."""
    return 0.5 * np.sum(((concentration(params) - measured) / NOISE) ** 2)


# %%
# Both rates may lie anywhere within two and a half decades, so their scales are logarithmic.

rate = dale.Float(0.02, 5, log=True)
result = dale.minimize(misfit, dale.Space(absorption=rate, elimination=rate), budget=40, seed=0)
print(result)

# %%
# **How sharp is the minimum?** The result has the Hessian of the misfit at each minimum, at no extra evaluation. The
# objective is a negative log-likelihood, so the inverse of the Hessian is the covariance of the rates.

minimum = result.local_minima[0]
deviations = np.sqrt(np.diag(np.linalg.inv(minimum.hessian)))
for (name, value), deviation in zip(minimum.params.items(), deviations, strict=True):
    print(f"{name:11} {value:.3f} ± {deviation:.3f} per hour (true: {truth[name]})")

# %%
# The curve fits. On the right is the same information as a picture: contour lines of the misfit at 0.5, 2 and 4.5 above
# its minimum, which are one, two and three standard deviations, and the evaluations that dale made.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
fine = np.linspace(0.01, 12, 200)
left.plot(fine, concentration(result.params, fine), color="#0072B2", label="fit")
left.errorbar(HOURS, measured, NOISE, fmt="o", color="#333333", capsize=2, label="measured")
left.set(xlabel="hours", ylabel="concentration in mg/l", title="The fit")
left.legend(frameon=False)

a, e = (np.linspace(x - 4 * s, x + 4 * s, 60) for x, s in zip(minimum.x, deviations, strict=True))
offsets = np.stack(np.meshgrid(a, e), axis=-1) - minimum.x
rise = 0.5 * np.einsum("...i,ij,...j", offsets, minimum.hessian, offsets)
right.contour(a, e, rise, levels=[0.5, 2, 4.5], colors="#0072B2")
points = np.array([trial.x for trial in result.history])
right.plot(*points.T, ".", color="#777777", label="evaluations")
right.plot(*truth.values(), "*", ms=14, color="#D55E00", mec="white", label="true rates")
right.set(xlim=a[[0, -1]], ylim=e[[0, -1]], xlabel="absorption", ylabel="elimination", title="Uncertainty of the rates")
right.legend(frameon=False)
plt.show()
