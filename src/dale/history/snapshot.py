"""Everything that is derived from one state of a run, computed when it is first read, at most once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from dale._arrays import Matrix
from dale._computing import computing
from dale.history.history import History
from dale.history.local_minimum import LocalMinimum
from dale.history.minima import find_minima
from dale.history.trial import Trial
from dale.models.failure_boundary import FailureBoundary
from dale.space.domain import Domain

T = TypeVar("T")


class Cache:
    """What a method keeps from one proposal to the next to save time: one object of each type.

    Every proposal is a function of the history and the seed, so an empty cache changes the time and nothing else.
    """

    def __init__(self) -> None:
        self._kept: dict[type, Any] = {}

    def of(self, kind: type[T]) -> T:
        """The object of this type, made when it is first asked for."""
        if kind not in self._kept:
            self._kept[kind] = kind()
        kept: T = self._kept[kind]
        return kept


class Incumbent(NamedTuple):
    """The best trial so far.

    Attributes:
        trial: The feasible trial with the best value, or posterior mean under noise; None if none is feasible.
        value: That value; None if none is feasible.
        noise: Standard deviation of the noise in the values.
        std: Standard deviation of the value, where there is noise.
        difference: The part of the std that two models of the values differ by: replicates do not halve it as the rest.
    """

    trial: Trial | None
    value: float | None
    noise: float
    std: float = 0.0
    difference: float = 0.0


@dataclass(frozen=True, eq=False)
class Snapshot:
    """One state of a run.

    Attributes:
        history: The trials.
        domain: The points that may be proposed.
        cache: Saves time from one snapshot to the next.

    Examples:
        >>> import dale
        >>> optimizer = dale.Optimizer([(0, 1)], seed=0)
        >>> _ = optimizer.tell(optimizer.ask(), 1.0)
        >>> optimizer.snapshot.incumbent.value, optimizer.snapshot.is_noisy
        (1.0, False)
    """

    history: History
    domain: Domain
    cache: Cache = field(default_factory=Cache)

    @cached_property
    def incumbent(self) -> Incumbent:
        """The best trial so far."""
        with computing():
            observations = self.history.observations
            best = observations.best
        if best is None:
            return Incumbent(None, None, 0.0)
        value = self.history.direction.from_loss(best.value)
        trial = self.history.trials[observations.ids[best.row]]
        return Incumbent(trial, value, best.noise, best.std, best.difference)

    @property
    def is_noisy(self) -> bool:
        """Whether the values are so noisy that replicates are worth evaluating."""
        return self.history.observations.noise.is_large

    @cached_property
    def failures(self) -> FailureBoundary | None:
        """Where evaluations fail; None if none has failed."""
        observations = self.history.observations
        boundary = observations.failure_boundary
        discrete = ~self.domain.continuous
        return None if boundary is None else boundary.with_cells(observations.X, observations.failed, discrete)

    @property
    def is_constrained(self) -> bool:
        """Whether there are input or outcome constraints."""
        return self.domain.allowed_set is not None or self.history.observations.constraints.shape[1] > 0

    @property
    def is_restricted(self) -> bool:
        """Whether observations may be infeasible: by constraints, or because parameters are held at other values."""
        return self.is_constrained or self.domain.held is not None

    def taken(self, *, may_replicate: bool) -> Matrix:
        """Points (n, d) that are not proposed again: all that were; if values are noisy, the pending ones.

        In a finite space with noise it is none of them where all are pending, or where the method knows what another
        evaluation of a pending point is worth (``may_replicate``).
        """
        history = self.history
        if not self.domain.continuous.any():
            will_be_noisy = history.default_noise > 0 and len(history.observations.X) == 0
            all_pending = (self.is_noisy or will_be_noisy) and self.domain.exhausted(history.pending)
            if (self.is_noisy and may_replicate) or all_pending:
                return history.pending[:0]
        return history.pending if self.is_noisy else history.seen

    @property
    def is_exhausted(self) -> bool:
        """Whether every point of a finite space has been proposed."""
        return self.domain.exhausted(self.history.seen)

    @cached_property
    def local_minima(self) -> tuple[LocalMinimum, ...]:
        """The minima that the observations show, best first, in the user's units."""
        with computing():
            return find_minima(self.history, self.domain)

    @property
    def last_replicate(self) -> Trial | None:
        """The best trial, to evaluate again once no point of a finite space is left; None if that was done.

        Its replicate shows whether the values are noisy, so that replicates are worth evaluating. As a value that other
        points have too may be equal by chance, there are several replicates of such a trial.
        """
        history, observations = self.history, self.history.observations
        if len(history.pending) or history.retries:
            return None
        best = self.incumbent.trial
        if best is None or observations.is_noise_given(best.unit_x) or observations.noise.is_detected:
            return None
        n_replicates = len(observations.X) - len({x.tobytes() for x in observations.X})
        return best if n_replicates < observations.n_noise_tests(best) else None

    def holding(self, fixed: Any) -> Snapshot:
        """The same with some parameters held at given values, by name.

        Observations with other values are known to the models, but none of them is the best one.
        """
        domain, observations = self.domain.holding(fixed), self.history.observations
        inside = replace(observations, allowed=observations.allowed & domain.contains(observations.X))
        return Snapshot(replace(self.history, observations=inside), domain, self.cache)

    def without_pending(self) -> Snapshot:
        """The same with no trial pending; itself if none is."""
        history = self.history.without_pending()
        return self if history is self.history else Snapshot(history, self.domain, self.cache)
