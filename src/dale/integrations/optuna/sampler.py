"""dale's proposals for a study of Optuna.

The sampler has no state of its own: it reads the trials of the study, as many processes as share it may have written
them, and proposes one point. Two processes that ask at the same time do not know each other's proposals. Each therefore
publishes its own first and reads the trials again. If there is a new proposal for a trial with a lower number, or the
same point for any other trial, it makes another proposal, with that trial pending. Of two processes at least one sees
the proposal of the other, so no point is evaluated twice, unless values are noisy and the space is finite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any, Literal
from zlib import crc32

import numpy as np

from dale import methods
from dale._arrays import Matrix
from dale._computing import computing
from dale.errors import SpaceExhausted
from dale.history.direction import Direction
from dale.history.evaluation import check_default_noise
from dale.history.reason import Reason, Source
from dale.history.seeding import RandomStreams, check_seed, generator
from dale.history.snapshot import Snapshot
from dale.methods.base import Method, check_method, check_proposal, require_constraints
from dale.space.domain import Admitted, Domain

try:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler, RandomSampler
    from optuna.study import Study, StudyDirection
    from optuna.trial import FrozenTrial, TrialState
except ImportError as error:
    raise ImportError(f"dale.integrations.optuna needs Optuna ({error}): pip install 'dale[optuna]'") from error

from dale.integrations.optuna.search_space import as_dale_space, infer_search_space
from dale.integrations.optuna.study_history import CONSTRAINTS, PROPOSAL, StudyHistory

ANY_POINT, INDEPENDENT = 2, 3  # numbers of random streams
MAX_PROPOSALS = 8  # for one trial, while other processes propose at the same time; then any other point is taken


class DaleSampler(BaseSampler):
    """A sampler for ``optuna.create_study(sampler=...)`` with one objective.

    It takes everything from the trials of the study, so any number of processes may share one, and a study that was
    begun with another sampler continues. Running trials are taken into account, and failed ones are avoided. With the
    same seed, a study in one process is the same again.

    Args:
        seed: A non-negative integer; None takes a fresh one.
        method: A method of ``dale.methods``; None for the default.
        noise: Standard deviation of the noise in the values: 0 for none, ``"auto"`` to detect it.
        constraints_func: Takes a trial and returns numbers that are at most 0 where it is feasible, the same number
            for each trial. Since Optuna 5, an objective may call ``trial.set_constraint`` instead.

    Examples:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> study = optuna.create_study(sampler=DaleSampler(seed=0))
        >>> study.optimize(lambda trial: (trial.suggest_float("x", -2, 2) - 1) ** 2, n_trials=12)
        >>> study.best_value < 1e-6
        True
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        method: Method | None = None,
        noise: float | Literal["auto"] = "auto",
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
    ) -> None:
        if constraints_func is not None and not callable(constraints_func):
            raise TypeError(f"constraints_func must be callable or None, got {constraints_func!r}")
        self._seed = check_seed(seed)
        self._method: Method = methods.default() if method is None else check_method(method)
        self._noise = check_default_noise(noise)
        self._constraints_func = constraints_func
        self._lock = RLock()  # threads of one process share the sampler
        self._kept: tuple[Any, StudyHistory] | None = None  # saves time from one trial to the next

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in ("_lock", "_kept")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=RLock(), _kept=None)

    def reseed_rng(self) -> None:
        """Take a fresh seed."""
        self._seed = check_seed(None)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The parameters that are sampled together: those of the finished trials, conditional ones included."""
        _check_objectives(study)
        return infer_search_space(study.get_trials(deepcopy=False))

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Propose a point, and publish it as an attribute of the trial."""
        _check_objectives(study)
        with self._lock, computing():
            history = self._history(study, search_space)
            return {} if history is None else self._propose(history, study, trial)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Draw a parameter that is not proposed together with the others, as in the first trial of a study."""
        _check_objectives(study)
        rng = generator(self._seed, trial.number, INDEPENDENT, crc32(param_name.encode()))
        seed = int(rng.integers(2**32))
        return RandomSampler(seed=seed).sample_independent(study, trial, param_name, param_distribution)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Keep the constraints of a trial, where Optuna's own samplers keep them."""
        if self._constraints_func is None or state not in (TrialState.COMPLETE, TrialState.PRUNED):
            return
        constraints = [float(value) for value in self._constraints_func(trial)]
        if any(np.isnan(constraints)):
            raise ValueError(f"constraints_func: expected numbers, got {constraints!r} for trial {trial.number}")
        study._storage.set_trial_system_attr(trial._trial_id, CONSTRAINTS, constraints)

    def _history(self, study: Study, search_space: dict[str, BaseDistribution]) -> StudyHistory | None:
        """The history of the study in this space; None if no parameter varies."""
        space = as_dale_space(study.get_trials(deepcopy=False), search_space)
        if space is None:
            return None
        direction = Direction.MAXIMIZE if study.direction is StudyDirection.MAXIMIZE else Direction.MINIMIZE
        key = direction, repr(space)
        if self._kept is None or self._kept[0] != key:
            self._kept = key, StudyHistory(space, search_space, self._noise, direction)
        return self._kept[1]

    def _propose(self, history: StudyHistory, study: Study, trial: FrozenTrial) -> dict[str, Any]:
        """A point that no other trial has."""
        snapshot = history.update(_others(study, trial))
        if snapshot.is_constrained:
            require_constraints(self._method, outcome=True)
        for attempt in range(MAX_PROPOSALS):
            tries_left = attempt < MAX_PROPOSALS - 1
            proposed = self._proposed(snapshot) if tries_left else None
            admitted, reason = proposed or self._any_point(snapshot.domain, trial.number)
            params = dict(admitted.params)
            publication = history.publication(params, reason)
            study._storage.set_trial_system_attr(trial._trial_id, PROPOSAL, publication)
            known = set(history.numbers)
            snapshot = history.update(_others(study, trial))
            earlier = any(number < trial.number for number in history.numbers if number not in known)
            taken = self._taken(snapshot)
            if len(taken) and (reason.source is Source.REPLICATE or snapshot.is_exhausted):
                taken = snapshot.history.pending
            if not earlier and not np.any(np.all(taken == admitted.unit_x, axis=1)):
                break
        return params

    def _proposed(self, snapshot: Snapshot) -> tuple[Admitted, Reason] | None:
        """The next point of the method and its reason; None if every point of a finite space has been proposed."""
        domain, taken = snapshot.domain, self._taken(snapshot)
        rng = RandomStreams(self._seed, snapshot.history.n_asked)
        try:
            domain.check_not_exhausted(taken)
            point, reason = check_proposal(self._method.propose(snapshot, rng), domain.dimension, self._method)
            reason = reason.in_direction(snapshot.history.direction)
            if reason.source is Source.REPLICATE and (known := snapshot.history.best_at(point)):
                return Admitted(known.unit_x, known.params, replaced=False), reason
            admitted = domain.admit(point, taken, rng.fresh)
        except SpaceExhausted:
            return None
        return admitted, reason.replaced() if admitted.replaced else reason

    def _taken(self, snapshot: Snapshot) -> Matrix:
        """Points (n, d) that are not proposed again."""
        return snapshot.taken(may_replicate=self._method.capabilities.replicates)

    def _any_point(self, domain: Domain, number: int) -> tuple[Admitted, Reason]:
        """A random point, which differs from trial to trial."""
        params = domain.space.decode(generator(self._seed, number, ANY_POINT).random(domain.dimension))
        return Admitted(domain.space.encode(params), params, replaced=True), Reason(Source.SPACE_FILLING)


def _others(study: Study, trial: FrozenTrial) -> list[FrozenTrial]:
    """All trials but this one."""
    return [t for t in study.get_trials(deepcopy=False) if t.number != trial.number]


def _check_objectives(study: Study) -> None:
    if len(study.directions) > 1:
        raise ValueError(
            f"DaleSampler minimises or maximises one objective, got a study with {len(study.directions)} directions; "
            "combine them into one value, or use another sampler"
        )
