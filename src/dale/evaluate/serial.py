"""One evaluation at a time, in this process and thread."""

from __future__ import annotations

from dale.evaluate.outcome import Objective, Outcome, call, copied
from dale.history.trial import Trial


class Here:
    """Runs the objective where the run waits for it."""

    n_parallel = 1
    broken: str | None = None

    def __init__(self, fun: Objective) -> None:
        self._fun = fun
        self._out: Trial | None = None
        self._outcome: Outcome | None = None

    @property
    def n_out(self) -> int:
        """How many trials are out: one or none."""
        return int(self._out is not None)

    def submit(self, trial: Trial) -> None:
        """Remember the trial; it is evaluated by ``wait``."""
        self._out = trial

    def wait(self, seconds: float) -> None:
        """Evaluate it, however long it takes: an evaluation here cannot be left alone."""
        if self._out is not None:
            self._outcome = call(self._fun, self._out.id, copied(self._out.params))

    def ended(self) -> list[tuple[Trial, Outcome]]:
        """The one that was evaluated."""
        if self._out is None or self._outcome is None:
            return []
        ended = [(self._out, self._outcome)]
        self._out = self._outcome = None
        return ended

    def cancel(self) -> int:
        """Nothing is out that has not begun."""
        return 0

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left."""
