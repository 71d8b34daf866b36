"""Settings of the default method. An ablation changes one at a time (``dale bench ablation``)."""

from __future__ import annotations

from dataclasses import dataclass

from dale.acquisition.base import SecondOrderAcquisition, check_acquisition
from dale.acquisition.expected_improvement import LogExpectedImprovement
from dale.history.outliers import MAX_OBSERVATIONS
from dale.methods.length_scale.alpha_ratio import AlphaRatio
from dale.models.kernels.base import KernelFactory, check_kernel
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.monomials import MAX_DEGREE
from dale.models.taylor import QUADRATIC_RHOS


@dataclass(frozen=True)
class TrustRegionSettings:
    """How trust regions begin and shrink.

    Attributes:
        initial_radius: Radius of a new region, in sides of the cube. 0.12: best of a grid on the development functions.
        failure_tolerance: Failures in a row before the radius is halved. The name is TuRBO's, the value ours.
    """

    initial_radius: float = 0.12
    failure_tolerance: int = 3


@dataclass(frozen=True)
class TaylorSettings:
    """The local models.

    Attributes:
        max_degree: Highest degree of the polynomials.
        quadratic_rhos: Radii of convergence far beyond the cube, which make the model a plain quadratic; they need a
            Bayes factor (``models/taylor.py``).
        std_factor: The model's std is multiplied by this: half of it, for the prior of independent weights overstates
            it.
        allow_long_steps: Whether a certain model may step out of its region.
    """

    max_degree: int = MAX_DEGREE
    quadratic_rhos: tuple[float, ...] = QUADRATIC_RHOS
    std_factor: float = 0.5
    allow_long_steps: bool = True


@dataclass(frozen=True)
class GlobalSettings:
    """The global model.

    Attributes:
        length_scale: How its length-scale is cooled down (Alg. 2). It begins at 0.35, where the paper is silent.
        log_transform: Whether strongly skewed values are compressed by a logarithm.
        max_observations: That it is fitted to, less one for each pending point.
        kernel: Of the models of the objective, of its noise and of outcome constraints.
        acquisition: A logarithm, because it is compared with the log EI of local steps.
    """

    length_scale: AlphaRatio = AlphaRatio(initial=0.35, max_variance_ratio=4.0)  # noqa: RUF009 (frozen)
    log_transform: bool = True
    max_observations: int = MAX_OBSERVATIONS
    kernel: KernelFactory = SquaredExponential
    acquisition: SecondOrderAcquisition = LogExpectedImprovement()  # noqa: RUF009

    def __post_init__(self) -> None:
        check_kernel(self.kernel)
        check_acquisition(self.acquisition, log_for="the default method", second_order=True)


@dataclass(frozen=True)
class SelectionSettings:
    """How local and global proposals compete.

    A global model overstates its expected improvement, which is a maximum over the whole cube, so local steps need only
    a fraction of it.

    Attributes:
        min_evaluations_per_parameter: Before the first uncertain local step.
        min_ei_ratio_incumbent: Fraction of the global EI that is enough for a step from the incumbent.
        min_ei_ratio_other: And for a step from another center.
        local_turns: While a step from the incumbent has less, one in so many proposals is global.
    """

    min_evaluations_per_parameter: int = 3
    min_ei_ratio_incumbent: float = 1e-3
    min_ei_ratio_other: float = 1e-2
    local_turns: int = 3
