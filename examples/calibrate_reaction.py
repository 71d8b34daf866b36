"""Fit the rates of a chemical reaction to measurements: named parameters, logarithmic scales, error bars.

A reacts to B at the rate `first` and B to C at the rate `second`; both rates are unknown within three decades:

    A' = -first A,   B' = first A - second B.

Only B can be measured. Each evaluation of the objective solves the equations.
"""

import numpy as np
from scipy.integrate import solve_ivp

import dale

MINUTES = np.array([1, 2, 4, 7, 10, 15, 20, 30, 45, 60.0])
TRUTH = {"first": 0.12, "second": 0.035}
NOISE = 0.01


def amount_of_b(params):
    def rates(_, state):
        a, b = state
        return [-params["first"] * a, params["first"] * a - params["second"] * b]

    return solve_ivp(rates, (0, 60), [1.0, 0.0], t_eval=MINUTES, rtol=1e-8, atol=1e-10).y[1]


MEASURED = amount_of_b(TRUTH) + NOISE * np.random.default_rng(7).standard_normal(len(MINUTES))


def misfit(params):
    """Half the sum of squared residuals in units of the noise: the negative log-likelihood up to a constant."""
    return 0.5 * float(np.sum(((amount_of_b(params) - MEASURED) / NOISE) ** 2))


def main():
    space = dale.Space(first=dale.Float(1e-3, 1.0, log=True), second=dale.Float(1e-3, 1.0, log=True))
    result = dale.minimize(misfit, space, budget=40, seed=0)
    print(f"best of {result.nfev} evaluations: misfit {result.fun:.3f} (true rates: {misfit(TRUTH):.3f})")
    for name, value in result.params.items():
        print(f"  {name:6} = {value:.4f} (true: {TRUTH[name]})")

    # The Hessian of the misfit at its minimum is the inverse covariance of the fitted rates.
    for minimum in result.local_minima:
        print(f"local minimum, fitted to {minimum.n_points} evaluations:")
        deviations = np.sqrt(np.diag(np.linalg.inv(minimum.hessian)))
        for (name, value), deviation in zip(minimum.params.items(), deviations, strict=True):
            print(f"  {name:6} = {value:.4f} ± {deviation:.4f}")


if __name__ == "__main__":
    main()
