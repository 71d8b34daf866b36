"""The Mixed-Global-Local kernel for GPyTorch, and a Gaussian process with it for BoTorch.

The paper combines its kernel with expected improvement and says that it fits other acquisition functions as well (Sec.
5). With this model, any acquisition function of BoTorch can be tried.

    k_MGL(x, x') = (x'x' + 1)^2       both in the same region U_i (eq. 19)
                   k_s(x, x')         both outside all regions, k_s any kernel of GPyTorch
                   0                  otherwise (Def. 2, eq. 18)

Shapes: x1 (..., m, d), x2 (..., n, d); tensors in double precision, points of the unit cube. k_MGL is positive definite
but its samples jump at the boundary of a region, so the gradient of an acquisition function is that of the part in
which its point lies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dale.models.ellipsoid import Ellipsoid

try:
    import torch
    from botorch.models import SingleTaskGP
    from gpytorch import settings
    from gpytorch.kernels import Kernel, RBFKernel, ScaleKernel
    from gpytorch.means import ConstantMean
    from linear_operator import to_dense
except ImportError as error:
    raise ImportError(f"dale.integrations.botorch needs BoTorch ({error}): pip install 'dale[botorch]'") from error

MIN_NOISE = 1e-10  # variance for values without noise: factorisations need some
OUTSIDE = -1  # number of the part outside all regions


class MixedGlobalLocalKernel(Kernel):
    """k_MGL for pairwise disjoint balls.

    Args:
        outside: k_s, a kernel with its own scale, such as ``ScaleKernel(RBFKernel())``.
        balls: The regions U_i.

    Examples:
        >>> kernel = MixedGlobalLocalKernel(RBFKernel(), [Ellipsoid(np.array([0.2]), 0.1)])
        >>> kernel(torch.tensor([[0.2], [0.7]])).to_dense().diagonal().tolist()
        [1.0815999507904053, 1.0]
    """

    def __init__(self, outside: Kernel, balls: Sequence[Ellipsoid]) -> None:
        super().__init__()
        for i, ball in enumerate(balls):
            if ball.shape is not None:
                raise ValueError(f"region {i}: expected a ball, got one with the shape {ball.shape!r}")
            if any(ball.overlaps(other) for other in balls[:i]):
                raise ValueError(f"expected pairwise disjoint regions, but region {i} overlaps an earlier one")
        self.outside = outside
        self._balls = [(torch.as_tensor(np.asarray(ball.center)), float(ball.radius)) for ball in balls]

    def region_of(self, x: Any) -> Any:
        """Number of the region each point (..., n, d) is in; -1 outside."""
        number = torch.full(x.shape[:-1], OUTSIDE)
        for i, (center, radius) in enumerate(self._balls):
            number[torch.linalg.vector_norm(x - center.to(x), dim=-1) <= (1 + 1e-14) * radius] = i
        return number

    def forward(self, x1: Any, x2: Any, diag: bool = False, **params: Any) -> Any:
        """Covariances (..., m, n), or with ``diag`` their diagonal (..., m)."""
        first, second = self.region_of(x1), self.region_of(x2)
        outside = to_dense(self.outside(x1, x2, diag=diag, **params))
        if diag:
            quadratic = ((x1 * x2).sum(-1) + 1) ** 2
        else:
            quadratic = (x1 @ x2.transpose(-1, -2) + 1) ** 2
            first, second = first.unsqueeze(-1), second.unsqueeze(-2)
        local = torch.where(first == second, quadratic, torch.zeros_like(quadratic))
        return torch.where((first == OUTSIDE) & (second == OUTSIDE), outside, local)


class MixedGlobalLocalGP(SingleTaskGP):
    """A Gaussian process with k_MGL, given regions and a given length-scale, for any acquisition function of BoTorch.

    It has no hyperparameters to fit: regions and length-scale come from elsewhere, such as
    ``dale.methods.region_identification.identify_regions`` and the length-scale that dale has cooled down to
    (``trial.reason.length_scale``). It equals ``dale.models.MixedGlobalLocalPosterior``.

    Args:
        train_X: Points of the unit cube, (n, d).
        train_Y: Their values, (n, 1). BoTorch maximises: pass -y to minimise.
        balls: The regions, pairwise disjoint.
        length_scale: Of the squared-exponential kernel outside.
        mean: The prior mean, everywhere; None for the mean of the values.
        variance: Prior variance outside; None for the variance of the values.
        noise: Variance of the noise in the values, a number or (n, 1).

    Examples:
        >>> X = torch.linspace(0, 1, 9, dtype=torch.double).unsqueeze(-1)
        >>> model = MixedGlobalLocalGP(X, (X - 0.2) ** 2, [Ellipsoid(np.array([0.25]), 0.3)], 0.2, noise=1e-6)
        >>> model.posterior(torch.tensor([[0.3]], dtype=torch.double)).mean.round(decimals=4).item()
        0.01
    """

    def __init__(
        self,
        train_X: Any,
        train_Y: Any,
        balls: Sequence[Ellipsoid],
        length_scale: float,
        *,
        mean: float | None = None,
        variance: float | None = None,
        noise: Any = MIN_NOISE,
    ) -> None:
        def exactly(number: Any) -> Any:  # GPyTorch rounds plain numbers to single precision
            return torch.as_tensor(number, dtype=train_X.dtype, device=train_X.device)

        outside = ScaleKernel(RBFKernel()).to(train_X)
        outside.base_kernel.lengthscale = exactly(length_scale)
        outside.outputscale = exactly(train_Y.var() if variance is None else variance)
        level = ConstantMean().to(train_X)
        level.constant = exactly(train_Y.mean() if mean is None else mean)
        with settings.min_fixed_noise(double_value=MIN_NOISE):
            super().__init__(
                train_X,
                train_Y,
                train_Yvar=exactly(noise).expand_as(train_Y),
                covar_module=MixedGlobalLocalKernel(outside, balls),
                mean_module=level,
                outcome_transform=None,
            )
        for parameter in self.parameters():
            parameter.requires_grad_(False)
        self.eval()
