"""The numbers behind the pictures, from the history alone. Drawing is in ``plots.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dale._arrays import Matrix, Vector
from dale.history.reason import Source
from dale.history.result import Result
from dale.history.trial import Trial, TrialState
from dale.space.choice import Choice
from dale.space.point import Params
from dale.space.space import Space
from dale.view.surrogate import PlotSurrogate
from dale.view.tolerances import acceptable_rise, ellipse

FINE = 121  # points along an axis


@dataclass(frozen=True, eq=False)
class Convergence:
    """How a run went, one entry for each finished evaluation, all (n,).

    Attributes:
        number: Of the evaluation, from 1.
        value: What the objective gave; NaN where it failed.
        best: The lowest feasible value so far; NaN before the first.
        source: Where the point came from.
        length_scale: Of the global model; NaN where it had no say.
        cooled: Whether the length-scale was reduced for this point.
        feasible: Whether it has a value and fulfils all constraints.
    """

    number: np.ndarray
    value: Vector
    best: Vector
    source: tuple[Source, ...]
    length_scale: Vector
    cooled: np.ndarray
    feasible: np.ndarray


def convergence(history: Sequence[Trial]) -> Convergence:
    """The finished trials of a history in their order."""
    done = [t for t in history if t.state is not TrialState.PENDING]
    value = np.array([np.nan if t.value is None else t.value for t in done], dtype=float)
    feasible = np.array([t.feasible for t in done], dtype=bool)
    reasons = [t.reason for t in done]
    return Convergence(
        number=np.arange(1, len(done) + 1),
        value=value,
        best=np.fmin.accumulate(np.where(feasible, value, np.nan)),  # fmin passes over NaN
        source=tuple(r.source for r in reasons),
        length_scale=np.array([np.nan if r.length_scale is None else r.length_scale for r in reasons], dtype=float),
        cooled=np.array([r.cooled for r in reasons], dtype=bool),
        feasible=feasible,
    )


@dataclass(frozen=True, eq=False)
class Axis:
    """One parameter: its name, values in the user's units (m,), and whether its scale is logarithmic."""

    name: str
    values: Vector
    log: bool


@dataclass(frozen=True, eq=False)
class ContourData:
    """A function of two parameters as the observations show it.

    Attributes:
        x: The first parameter.
        y: The second one.
        mean: Of the model on the grid, (len(y), len(x)): rows are y, as matplotlib takes it.
        std: Its standard deviation there.
        points: The finished evaluations in the user's units, (n, 2).
        value: Their values, (n,); NaN where failed.
        source: Where each came from.
        minima: The local minima, (k, 2), best first.
        ellipses: Around each of them, where it has risen by ``rise``: (m, 2).
        rise: 1 % of the range of the values.
    """

    x: Axis
    y: Axis
    mean: Matrix
    std: Matrix
    points: Matrix
    value: Vector
    source: tuple[Source, ...]
    minima: Matrix
    ellipses: tuple[Matrix, ...]
    rise: float


@dataclass(frozen=True, eq=False)
class Slice:
    """The model along one parameter, all others at the best point.

    Attributes:
        axis: The parameter.
        mean: Of the model, (m,).
        std: Its standard deviation, (m,).
        best: The parameter's value at the best point.
        points: The parameter's value at all told evaluations, (n,).
    """

    axis: Axis
    mean: Vector
    std: Vector
    best: float
    points: Vector


def landscape(result: Result, space: Space, *, length_scale: float | None = None, fine: int = FINE) -> ContourData:
    """The model of a run in a space of two parameters, on a grid of ``fine`` by ``fine`` points.

    Args:
        result: Of the run.
        space: Where it searched.
        length_scale: Of the model, in sides of the unit cube; None for the one that explains the values best.
        fine: Points along each axis.
    """
    if len(space.names) != 2:
        raise ValueError(f"a landscape needs two parameters, got {len(space.names)}; slices take any number")
    surface = PlotSurrogate.of(result.history, length_scale)
    x, y = (axis_of(space, name, fine) for name in space.names)
    corners = [params_of(space, (a, b)) for b in y.values for a in x.values]
    mean, std = surface.predict(np.array([space.encode(params) for params in corners]))
    done = [t for t in result.history if t.state is not TrialState.PENDING]
    series = convergence(done)
    rise = acceptable_rise(result.func_vals)
    return ContourData(
        x=x,
        y=y,
        mean=mean.reshape(len(y.values), len(x.values)),
        std=std.reshape(len(y.values), len(x.values)),
        points=np.array([t.x for t in done]),
        value=series.value,
        source=series.source,
        minima=np.array([m.x for m in result.local_minima]).reshape(-1, 2),
        ellipses=tuple(ellipse(m, space, rise) for m in result.local_minima),
        rise=rise,
    )


def slices(result: Result, space: Space, *, length_scale: float | None = None, fine: int = FINE) -> tuple[Slice, ...]:
    """Cuts through the model at the best point, one for each parameter."""
    surface = PlotSurrogate.of(result.history, length_scale)
    if result.x is None:
        raise ValueError("there is no best point to cut through: no evaluation has been feasible yet")
    best = np.asarray(result.x, dtype=float)
    cuts = []
    for i, axis in enumerate([axis_of(space, name, fine) for name in space.names]):
        rows = np.tile(best, (len(axis.values), 1))
        rows[:, i] = axis.values
        mean, std = surface.predict(np.array([space.encode(params_of(space, row)) for row in rows]))
        cuts.append(Slice(axis, mean, std, float(best[i]), result.x_iters[:, i]))
    return tuple(cuts)


def axis_of(space: Space, name: str, fine: int = FINE) -> Axis:
    """A parameter from end to end, evenly spaced on its own scale."""
    parameter = space.parameters[name]
    if name in space.conditions:
        raise TypeError(f"pictures know no conditional parameters, and {name!r} is one")
    if parameter.width != 1 or isinstance(parameter, Choice):
        raise TypeError(f"pictures know numbers only, and parameter {name!r} is {parameter!r}")
    values = [parameter.decode(np.array([u])) for u in np.linspace(0, 1, fine)]
    return Axis(name, np.unique(np.array(values, dtype=float)), bool(getattr(parameter, "log", False)))


def params_of(space: Space, values: Sequence[float] | Vector) -> Params:
    """Numbers in the user's order as the space takes a point."""
    if not space.named:
        return np.array(values, dtype=float)
    named: Mapping[str, float] = {name: float(v) for name, v in zip(space.names, values, strict=True)}
    return named
