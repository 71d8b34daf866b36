"""The history of a run as the methods see it: arrays in the unit cube, told trials in the order of their ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dale.arrays import Matrix, Vector
from dale.trial import Source, State, Trial


@dataclass(frozen=True, eq=False)
class History:
    """What has been asked and told so far. The order of the tells does not show.

    Attributes:
        X: Points told or failed, (n, d).
        y: Their values, (n,); NaN where failed.
        ids: Their trials, (n,).
        pending: Points asked and not yet told, (m, d).
        n_asked: Number of asks so far.
        n_given: Number of points that came from the user.
        length_scale: That of the last proposal of a model; None before the first.
        adopted: The first trial of the last unbroken row of proposals with this length-scale.
        trials: All trials, in the order of their ids.
    """

    X: Matrix
    y: Vector
    ids: np.ndarray
    pending: Matrix
    n_asked: int
    n_given: int
    length_scale: float | None
    adopted: int
    trials: tuple[Trial, ...] = ()

    @classmethod
    def of(cls, trials: Sequence[Trial], dimension: int) -> History:
        """The history of trials in the order of their ids."""
        done = [t for t in trials if t.state is not State.PENDING]
        length_scale, adopted = None, 0
        for trial in trials:
            l = trial.reason.length_scale
            if l is not None and l != length_scale:
                length_scale, adopted = l, trial.id
        n_given = sum(t.reason.source in (Source.KNOWN, Source.GIVEN) for t in trials)
        return cls(
            X=_rows([t.point for t in done], dimension),
            y=np.array([np.nan if t.value is None else t.value for t in done], dtype=float),
            ids=np.array([t.id for t in done], dtype=int),
            pending=_rows([t.point for t in trials if t.state is State.PENDING], dimension),
            n_asked=len(trials) - n_given,
            n_given=n_given,
            length_scale=length_scale,
            adopted=adopted,
            trials=tuple(trials),
        )

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.X.shape[1]

    @property
    def told(self) -> np.ndarray:
        """Which rows have a value."""
        return np.isfinite(self.y)


def _rows(points: list[Vector], dimension: int) -> Matrix:
    return np.array(points, dtype=float).reshape(len(points), dimension)
