"""Ask and tell: the one object that changes.

``ask`` thinks, ``tell`` records. The trials are all there is: every proposal is a function of them and of the seed.
Only the optimizer rebinds state, under its lock: the history, and the snapshot that is derived from it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import RLock
from typing import Any, Literal, overload

import numpy as np

from dale import methods
from dale._arrays import Vector
from dale._computing import computing
from dale.errors import SpaceExhausted
from dale.history.added_data import AddedRow, added_trials, located
from dale.history.direction import Direction, check_direction
from dale.history.evaluation import Evaluation, check_count, check_default_noise, check_evaluation
from dale.history.history import History
from dale.history.reason import Reason, Source
from dale.history.seeding import RandomStreams, check_seed
from dale.history.snapshot import Cache, Snapshot
from dale.history.stopping import Clock, Tolerance
from dale.history.transitions import amended, discarded, failed, told
from dale.history.trial import Trial, check_number_of_constraints, find_trial
from dale.methods.base import (
    Method,
    Proposal,
    check_method,
    check_outcome_constraints,
    check_proposal,
    require_constraints,
    require_held_parameters,
)
from dale.space.constraints import Constraints, as_constraints
from dale.space.domain import Domain
from dale.space.point import Params
from dale.space.space import Space, as_space
from dale.store.added_runs import read_earlier
from dale.store.changing_run import ChangingRun
from dale.store.events import EventKind
from dale.store.problem import problem_to_json
from dale.store.store import open_store


class Optimizer(ChangingRun):
    """Proposes evaluations and learns from their values.

    Args:
        space: Pairs of bounds, ``scipy.optimize.Bounds``, a mapping or a ``Space``; what ``minimize`` takes.
        seed: Same seed, same run; None takes a fresh one, which ``seed`` then holds, and so does a generator of NumPy.
        method: A method of ``dale.methods``; None for the default.
        noise: Standard deviation of the noise in the values: 0 for none, ``"auto"`` to detect it.
        constraints: Input constraints, which no proposal violates; what ``minimize`` takes.
        store: Path of a file that keeps the run. If it exists, the run is resumed: its trials are in ``history``, and
            trials left pending by a process that is gone are the first that ``ask`` returns.
        objective: What is optimised, as plain data that the store keeps (``dale.Command.to_dict``): another one is
            refused. None for an objective that no file can hold.
        direction: ``"minimize"``, or ``"maximize"``: higher values are then better. Values, predictions and results
            always have the sign of your objective.

    Examples:
        >>> import dale
        >>> optimizer = dale.Optimizer([(-2, 2)], seed=0)
        >>> for _ in range(8):
        ...     trial = optimizer.ask()
        ...     _ = optimizer.tell(trial, (trial.x[0] - 1) ** 2)
        >>> bool(optimizer.best_value < 1e-6)
        True
    """

    def __init__(
        self,
        space: Any,
        *,
        seed: int | np.random.Generator | np.random.RandomState | None = None,
        method: Method | None = None,
        noise: float | Literal["auto"] = "auto",
        constraints: Any = None,
        store: str | os.PathLike[str] | None = None,
        objective: Mapping[str, Any] | None = None,
        direction: Literal["minimize", "maximize"] | Direction = "minimize",
    ) -> None:
        space, sense = as_space(space), check_direction(direction)
        seed = None if seed is None else check_seed(seed)
        self.method: Method = methods.default() if method is None else check_method(method)
        default_noise = check_default_noise(noise)
        self.constraints: Constraints | None = as_constraints(constraints, space)
        self.space: Space = space if self.constraints is None else self.constraints.space
        if self.constraints is not None:
            require_constraints(self.method, outcome=False)
        with computing():
            self._domain = Domain.of(self.space, self.constraints)
        self._history = History.empty(self.space.dimension, default_noise, sense)
        self._cache = Cache()
        self._fixed: Any = None  # values of parameters that are held, by name
        self._snapshot = Snapshot(self._history, self._domain, self._cache)
        self._proposed: tuple[Snapshot, Proposal] | None = None  # the last proposal, and the snapshot it was made for
        self._in_transaction = False
        self._lock = RLock()
        self._store = None
        if store is None:
            self.seed = check_seed(seed)
            return
        problem = problem_to_json(self.space, seed, self.method, default_noise, constraints, objective, sense)
        self._store = open_store(store, self.space, problem)
        self.seed = self._store.seed
        with self.transaction():  # which reads the events that are there
            pass

    def __getstate__(self) -> dict[str, Any]:
        if self._store is not None:
            raise TypeError(f"a stored run cannot be copied or pickled; open it by Optimizer(store={self.store!r})")
        return {k: v for k, v in vars(self).items() if k not in ("_lock", "_cache", "_snapshot", "_proposed")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=RLock(), _cache=Cache(), _proposed=None, _in_transaction=False)
        self._snapshot = self._look(self._fixed)

    def __repr__(self) -> str:
        n, complete = len(self._history.trials), len(self._history.complete)
        return f"<dale.Optimizer: {complete} of {n} trials complete, seed {self.seed}, {self.space!r}>"

    @property
    def snapshot(self) -> Snapshot:
        """Everything derived from the present state of the run, computed when it is first read."""
        with self._lock:
            if self._snapshot.history.trials is not self._history.trials:
                self._snapshot = self._look(self._fixed)
            return self._snapshot

    def _look(self, fixed: Any) -> Snapshot:
        """The present state, with parameters held at given values; None for none."""
        whole = Snapshot(self._history, self._domain, self._cache)
        if fixed is None:
            return whole
        require_held_parameters(self.method)
        return whole.holding(fixed)

    def hold(self, fixed: Any) -> Optimizer:
        """Hold parameters at given values, by name, from now on: ``ask``, ``best`` and ``result`` are about these.

        The models still use all trials. None for none. Returns the optimizer itself.
        """
        with self._lock, computing():
            self._snapshot = self._look(fixed)
            held = self._snapshot.domain.held
            self._fixed = None if held is None else held.values
        return self

    def converged(self, tolerance: float) -> bool:
        """Whether no proposal is expected to gain more than ``tolerance``, in units of the objective.

        Computes the next proposal, as ``ask`` does; ``dale.history.stopping.Tolerance`` has the rule. It is a reason to
        stop and not a proof: no model rules out a lower value in unexplored parts of the space. Methods that do not
        state an expected improvement (``lcb``, ``imgpo``) never converge, and that of ``paper`` is too small while it
        has a live region.
        """
        with self._lock, computing():
            return Tolerance(tolerance, self.next_reason).check(self.snapshot, Clock(0.0, 0)) is not None

    def next_reason(self, snapshot: Snapshot) -> Reason:
        """Why the next point would be chosen if no trial were pending."""
        with self._lock, computing():
            return self._propose(snapshot.without_pending()).reason

    @overload
    def ask(self, n: None = None, *, at: Any = None, fixed: Any = None) -> Trial: ...
    @overload
    def ask(self, n: int, *, at: Any = None, fixed: Any = None) -> list[Trial]: ...
    def ask(self, n: int | None = None, *, at: Any = None, fixed: Any = None) -> Trial | list[Trial]:
        """The next trial, or a list of ``n`` different ones; in a finite space with noise, some may be replicates.

        Pending trials are taken into account, so any number of workers may ask, from any thread. A finite space without
        noise may hold fewer than ``n`` points that were not proposed before: then the list is shorter, and where none
        is left, ``SpaceExhausted`` is raised.

        Args:
            n: How many trials; None for one, not in a list.
            at: A point of your own to evaluate instead of a proposal.
            fixed: Values of parameters that you cannot choose this time, by name. The models use all trials.
        """
        if at is not None and (n is not None or fixed is not None):
            raise ValueError("at is one whole point: leave out n, fixed or at")
        if n is None:
            return self._ask(fixed) if at is None else self._ask_at(at)
        check_count(n, "n", "a positive integer or None")
        with self.transaction():  # all of them, or none if one fails
            trials = [self._ask(fixed)]
            with suppress(SpaceExhausted):
                while len(trials) < n:
                    trials.append(self._ask(fixed))
        return trials

    def tell(
        self,
        trial: Trial | int,
        value: Any,
        *,
        noise: float | None = None,
        constraints: Any = (),
        extra: Mapping[str, Any] | None = None,
    ) -> Trial:
        """Record the objective's value at a trial.

        Telling the same value twice changes nothing; another value is an error. A failed trial may be given a value.

        Args:
            trial: The trial, or its id.
            value: The objective there; or an ``Evaluation``, which includes the rest.
            noise: Standard deviation of the noise in the value, where it is known.
            constraints: Numbers that must be at most 0 for the point to be feasible, the same number for each trial.
            extra: Further results to keep, by name: JSON data, as in ``Evaluation``.
        """
        with computing(), self.transaction():
            known = find_trial(self._history.trials, trial)
            return self._change(EventKind.TELL, known, told(known, self._check(value, noise, constraints, extra)))

    def fail(self, trial: Trial | int, error: str = "", *, retry: bool = False) -> Trial:
        """Record that a trial could not be evaluated; later proposals avoid its neighbourhood.

        Args:
            trial: A trial that ``ask`` returned, or its id.
            error: What went wrong; of a very long text, head and tail are kept.
            retry: A transient failure, which says nothing about the point: nothing is avoided, and the next ``ask``
                returns a new trial at the same point. A trial is retried once; the new one may fail in turn.
        """
        if not isinstance(retry, bool | np.bool_):
            raise TypeError(f"retry must be True or False, got {retry!r}")
        with computing(), self.transaction():
            known = find_trial(self._history.trials, trial)
            return self._change(EventKind.FAIL, known, failed(known, str(error), retry=bool(retry)))

    def amend(
        self,
        trial: Trial | int,
        value: Any = None,
        *,
        noise: float | None = None,
        constraints: Any = None,
        extra: Mapping[str, Any] | None = None,
        why: str = "",
        who: str | None = None,
    ) -> Trial:
        """Correct the outcome of a trial: one that was recorded wrongly, or a failed or discarded one that has a value.

        Later proposals use the corrected value. Earlier ones keep their points and reasons. ``Trial.corrections`` and
        the store keep what was changed. The same outcome again changes nothing.

        Args:
            trial: A trial that is not pending, or its id.
            value: The correct value, or an ``Evaluation``, which replaces noise and constraints too.
            noise: The correct standard deviation of its noise.
            constraints: The correct outcome constraints.
            extra: Extra values that replace all others. What is None stays as it is.
            why: The reason.
            who: Who corrects it; None for the name of the user in the operating system.
        """
        with computing(), self.transaction():
            known = find_trial(self._history.trials, trial)
            after = amended(self._history.trials, known, Evaluation(value, noise, constraints, extra), who, why)
            check_outcome_constraints(self.method, after.constraints)
            return self._change(EventKind.AMEND, known, after)

    def discard(self, trial: Trial | int, why: str = "", *, who: str | None = None) -> Trial:
        """Ignore the outcome of a trial from now on: its value or failure is not valid.

        The trial stays in the history, with its reason and its corrections, and counts as an evaluation. No model and
        no result uses it, and its point may be proposed again. ``amend`` gives it a value again.

        Args:
            trial: A complete or failed trial, or its id.
            why: The reason.
            who: Who discards it; None for the name of the user in the operating system.
        """
        with computing(), self.transaction():
            known = find_trial(self._history.trials, trial)
            return self._change(EventKind.DISCARD, known, discarded(self._history.trials, known, who, why))

    def add(
        self,
        params: Any,
        value: Any,
        *,
        noise: float | None = None,
        constraints: Any = (),
        extra: Mapping[str, Any] | None = None,
    ) -> Trial:
        """Record an evaluation that was made elsewhere; the arguments are those of ``tell``."""
        with computing(), self.transaction():
            checked, unit_x = self.space.read(params)
            return self._add([AddedRow(checked, unit_x, self._check(value, noise, constraints, extra))])[0]

    def add_all(
        self, table: Any, value: str = "value", *, noise: str | None = None, constraints: Sequence[str] = ()
    ) -> list[Trial]:
        """Record evaluations that were made elsewhere, from a table or another run; all of them, or none if one fails.

        A table has a column for each parameter, by name (``x0``, ``x1``, ... in a space without names), and one for the
        value; other columns are ignored. Where the value or a constraint is empty, NaN or infinite, the evaluation
        counts as failed. Of a run, all that is known is recorded; pending and discarded trials and transient failures
        are left out. So are unfinished and pruned trials in ``study.trials_dataframe()`` of Optuna. A run must have
        the direction of this one; that of values in a table is not known.

        Args:
            table: The path of a CSV file with a header, a data frame of pandas or polars, a mapping of columns or a
                list of mappings. Text in a file is parsed as its parameter needs it, options by their text. Or a
                result, an optimizer, a run from ``dale.open`` or the path of a store.
            value: Name of the column with the objective's values.
            noise: Name of the column with the standard deviations of their noise, empty where unknown.
            constraints: Names of the columns with the constraints, which are at most 0 where a point is feasible.
        """
        rows = read_earlier(table, self, value, noise, constraints)
        with computing(), self.transaction():
            for row in rows:
                try:
                    self._check_fit(row.evaluation)
                except ValueError as error:
                    raise located(row.where, error) from None
            return self._add(rows)

    def _ask(self, fixed: Any = None) -> Trial:
        with computing(), self.transaction():
            snapshot = self.snapshot if fixed is None else self._look(fixed)
            if (abandoned := self._reassign(snapshot.domain)) is not None:
                return abandoned
            waiting = (t for t in self._history.retries if snapshot.domain.contains(t.unit_x[None, :])[0])
            if (transient := next(waiting, None)) is not None:
                return self._again(transient, transient.reason.retried(transient.id, self._history.length_scale))
            return self._ask_new(snapshot)

    def _ask_new(self, snapshot: Snapshot) -> Trial:
        """A trial at the next proposal; at the best point again if no other is left and noise has not been tested."""
        try:
            return self._ask_proposal(snapshot)
        except SpaceExhausted:
            if (last := snapshot.last_replicate) is None:
                raise
            return self._again(last, Reason(Source.REPLICATE, length_scale=snapshot.history.length_scale))

    def _ask_proposal(self, snapshot: Snapshot) -> Trial:
        """A trial at the proposal of the method."""
        history, taken = snapshot.history, snapshot.taken(may_replicate=self.method.capabilities.replicates)
        snapshot.domain.check_not_exhausted(taken)
        point, reason = self._propose(snapshot)
        if reason.source is Source.REPLICATE and (known := history.best_at(point)):
            return self._again(known, reason)
        admitted = snapshot.domain.admit(point, taken, RandomStreams(self.seed, history.n_asked).fresh)
        return self._record(admitted.params, admitted.unit_x, reason.replaced() if admitted.replaced else reason)

    def _propose(self, snapshot: Snapshot) -> Proposal:
        """The method's proposal; the last one again for the same snapshot."""
        if self._proposed is None or self._proposed[0] is not snapshot:
            rng = RandomStreams(self.seed, snapshot.history.n_asked)
            point, reason = check_proposal(self.method.propose(snapshot, rng), self.space.dimension, self.method)
            self._proposed = snapshot, Proposal(point, reason.in_direction(self.direction))
        return self._proposed[1]

    def _again(self, trial: Trial, reason: Reason) -> Trial:
        """A new trial at the point of an earlier one, to the last bit."""
        return self._record(trial.params, trial.unit_x, reason, allowed=trial.allowed)

    def _ask_at(self, params: Any) -> Trial:
        """A trial at a point of the user's, kept as it was given, to the last bit."""
        checked, unit_x = self.space.read(params)
        if self.constraints is not None:
            self.constraints.check(checked)
        return self._record(checked, unit_x, Reason(Source.USER))

    def _add(self, rows: Sequence[AddedRow]) -> list[Trial]:
        """New trials with outcomes; the history is copied once for all of them."""
        first = len(self._history.trials)
        return self._write(EventKind.ADD, added_trials(rows, first, self.space, self.constraints, self.direction))

    def _record(self, params: Params, unit_x: Vector, reason: Reason, *, allowed: bool = True) -> Trial:
        """A new pending trial."""
        with computing(), self.transaction():
            number, x = len(self._history.trials), self.space.as_array(params)
            trial = Trial(number, params, x, unit_x, reason, allowed=allowed, direction=self.direction)
            return self._write(EventKind.ASK, [trial])[0]

    def _check(self, value: Any, noise: Any, constraints: Any, extra: Any) -> Evaluation:
        """An evaluation in its proper types; an error if it does not fit the run."""
        evaluation = check_evaluation(value, noise, constraints, extra)
        self._check_fit(evaluation)
        return evaluation

    def _check_fit(self, evaluation: Evaluation | None) -> None:
        """Whether the method takes constraints, if there are any, and all trials have the same number of them."""
        if evaluation is not None:
            check_outcome_constraints(self.method, evaluation.constraints)
            check_number_of_constraints(evaluation.constraints, self._history.trials)
