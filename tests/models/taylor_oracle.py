"""The local Taylor model once more: dense formulas in function space, with 80 digits."""

import dataclasses
from functools import cached_property

import mpmath as mp
import numpy as np

from dale.models import series as taylor
from dale.models.monomials import monomials

digits = mp.workdps(80)  # the condition of the kernel takes 38, twice in the std
exact = np.vectorize(mp.mpf, otypes=[object])


class DenseTaylor:
    """The model as a Gaussian process in function space: K in units of s^2, then s^2 by restricted likelihood.

    The weights of the features have the kernel (z . z')^k for each degree k; a common part of the squares, h |z|^2,
    has the kernel |z|^2 |z'|^2. The remainder is noise. In (z . z')^2 the products z_i z_j z'_i z'_j with i != j may
    have a smaller weight.
    """

    @digits
    def __init__(self, Z, v, radius, series):
        n, d = Z.shape
        degree = series.degree
        self.Z, self.t, self.degree, self.v = exact(Z), mp.mpf(radius) / mp.mpf(series.rho), degree, exact(v)
        self.mixed = mp.mpf(series.mixed)
        r = np.array([mp.sqrt(square) for square in np.sum(self.Z * self.Z, axis=1)])
        q = degree + 1
        self.noise = self.t ** (q - 2) * r**q + mp.mpf(taylor.NUGGET) * r
        self.K = mp.matrix((self.kernel(self.Z, self.Z) + np.diag(self.noise**2)).tolist())
        self.weights = mp.cholesky_solve(self.K, mp.matrix(self.v))
        residual = mp.fdot(self.v, self.weights)
        self.variance = residual / (n - d)
        lower = mp.cholesky(self.K)
        self.loss = (n - d) * mp.log(self.variance) / 2 + mp.fsum(mp.log(lower[i, i]) for i in range(n))
        self.rounding = float(mp.norm(self.v / self.noise) / mp.sqrt(residual)) * 2.0**-52  # of v, against the residual

    @cached_property
    def inverse(self):
        return self.K**-1

    def nonlinear_kernel(self, A, B):
        G, squares = A @ B.T, np.outer(np.sum(A * A, axis=1), np.sum(B * B, axis=1))
        common = mp.mpf(taylor.COMMON_CURVATURE_STD) ** 2 * squares
        own = (A * A) @ (B * B).T
        second = own + self.mixed**2 * (G**2 - own)
        return common + second + sum(self.t ** (2 * (k - 2)) * G**k for k in range(3, self.degree + 1))

    def kernel(self, A, B):
        return mp.mpf(taylor.LINEAR_PRIOR_STD) ** 2 * (A @ B.T) + self.nonlinear_kernel(A, B)

    @digits
    def predict(self, A):
        """Mean and std of the polynomial, the latter in units of s."""
        pairs = [self._posterior(self.kernel(self.Z, a)[:, 0], self.kernel(a, a)[0, 0]) for a in exact(A)[:, None]]
        return np.array(pairs, dtype=float).T

    @digits
    def second_derivative(self, u):
        """Mean and std of the second derivative at the center along a unit vector u; the latter in units of s.

        Along e u, only terms e^2 of the kernel count: those of degree 2.
        """
        u, linear = exact(u), mp.mpf(taylor.LINEAR_PRIOR_STD) ** 2
        degree, self.degree = self.degree, 2
        k, prior = (2 * (self.kernel(A, u[None]) - linear * (A @ u[:, None]))[:, 0] for A in (self.Z, u[None]))
        self.degree = degree
        return [float(number) for number in self._posterior(k, 2 * prior[0])]

    def _posterior(self, k, prior):
        k = mp.matrix(k.tolist())
        return (k.T * self.weights)[0], mp.sqrt(prior - (k.T * self.inverse * k)[0])

    @digits
    def contrasts_loss(self, contrasts):
        """Negative log density of contrasts C' v, C (n, n - d), that no linear function enters; s^2 by likelihood."""
        C = mp.matrix(contrasts.tolist())
        K = self.nonlinear_kernel(self.Z, self.Z) + np.diag(self.noise**2)
        covariance, v = C.T * mp.matrix(K.tolist()) * C, C.T * mp.matrix(self.v)
        lower = mp.cholesky(covariance)
        variance = mp.fdot(v, mp.cholesky_solve(covariance, v)) / C.cols
        return C.cols * mp.log(variance) / 2 + mp.fsum(mp.log(lower[i, i]) for i in range(C.cols))


@digits
def linear_contrasts(X):
    """An orthonormal basis of the vectors (n,) that are orthogonal to every column of X (n, d): (n, n - d)."""
    Q, _ = mp.qr(mp.matrix(exact(X).tolist()), mode="full")
    return np.array(Q.tolist(), dtype=object)[:, X.shape[1] :]


def with_series(model, series):
    """The model of the same data with another degree and rho."""
    terms = monomials(len(model.center), series.degree)
    nothing = np.empty((0, len(model.center))), np.empty(0)
    return dataclasses.replace(model, series=series, terms=terms).condition(*nothing)
