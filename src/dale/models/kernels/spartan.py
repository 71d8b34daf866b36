"""The Spartan kernel: a global and a local kernel, weighted in space (Martinez-Cantin).

    k(x, x') = g(x) g(x') k_g(x, x') + h(x) h(x') k_l(x, x'),   g^2 + h^2 = 1

with a long length-scale in k_g and a shorter one in k_l, which matters in a window around a center p. The weights come
from normal densities N with a wide and a narrow std,

    h(x)^2 = N(x; p, w_l^2 I) / (N(x; p, w_l^2 I) + N(x; m, w_g^2 I)),   m the middle of the cube,

so h^2 is a logistic function of s(x) = log N(x; p, w_l^2 I) - log N(x; m, w_g^2 I). As k(x, x) = 1, it is a correlation
function, and ``GaussianProcess`` can use it like a stationary one. Derivatives, with h' = dh/ds = h (1 - h^2) / 2 and
h'' = h' (1 - 3 h^2) / 2, and the same for g with -s in place of s:

    grad s = (x - m) / w_g^2 - (x - p) / w_l^2,   Hessian of s = (1 / w_g^2 - 1 / w_l^2) I.

References: Martinez-Cantin, "Local Nonstationarity for Efficient Bayesian Optimization", arXiv:1506.02080, 2015, and
"Funneled Bayesian Optimization for Design, Tuning and Control of Autonomous Systems", IEEE Trans. Cybernetics 2019.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from dale._arrays import Matrix, Vector
from dale.models.kernels.base import LengthScale, StationaryKernel

LOCAL_STD = 0.1  # w_l, in sides of the cube; ours
GLOBAL_STD = 3.0  # w_g: nearly constant on the cube; ours (sqrt(10) in other code for this kernel, with the same w_l)


def check_widths(local_std: float, global_std: float) -> None:
    """Raise ``ValueError`` unless both are positive and finite."""
    for name, width in (("local_std", local_std), ("global_std", global_std)):
        if not 0 < width < math.inf:
            raise ValueError(f"{name}: expected a positive finite number, got {width!r}")


@dataclass(frozen=True)
class Spartan:
    """Two stationary kernels, weighted in space.

    Attributes:
        broad: k_g.
        local: k_l.
        center: p.
        local_std: w_l, the width of the window.
        global_std: w_g.

    Examples:
        >>> from dale.models.kernels import SquaredExponential
        >>> kernel = Spartan(SquaredExponential(1.0), SquaredExponential(0.05), center=(0.2,))
        >>> kernel(np.array([[0.2], [0.9]]), np.array([[0.3], [0.8]])).round(2)[[0, 1], [0, 1]]
        array([0.17, 1.  ])
    """

    broad: StationaryKernel
    local: StationaryKernel
    center: tuple[float, ...]
    local_std: float = LOCAL_STD
    global_std: float = GLOBAL_STD

    def __post_init__(self) -> None:
        check_widths(self.local_std, self.global_std)
        if not isinstance(self.center, tuple):
            raise TypeError(f"center: expected a tuple of coordinates, got {self.center!r}")

    @property
    def length_scale(self) -> LengthScale:
        """That of the global kernel."""
        return self.broad.length_scale

    def weights(self, A: Matrix) -> tuple[Vector, Vector]:
        """g and h at points A (m, d), each (m,)."""
        s = self._log_odds(A)
        return np.sqrt(expit(-s)), np.sqrt(expit(s))

    def __call__(self, A: Matrix, B: Matrix) -> Matrix:
        """Correlations (m, n)."""
        (g_a, h_a), (g_b, h_b) = self.weights(A), self.weights(B)
        return g_a[:, None] * g_b * self.broad(A, B) + h_a[:, None] * h_b * self.local(A, B)

    def diagonal(self, A: Matrix) -> Vector:
        """Ones (m,)."""
        return np.ones(len(A))

    def gradient(self, x: Vector, B: Matrix, k: Vector) -> Matrix:
        """d k(x, b) / d x, (n, d)."""
        s = float(self._log_odds(x[None, :])[0])
        s_slope = (x - 0.5) / self.global_std**2 - (x - np.array(self.center)) / self.local_std**2
        found = np.zeros(B.shape)
        for kernel, sign, w_b in zip((self.broad, self.local), (-1, 1), self.weights(B), strict=True):
            w = math.sqrt(float(expit(sign * s)))
            k_j = kernel(x[None, :], B)[0]
            found += (0.5 * sign * w * (1 - w**2)) * (w_b * k_j)[:, None] * s_slope
            found += w * w_b[:, None] * kernel.gradient(x, B, k_j)
        return found

    def gradients(self, A: Matrix, B: Matrix, k: Matrix) -> np.ndarray:
        """``gradient`` at points A (m, d): (m, n, d)."""
        found = np.zeros((*A.shape[:1], *B.shape))
        for kernel, w_a, slope, _, w_b in self._parts(A, B):
            k_j = kernel(A, B)
            found += slope[:, None, :] * (w_b * k_j)[:, :, None]
            found += (w_a[:, None] * w_b)[:, :, None] * kernel.gradients(A, B, k_j)
        return found

    def hessians(self, A: Matrix, B: Matrix, k: Matrix, weights: Matrix) -> np.ndarray:
        """Hessians of sum_j w_j k(a, b_j): (m, d, d)."""
        found = np.zeros((len(A), A.shape[1], A.shape[1]))
        for kernel, w_a, slope, curvature, w_b in self._parts(A, B):
            k_j, w = kernel(A, B), np.broadcast_to(weights * w_b, (len(A), len(B)))
            sums = np.sum(w * k_j, axis=1)
            gradient = (w[:, None, :] @ kernel.gradients(A, B, k_j))[:, 0]
            mixed = slope[:, :, None] * gradient[:, None, :]
            found += curvature * sums[:, None, None] + mixed + mixed.transpose(0, 2, 1)
            found += w_a[:, None, None] * kernel.hessians(A, B, k_j, w)
        return found

    def _parts(self, A: Matrix, B: Matrix) -> list[tuple[StationaryKernel, Vector, Matrix, np.ndarray, Vector]]:
        """For each kernel: its weight at A with gradient and Hessian, and its weight at B."""
        d = A.shape[1]
        s_slope = (A - 0.5) / self.global_std**2 - (A - np.array(self.center)) / self.local_std**2
        s_curvature = (1 / self.global_std**2 - 1 / self.local_std**2) * np.eye(d)
        found = []
        for kernel, sign, w_a, w_b in zip(
            (self.broad, self.local), (-1, 1), self.weights(A), self.weights(B), strict=True
        ):
            first = 0.5 * w_a * (1 - w_a**2)  # by sign * s
            second = 0.5 * first * (1 - 3 * w_a**2)
            outer = s_slope[:, :, None] * s_slope[:, None, :]
            curvature = second[:, None, None] * outer + (sign * first)[:, None, None] * s_curvature
            found.append((kernel, w_a, (sign * first)[:, None] * s_slope, curvature, w_b))
        return found

    def _log_odds(self, A: Matrix) -> Vector:
        """s, (m,)."""
        d = A.shape[1]
        near = np.sum((A - np.array(self.center)) ** 2, axis=1) / self.local_std**2
        far = np.sum((A - 0.5) ** 2, axis=1) / self.global_std**2
        return 0.5 * (far - near) + d * math.log(self.global_std / self.local_std)
