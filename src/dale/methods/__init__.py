"""The methods, ready to use; their parts (kernel, acquisition function, length-scale policy) can be replaced.

dale.minimize(f, bounds, budget=60, method=dale.methods.ei(kernel=dale.models.kernels.Matern52))
"""

from dale.acquisition.base import Acquisition, SecondOrderAcquisition
from dale.acquisition.confidence_bound import BETA, ConfidenceSchedule, LowerConfidenceBound
from dale.acquisition.expected_improvement import LogExpectedImprovement
from dale.methods.base import Capabilities, Method, Proposal
from dale.methods.bayesian_optimization import BayesianOptimization
from dale.methods.default.method import DefaultMethod
from dale.methods.default.settings import GlobalSettings, SelectionSettings, TaylorSettings, TrustRegionSettings
from dale.methods.imgpo import IMGPO
from dale.methods.length_scale.alpha_ratio import AlphaRatio, Denominator
from dale.methods.length_scale.maximum_likelihood import MaximumLikelihood
from dale.methods.length_scale.policy import LengthScalePolicy
from dale.methods.region_identification import RegionIdentification
from dale.models.kernels.base import KernelFactory
from dale.models.kernels.squared_exponential import SquaredExponential

__all__ = [
    "IMGPO",
    "BayesianOptimization",
    "Capabilities",
    "DefaultMethod",
    "GlobalSettings",
    "Method",
    "Proposal",
    "SelectionSettings",
    "TaylorSettings",
    "TrustRegionSettings",
    "default",
    "ei",
    "imgpo",
    "lcb",
    "paper",
    "spartan",
    "treed",
]


def paper(
    *,
    kernel: KernelFactory = SquaredExponential,
    acquisition: Acquisition = LogExpectedImprovement(),  # noqa: B008 (frozen)
) -> BayesianOptimization:
    """Wabersich & Toussaint: EI, alpha-ratio cool down, MGL kernel, and the constants of their Sec. 4.

    Args:
        kernel: Of the global model.
        acquisition: The acquisition function, a logarithm (``is_log``) that gives a certain improvement a value.

    Where their text can be read in several ways, the one under which most of their statements hold
    (``docs/paper.md``); the others are settings of ``AlphaRatio`` and ``RegionIdentification``.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: (x[0] - 0.3) ** 2, [(0, 1)], budget=8, seed=0, method=paper())
        >>> result.x.round(6)
        array([0.3])
    """
    return BayesianOptimization(
        length_scale=AlphaRatio(denominator=Denominator.STORED),
        regions=RegionIdentification(),
        acquisition=acquisition,
        kernel=kernel,
    )


def default(
    *,
    kernel: KernelFactory = SquaredExponential,
    acquisition: SecondOrderAcquisition = LogExpectedImprovement(),  # noqa: B008 (frozen)
) -> DefaultMethod:
    """The method of ``minimize`` unless another is given: a cooled global model and local Taylor models.

    Args:
        kernel: Of the global models.
        acquisition: Of the global models; a logarithm, because it is compared with the log EI of local steps.

    Examples:
        >>> from dale.models.kernels import Matern52
        >>> default(kernel=Matern52).global_model.kernel.__name__
        'Matern52'
    """
    return DefaultMethod(global_model=GlobalSettings(kernel=kernel, acquisition=acquisition))


def ei(
    length_scale: LengthScalePolicy | None = None,
    *,
    kernel: KernelFactory = SquaredExponential,
    acquisition: Acquisition = LogExpectedImprovement(),  # noqa: B008 (frozen)
) -> BayesianOptimization:
    """Expected improvement, or another acquisition function, on one global model.

    Args:
        length_scale: How the length-scale is chosen; None for maximum likelihood.
        kernel: Of the model.
        acquisition: The acquisition function.

    Examples:
        >>> from dale.acquisition import ProbabilityOfImprovement
        >>> from dale.methods.length_scale import Fixed
        >>> ei(Fixed(0.3), acquisition=ProbabilityOfImprovement()).length_scale
        Fixed(length_scale=0.3, prior=None)
    """
    return BayesianOptimization(
        length_scale=length_scale or MaximumLikelihood(), acquisition=acquisition, kernel=kernel
    )


def lcb(
    length_scale: LengthScalePolicy | None = None,
    *,
    beta: float | ConfidenceSchedule = BETA,
    kernel: KernelFactory = SquaredExponential,
) -> BayesianOptimization:
    """The lower confidence bound, mean - beta std, on one global model.

    Args:
        length_scale: How the length-scale is chosen; None for maximum likelihood.
        beta: A number, or ``dale.acquisition.ConfidenceSchedule()`` for one that grows (Srinivas et al.).
        kernel: Of the model.

    Examples:
        >>> lcb(beta=1.0).acquisition
        LowerConfidenceBound(beta=1.0)
    """
    return ei(length_scale, kernel=kernel, acquisition=LowerConfidenceBound(beta))


def imgpo() -> IMGPO:
    """Kawaguchi, Kaelbling & Lozano-Perez: a tree of boxes, pruned by a Gaussian process; deterministic.

    Examples:
        >>> imgpo().name
        'imgpo'
    """
    return IMGPO()


def spartan(
    *,
    kernel: KernelFactory = SquaredExponential,
    acquisition: Acquisition = LogExpectedImprovement(),  # noqa: B008 (frozen)
) -> BayesianOptimization:
    """Martinez-Cantin: a global kernel and a local one around the best region, weighted in space.

    Args:
        kernel: Of both.
        acquisition: The acquisition function.

    Examples:
        >>> type(spartan().length_scale).__name__
        'SpartanLengthScales'
    """
    from dale.methods.length_scale.spartan import SpartanLengthScales  # most runs need none of it

    return BayesianOptimization(SpartanLengthScales(), acquisition=acquisition, kernel=kernel)


def treed(
    *,
    kernel: KernelFactory = SquaredExponential,
    acquisition: Acquisition = LogExpectedImprovement(),  # noqa: B008 (frozen)
) -> BayesianOptimization:
    """Assael et al.: a tree of Gaussian processes, each with its own length-scale, mean and variance.

    Args:
        kernel: Of each model.
        acquisition: The acquisition function.

    Examples:
        >>> type(treed().length_scale).__name__
        'TreedLengthScales'
    """
    from dale.methods.length_scale.treed import TreedLengthScales

    return BayesianOptimization(TreedLengthScales(), acquisition=acquisition, kernel=kernel)
