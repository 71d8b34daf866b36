"""What a length-scale policy is asked, what it may look at, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from dale.models.gaussian_process import GaussianProcess, Prior


class LengthScaleContext(Protocol):
    """What a policy may look at before a proposal."""

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

    def promise(self, posterior: GaussianProcess) -> float:
        """Logarithm of the best acquisition under a model, from the same starting points each time."""
        ...


@dataclass(frozen=True, eq=False)
class LengthScaleChoice:
    """The length-scale to use, and the model that has it."""

    length_scale: float
    posterior: GaussianProcess
    log_alpha_ratio: float | None = None
    cooled: bool = False


class LengthScalePolicy(Protocol):
    """Line 6 of Alg. 1 for the length-scale."""

    def choose(self, context: LengthScaleContext) -> LengthScaleChoice:
        """Choose the length-scale of the next proposal."""
        ...
