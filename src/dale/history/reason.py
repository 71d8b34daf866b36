"""TODO docstring."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Source(StrEnum):
    """Where a point came from."""

    ADDED = "added"  # point and value came from the user
    USER = "user"  # the point came from the user
    INITIAL_DESIGN = "initial_design"  # the initial design (Alg. 1, lines 2-3)
    GLOBAL = "global"  # the global model's acquisition
    LOCAL = "local"  # a local model: the minimum of a quadratic region, or a step of a Taylor model
    REPLICATE = "replicate"  # a hair beside the best observation: are values noisy?
    SPACE_FILLING = "space_filling"  # as far as possible from all others: the model had nothing to say


@dataclass(frozen=True)
class TrustRegionStep:
    """A step of a local Taylor model, as the life of its region needs it.

    Attributes:
        center: Trial that the model was built around.
        radius: Half the side of the box that the step was looked for in, in the unit cube.
        norm: Largest coordinate of the step, in radii; beyond 1 where the model was sure of itself farther out.
        predicted_reduction: How far below the center's value the model predicted to come, in units of the objective; or how far
            below its violation, where nothing was feasible.
        n_concurrent: How many steps of the same region were being evaluated when it was asked.
        constraint_scales: Of the constraints in that violation; empty where the decrease is the objective's.
    """

    center: int
    radius: float
    norm: float
    predicted_reduction: float
    n_concurrent: int = 0
    constraint_scales: tuple[float, ...] = ()


@dataclass(frozen=True)
class ClosedRegion:
    """A region that has nothing more to give.

    Attributes:
        center: Trial in its middle.
        radius: Radius of the ball that no model's proposal enters any more, in the unit cube.
        converged: Whether its model was borne out by its steps and promised nothing more; else it was given up.
    """

    center: int
    radius: float
    converged: bool = False


@dataclass(frozen=True)
class Reason:
    """Why a point was chosen. What a source has nothing to say about is None.

    Attributes:
        source: Which part of the method proposed the point.
        length_scale: Length-scale of the global model, in the unit cube; part of the history, since the
            next decision to cool down starts from it.
        log_alpha_ratio: Logarithm of eq. 8, the best acquisition at the smaller length-scale over that at the old one.
        cooled: Whether the length-scale was reduced for this proposal.
        expected_improvement: Expected improvement, in units of the objective, as it was compared: while a region is live the
            paper's method divides the global variance by 100 for the comparison, though not in ``std``.
        mean: What the model predicted for the objective here.
        std: Its standard deviation, as the acquisition function took it.
        region: Number of the region, best first, where the source is one.
        n_regions: How many regions were live.
        step: The step of a Taylor model that this is; part of the history, as the length-scale is.
        closed_regions: Regions that were closed before this proposal; part of the history too.
        retry_of: The trial whose point this is once more, since the machine failed it; all else is as it was chosen then.
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

    def __str__(self) -> str:
        return self._first() + (
            "" if self.retry_of is None else f"; trial {self.retry_of} again, which the machine failed"
        )

    def _first(self) -> str:
        """Why the point was chosen, when it was chosen first."""
        if self.source is Source.ADDED:
            return "known before the run"
        if self.source is Source.USER:
            return "given by the user"
        if self.source is Source.INITIAL_DESIGN:
            return "initial design"
        if self.source is Source.REPLICATE:
            return "the best point again, to see whether values are noisy"
        if self.source is Source.SPACE_FILLING:
            return "far from all other points"
        if self.step is not None:
            text = f"local model around trial {self.step.center}, radius {self.step.radius:.2g}"
        elif self.source is Source.LOCAL:
            text = f"minimum of quadratic region {self.region}"
        else:
            text = "global model"
        if self.mean is not None:
            text += f": predicted {self.mean:.6g}" + (f" ± {self.std:.2g}" if self.std else "")
        if self.expected_improvement is not None:
            text += f", expected improvement {self.expected_improvement:.2g}"
        if self.length_scale is not None:
            text += f", length-scale {self.length_scale:.3g}{' (cooled)' if self.cooled else ''}"
        return text
