"""Settings of the default method. An ablation changes one at a time (``dale bench ablation``)."""

from __future__ import annotations

from dataclasses import dataclass

from dale.acquisition.base import SecondOrderAcquisition, check_acquisition
from dale.acquisition.expected_improvement import LogExpectedImprovement
from dale.history.outliers import MAX_OBSERVATIONS
from dale.history.recommendation import INITIAL_RADIUS
from dale.methods.length_scale.alpha_ratio import AlphaRatio
from dale.models.kernels.base import KernelFactory, check_kernel
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.monomials import MAX_DEGREE
from dale.models.preprocessing import Neighbourhood


@dataclass(frozen=True)
class TrustRegionSettings:
    """How trust regions start and shrink.

    Attributes:
        initial_radius: Radius of a new region, in sides of the cube. 0.12: best of a grid on the development functions.
        failure_tolerance: Failures in a row before the radius is halved. None: 3, but d // 2 + 1 in d > 5 variables,
            because few say little about a model of many unknowns. The name is TuRBO's, the value ours.

    Examples:
        >>> TrustRegionSettings().initial_radius
        0.12
    """

    initial_radius: float = INITIAL_RADIUS
    failure_tolerance: int | None = None

    def failures_before_halving(self, dimension: int) -> int:
        """The failure tolerance in so many variables."""
        return self.failure_tolerance or max(3, dimension // 2 + 1)


@dataclass(frozen=True)
class TaylorSettings:
    """The local models.

    Attributes:
        max_degree: Highest degree of the polynomials.
        neighbourhood: Observations that take part in a model.
        shapes: Whether regions learn their shape.
        structured: Whether, from a few variables on, shapes of fewer freedoms and structured models may win.
        std_factor: Factor of the model's std. 0.5, because the prior of independent weights overstates the std.
        calibrated: Whether the std also follows the errors of the region's past steps.
        allow_long_steps: Whether a certain model may step out of its region.

    Examples:
        >>> TaylorSettings().max_degree
        6
    """

    max_degree: int = MAX_DEGREE
    neighbourhood: Neighbourhood = Neighbourhood()  # noqa: RUF009 (frozen)
    shapes: bool = True
    structured: bool = True
    std_factor: float = 0.5
    calibrated: bool = True
    allow_long_steps: bool = True


@dataclass(frozen=True)
class GlobalSettings:
    """The global model.

    Attributes:
        length_scale: How its length-scale is cooled down (Alg. 2). It starts at 0.35; the paper gives no value.
        log_transform: Whether strongly skewed values are log-transformed.
        max_observations: Maximum number of observations in the model, less one for each pending point.
        kernel: Kernel of the models of the objective, of its noise and of outcome constraints.
        acquisition: Acquisition function; a logarithm, because it is compared with the log EI of local steps.
        trend_and_ripples: Whether the kernel is chosen by evidence once a region has been closed.

    Examples:
        >>> GlobalSettings().max_observations
        768
    """

    length_scale: AlphaRatio = AlphaRatio(initial=0.35, max_variance_ratio=4.0)  # noqa: RUF009 (frozen)
    log_transform: bool = True
    max_observations: int = MAX_OBSERVATIONS
    kernel: KernelFactory = SquaredExponential
    acquisition: SecondOrderAcquisition = LogExpectedImprovement()  # noqa: RUF009
    trend_and_ripples: bool = True

    def __post_init__(self) -> None:
        check_kernel(self.kernel)
        check_acquisition(self.acquisition, log_for="the default method", second_order=True)


@dataclass(frozen=True)
class SelectionSettings:
    """How local and global proposals compete.

    The global EI is a maximum over the whole cube, and therefore overstated. A local step needs only a fraction of it.

    Attributes:
        min_evaluations_per_parameter: Evaluations per parameter before the first uncertain local step.
        min_ei_ratio_incumbent: Minimum ratio of local to global EI for a step from the incumbent.
        min_ei_ratio_other: Minimum ratio of local to global EI for a step from another center.
        local_turns: If the step from the incumbent has a smaller ratio, one in so many proposals is global; ...
        max_wait: ... but each of its last proposals that did not improve on the best value makes the global side wait
            one local step longer, up to so many. None: one for each parameter.

    Examples:
        >>> SelectionSettings().local_turns
        3
    """

    min_evaluations_per_parameter: int = 3
    min_ei_ratio_incumbent: float = 1e-3
    min_ei_ratio_other: float = 1e-2
    local_turns: int = 3
    max_wait: int | None = None
