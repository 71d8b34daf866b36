"""No adaptation."""

from dataclasses import dataclass

from dale.kernels.kernel import check_length_scale
from dale.length_scale.policy import Decision, Situation


@dataclass(frozen=True)
class Fixed:
    """Always the same length-scale, in sides of the unit cube."""

    length_scale: float

    def __post_init__(self) -> None:
        check_length_scale(self.length_scale)

    def decide(self, situation: Situation) -> Decision:
        """The given length-scale."""
        return Decision(self.length_scale, situation.posterior(self.length_scale))
