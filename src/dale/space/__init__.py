"""The border: what the user calls a point, and where it lies in the unit cube."""

from dale.space.float import Float
from dale.space.parameter import Parameter
from dale.space.space import Space, as_space

__all__ = ["Float", "Parameter", "Space", "as_space"]
