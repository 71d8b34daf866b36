"""Minimisation of cheap smooth functions on a box, and point sets. Nothing here knows a model."""

from dale.optim.grid import descend_on_grid
from dale.optim.multistart import Box, Maximum, maximize, starting_points
from dale.optim.projected_newton import FunctionValues, Tolerance, minimize_on_box
from dale.optim.sampling import farthest, latin_hypercube, sobol
from dale.optim.slsqp import least_violation, minimize_slsqp, restore_feasibility

__all__ = [
    "Box",
    "FunctionValues",
    "Maximum",
    "Tolerance",
    "descend_on_grid",
    "farthest",
    "latin_hypercube",
    "least_violation",
    "maximize",
    "minimize_on_box",
    "minimize_slsqp",
    "restore_feasibility",
    "sobol",
    "starting_points",
]
