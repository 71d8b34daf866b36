"""Predicted against actual values: whether the models that proposed the trials were calibrated."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dale._arrays import Vector
from dale.history.reason import Source
from dale.history.trial import Trial, actual_reduction
from dale.view.run_view import RunView, view_of

COVERAGE = (0.5, 0.8, 0.95)  # of the central intervals
QUANTILES = (0.674490, 1.281552, 1.959964)  # half their widths, in standard deviations
KEPT = 2.0  # standard deviations by which a value may be worse than the prediction and still keeps it


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a model predicted for a trial, and what came."""

    trial: Trial
    mean: float
    std: float
    best_loss: float  # of the best feasible value before; infinite if there was none

    @property
    def error(self) -> float:
        """Actual minus predicted value, in standard deviations; infinite if a certain model was wrong."""
        difference = (math.nan if self.trial.value is None else self.trial.value) - self.mean
        if self.std > 0:
            return difference / self.std
        return 0.0 if difference == 0 else math.copysign(math.inf, difference)

    @property
    def kept(self) -> bool:
        """Whether the value is not much worse than predicted."""
        return self.trial.direction.loss(self.error) <= KEPT

    @property
    def improved(self) -> bool:
        """Whether the value is better than all feasible ones before."""
        return self.trial.feasible and self.trial.loss < self.best_loss


def predictions(view: RunView) -> list[Prediction]:
    """All predictions that came with a value, in the order of the trials; only those with the values that are held.

    A std includes the noise of the evaluation, that of the best point or of the step if that is larger, and rounding
    errors of the value.
    """
    found, best, least = [], math.inf, view.snapshot.incumbent.noise if view.is_noisy else 0.0
    for trial in filter(view.holds, view.trials):
        reason = trial.reason
        if reason.mean is not None and trial.value is not None:
            rounding = 4 * float(np.spacing(max(abs(trial.value), abs(reason.mean))))
            noise = least if reason.step is None else max(reason.step.noise or 0.0, least)
            std = math.hypot(reason.std or 0.0, noise, rounding)  # squares of values around 1e155 would overflow
            found.append(Prediction(trial, reason.mean, std, best))
        if trial.feasible:
            best = min(best, trial.loss)
    return found


@dataclass(frozen=True, eq=False)
class CalibrationData:
    """Predicted against actual values, one for each proposal of a model that was evaluated; arrays are (n,).

    Attributes:
        trial: Id of the trial.
        predicted: Predicted value.
        std: Standard deviation of the prediction, noise included.
        actual: Value that came.
        error: Actual minus predicted value, in standard deviations.
        source: Which model proposed the point.
        nominal: Probabilities of central intervals of the predictions.
        coverage: Fraction of the actual values within each of them. A calibrated model has ``coverage == nominal``.
        coverage_by_source: The same for each source, with the number of its predictions.

    Examples:
        >>> import dale
        >>> from dale.view import calibration_data
        >>> result = dale.minimize(lambda x: x[0] ** 2, [(-1, 2)], budget=6, seed=0)
        >>> calibration_data(result).trial
        array([3, 4, 5])
    """

    trial: np.ndarray
    predicted: Vector
    std: Vector
    actual: Vector
    error: Vector
    source: tuple[Source, ...]
    nominal: tuple[float, ...]
    coverage: tuple[float, ...]
    coverage_by_source: dict[str, tuple[int, tuple[float, ...]]]


def calibration_data(run: Any, space: Any = None) -> CalibrationData:
    """Predicted against actual values; none for methods that state no prediction."""
    found = predictions(view_of(run, space))
    sources = tuple(p.trial.reason.source for p in found)
    by_source = {
        str(source): [p for p in found if p.trial.reason.source is source] for source in dict.fromkeys(sources)
    }
    return CalibrationData(
        trial=np.array([p.trial.id for p in found], dtype=int),
        predicted=np.array([p.mean for p in found], dtype=float),
        std=np.array([p.std for p in found], dtype=float),
        actual=np.array([p.trial.value for p in found], dtype=float),
        error=np.array([p.error for p in found], dtype=float),
        source=sources,
        nominal=COVERAGE,
        coverage=_coverage(found),
        coverage_by_source={source: (len(some), _coverage(some)) for source, some in by_source.items()},
    )


def _coverage(found: Sequence[Prediction]) -> tuple[float, ...]:
    errors = np.abs([p.error for p in found])
    return tuple(float(np.mean(errors <= q)) if len(errors) else math.nan for q in QUANTILES)


@dataclass(frozen=True, eq=False)
class Record:
    """How often predictions of one kind were kept in a run.

    Attributes:
        n: Number of predictions.
        n_kept: Values at most two standard deviations worse than the prediction.
        n_improved: Values better than the best one before them.
        median_ratio: Median of actual over predicted reduction of local steps; NaN for other proposals.
    """

    n: int
    n_kept: int
    n_improved: int
    median_ratio: float


def record_of(view: RunView, source: Source) -> Record:
    """How often the predictions of one source were kept."""
    found = [p for p in predictions(view) if p.trial.reason.source is source]
    ratios = [r for p in found if (r := reduction_ratio(view, p.trial)) is not None]
    return Record(
        n=len(found),
        n_kept=sum(p.kept for p in found),
        n_improved=sum(p.improved for p in found),
        median_ratio=float(np.median(ratios)) if ratios else math.nan,
    )


def reduction_ratio(view: RunView, trial: Trial) -> float | None:
    """Actual over predicted reduction of a local step; None for other trials, and without a finite number."""
    step = trial.reason.step
    if step is None or trial.value is None or not step.predicted_reduction > 0:
        return None
    ratio = actual_reduction(step, view.trials[step.center], trial) / step.predicted_reduction
    return ratio if math.isfinite(ratio) else None
