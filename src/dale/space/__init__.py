"""The search space: parameters, their conditions and constraints, and the unit cube that represents them."""

from dale.space.choice import Choice
from dale.space.constraints import Constraints, as_constraints
from dale.space.float import Float
from dale.space.int import Int
from dale.space.parameter import Conditional, Parameter, register_parameter
from dale.space.point import FrozenParams, Params, format_point, short_repr
from dale.space.space import Space, as_space
from dale.space.table import is_table, points_of, rows_of, safe_cell, values_of

__all__ = [
    "Choice",
    "Conditional",
    "Constraints",
    "Float",
    "FrozenParams",
    "Int",
    "Parameter",
    "Params",
    "Space",
    "as_constraints",
    "as_space",
    "format_point",
    "is_table",
    "points_of",
    "register_parameter",
    "rows_of",
    "safe_cell",
    "short_repr",
    "values_of",
]
