"""Noise in the values: specified by the user, or detected.

A rugged function looks like a noisy one: the score of a model of trees jumps between two points that agree in nine
digits. So noise has to be proved, by replicates: evaluations of the very same point, for which the objective received
identical values, with different results. With m_g values y_gi of the g-th such point, their mean y_g, the level is

    sqrt(sum_gi (y_gi - y_g)^2 / sum_g (m_g - 1)).

The default method asks for a replicate when its local models keep failing (``methods/default/replicate.py``).

A standard deviation that the user gives with a value is that of this value only. The noise of all others is still
detected, by replicates among them.

The noise of successes is discrete: values of replicates differ, each of them occurs at other points too, and all values
differ by more than the noise or not at all. There equal values do not mean that they are exact, and rare ones are not
outliers, since the mean counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dale._arrays import Matrix, Vector
from dale.models.transforms import Standardize
from dale.space.point import Params, point_key

ROUNDING = 1e-9  # of the values' std: smaller differences prove nothing
MIN_LARGE = 1e-4  # of the values' std: less noise does not matter to a global model


@dataclass(frozen=True, eq=False)
class NoiseEstimate:
    """The noise in the values of a run.

    Attributes:
        level: Typical standard deviation where there is any, in units of the objective; 0 for none.
        known: Standard deviations of all values, (n,), where the user gave some of them; else None.
        modelled: Whether there is noise, beyond rounding errors.
        is_large: Whether it matters to a model of all values.
        is_discrete: Whether the values have few levels, and replicates different ones that occur at other points too.
        is_detected: Whether replicates prove noise in values for which the user gave none.
    """

    level: float = 0.0
    known: Vector | None = None
    modelled: bool = False
    is_large: bool = False
    is_discrete: bool = False
    is_detected: bool = False

    @classmethod
    def of(cls, X: Matrix, y: Vector, noise_std: Vector, params: Sequence[Params]) -> NoiseEstimate:
        """The noise in a run's values.

        Args:
            X: Points of the unit cube, (n, d).
            y: Values, (n,).
            noise_std: Standard deviations that the user gave, (n,); NaN for unknown.
            params: The points as the objective received them.
        """
        given = np.isfinite(noise_std)
        unknown = np.flatnonzero(~given)
        replicates = find_replicates(X[unknown], [params[row] for row in unknown.tolist()])
        detected = detect(y[unknown], replicates)
        if given.any():
            return cls.of_known(np.where(given, noise_std, detected), y, is_detected=detected > 0)
        if detected == 0:
            return cls()
        is_modelled, is_large = _matters(detected, y)
        is_discrete = _is_discrete(y, replicates, detected)
        return cls(detected, None, is_modelled, is_large, is_discrete, is_detected=True)

    @classmethod
    def of_scatter(cls, std: float, y: Vector) -> NoiseEstimate:
        """What models of values y (n,) that are exact, but rough, take as noise."""
        return cls(std, None, *_matters(std, y))

    @classmethod
    def of_known(cls, known: Vector, y: Vector, *, is_detected: bool) -> NoiseEstimate:
        """The noise in values y (n,) with known standard deviations (n,)."""
        level = float(np.median(known[known > 0])) if np.any(known > 0) else 0.0
        if level == 0:
            return cls()
        return cls(level, known, *_matters(level, y), is_detected=is_detected)


def detect(y: Vector, replicates: Sequence[Sequence[int]]) -> float:
    """Standard deviation of the noise that replicates, rows of values y (n,), prove; 0 for none."""
    if not replicates:
        return 0.0
    scale = Standardize.of(y)  # squares of values around 1e155 would overflow
    groups = [scale(y[rows]) for rows in replicates]
    if max(np.ptp(z) for z in groups) <= ROUNDING:
        return 0.0
    squares = sum(float(np.sum((z - np.mean(z)) ** 2)) for z in groups)
    return scale.inverse_scale(float(np.sqrt(squares / sum(len(z) - 1 for z in groups))))


def _matters(level: float, y: Vector) -> tuple[bool, bool]:
    """Whether noise of this level in values y (n,) is modelled, and whether it is large."""
    std = _std(y)
    return bool(level > ROUNDING * std), bool(level > MIN_LARGE * std)


def _is_discrete(y: Vector, replicates: Sequence[Sequence[int]], level: float) -> bool:
    """Whether values y (n,) differ by more than the noise or not at all, and other points have those of replicates."""
    if np.min(np.diff(np.unique(y))) <= level:
        return False
    different = (rows for rows in replicates if len(np.unique(y[list(rows)])) > 1)
    return any(np.isin(y[list(rows)], np.delete(y, rows)).all() for rows in different)


def find_replicates(X: Matrix, params: Sequence[Params]) -> list[list[int]]:
    """Rows of points (n, d) that the objective received more than once, by point.

    The cube has fewer digits than the user's units near 0, so points that agree in the cube are compared there too.
    """
    in_cube: dict[bytes, list[int]] = {}
    for row, x in enumerate(X):
        in_cube.setdefault(x.tobytes(), []).append(row)
    received: dict[tuple[bytes, object], list[int]] = {}
    for x, rows in in_cube.items():
        if len(rows) > 1:
            for row in rows:
                received.setdefault((x, point_key(params[row])), []).append(row)
    return [rows for rows in received.values() if len(rows) > 1]


def _std(y: Vector) -> float:
    """Standard deviation of values of any magnitude."""
    scale = Standardize.of(y)
    return scale.inverse_scale(1.0) if np.min(y) < np.max(y) else 0.0  # their difference may overflow
