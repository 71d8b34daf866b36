"""How a run went: convergence, the decisions to cool down the length-scale, and what the workers did when."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from dale._arrays import Vector
from dale.history.direction import Direction
from dale.history.reason import Source
from dale.history.trial import TrialState
from dale.methods.length_scale.floor import MIN_CORRELATION, length_scale_floor
from dale.view.run_view import RunView, view_of

THRESHOLD = 1.5  # alpha-bar_r of Alg. 2 where the run does not say otherwise (Sec. 4)


@dataclass(frozen=True, eq=False)
class ConvergenceData:
    """The finished trials of a run in the order of their ids; all arrays are (n,).

    Attributes:
        trial: Id of the trial.
        value: Value of the objective; NaN for a failed trial.
        mean: Under noise, the posterior mean of the objective there, given all trials; NaN where there is no noise.
        best: Best feasible value so far, or best posterior mean under noise; NaN before the first.
        feasible: Whether the trial satisfies all constraints.
        failed: Whether the evaluation failed.
        outlier: Whether the value is an outlier, which the models ignore.
        source: Origin of the point.
        length_scale: Length-scale of the global model; NaN if the proposal had none.
        cooled: Whether the length-scale was reduced for this proposal.
        noise: Standard deviation of the noise in the values at the best point; 0 where there is none.
        direction: Whether the objective is minimised or maximised.

    Examples:
        >>> import dale
        >>> from dale.view import convergence_data
        >>> result = dale.minimize(lambda x: x[0] ** 2, [(-1, 2)], budget=5, seed=0)
        >>> convergence_data(result).trial
        array([0, 1, 2, 3, 4])
    """

    trial: np.ndarray
    value: Vector
    mean: Vector
    best: Vector
    feasible: np.ndarray
    failed: np.ndarray
    outlier: np.ndarray
    source: tuple[Source, ...]
    length_scale: Vector
    cooled: np.ndarray
    noise: float
    direction: Direction


def convergence_data(run: Any, space: Any = None) -> ConvergenceData:
    """The finished trials of a run."""
    view = view_of(run, space)
    finished, reasons = view.finished, [t.reason for t in view.finished]
    value = np.array([np.nan if t.value is None else t.value for t in finished], dtype=float)
    mean = np.array([view.posterior_means.get(t.id, np.nan) for t in finished], dtype=float)
    feasible = np.array([t.feasible for t in finished], dtype=bool)
    kept = {t.id for t in view.inliers}
    outlier = np.array([t.value is not None and t.id not in kept for t in finished], dtype=bool)
    known = view.direction.loss(mean if view.is_noisy else value)
    return ConvergenceData(
        trial=np.array([t.id for t in finished], dtype=int),
        value=value,
        mean=mean,
        best=view.direction.from_loss(np.fmin.accumulate(np.where(feasible, known, np.nan))),  # fmin ignores NaN
        feasible=feasible,
        failed=np.array([t.state is TrialState.FAILED for t in finished], dtype=bool),
        outlier=outlier,
        source=tuple(r.source for r in reasons),
        length_scale=_numbers(r.length_scale for r in reasons),
        cooled=np.array([r.cooled for r in reasons], dtype=bool),
        noise=view.snapshot.incumbent.noise,
        direction=view.direction,
    )


@dataclass(frozen=True, eq=False)
class LengthScaleData:
    """The decisions about the length-scale of the global model, one for each proposal of a model; arrays are (n,).

    Attributes:
        trial: Id of the trial.
        length_scale: Length-scale of the global model, in the unit cube.
        floor: Lower bound of the length-scale for as many observations (eq. 16).
        alpha_ratio: The best acquisition value at the smaller length-scale over that at the present one (eq. 8); NaN
            where it was not computed.
        votes: Whether the ratio exceeds the threshold: a vote for the smaller length-scale.
        cooled: Whether the length-scale was reduced for this proposal.
        source: Which side proposed the point.
        threshold: The ratio above which the length-scale is reduced.

    Examples:
        >>> import dale
        >>> from dale.view import length_scale_data
        >>> result = dale.minimize(lambda x: x[0] ** 2, [(-1, 2)], budget=6, seed=0)
        >>> length_scale_data(result).trial
        array([3, 4, 5])
    """

    trial: np.ndarray
    length_scale: Vector
    floor: Vector
    alpha_ratio: Vector
    votes: np.ndarray
    cooled: np.ndarray
    source: tuple[Source, ...]
    threshold: float


def length_scale_data(run: Any, space: Any = None) -> LengthScaleData:
    """The decisions about the length-scale; none for methods without a global model that has one."""
    view = view_of(run, space)
    decided = [t for t in view.trials if t.reason.length_scale is not None and t.reason.retry_of is None]
    log_ratio = _numbers(t.reason.log_alpha_ratio for t in decided)
    with np.errstate(over="ignore"):
        ratio = np.exp(log_ratio)
    threshold, correlation = _settings(view)
    d = view.space.dimension
    n = np.searchsorted([t.id for t in view.finished], [t.id for t in decided])  # finished trials before each
    return LengthScaleData(
        trial=np.array([t.id for t in decided], dtype=int),
        length_scale=_numbers(t.reason.length_scale for t in decided),
        floor=np.array([length_scale_floor(max(int(k), 1), d, correlation) for k in n]),
        alpha_ratio=ratio,
        votes=ratio > threshold,
        cooled=np.array([t.reason.cooled for t in decided], dtype=bool),
        source=tuple(t.reason.source for t in decided),
        threshold=threshold,
    )


def _settings(view: RunView) -> tuple[float, float]:
    """Threshold and minimum correlation of the run's policy, where the store knows that they were changed."""
    settings = {} if view.run is None else dict(view.run.problem["method"].get("settings") or {})
    policy = settings.get("length_scale") or dict(settings.get("global_model") or {}).get("length_scale")
    changed = policy if isinstance(policy, dict) else {}
    return float(changed.get("threshold", THRESHOLD)), float(changed.get("min_correlation", MIN_CORRELATION))


