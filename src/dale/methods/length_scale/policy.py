"""How the length-scale of a global model is chosen: the protocol of a policy, its input and its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from dale.models.gaussian_process import GaussianProcess, Prior


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
    """

    length_scale: float
    posterior: GaussianProcess
    log_alpha_ratio: float | None = None
    cooled: bool = False
    log_acquisition: float | None = None


class LengthScalePolicy(Protocol):
    """Chooses a length-scale (Alg. 1, line 6)."""

    def choose(self, context: LengthScaleContext) -> LengthScaleChoice:
        """Choose the length-scale of the next proposal."""
        ...
