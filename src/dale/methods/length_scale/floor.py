"""The lower bound on the length-scale (eqs. 10-16).

n points cannot cover the cube more densely than a regular grid. In one dimension its neighbours are 1/n apart; in d
dimensions delta is the distance for which a ball has the same volume, V_d(delta) = V_1(1/n). With a length-scale at
which two points at this distance are less correlated than ``min_correlation``, all observations would be unrelated.
For the squared-exponential kernel (the floor is the same for others),

    exp(-delta^2 / (2 l^2)) = c   =>   l = sqrt(-1 / (2 log c)) (Gamma(d/2 + 1) / Gamma(3/2) pi^((1 - d)/2) / n)^(1/d).
"""

import math

MIN_CORRELATION = 0.2  # Sec. 4


def length_scale_floor(n: int, dimension: int, min_correlation: float = MIN_CORRELATION) -> float:
    """Eq. 16 for n observations.

    Examples:
        >>> round(length_scale_floor(20, 2), 3)
        0.099
    """
    if n < 1 or dimension < 1:
        raise ValueError(f"expected at least one observation and one dimension, got n={n}, dimension={dimension}")
    if not 0 < min_correlation < 1:
        raise ValueError(f"min_correlation: expected a number between 0 and 1, got {min_correlation!r}")
    d = dimension
    log_volume = math.lgamma(d / 2 + 1) - math.lgamma(1.5) + 0.5 * (1 - d) * math.log(math.pi) - math.log(n)
    return math.sqrt(-0.5 / math.log(min_correlation)) * math.exp(log_volume / d)
