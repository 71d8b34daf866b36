"""A constant length-scale."""

from dataclasses import dataclass

from dale.methods.length_scale.policy import LengthScaleChoice, LengthScaleContext
from dale.models.gaussian_process import Prior
from dale.models.kernels.base import check_length_scale


@dataclass(frozen=True)
class Fixed:
    """Always the same length-scale, in sides of the unit cube.

    Attributes:
        length_scale: The length-scale.
        prior: Mean and variance of the objective if they are known; None to estimate them.

    Examples:
        >>> import dale
        >>> method = dale.methods.ei(Fixed(0.3))
    """

    length_scale: float
    prior: Prior | None = None

    def __post_init__(self) -> None:
        check_length_scale(self.length_scale)

    def choose(self, context: LengthScaleContext) -> LengthScaleChoice:
        """This length-scale."""
        posterior = context.posterior(self.length_scale)
        if self.prior is not None:
            posterior = posterior.with_prior(context.standardised(self.prior))
        return LengthScaleChoice(self.length_scale, posterior)
