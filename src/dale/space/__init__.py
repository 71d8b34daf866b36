"""The border: what the user calls a point, and where it lies in the unit cube."""

from dale.space.choice import Choice
from dale.space.constraints import Constraints, as_constraints
from dale.space.float import Float
from dale.space.int import Int
from dale.space.parameter import Parameter
from dale.space.space import Space, as_space
from dale.space.table import is_table, points_of, rows_of, safe_cell, values_of

__all__ = [
    "Choice",
    "Constraints",
    "Float",
    "Int",
    "Parameter",
    "Space",
    "as_constraints",
    "as_space",
    "is_table",
    "points_of",
    "rows_of",
    "safe_cell",
    "values_of",
]
