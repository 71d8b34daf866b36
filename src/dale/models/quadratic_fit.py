"""The regression of Def. 1 (eq. 17): the least-squares quadratic of some observations.

    min over b0, b1, B of  sum_k [ b0 + b1' x_k + x_k' B x_k / 2 - y_k ]^2

Solved in z = (x - center) / radius, where all monomials are of the same size: in the coordinates of the cube the same
regression loses all digits when the points are 1e-5 apart. With the factor 1/2 of eq. 17, B is the Hessian, the
minimiser is -B^-1 b1 and the minimum b0 + b1' x* / 2; lines 12-13 of Alg. 3 are for the form without the factor.

Unknowns N_U = 1 + d + d (d + 1) / 2. Shapes: X (k, d), y (k,).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dale._arrays import Matrix, Vector
from dale.models.base import Prediction
from dale.models.ellipsoid import Ellipsoid

RANK_TOLERANCE = 1e-8  # relative singular value below which the points do not determine a quadratic
MIN_FREEDOM = 1e-9  # 1 - leverage below which a point alone determines a coefficient
MIN_EIGENVALUE_RATIO = 1e-10  # smallest over largest eigenvalue from which a fit is convex


def n_unknowns(dimension: int) -> int:
    """N_U, the number of coefficients of a quadratic in ``dimension`` variables (Alg. 3, line 4)."""
    return 1 + dimension + dimension * (dimension + 1) // 2


def monomials(Z: Matrix) -> Matrix:
    """1, z_i, and z_i z_j for i <= j, (k, N_U); squares are halved as in eq. 17."""
    rows, columns = np.triu_indices(Z.shape[1])
    products = Z[:, rows] * Z[:, columns] * np.where(rows == columns, 0.5, 1.0)
    return np.hstack([np.ones((len(Z), 1)), Z, products])


@dataclass(frozen=True, eq=False)
class QuadraticFit:
    """q(x) = constant + gradient' z + z' hessian z / 2 with z = (x - ball.center) / ball.radius.

    Attributes:
        ball: Where it was fitted, and the coordinates it is written in.
        constant: b0 in z.
        gradient: b1 in z, (d,).
        scaled_hessian: B in z, (d, d).
        leave_one_out_error: Root mean square of the errors at each point of the fit to the others; infinite where a
            point alone determines a coefficient, as with k = N_U.

    Examples:
        >>> X = np.array([[0.1], [0.3], [0.4], [0.6]])
        >>> fit = QuadraticFit.to(X, 2 * (X[:, 0] - 0.35) ** 2 + 1, Ellipsoid(np.array([0.3]), 0.3))
        >>> fit.minimiser.round(6), round(fit.minimum, 6), fit.hessian.round(6)
        (array([0.35]), 1.0, array([[4.]]))
    """

    ball: Ellipsoid
    constant: float
    gradient: Vector
    scaled_hessian: Matrix
    leave_one_out_error: float

    @classmethod
    def to(cls, X: Matrix, y: Vector, ball: Ellipsoid) -> QuadraticFit | None:
        """Fit observations in a ball, or None if they do not determine a quadratic."""
        k, d = X.shape
        Phi = monomials(ball.to_local(X))
        U, singular, Vt = np.linalg.svd(Phi, full_matrices=False)
        if k < n_unknowns(d) or singular[-1] <= RANK_TOLERANCE * singular[0]:
            return None
        offset = y[0]  # differences keep the digits of values that vary little around a large one
        beta = Vt.T @ ((U.T @ (y - offset)) / singular)
        residual = y - offset - Phi @ beta
        freedom = 1 - np.sum(U**2, axis=1)  # 1 - leverage
        interpolates = bool(np.min(freedom) < MIN_FREEDOM)
        rows, columns = np.triu_indices(d)
        B = np.zeros((d, d))
        B[rows, columns] = B[columns, rows] = beta[1 + d :]
        return cls(
            ball=ball,
            constant=float(offset + beta[0]),
            gradient=beta[1 : 1 + d],
            scaled_hessian=B,
            leave_one_out_error=float("inf") if interpolates else float(np.sqrt(np.mean((residual / freedom) ** 2))),
        )

    @property
    def is_convex(self) -> bool:
        """Whether B is positive definite, beyond the rounding error of its largest eigenvalue."""
        eigenvalues = np.linalg.eigvalsh(self.scaled_hessian)
        return bool(eigenvalues[0] > MIN_EIGENVALUE_RATIO * abs(eigenvalues[-1]))

    @property
    def minimiser(self) -> Vector:
        """x* = -B^-1 b1 (Alg. 3, line 12) in the cube; only where the fit is convex."""
        return self.ball.to_cube(np.asarray(-np.linalg.solve(self.scaled_hessian, self.gradient), dtype=float))

    @property
    def minimum(self) -> float:
        """y* = b0 + b1' x* / 2 (Alg. 3, line 13)."""
        return self.constant - 0.5 * float(self.gradient @ np.linalg.solve(self.scaled_hessian, self.gradient))

    @property
    def hessian(self) -> Matrix:
        """Hessian in the coordinates of the cube."""
        return self.scaled_hessian / self.ball.radius**2

    def predict(self, X: Matrix) -> Prediction:
        """The posterior under k_q without noise (``models/mixed_global_local.py``): q at points (m, d), and no std."""
        return Prediction(self(X), np.zeros(len(X)))

    def __call__(self, X: Matrix) -> Vector:
        """q at points (m, d)."""
        Z = self.ball.to_local(X)
        return self.constant + Z @ self.gradient + 0.5 * np.einsum("ij,jk,ik->i", Z, self.scaled_hessian, Z)
