"""What a run is made of: trials, the reasons they were chosen for, and the result. All of it frozen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn

import numpy as np
from scipy.optimize import OptimizeResult

from dale.arrays import Matrix, Vector

MOST_SHOWN = 1000  # letters of a value in a message
Params = Vector | Mapping[str, Any]  # an array in a space without names, a mapping in one with names


class NamedParams(dict[str, Any]):
    """Parameters by name that cannot be changed, for they are part of the history; copy them with ``dict(params)``."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            "the parameters of a trial are part of the history and cannot be changed; copy them with dict()"
        )

    __setitem__ = __delitem__ = __ior__ = update = pop = popitem = clear = setdefault = _refuse

    def __reduce__(self) -> tuple[type[NamedParams], tuple[dict[str, Any]]]:
        return NamedParams, (dict(self),)


class Source(StrEnum):
    """Where a point came from."""

    KNOWN = "known"  # point and value came from the user
    GIVEN = "given"  # the point came from the user
    DESIGN = "design"  # the initial design (Alg. 1, lines 2-3)
    GLOBAL = "global"  # the global model's acquisition
    REGION = "region"  # a local model: the minimum of a quadratic region, or a step of a Taylor model
    REPEAT = "repeat"  # a hair beside the best observation: are values noisy?
    EXPLORE = "explore"  # as far as possible from all others: the model had nothing to say


class State(StrEnum):
    """What has become of a trial."""

    PENDING = "pending"
    TOLD = "told"
    FAILED = "failed"


@dataclass(frozen=True)
class LocalStep:
    """A step of a local Taylor model, as the life of its region needs it.

    Attributes:
        centre: Trial that the model was built around.
        radius: Half the side of the box that the step was looked for in, in the unit cube.
        length: Largest coordinate of the step, in radii; beyond 1 where the model was sure of itself farther out.
        decrease: How far below the centre's value the model predicted to come, in units of the objective; or how far
            below its violation, where nothing was feasible.
        others: How many steps of the same region were being evaluated when it was asked.
        units: Of the constraints in that violation; empty where the decrease is the objective's.
    """

    centre: int
    radius: float
    length: float
    decrease: float
    others: int = 0
    units: tuple[float, ...] = ()

    def achieved(self, centre: Trial, trial: Trial) -> float:
        """What came of it: the decrease from the centre to the trial; minus infinity for a failure.

        A feasible centre is not left for what is not feasible; one that is not feasible, for less violation.
        """
        if centre.value is None or trial.value is None:
            return -math.inf
        if self.units:
            return _violation(centre, self.units) - _violation(trial, self.units)
        return centre.value - trial.value if trial.feasible else -math.inf


@dataclass(frozen=True)
class ClosedRegion:
    """A region that has nothing more to give.

    Attributes:
        centre: Trial in its middle.
        radius: Radius of the ball that no model's proposal enters any more, in the unit cube.
        converged: Whether its model was borne out by its steps and promised nothing more; else it was given up.
    """

    centre: int
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
        acquisition: Expected improvement, in units of the objective, as it was compared: while a region is live the
            paper's method divides the global variance by 100 for the comparison, though not in ``spread``.
        mean: What the model predicted for the objective here.
        spread: Its standard deviation, as the acquisition function took it.
        region: Number of the region, best first, where the source is one.
        n_regions: How many regions were live.
        step: The step of a Taylor model that this is; part of the history, as the length-scale is.
        closed: Regions that were closed before this proposal; part of the history too.
        again: The trial whose point this is once more, since the machine failed it; all else is as it was chosen then.
    """

    source: Source
    length_scale: float | None = None
    log_alpha_ratio: float | None = None
    cooled: bool = False
    acquisition: float | None = None
    mean: float | None = None
    spread: float | None = None
    region: int | None = None
    n_regions: int = 0
    step: LocalStep | None = None
    closed: tuple[ClosedRegion, ...] = ()
    again: int | None = None

    def __str__(self) -> str:
        return self._first() + ("" if self.again is None else f"; trial {self.again} again, which the machine failed")

    def _first(self) -> str:
        """Why the point was chosen, when it was chosen first."""
        if self.source is Source.KNOWN:
            return "known before the run"
        if self.source is Source.GIVEN:
            return "given by the user"
        if self.source is Source.DESIGN:
            return "initial design"
        if self.source is Source.REPEAT:
            return "the best point again, to see whether values are noisy"
        if self.source is Source.EXPLORE:
            return "far from all other points"
        if self.step is not None:
            text = f"local model around trial {self.step.centre}, radius {self.step.radius:.2g}"
        elif self.source is Source.REGION:
            text = f"minimum of quadratic region {self.region}"
        else:
            text = "global model"
        if self.mean is not None:
            text += f": predicted {self.mean:.6g}" + (f" ± {self.spread:.2g}" if self.spread else "")
        if self.acquisition is not None:
            text += f", expected improvement {self.acquisition:.2g}"
        if self.length_scale is not None:
            text += f", length-scale {self.length_scale:.3g}{' (cooled)' if self.cooled else ''}"
        return text


@dataclass(frozen=True)
class Evaluation:
    """What an objective may return in place of a number: a value with what else is known about it.

    Attributes:
        value: The objective.
        noise: Standard deviation of the error in it, where it is known.
        constraints: What must be at most 0 for the point to be feasible; as many numbers each time.
    """

    value: Any
    noise: Any = None
    constraints: Any = ()


@dataclass(frozen=True, eq=False)
class Trial:
    """One evaluation: asked for, then told or failed.

    Attributes:
        id: Number of the trial in its run, from 0.
        params: The point as the objective takes it: a mapping by name, or an array in a space without names.
        x: The point as an array in the user's units and order; of objects where a parameter is a choice.
        point: The point in the unit cube, as the model sees it.
        reason: Why it was chosen.
        state: Pending, told or failed.
        value: The objective there, once told.
        error: What went wrong, if it failed.
        noise: Standard deviation of the error in the value, if it was told with one.
        constraints: The constraints there, once told.
        retry: Whether the machine is to blame for it: no model sees the trial, and its point is asked again.
        allowed: Whether the constraints on the inputs allow the point; of known points alone they may not.
    """

    id: int
    params: Params
    x: Vector
    point: Vector
    reason: Reason
    state: State = State.PENDING
    value: float | None = None
    error: str | None = None
    noise: float | None = None
    constraints: tuple[float, ...] = ()
    retry: bool = False
    allowed: bool = True

    @property
    def feasible(self) -> bool:
        """Whether it has a value, all of its constraints are at most 0, and those on the inputs allow it."""
        return self.state is State.TOLD and self.allowed and all(c <= 0 for c in self.constraints)


def _violation(trial: Trial, units: tuple[float, ...]) -> float:
    """Sum of the positive parts of a trial's constraints, in units."""
    return sum(max(c, 0.0) / unit for c, unit in zip(trial.constraints, units, strict=True))


