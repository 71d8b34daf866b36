"""Array aliases: inside dale everything is float64; points are rows, (n, d), in the unit cube."""

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]  # (n,) or (d,)
Matrix = NDArray[np.float64]  # (n, d) or (n, n)


def frozen(values: object) -> Vector:
    """A read-only float64 copy, so that a user's function cannot change the history through its argument."""
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array
