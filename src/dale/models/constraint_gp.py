"""What is believed about black-box constraints: c_j(x) <= 0, told with each value.

For the global side each constraint has a Gaussian process of its own, with the length-scale that explains it best. It
sees asinh(c / unit), the unit being the median size of c: this keeps the sign, and a constraint that grows over many
decades away from its boundary does not hide what it does there. Constraints are taken
as independent (``acquisition/feasibility.py``). A pending point is believed to violate a
little (by a std), for else the same point would be asked again and again.
"""

from __future__ import annotations

import math

import numpy as np

from dale._arrays import Matrix, Vector
from dale.models.cholesky import CholeskyFactor
from dale.models.gaussian_process import GaussianProcess, maximum_likelihood_prior
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.likelihood import log_marginal_likelihood
from dale.models.preprocessing import VALUE_RESOLUTION, average_replicates, quantize

LENGTH_SCALES = tuple(float(l) for l in np.geomspace(0.08, 2.5, 8))
ENOUGH = 200  # observations from which the length-scale is chosen


def units_of(constraints: Matrix) -> Vector:
    """What one unit of each constraint is, (k,): its median size, so that a few absurd values do not count."""
    median = np.median(np.abs(constraints), axis=0)
    largest = np.max(np.abs(constraints), axis=0)
    return np.where(median > 0, median, np.where(largest > 0, largest, 1.0))


def fit_constraints(X: Matrix, constraints: Matrix, pending: Matrix) -> tuple[GaussianProcess, ...]:
    """One model for each constraint, from points (n, d) with their constraints (n, k); others (m, d) are pending."""
    everywhere = np.ones(len(X), dtype=bool)
    compressed = np.arcsinh(constraints / units_of(constraints))
    columns = [average_replicates(X, column, everywhere) for column in compressed.T]
    points, values = columns[0][0], [quantize(v, VALUE_RESOLUTION) for _, v in columns]
    kernels = [SquaredExponential(l * math.sqrt(X.shape[1])) for l in LENGTH_SCALES]
    some = np.unique(np.linspace(0, len(points) - 1, ENOUGH).astype(int))
    factors = [
        CholeskyFactor.of(kernel(points[some], points[some])) for kernel in kernels
    ]  # the same for all constraints
    models = []
    for v in values:
        fits = [
            GaussianProcess(kernel, points[some], v[some], factor, maximum_likelihood_prior(factor, v[some]))
            for kernel, factor in zip(kernels, factors, strict=True)
        ]
        best = max(fits, key=log_marginal_likelihood)
        whole = best if len(some) == len(points) else GaussianProcess.fit(best.kernel, points, v)
        models.append(_believing(whole, pending))
    return tuple(models)


def _believing(posterior: GaussianProcess, pending: Matrix) -> GaussianProcess:
    """The model that believes pending points (m, d) to violate by a std, if not by more."""
    if len(pending) == 0:
        return posterior
    mean, std = posterior.predict(pending)
    X, v = np.vstack([posterior.points, pending]), np.append(posterior.values, np.maximum(mean, std))
    return GaussianProcess.fit(posterior.kernel, X, v, posterior.prior)