@dataclass(frozen=True, eq=False)
class TimelineData:
    """When each evaluation ran; arrays are (n,), in the order of the trials.

    An evaluation takes the first lane that is free when it begins, so there are as many lanes as evaluations ran at
    once.

    Attributes:
        trial: Id of the trial.
        lane: Lane of the evaluation, from 0.
        start: When it was proposed, in seconds after the first event.
        end: When its outcome was reported; for a pending trial, the time of the last event.
        state: State of the trial.
        source: Origin of the point.
        worker: Host and process that reported the outcome.
        start_time: Time of the first event, UTC.
        busy: Fraction of the time of all lanes that evaluations took.

    Examples:
        >>> import dale
        >>> from dale.view import timeline_data
        >>> result = dale.minimize(lambda x: x[0] ** 2, [(-1, 2)], budget=3, seed=0, store="timeline.db")
        >>> timeline_data("timeline.db").lane
        array([0, 0, 0])
    """

    trial: np.ndarray
    lane: np.ndarray
    start: Vector
    end: Vector
    state: tuple[TrialState, ...]
    source: tuple[Source, ...]
    worker: tuple[str, ...]
    start_time: str
    busy: float


def timeline_data(run: Any, space: Any = None) -> TimelineData:
    """When each evaluation of a stored run ran; trials that were added with their values are left out."""
    view = view_of(run, space)
    if view.run is None:
        raise ValueError(
            "expected a stored run, because only a store keeps times, got one without; pass the path of its store, "
            "or an Optimizer with store="
        )
    events, times = view.run.events, view.run.times()
    if not events:
        raise ValueError("expected at least one completed trial to plot, got none")
    first, last = (datetime.fromisoformat(event.time) for event in (events[0], events[-1]))
    shown = [(t, times[t.id]) for t in view.run.history if t.reason.source is not Source.ADDED and t.id < len(times)]
    start = np.array([_seconds(at["asked"], first) for _, at in shown])
    end = np.array([_seconds(at["ended"] or events[-1].time, first) for _, at in shown])
    lanes = _lanes(start, end)
    span = (last - first).total_seconds() * (int(np.max(lanes, initial=-1)) + 1)
    return TimelineData(
        trial=np.array([t.id for t, _ in shown], dtype=int),
        lane=lanes,
        start=start,
        end=end,
        state=tuple(t.state for t, _ in shown),
        source=tuple(t.reason.source for t, _ in shown),
        worker=tuple(f"{at.get('host')}:{at.get('pid')}" for _, at in shown),
        start_time=events[0].time,
        busy=float(np.sum(end - start)) / span if span > 0 else 0.0,
    )


def _lanes(start: Vector, end: Vector) -> np.ndarray:
    lanes = np.zeros(len(start), dtype=int)
    free_at: list[float] = []
    for i in np.argsort(start, kind="stable"):
        lane = next((k for k, t in enumerate(free_at) if t <= start[i]), len(free_at))
        free_at[lane : lane + 1] = [float(end[i])]
        lanes[i] = lane
    return lanes


def _seconds(time: str, first: datetime) -> float:
    return (datetime.fromisoformat(time) - first).total_seconds()


def _numbers(values: Any) -> Vector:
    return np.array([math.nan if v is None else v for v in values], dtype=float)
