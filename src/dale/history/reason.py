"""Why a point was chosen. A reason is part of the history: the next proposals are computed from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from dale.history.direction import Direction


class Source(StrEnum):
    """Where a point came from.

    Examples:
        >>> import dale
        >>> trial = dale.Optimizer([(0, 1)], seed=0).ask()
        >>> trial.reason.source
        <Source.INITIAL_DESIGN: 'initial_design'>
    """

    ADDED = "added"  # point and value came from the user
    USER = "user"  # the point came from the user
    INITIAL_DESIGN = "initial_design"  # Alg. 1, lines 2-3
    GLOBAL = "global"  # the maximum of the global model's acquisition function
    LOCAL = "local"  # a local model: the minimum of a quadratic region, or a step of a Taylor model
    REPLICATE = "replicate"  # the incumbent again, to test for noise
    PROBE = "probe"  # a point very close to the incumbent, to test for roughness
    FAILED_OPTION = "failed_option"  # the incumbent with an option of which all evaluations have failed
    SPACE_FILLING = "space_filling"  # far from all others, where no model has a proposal


@dataclass(frozen=True)
class TrustRegionStep:
    """A step of a local Taylor model. The state of its trust region is replayed from it.

    Attributes:
        center: Id of the trial that the model was built around.
        radius: Half the side of the box that the step was searched in, in the unit cube.
        norm: Largest coordinate of the step, in radii; above 1 where the model was certain farther out.
        predicted_reduction: Predicted reduction below the value of the center, in units of the objective; or of its
            violation, where no trial was feasible.
        n_concurrent: Number of steps of the same region that were pending when it was proposed.
        constraint_scales: Scales of the constraints in the violation; empty if the objective was reduced.
        shape: Shape of the region (``models/ellipsoid.py``), by rows; None for a ball.
        spread: Factor of the model's std, from the errors of earlier steps; None for 1.
        noise: Standard deviation of the noise in its value, in units of the objective; None for none.
        is_neighbour: Whether it leads out of the box to the next value of an integer or stepped parameter, near which
            nothing was known; None for no.
    """

    center: int
    radius: float
    norm: float
    predicted_reduction: float
    n_concurrent: int = 0
    constraint_scales: tuple[float, ...] = ()
    shape: tuple[tuple[float, ...], ...] | None = None
    spread: float | None = None
    noise: float | None = None
    is_neighbour: bool | None = None


@dataclass(frozen=True)
class ClosedRegion:
    """A region that has no reduction left to offer.

    Attributes:
        center: Id of the trial at its center.
        radius: Radius of the ball that proposals of models no longer enter, in the unit cube.
        converged: Whether its model predicted its steps well and predicts no further reduction; else it was given up.
    """

    center: int
    radius: float
    converged: bool = False


@dataclass(frozen=True)
class Reason:
    """Why a point was chosen. Attributes that a source has no value for are None.

    Attributes:
        source: Which part of the method proposed the point.
        length_scale: Length-scale of the global model, in the unit cube. The next decision to cool down starts from it.
        log_alpha_ratio: Logarithm of eq. 8: the best acquisition value at the smaller length-scale over that at the
            present one, or over alpha* of the last proposal, where that is stored (``log_alpha``).
        cooled: Whether the length-scale was reduced for this proposal.
        expected_improvement: In units of the objective, as it was compared. While a region is live, the paper's method
            divides the global variance by 100 for the comparison, but not in ``std``.
        mean: Predicted value of the objective, with its own sign, also if it is maximised.
        std: Standard deviation of the prediction.
        region: Number of the region, best first, where the source is one.
        n_regions: Number of live regions.
        step: The step of a Taylor model.
        closed_regions: Regions that were closed before this proposal.
        retry_of: Id of the trial that is retried after a transient failure; all else is as it was chosen then.
        probe_of: Id of the trial beside which a probe lies.
        scatter: Standard deviation of the scatter of values that it tests for.
        log_alpha: Logarithm of the best expected improvement outside the regions, in units of the objective, at the
            length-scale that was chosen: alpha*_{n-1} of the next decision to cool down, where Alg. 2 stores it.

    Examples:
        >>> import dale
        >>> print(dale.Optimizer([(0, 1)], seed=0).ask().reason)
        initial design
    """

    source: Source
    length_scale: float | None = None
    log_alpha_ratio: float | None = None
    cooled: bool = False
    expected_improvement: float | None = None
    mean: float | None = None
    std: float | None = None
    region: int | None = None
    n_regions: int = 0
    step: TrustRegionStep | None = None
    closed_regions: tuple[ClosedRegion, ...] = ()
    retry_of: int | None = None
    probe_of: int | None = None
    scatter: float | None = None
    log_alpha: float | None = None

    def in_direction(self, direction: Direction) -> Reason:
        """The reason of a method, which minimises, as that of a trial of the user's objective."""
        return self if self.mean is None else replace(self, mean=direction.from_loss(self.mean))

    def replaced(self) -> Reason:
        """The reason of a space-filling point that replaces the proposed one, about which no model has a prediction.

        Length-scale, closed regions and the step, which counts as a failure, stay part of the history.
        """
        return replace(
            self,
            source=Source.SPACE_FILLING,
            expected_improvement=None,
            mean=None,
            std=None,
            region=None,
            probe_of=None,
            scatter=None,
        )

    def retried(self, trial: int, length_scale: float | None) -> Reason:
        """The reason of a retry of a trial, as if that had never been proposed.

        What the reason says of the run stays where it was said: the regions that it closed are closed, alpha* is that
        of the last proposal, and so is the length-scale, which may differ by now.
        """
        source = Source.USER if self.source is Source.ADDED else self.source
        return replace(
            self, source=source, retry_of=trial, closed_regions=(), length_scale=length_scale, log_alpha=None
        )

    def __str__(self) -> str:
        retried = "" if self.retry_of is None else f"; retry of trial {self.retry_of} after a transient failure"
        return _WITHOUT_A_MODEL.get(self.source, self._of_a_model()) + retried

    def _of_a_model(self) -> str:
        if self.step is not None:
            text = f"local model around trial {self.step.center}, radius {self.step.radius:.2g}"
        elif self.source is Source.LOCAL:
            text = f"optimum of quadratic region {self.region}"
        else:
            text = "global model"
        if self.mean is not None:
            text += f": predicted {self.mean:.6g}" + (f" ± {self.std:.2g}" if self.std else "")
        if self.expected_improvement is not None:
            text += f", expected improvement {self.expected_improvement:.2g}"
        if self.length_scale is not None:
            text += f", length-scale {self.length_scale:.3g}{' (cooled)' if self.cooled else ''}"
        return text


_WITHOUT_A_MODEL = {
    Source.ADDED: "added by the user",
    Source.USER: "point of the user",
    Source.INITIAL_DESIGN: "initial design",
    Source.REPLICATE: "the incumbent again, to test for noise",
    Source.PROBE: "beside the incumbent, to test for roughness",
    Source.FAILED_OPTION: "the incumbent with an option of which all evaluations have failed",
    Source.SPACE_FILLING: "far from all other points",
}
