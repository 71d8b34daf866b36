"""
Constraints: the lightest tube that carries the load
====================================================

A steel tube of one metre carries 2 kN at its end. Its outer diameter and its wall are to be chosen such that it is as
light as possible. One limit is known before any computation: a wall thinner than a fortieth of the diameter buckles.
Two others come out of the simulation: stress and deflection. How do you tell dale about both kinds?
"""

import numpy as np

import dale

LENGTH, LOAD, MODULUS, DENSITY = 1.0, 2e3, 210e9, 7850  # m, N, Pa, kg/m^3
space = dale.Space(diameter=dale.Float(25, 120, log=True), wall=dale.Float(1, 10, log=True))  # in mm


def simulate(params):
    outer = params["diameter"] / 1000
    inner = outer - 2 * params["wall"] / 1000
    moment_of_area = np.pi / 64 * (outer**4 - inner**4)
    mass = DENSITY * LENGTH * np.pi / 4 * (outer**2 - inner**2)
    stress = LOAD * LENGTH * outer / 2 / moment_of_area / 1e6  # MPa
    deflection = LOAD * LENGTH**3 / (3 * MODULUS * moment_of_area) * 1e3  # mm
    return dale.Evaluation(mass, constraints=[np.log(stress / 180), np.log(deflection / 8)])


# %%
# An input constraint is a function of the parameters that is at most 0 where a point is allowed. No proposal violates
# it. Outcome constraints are returned with the value, and dale learns them from the evaluations. Their units do not
# matter, so we return logarithms: stress and deflection are nearly powers of the parameters, and a smooth function is
# learnt from fewer evaluations.


def buckling(params):
    return params["diameter"] - 40 * params["wall"]


result = dale.minimize(simulate, space, budget=30, seed=0, constraints=buckling)
print(result)
print(sum(trial.feasible for trial in result.history), "of", result.nfev, "evaluations were feasible")

# %%
# What the constraints forbid is hatched. The lightest tube lies where two of them meet.

dale.plot.contour(result, objective="mass in kg")

# %%
# In the course of the run, infeasible evaluations are hollow and do not count as the best value.

dale.plot.convergence(result, objective="mass in kg")
