"""Models of outcome constraints, c_j(x) <= 0, whose values come with each evaluation.

Each constraint has a Gaussian process of its own, with the length-scale of the largest evidence on a grid. It models
asinh(c / scale), where the scale is the median size of c: this keeps the sign, and large values far from the boundary
do not hide the behaviour near it. Constraints count as independent (``acquisition/feasibility.py``).

A fantasy at a pending point violates the constraint by a std or more; otherwise the same point would be proposed again.

Shapes: points (n, d), constraint values (n, q), pending points (m, d).
"""

from __future__ import annotations

import math

import numpy as np

from dale._arrays import Matrix, Vector
from dale.models.cholesky import CholeskyFactor
from dale.models.gaussian_process import GaussianProcess, maximum_likelihood_prior
from dale.models.kernels.base import KernelFactory
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.likelihood import log_marginal_likelihood
from dale.models.preprocessing import VALUE_RESOLUTION, average_replicates, quantize
from dale.models.transforms import Asinh

LENGTH_SCALES = tuple(float(l) for l in np.geomspace(0.08, 2.5, 8))  # in units of sqrt(d)
MAX_FITTED = 200  # observations that the length-scale is fitted to


def constraint_scales(constraints: Matrix) -> Vector:
    """The scale of each constraint, (q,), from its values (n, q)."""
    return Asinh.of(constraints).scales


def fit_constraints(
    X: Matrix, constraints: Matrix, pending: Matrix, kernel: KernelFactory = SquaredExponential
) -> tuple[GaussianProcess, ...]:
    """One model for each constraint, from points with their constraint values; others are pending.

    Examples:
        >>> X = np.linspace(0, 1, 6)[:, None]
        >>> [model] = fit_constraints(X, X - 0.5, pending=np.empty((0, 1)))
        >>> model.predict(np.array([[0.1], [0.9]])).mean < 0
        array([ True, False])
    """
    has_value = np.ones(len(X), dtype=bool)
    transformed = Asinh.of(constraints)(constraints)
    columns = [average_replicates(X, column, has_value) for column in transformed.T]
    points, values = columns[0][0], [quantize(v, VALUE_RESOLUTION) for _, v in columns]
    kernels = [kernel(l * math.sqrt(X.shape[1])) for l in LENGTH_SCALES]
    sample = np.unique(np.linspace(0, len(points) - 1, MAX_FITTED).astype(int))
    factors = [CholeskyFactor.of(k(points[sample], points[sample])) for k in kernels]  # the same for all constraints
    models = []
    for v in values:
        fits = [
            GaussianProcess(k, points[sample], v[sample], factor, maximum_likelihood_prior(factor, v[sample]))
            for k, factor in zip(kernels, factors, strict=True)
        ]
        best = max(fits, key=log_marginal_likelihood)
        model = best if len(sample) == len(points) else GaussianProcess.fit(best.kernel, points, v)
        models.append(_with_fantasies(model, pending))
    return tuple(models)


def _with_fantasies(model: GaussianProcess, pending: Matrix) -> GaussianProcess:
    """The model with a violation of a std, or as predicted if that is more, at pending points."""
    if len(pending) == 0:
        return model
    mean, std = model.predict(pending)
    X, v = np.vstack([model.points, pending]), np.append(model.values, np.maximum(mean, std))
    return GaussianProcess.fit(model.kernel, X, v, model.prior)
