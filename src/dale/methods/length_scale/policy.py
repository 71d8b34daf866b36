"""How the length-scale of a global model is chosen: the protocol of a policy, its input and its result."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar, cast, runtime_checkable

import numpy as np

from dale._arrays import Matrix, Vector
from dale.models.base import Prediction, PredictionGradient
from dale.models.gaussian_process import GaussianProcess, Prior
from dale.models.kernels.base import KernelFactory, StationaryKernel
from dale.optim.multistart import Maximum


class LengthScaleContext(Protocol):
    """The input of a policy: the data of one proposal."""

    @property
    def previous(self) -> float | None:
        """Length-scale of the last proposal; None before the first."""
        ...

    @property
    def n(self) -> int:
        """Number of observations."""
        ...

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        ...

    @property
    def n_ordered(self) -> int:
        """Number of coordinates that are not those of options, at least 1."""
        ...

    def posterior(self, length_scale: float) -> GaussianProcess:
        """The global model with this length-scale and its maximum-likelihood mean and variance."""
        ...

    def standardised(self, prior: Prior) -> Prior:
        """A mean and variance of the objective's values, in units of the model."""
        ...

    def max_log_acquisition(self, posterior: GaussianProcess) -> float:
        """Maximum of the acquisition function, a logarithm, under a model; always from the same starting points."""
        ...


@runtime_checkable
class StoredAlphaContext(LengthScaleContext, Protocol):
    """The input of a policy that compares with the acquisition value of the last proposal, and stores the present one.

    Of dale's methods, ``BayesianOptimization`` provides it.
    """

    @property
    def previous_log_acquisition(self) -> float | None:
        """What ``max_log_acquisition`` was at the last proposal, in units of the present model; None before that."""
        ...


class SpatialModel(Protocol):
    """A global model that acquisition functions can be maximised under: ``GaussianProcess``, or a tree of them."""

    def predict(self, A: Matrix, /) -> Prediction:
        """Mean and std at points A (m, d)."""
        ...

    def predict_with_gradient(self, x: Vector, /) -> PredictionGradient:
        """Mean, std and their gradients at one point x (d,)."""
        ...

    def condition(self, X: Matrix, y: Vector, /) -> Any:
        """A new model with more observations."""
        ...

    def shrunk(self, divisor: float, /) -> Any:
        """The same with its variance divided."""
        ...


ModelT = TypeVar("ModelT", bound=SpatialModel)


class PastProposal(NamedTuple):
    """An earlier proposal of the global model.

    Attributes:
        length_scale: Its length-scale.
        std: Standard deviation of its prediction, in units of the present model.
        value: What the evaluation gave, in the same units; infinite if it failed or is pending.
    """

    length_scale: float
    std: float
    value: float


class SearchContext(LengthScaleContext, Protocol):
    """The input of a policy that chooses more than a length-scale: a point with it, or another model.

    Of dale's methods, ``BayesianOptimization`` provides it.
    """

    @property
    def proposals(self) -> Sequence[PastProposal]:
        """Earlier proposals of the global model, in their order."""
        ...

    @property
    def best(self) -> float:
        """Lowest value."""
        ...

    @property
    def worst(self) -> float:
        """Highest value."""
        ...

    @property
    def incumbent(self) -> Vector:
        """Point of the lowest value, (d,)."""
        ...

    @property
    def outside(self) -> tuple[Matrix, Vector]:
        """Points (m, d) and values (m,) that the global model sees."""
        ...

    @property
    def kernel(self) -> KernelFactory:
        """Makes the kernel of a length-scale."""
        ...

    @property
    def starts(self) -> Matrix:
        """Starting points of every search, (m, d)."""
        ...

    def allowed(self, A: Matrix, /) -> np.ndarray:
        """Which points (m, d) may be proposed."""
        ...

    def fit(self, kernel: StationaryKernel, /) -> GaussianProcess:
        """The global model with this kernel and its maximum-likelihood mean and variance."""
        ...

    def with_pending(self, model: ModelT, /) -> ModelT:
        """The model, given fantasy values at pending points."""
        ...

    def acquisition_values(self, model: SpatialModel, A: Matrix, /) -> Vector:
        """Values of the acquisition function at points (m, d) under a model."""
        ...

    def climb(self, model: SpatialModel, starts: Matrix, /) -> Maximum | None:
        """The best local maximum of the acquisition function from some starting points (k, d), if there is one."""
        ...


def checked_grid(grid: Iterable[float]) -> tuple[float, ...]:
    """The length-scales that a policy chooses from, as a tuple; a ``ValueError`` if they cannot be used."""
    found = tuple(grid) if isinstance(grid, Iterable) else ()
    if not found or not all(a < b for a, b in itertools.pairwise((0.0, *found, math.inf))):
        raise ValueError(f"grid: expected positive length-scales in increasing order, got {grid!r}")
    return found


def search_context(context: LengthScaleContext, policy: object) -> SearchContext:
    """The context, if it provides what such a policy needs."""
    if not hasattr(context, "climb"):
        raise TypeError(
            f"{type(policy).__name__} needs a method that lets it choose the model: dale.methods.BayesianOptimization"
        )
    return cast(SearchContext, context)


@dataclass(frozen=True, eq=False)
class LengthScaleChoice:
    """The result of a policy.

    Attributes:
        length_scale: The length-scale to use.
        posterior: The model with this length-scale.
        log_alpha_ratio: Logarithm of eq. 8; None if it was not computed.
        cooled: Whether the length-scale was reduced.
        log_acquisition: Maximum of the acquisition function, a logarithm, under this model, if the next choice is to be
            compared with it; else None.
        model: What the acquisition function is maximised under, if that is not the posterior.
        point: The point that was chosen together with the length-scale, (d,); None for the maximum of the acquisition
            function.
    """

    length_scale: float
    posterior: GaussianProcess
    log_alpha_ratio: float | None = None
    cooled: bool = False
    log_acquisition: float | None = None
    model: SpatialModel | None = None
    point: Vector | None = None


class LengthScalePolicy(Protocol):
    """Chooses a length-scale (Alg. 1, line 6)."""

    def choose(self, context: LengthScaleContext) -> LengthScaleChoice:
        """Choose the length-scale of the next proposal."""
        ...