@dataclass(frozen=True, eq=False)
class LocalMinimum:
    """A minimum that the data show: a quadratic fitted to the observations around it (Def. 1 of the paper).

    Where a local model of the method has converged, ``x`` and ``fun`` are the observation that it ended at.

    Attributes:
        x: Where the quadratic is smallest, as an array in the user's units.
        params: The same as the objective takes it.
        fun: Predicted minimum.
        error: How far off it may be: the leave-one-out error of the quadratic.
        hessian: Second derivatives there, in the user's units: how sharp the minimum is. NaN where a parameter is fixed
            or a choice.
        condition: Ratio of the largest to the smallest curvature in the unit cube: how narrow the valley is.
        radius: Radius of the region in the unit cube.
        n_points: Observations in the region.
        converged: Whether nothing is left to gain here: a local model of the method has converged, or the best
            observation is as good as the predicted minimum, and the prediction that sure, to within 1e-9 of the range
            of the better three quarters of all observations.
    """

    x: Vector
    params: Params
    fun: float
    error: float
    hessian: Matrix
    condition: float
    radius: float
    n_points: int
    converged: bool


class Result(OptimizeResult):
    """SciPy's ``OptimizeResult`` with what dale knows beyond it.

    Attributes:
        x: Best feasible point, as an array in the user's units.
        fun: Value there; where values are noisy, what it is believed to be without the noise.
        nfev: Number of evaluations, not counting values that were known before.
        nit: Number of proposals beyond the initial design.
        success: Whether the run ended as planned.
        status: 0 budget spent, 1 target reached, 2 stopped by the callback, Ctrl-C or SIGTERM, 3 no finite value seen,
            4 every point of a finite space evaluated, 5 time limit reached, 6 converged: nothing left promises more
            than the tolerance, 7 no feasible point found, 8 the executor broke, or no more processes could be started.
        message: The same in words.
        params: Best point as the objective takes it.
        x_iters: All told points, (n, d), in the user's units.
        func_vals: All told values, (n,).
        history: Every trial with the reason it was chosen for.
        local_minima: The minima that the data show, best first; none in a space with unordered choices or
            conditional parameters.
        noise: Standard deviation of the noise in the values, as told or as found; 0 where none was found.
        seed: The seed that gives the same run again.
    """

    x: Vector | None
    fun: float | None
    nfev: int
    nit: int
    success: bool
    status: int
    message: str
    params: Params | None
    x_iters: Matrix
    func_vals: Vector
    history: tuple[Trial, ...]
    local_minima: tuple[LocalMinimum, ...]
    noise: float
    seed: int

    def __str__(self) -> str:
        lines = [f"{self.message} after {self.nfev} evaluations"]
        if self.params is not None:
            noise = f" (values have noise of {self.noise:.2g})" if self.noise else ""
            lines.append(f"best value  {self.fun:.10g}{noise}")
            lines.append(f"best point  {describe_point(self.params)}")
        for k, m in enumerate(self.local_minima, 1):
            lines.append(
                f"minimum {k}   {m.fun:.6g} ± {m.error:.1g} at {describe_point(m.params)}, "
                f"condition {m.condition:.3g}, {'converged' if m.converged else 'not converged'}"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<dale.Result: {self!s}>"


def shown(value: Any) -> str:
    """What an objective returned, as messages show it: cut where it is long, by its type where it cannot say."""
    try:
        text = repr(value)
    except Exception:  # its own code
        return f"<{type(value).__name__} that cannot be shown>"
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


def describe_point(params: Params) -> str:
    """A point as a person writes it: ``a=1.5, b=0.2`` or ``(1.5, 0.2)``."""
    if isinstance(params, np.ndarray):
        return "(" + ", ".join(map(_describe, params)) + ")"
    return ", ".join(f"{name}={_describe(v)}" for name, v in params.items())


def _describe(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
