"""Advice with numbers: what limits the result, and what to do about it.

Each kind of advice is a dataclass of numbers; its text is ``str`` of it. ``advice`` returns those that apply, the most
useful first.

*On a bound.* If the best point lies on a bound of a parameter, the local Taylor model around it predicts the objective
beyond the bound, as far as its own error allows. *A second minimum* is worth a look if it costs little and is flatter:
along its stiffest direction, with the largest eigenvalue e of the Hessian in the unit cube, a drift of size u costs
e u^2 / 2, so it tolerates sqrt(e_1 / e_2) times the drift of the best minimum for the same cost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dale._arrays import Vector
from dale._computing import computing
from dale.history.direction import Direction
from dale.history.failures import count_failures, exception_line
from dale.history.trial import Trial
from dale.space.point import format_point
from dale.view.data.landscape import SliceData, slice_data
from dale.view.forecast import Outlook, outlook
from dale.view.local_model import local_model
from dale.view.run_view import RunView, view_of
from dale.view.tolerances import cube_hessian

ON_BOUND = 1e-6  # distance from a bound, in the unit cube, at which a point lies on it
BEYOND = (0.1, 0.05, 0.02, 0.01)  # distances beyond the bound, in ranges of the parameter, the largest that is certain
NEGLIGIBLE = 1e-3  # gain beyond a bound, over the range of the better three quarters of the values, that is not stated
CERTAIN = 0.5  # error of a gain beyond a bound, as a fraction of the gain, up to which it is stated
BOUNDARY_WEIGHT = 0.9  # probability of a boundary of failures from which it is stated
AT_FAILURES = 0.02  # distance from a failed evaluation, in the unit cube, at which the best point is at that boundary
MAX_COST = 0.05  # of a second minimum, as a fraction of the range of the values
MIN_DRIFT = 2.0  # ratio of the drifts from which a second minimum is flatter
IRRELEVANT = 0.01  # a parameter does not matter if it explains less than this fraction of the surrogate's variance, and
SLICE_POINTS = 21  # if its slice changes by less than this fraction of the range of the better three quarters
MIN_EXPLAINED = 0.8  # fraction of the values' variance from which the surrogate may say so ...
MIN_TRIALS = 5  # ... and number of values for each parameter
ACTIVE = 1e-3  # a constraint this close to 0 is active, in units of its median size


@dataclass(frozen=True)
class OnBound:
    """The best point lies on a bound.

    Attributes:
        name: The parameter.
        value: The bound.
        side: ``"lower"`` or ``"upper"``.
        beyond: A value beyond the bound; None if the local model is not certain of any.
        gain: Predicted improvement of the objective there; None if it is not certain.
        error: Standard deviation of that prediction.
        direction: Whether the objective is minimised or maximised.
    """

    name: str
    value: float
    side: str
    beyond: float | None
    gain: float | None
    error: float | None
    direction: Direction = Direction.MINIMIZE

    def __str__(self) -> str:
        text = f"The best point lies on the {self.side} bound of {self.name}, {self.value:.6g}"
        if self.gain is None or self.beyond is None or self.error is None:
            return f"{text}: extend the range if you can."
        gain = f"{self.direction.better} by {self.gain:.2g} ± {self.error:.1g}"
        return f"{text}; at {self.beyond:.4g} the local model expects a value {gain}: extend the range."


@dataclass(frozen=True)
class FlatterMinimum:
    """Another minimum costs little and is flatter.

    Attributes:
        number: Number of the minimum, from 2.
        point: The point as text.
        cost: How much worse its value is.
        relative_cost: The same as a fraction of the range of the values.
        error: Error of its predicted value.
        drift: How many times the drift of the best minimum it tolerates for the same rise.
        direction: Whether the objective is minimised or maximised.
    """

    number: int
    point: str
    cost: float
    relative_cost: float
    error: float
    drift: float
    direction: Direction = Direction.MINIMIZE

    def __str__(self) -> str:
        cost = f"{self.cost:.2g} ± {self.error:.1g} ({100 * self.relative_cost:.2g} % of the observed range)"
        what = self.direction.optimum
        return f"{what.title()} {self.number} costs {cost} and tolerates {self.drift:.2g} times the drift of {what} 1."


@dataclass(frozen=True)
class Irrelevant:
    """Parameters that do not matter.

    Attributes:
        names: The parameters.
        share: The largest fraction of the surrogate's variance that one of them explains with all its interactions.
        change: The largest change of the surrogate along the whole range of one of them, from the best point.
        explained: Fraction of the values' variance that the surrogate explains.
    """

    names: tuple[str, ...]
    share: float
    change: float
    explained: float

    def __str__(self) -> str:
        verb = "hardly matters" if len(self.names) == 1 else "hardly matter"
        each, them = ("", "it") if len(self.names) == 1 else ("each ", "them")
        share = f"{each}at most {100 * self.share:.1g} % of the surrogate's variance"
        change = f"and over the whole range a change of {self.change:.1g} from the best point"
        trust = f"(the surrogate explains {100 * self.explained:.0f} % of the values' variance)"
        return f"{', '.join(self.names)} {verb}: {share}, {change} {trust}. Fix {them} to save evaluations."


@dataclass(frozen=True)
class AtFailures:
    """The best point lies at the edge of the part of the space where evaluations fail.

    Attributes:
        distance: To the nearest failed evaluation, in ranges of the parameters.
    """

    distance: float

    def __str__(self) -> str:
        return (
            f"The best point lies at the edge of the part where evaluations fail: one failed at a distance of "
            f"{self.distance:.1g} of the ranges. If you can compute how far a point is from failing, return it as an "
            "outcome constraint."
        )


@dataclass(frozen=True)
class Failures:
    """Evaluations failed.

    Attributes:
        n: Number of failures, transient ones included.
        n_evaluated: Number of evaluations.
        error: The last one of the most frequent kind, its last line.
        count: How often it occurred.
    """

    n: int
    n_evaluated: int
    error: str
    count: int

    def __str__(self) -> str:
        share = 100 * self.n / max(self.n_evaluated, 1)
        most = "all" if self.count == self.n else f"{self.count} of them"
        return f"{self.n} of {self.n_evaluated} evaluations failed ({share:.0f} %), {most} with: {self.error}"


@dataclass(frozen=True)
class Noise:
    """Values are noisy; or exact but rough, so that they look noisy to the models.

    Attributes:
        std: Standard deviation of the noise, ``result.noise``; of rough values ``result.roughness``.
        relative: The same as a fraction of the range of the values.
        best_std: Standard deviation of the best value, ``result.fun_std``; the noise itself where it is too small to be
            modelled; None of rough values, which are exact.
    """

    std: float
    relative: float
    best_std: float | None

    def __str__(self) -> str:
        size = f"{self.std:.2g} ({100 * self.relative:.2g} % of the observed range)"
        if self.best_std is None:
            return f"Values are exact, but scatter by {size} from point to point; the models follow their trend."
        return f"Values have noise of {size}; the best value is known to ± {self.best_std:.2g}."


@dataclass(frozen=True)
class ConstraintActivity:
    """Outcome constraints.

    Attributes:
        n_infeasible: Trials that violate one.
        n: Trials with a value.
        active: Numbers of the constraints that are active at the best point.
        violated: How many trials violate each constraint.
    """

    n_infeasible: int
    n: int
    active: tuple[int, ...]
    violated: tuple[int, ...]

    def __str__(self) -> str:
        text = f"{self.n_infeasible} of {self.n} trials violate a constraint"
        if self.active:
            which = ", ".join(map(str, self.active))
            verb = "is" if len(self.active) == 1 else "are"
            return f"{text}; constraint{'s' if len(self.active) > 1 else ''} {which} {verb} active at the best point."
        if self.n_infeasible == self.n:
            return f"{text}."
        return f"{text}; none is active at the best point."


Advice = OnBound | AtFailures | FlatterMinimum | Outlook | Irrelevant | Failures | Noise | ConstraintActivity


@computing()
def advice(run: Any, space: Any = None) -> tuple[Advice, ...]:
    """What limits the result, and what to do about it.

    Args:
        run: A result, an optimizer, a stored run or the path of a store.
        space: Search space; needed only for a result that does not know it.

    Examples:
        >>> import dale
        >>> from dale.view import advice
        >>> result = dale.minimize(lambda x: (x[0] - 3) ** 2, [(-2, 2)], budget=12, seed=0)
        >>> str(advice(result)[0])[:62]
        'The best point lies on the upper bound of x0, 2; at 2.4 the lo'
    """
    view = view_of(run, space)
    found = [*_short(view), _irrelevant(view), _failures(view), _noise(view), _constraints(view)]
    return tuple(item for item in found if item is not None)


@computing()
def short_advice(run: Any) -> list[str]:
    """The advice that ``print(result)`` includes: what costs little to compute, one line each."""
    return [f"{'outlook' if isinstance(item, Outlook) else 'advice':<11} {item}" for item in _short(view_of(run))]


def _short(view: RunView) -> list[Advice]:
    return [*_bounds(view), *_at_failures(view), *_flatter_minima(view), *outlook(view)]


def _bounds(view: RunView) -> list[Advice]:
    best, space = view.best, view.space
    if best is None:
        return []
    found: list[Advice] = []
    values = view.named(best)
    for name, parameter in space.parameters.items():
        columns = space.columns(name)
        is_held = view.snapshot.domain.held is not None and name in view.snapshot.domain.held.values
        if name not in values or space.n_coordinates(name) != 1 or not parameter.is_numeric or is_held:
            continue
        ends = parameter.axis(2)
        at = [abs(best.unit_x[columns][0] - parameter.encode(parameter.check(v, name))[0]) for v in ends.tolist()]
        if len(ends) < 2 or min(at) > ON_BOUND:
            continue
        upper = at[1] < at[0]
        item = _beyond(view, best, name, float(ends[int(upper)]), upper=upper)
        if item is not None:
            found.append(item)
    return found


def _beyond(view: RunView, best: Trial, name: str, bound: float, *, upper: bool) -> OnBound | None:
    """What the local model expects beyond a bound; None if it expects no gain that counts."""
    side, sign = ("upper", 1) if upper else ("lower", -1)
    model = local_model(view, best)
    scale, losses = view.observations.standardize, view.losses
    negligible = NEGLIGIBLE * float(np.quantile(losses, 0.75) - np.min(losses))  # huge values say nothing
    for distance, beyond in _outside(view, name, bound, sign):
        if model is None:
            break
        x = np.array(best.unit_x)
        x[view.space.columns(name)] += sign * distance
        z = model.frame.to_local(x[None, :])
        predicted = model.predict(z)
        error = math.hypot(float(predicted.std[0]), float(model.remainder(float(np.linalg.norm(z)))))
        gain = -scale.inverse_scale(float(predicted.mean[0]))
        if (std := scale.inverse_scale(error)) <= CERTAIN * abs(gain):
            return OnBound(name, bound, side, beyond, gain, std, view.direction) if gain > negligible else None
    return OnBound(name, bound, side, None, None, None)


def _outside(view: RunView, name: str, bound: float, sign: int) -> list[tuple[float, float]]:
    """Distances beyond a bound in the unit cube, with the values there: the next one of a parameter with steps."""
    parameter = view.space.parameters[name]
    low, high = parameter.axis(2).tolist()
    if parameter.log:
        steps = [] if parameter.cardinality is not None else [(d, (high / low) ** (sign * d)) for d in BEYOND]
        return [(d, float(bound * factor)) for d, factor in steps]
    if parameter.cardinality is not None:
        return [(1 / parameter.cardinality, bound + sign * (high - low) / (parameter.cardinality - 1))]
    return [(d, bound + sign * d * (high - low)) for d in BEYOND]


def _flatter_minima(view: RunView) -> list[Advice]:
    minima = view.result.local_minima
    width = float(np.ptp(view.values)) if len(view.values) else 0.0
    if len(minima) < 2 or not width > 0:
        return []
    stiffest = [_largest_eigenvalue(cube_hessian(m, view.space)) for m in minima]
    found: list[Advice] = []
    for k in range(1, len(minima)):
        cost = max(view.direction.loss(minima[k].fun) - view.direction.loss(minima[0].fun), 0.0)
        drift = math.sqrt(stiffest[0] / stiffest[k]) if stiffest[k] > 0 else 0.0
        if max(cost, minima[k].error) <= MAX_COST * width and drift >= MIN_DRIFT:
            point = format_point(minima[k].params)
            found.append(FlatterMinimum(k + 1, point, cost, cost / width, minima[k].error, drift, view.direction))
    return found


def _largest_eigenvalue(H: np.ndarray) -> float:
    free = np.flatnonzero(np.isfinite(np.diag(H)))
    return float(np.linalg.eigvalsh(H[np.ix_(free, free)])[-1]) if len(free) else 0.0


def _irrelevant(view: RunView) -> Irrelevant | None:
    names = view.check_names(None)
    if view.best is None or len(view.values) < MIN_TRIALS * len(names) or np.ptp(view.values) == 0 or len(names) < 2:
        return None
    model = view.surrogate
    if model.explained < MIN_EXPLAINED:
        return None
    total: Vector = view.sobol.total
    limit = IRRELEVANT * float(np.quantile(view.losses, 0.75) - np.min(view.losses))  # huge values say nothing
    change = np.array([np.ptp(s.mean) if t < IRRELEVANT else np.inf for s, t in zip(_slices(view), total, strict=True)])
    small = np.flatnonzero(change <= limit)
    if len(small) == 0 or len(small) == len(names):
        return None
    share, largest = float(np.max(total[small])), float(np.max(change[small]))
    return Irrelevant(tuple(names[g] for g in small), share, largest, model.explained)


def _slices(view: RunView) -> tuple[SliceData, ...]:
    return slice_data(view, grid_points=SLICE_POINTS)


def _at_failures(view: RunView) -> list[Advice]:
    failures, best = view.snapshot.failures, view.best
    if failures is None or best is None or failures.weight < BOUNDARY_WEIGHT:
        return []
    observations = view.snapshot.history.observations
    distance = float(np.min(np.linalg.norm(observations.X[observations.failed] - best.unit_x, axis=1)))
    return [AtFailures(distance)] if distance < AT_FAILURES else []


def _failures(view: RunView) -> Failures | None:
    counts = count_failures(view.trials)
    if not counts:
        return None
    error, n = exception_line(counts[0].last.error or ""), sum(count.n for count in counts)
    return Failures(n, view.snapshot.history.n_evaluated, error, counts[0].n)


def _noise(view: RunView) -> Noise | None:
    best, roughness = view.snapshot.incumbent, view.snapshot.history.observations.roughness
    width = float(np.ptp(view.values)) if len(view.values) else 0.0
    std = max(best.noise, roughness)
    if std == 0 or not width > 0:
        return None
    best_std = best.std if view.is_noisy else best.noise
    return Noise(std, std / width, None if roughness > 0 else best_std)


def _constraints(view: RunView) -> ConstraintActivity | None:
    some = view.observations.has_value
    constraints = view.observations.constraints[some]
    if constraints.shape[1] == 0 or len(constraints) == 0:
        return None
    sizes = np.median(np.abs(constraints), axis=0)
    active: Sequence[int] = ()
    if view.best is not None:
        active = np.flatnonzero(np.abs(view.best.constraints) <= ACTIVE * sizes).tolist()
    violated = np.sum(constraints > 0, axis=0)
    n_infeasible = int(np.sum(np.any(constraints > 0, axis=1)))
    return ConstraintActivity(n_infeasible, len(constraints), tuple(active), tuple(violated.tolist()))
