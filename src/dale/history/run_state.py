"""What can be read of a run at any time, whether it is in memory or on disk."""

from __future__ import annotations

from abc import ABC, abstractmethod

from dale._computing import computing
from dale._views import Viewable
from dale.history.direction import Direction
from dale.history.history import History
from dale.history.result import Result
from dale.history.snapshot import Snapshot
from dale.history.trial import Trial
from dale.history.trial_table import Tabular
from dale.space.space import Space


class RunState(Viewable, Tabular, ABC):
    """A run: its seed, its trials and what is derived from them."""

    seed: int
    space: Space
    _history: History

    @property
    @abstractmethod
    def snapshot(self) -> Snapshot:
        """Everything derived from the present state of the run, computed when it is first read."""

    @property
    def history(self) -> tuple[Trial, ...]:
        """Every trial, in the order of the asks."""
        return self._history.trials

    @property
    def direction(self) -> Direction:
        """Whether the objective is minimised or maximised."""
        return self._history.direction

    @property
    def n_evaluated(self) -> int:
        """Number of evaluations made, failed and discarded ones included; values that were added are not counted."""
        return self._history.n_evaluated

    @property
    def best(self) -> Trial | None:
        """The feasible trial with the best value (under noise, the best posterior mean); None if there is none."""
        return self.snapshot.incumbent.trial

    @property
    def best_value(self) -> float | None:
        """Its value; under noise, its posterior mean."""
        return self.snapshot.incumbent.value

    @property
    def best_std(self) -> float:
        """The standard deviation of that mean; 0 where there is no noise."""
        return self.snapshot.incumbent.std

    def result(self) -> Result:
        """What is known now, as SciPy's ``OptimizeResult`` and more."""
        with computing():
            return Result.of(self.snapshot, self.seed)
