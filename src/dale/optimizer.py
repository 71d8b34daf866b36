"""Ask and tell: the one object that changes.

``ask`` thinks, ``tell`` records. The trials are all there is: every proposal is a function of them and of the seed.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral
from threading import RLock
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from dale import methods
from dale._arrays import Matrix, Vector
from dale._blas import one_blas_thread
from dale.errors import SpaceError, SpaceExhausted, TrialError
from dale.history.evaluation import Evaluation, check_constraints, check_noise, check_tolerance, check_value
from dale.history.history import Ledger
from dale.history.minima import shown_minima
from dale.history.noise import NoiseEstimate, lowest_posterior_mean
from dale.history.outliers import MAX_OBSERVATIONS, remove_outliers
from dale.history.reason import Reason, Source
from dale.history.result import Result
from dale.history.seeding import check_seed, generator
from dale.history.trial import Trial, TrialState
from dale.methods.base import Cache, Method
from dale.space.allowed_set import AllowedSet
from dale.space.constraints import Constraints, as_constraints
from dale.space.domain import Rounding, Untried
from dale.space.point import Params, format_point, short_repr
from dale.space.space import Space, as_space
from dale.space.table import points_of, rows_of, values_of
from dale.store.events import Event, Kind, replayed
from dale.store.problem import problem_of
from dale.store.store import Store, open_store

SO_FAR, NOTHING_TOLD, NOT_FEASIBLE = 0, 3, 7  # Result.status
NO_FEASIBLE = "No feasible point was found"
NO_PROPOSAL = (Source.ADDED, Source.USER, Source.INITIAL_DESIGN)
CALM = 3  # global proposals in a row, for each coordinate, that have to promise little before a run has converged
MANY = 4096  # points of a larger one that are looked through for one that the constraints allow
ENUMERATED = 1024  # points of a finite space that is looked through as a whole instead


class Incumbent(NamedTuple):
    """The best trial, what its value is believed to be, and the standard deviation of the noise."""

    trial: Trial | None
    value: float | None
    noise: float


class Optimizer:
    """Proposes evaluations and learns from their values.

    Args:
        space: Pairs of bounds, ``scipy.optimize.Bounds``, a mapping or a ``Space``; what ``minimize`` takes.
        seed: Same seed, same run; None takes a fresh one, which ``seed`` then tells.
        method: A method of ``dale.methods``; None for the default.
        noise: Standard deviation of the errors in the values: 0 for none, ``"auto"`` to find out.
        constraints: On the inputs, never violated by a proposal: what ``minimize`` takes.
        store: Path of a file that keeps the run. Where it is there already, the run goes on: what is in it is in
            ``history``, and trials that were asked and never told by a process that is gone are asked again, first.
        objective: What is minimised, as plain data that the store keeps (``dale.Command.described``): another one is
            refused. None for what no file can hold.
    """

    def __init__(
        self,
        space: Any,
        *,
        seed: int | None = None,
        method: Method | None = None,
        noise: float | Literal["auto"] = "auto",
        constraints: Any = None,
        store: str | os.PathLike[str] | None = None,
        objective: Mapping[str, Any] | None = None,
    ) -> None:
        self.space: Space = as_space(space)
        seed = None if seed is None else check_seed(seed)
        if method is not None and (isinstance(method, type) or not callable(getattr(method, "propose", None))):
            raise TypeError(f"method must be one of dale.methods, such as dale.methods.paper(), got {method!r}")
        self.method: Method = method if method is not None else methods.default()
        if isinstance(noise, str) and noise != "auto":
            raise ValueError(f'noise must be "auto" or a number, the standard deviation of the values, got {noise!r}')
        usual = check_noise(None if noise == "auto" else noise)
        self.constraints: Constraints | None = as_constraints(constraints, self.space)
        if self.constraints is not None:
            self._check_method("constraints on the inputs")
        self._usual_noise = usual
        self._untried = Untried(self.space, self.constraints, self._inputs())
        self._start_over()
        self._lock = RLock()
        self._store: Store | None = None
        if store is None:
            self.seed = check_seed(seed)
            return
        self._store = open_store(
            store, self.space, problem_of(self.space, seed, self.method, usual, constraints, objective)
        )
        self.seed = self._store.seed
        with self.transaction():
            pass  # which reads what is there

    def _start_over(self, trials: Sequence[Trial] = ()) -> None:
        """Begin with some trials, and remember nothing else."""
        space, free = self.space, self.space.continuous
        varying = sum(p.width > 0 for p in space.parameters.values())
        rounding = Rounding(varying, space.snap_all, free, space.ordered, space.cells, space.active)
        self._ledger = Ledger(
            space.dimension, None if free.all() else rounding, self._usual_noise, self._untried.inputs
        )
        for trial in trials:
            self._ledger.write(trial)
        self._cache = Cache()
        self._best: tuple[int, Incumbent] | None = None  # with the ledger's version that it belongs to

    @property
    def store(self) -> str | None:
        """Path of the file that keeps the run; None if none does."""
        return None if self._store is None else str(self._store.path)

    def close(self) -> None:
        """Let go of the store: what is pending may be asked by others. The end of the process does it too."""
        if self._store is not None:
            with self._lock:
                self._store.close()

    def __enter__(self) -> Optimizer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        if self._store is not None:
            raise TypeError(
                f"an optimizer with a store cannot be copied; make another one with store={self.store!r}: it goes on"
            )
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=RLock())

    def __repr__(self) -> str:
        told = len(self._told())
        return f"<dale.Optimizer: {told} of {len(self._ledger.trials)} trials told, seed {self.seed}, {self.space!r}>"

    @overload
    def ask(self, n: None = None, *, at: Any = None) -> Trial: ...
    @overload
    def ask(self, n: int, *, at: Any = None) -> list[Trial]: ...
    def ask(self, n: int | None = None, *, at: Any = None) -> Trial | list[Trial]:
        """The next trial, or a list of ``n`` different ones.

        Trials that were asked and not yet told are taken into account, so any number of workers may ask, from any
        thread. A finite space may hold fewer than ``n`` points that were not asked before: then the list is shorter,
        and where there is none left, ``SpaceExhausted`` is raised.

        Args:
            n: How many trials; None for one, not in a list.
            at: A point of your own to evaluate instead of a proposal.
        """
        if n is None:
            return self._ask() if at is None else self._give(at, Source.USER)
        if isinstance(n, bool) or not isinstance(n, Integral):
            raise TypeError(f"n must be a positive integer or None, got {n!r}")
        if n < 1:
            raise ValueError(f"n must be a positive integer or None, got {n!r}")
        if at is not None:
            raise ValueError("a list of trials cannot be asked at one point; leave out n or at")
        trials = [self._ask()]
        while len(trials) < n:
            try:
                trials.append(self._ask())
            except SpaceExhausted:
                break
        return trials

    def tell(self, trial: Trial | int, value: Any, *, noise: float | None = None, constraints: Any = ()) -> Trial:
        """Record the objective's value at a trial.

        Telling the same twice changes nothing; another value is an error. A value for a failed trial is taken.

        Args:
            trial: The trial, or its id.
            value: The objective there; or an ``Evaluation``, which has noise and constraints in it.
            noise: Standard deviation of the error in the value, where it is known.
            constraints: Numbers that must be at most 0 for the point to be feasible, as many for each trial.
        """
        with self.transaction():
            known = self._find(trial)
            told = self._check(value, noise, constraints)
            if known.state is TrialState.COMPLETE:
                before = Evaluation(known.value, known.noise, known.constraints)
                if before == told:
                    return known
                raise TrialError(f"trial {known.id} was told {before!r} before, got {told!r}; nothing was changed")
            return self._replace(known, state=TrialState.COMPLETE, error=None, retry=False, **vars(told))

    def fail(self, trial: Trial | int, error: str = "", *, retry: bool = False) -> Trial:
        """Record that a trial could not be evaluated; its neighbourhood is avoided from now on.

        Args:
            trial: A trial that ``ask`` returned, or its id.
            error: What went wrong.
            retry: The machine is to blame and not the point: nothing is avoided, and the next ``ask`` gives a new trial
                at this very point. A trial is asked again once; that one may fail in turn.
        """
        if not isinstance(retry, bool | np.bool_):
            raise TypeError(f"retry must be True or False, got {retry!r}")
        with self.transaction():
            known = self._find(trial)
            if known.state is TrialState.COMPLETE:
                raise TrialError(
                    f"trial {known.id} was told {known.value!r} before and cannot fail; nothing was changed"
                )
            return self._replace(known, state=TrialState.FAILED, error=str(error), retry=bool(retry))

    def add(self, params: Any, value: Any, *, noise: float | None = None, constraints: Any = ()) -> Trial:
        """Record an evaluation that was made elsewhere; the rest as for ``tell``."""
        with self.transaction():
            return self._give(params, Source.ADDED, self._check(value, noise, constraints))

    def add_all(
        self, table: Any, value: str = "value", *, noise: str | None = None, constraints: Sequence[str] = ()
    ) -> list[Trial]:
        """Record a table of evaluations that were made elsewhere; all of its rows, or none if one is refused.

        A column for each parameter, by name (``x0``, ``x1``, ... in a space without names), and one for the value;
        other columns are passed over. Where the value or a constraint is empty, NaN or infinite, the evaluation counts
        as failed.

        Args:
            table: The path of a CSV file with a heading, a data frame of pandas or polars, a mapping of columns or a
                list of mappings. What is written in a file is read as its parameter needs it, options by their text.
            value: Name of the column with the objective's values.
            noise: That of the column with the standard deviations of their errors, empty where unknown.
            constraints: Those of the columns with the constraints, which are at most 0 where a point is feasible.
        """
        if isinstance(constraints, str) or not isinstance(constraints, Sequence):
            raise TypeError(f"constraints must be a list with names of columns, got {constraints!r}")
        for name in (value, *(() if noise is None else (noise,)), *constraints):
            if not isinstance(name, str):
                raise TypeError(f"value, noise and constraints must each be the name of a column, got {name!r}")
            if name in self.space.names:
                raise ValueError(f"{name!r} is a parameter; wanted the name of a column with what was evaluated")
        rows = rows_of(table)
        points, values = points_of(rows, self.space), values_of(rows, value)
        errors: list[float | None] = [None] * len(rows) if noise is None else values_of(rows, noise)
        limits = list(zip(*(values_of(rows, name) for name in constraints), strict=True)) or [()] * len(rows)
        with self.transaction():
            told = [
                None if number is None or None in others else self._check_row(i, number, error, others)
                for i, (number, error, others) in enumerate(zip(values, errors, limits, strict=True), 1)
            ]
            return [
                self._add(params, point, known, f"no value in row {i}")
                for i, ((params, point), known) in enumerate(zip(points, told, strict=True), 1)
            ]

    def _check_row(self, number: int, value: float, noise: float | None, constraints: Any) -> Evaluation:
        try:
            return self._check(value, noise, constraints)
        except ValueError as error:
            raise type(error)(f"row {number} of the earlier data: {error}. Nothing was recorded") from None

    def _add(self, params: Params, point: Vector, told: Evaluation | None, why: str) -> Trial:
        """A trial at a known point: told, or failed where nothing was."""
        error = why if told is None else None
        return self._record(params, point, Reason(Source.ADDED), told, error, allowed=self._allows_params(params))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Several changes as one: with a store all of them are written or none, and no other process comes between."""
        with self._lock:
            if self._store is None or self._store.writing:
                yield
                return
            before, version, place = tuple(self._ledger.trials), self._ledger.version, self._store.place()
            try:
                with self._store.transaction() as news:
                    self._replay(news)
                    yield
            except BaseException:  # Ctrl-C may come after it was written: then it is read again
                self._store.go_back(place)
                if self._ledger.version != version:
                    self._start_over(before)
                raise

    @property
    def history(self) -> tuple[Trial, ...]:
        """Every trial, in the order of the asks."""
        return tuple(self._ledger.trials)

    @property
    def n_evaluated(self) -> int:
        """Number of trials told or failed, not counting values that were known before."""
        return sum(
            t.state is not TrialState.PENDING and t.reason.source is not Source.ADDED for t in self._ledger.trials
        )

    @property
    def best(self) -> Trial | None:
        """The feasible trial with the lowest value (where values are noisy, the lowest mean); None if there is none."""
        return self._incumbent().trial

    @property
    def best_value(self) -> float | None:
        """Its value; where values are noisy, what it is believed to be without the noise."""
        return self._incumbent().value

    def converged(self, tolerance: float) -> bool:
        """Whether nothing left promises more than ``tolerance``, in units of the objective; thinks as ``ask`` does.

        So it is when the next proposal would be a global one and has an expected improvement below the tolerance, which
        means that no local model promises as much either; when the last 3 d global proposals that were told, d being
        the number of coordinates, and all proposals since the first of them promised no more; and when they gained no
        more. Or when every point of a finite space has been told. Pending trials are no evidence, and noisy values none
        that can be trusted.

        Which values a model expects is a guess, and a deep hole that nobody has seen is in none: this is a reason to
        stop, not a proof. Methods that do not know what they promise (``lcb``, ``imgpo``) never converge, and the
        paper's promises too little while it has a live region (``Reason.acquisition``).
        """
        tolerance = check_tolerance(tolerance)
        with one_blas_thread(), self._lock:
            if self._ledger.next_retry() is not None or self._incumbent().noise > 0:
                return False
            history = self._ledger.history()
            if self._untried.exhausted(np.vstack([history.X, history.pending])):
                return len(history.pending) == 0
            if not self._calm(tolerance):
                return False
            alone = dataclasses.replace(history, pending=np.empty((0, self.space.dimension)))
            reason = self.method.propose(alone, self.seed, self._cache).reason
            return reason.source is Source.GLOBAL and _promises_less(reason, tolerance)

    def _calm(self, tolerance: float) -> bool:
        """Whether the last proposals promised less than the tolerance, and gained less."""
        left = CALM * self.space.dimension
        for trial in reversed(self._ledger.trials):
            if trial.retry or trial.reason.source in (Source.ADDED, Source.USER):
                continue
            if not _promises_less(trial.reason, tolerance):
                return False
            left -= trial.reason.source is Source.GLOBAL and trial.state is TrialState.COMPLETE
            if left == 0:
                feasible = [t for t in self._told() if t.feasible]
                before = min((_value(t) for t in feasible if t.id < trial.id), default=math.inf)
                return before - min(map(_value, feasible), default=-math.inf) < tolerance
        return False

    def result(self) -> Result:
        """What is known now, as SciPy's ``OptimizeResult`` and more."""
        with self._lock:
            told, (best, fun, noise) = self._told(), self._incumbent()
            y = np.array([_value(t) for t in told])
            return Result(
                x=None if best is None else np.array(best.x),
                fun=fun,
                nfev=self.n_evaluated,
                nit=sum(t.reason.source not in NO_PROPOSAL and t.reason.retry_of is None for t in self._ledger.trials),
                success=best is not None,
                status=SO_FAR if best is not None else NOT_FEASIBLE if told else NOTHING_TOLD,
                message="Best so far" if best is not None else NO_FEASIBLE if told else self._nothing_told(),
                params=None if best is None else best.params,
                x_iters=np.array([t.x for t in told]).reshape(len(told), len(self.space.names)),
                func_vals=y,
                history=self.history,
                local_minima=shown_minima(self._ledger, self.space, self._untried.allows) if told else (),
                noise=noise,
                seed=self.seed,
            )

    def _incumbent(self) -> Incumbent:
        """The best trial, what its value is believed to be, and the noise."""
        with self._lock, one_blas_thread():
            if self._best is None or self._best[0] != self._ledger.version:
                self._best = self._ledger.version, self._look_for_the_best()
            return self._best[1]

    def _look_for_the_best(self) -> Incumbent:
        best = min((t for t in self._told() if t.feasible), key=_value, default=None)
        if best is None:
            return Incumbent(None, None, 0.0)
        history = remove_outliers(self._ledger.history(), MAX_OBSERVATIONS)
        noise = NoiseEstimate.of(history)
        noisy = lowest_posterior_mean(history, noise, MAX_OBSERVATIONS) if noise.modelled else None
        if noisy is None:
            return Incumbent(best, best.value, noise.level)
        return Incumbent(self._ledger.trials[noisy[0]], *noisy[1:])

    def _nothing_told(self) -> str:
        errors = [t.error.strip().splitlines()[-1] for t in self._ledger.trials if t.error and t.error.strip()]
        return "No evaluation has given a finite value" + (f" (the last error: {errors[-1]})" if errors else "")

    def _ask(self) -> Trial:
        with one_blas_thread(), self.transaction():
            left = self._left_behind()
            if left is not None:
                return left
            failed = self._ledger.next_retry()
            if failed is not None:
                return self._ask_again(failed)
            history = self._ledger.history()
            noisy = bool(history.told.any()) and NoiseEstimate.of(remove_outliers(history, MAX_OBSERVATIONS)).modelled
            seen = history.pending if noisy else np.vstack([history.X, history.pending])  # noisy ones are repeated
            self._untried.check(seen)
            point, reason = self.method.propose(history, self.seed, self._cache)
            point, reason = self._distinct(self.space.snap(point), reason, seen, history.n_asked)
            params = self.space.decode(point)
            return self._record(params, self.space.encode(params), reason)  # the same to the last bit

    def _left_behind(self) -> Trial | None:
        """A trial that was asked by a process that is gone, and is now asked by this one: the very same."""
        if self._store is None:
            return None
        number = self._store.orphan()
        if number is None:
            return None
        left = self._ledger.trials[number]
        self._store.write(Kind.TAKE, left)
        return left

    def _ask_again(self, failed: Trial) -> Trial:
        """A new trial at the point of one that the machine failed, as if that had never been asked.

        What it said of the run stands where it was said: the regions that it closed are closed, and the length-scale
        is that of the last proposal, which may be another by now.
        """
        source = Source.USER if failed.reason.source is Source.ADDED else failed.reason.source
        reason = dataclasses.replace(
            failed.reason, source=source, retry_of=failed.id, closed_regions=(), length_scale=self._ledger.length_scale
        )
        return self._record(failed.params, failed.unit_x, reason, allowed=failed.allowed)

    def _give(self, params: Any, source: Source, told: Evaluation | None = None) -> Trial:
        """A trial at a point of the user's, kept as it was given, to the last bit."""
        checked, point = self.space.read(params)
        allowed = self._allows_params(checked)
        if not allowed and source is Source.USER:
            raise SpaceError(
                f"the constraints do not allow {format_point(checked)}; leave the point out, or tell what is known "
                "there with add(params, value)"
            )
        return self._record(checked, point, Reason(source), told, allowed=allowed)

    def _distinct(self, point: Vector, reason: Reason, seen: Matrix, n_asked: int) -> tuple[Vector, Reason]:
        """The proposal, or a point far from all others if rounding in the user's units has made it one seen before."""
        if self._untried.has(point, seen):
            return point, reason
        # Length-scale, closed regions and the step, which counts as a failure, are part of the history. So is a repeat
        # that floats have no room for.
        source = reason.source if reason.source is Source.REPLICATE else Source.SPACE_FILLING
        reason = dataclasses.replace(reason, source=source, expected_improvement=None, mean=None, std=None, region=None)
        return self._untried.another(seen, generator(self.seed, n_asked)), reason

    def _inputs(self) -> AllowedSet | None:
        """What the constraints on the inputs allow, in the cube."""
        known = self.constraints
        if known is None:
            return None
        with one_blas_thread():
            return AllowedSet.of(
                known.allowed, known.margins, lambda: known.flat, self.space.dimension, lambda: known.trouble
            )

    def _check_method(self, what: str) -> None:
        """Refuse constraints that the method would not know what to do with."""
        if not getattr(self.method, "takes_constraints", False):
            raise TypeError(
                f"{type(self.method).__name__} takes no constraints, got {what}; use the default method "
                "(method=None), or a method of your own with takes_constraints = True"
            )

    def _allows_params(self, params: Params) -> bool:
        """Whether they allow a point of the user's."""
        return self.constraints is None or self.constraints.allows(params)

    def _record(
        self,
        params: Params,
        point: Vector,
        reason: Reason,
        told: Evaluation | None = None,
        error: str | None = None,
        *,
        allowed: bool = True,
    ) -> Trial:
        """A new trial: pending, or with what is known of it."""
        state = TrialState.COMPLETE if told is not None else TrialState.PENDING if error is None else TrialState.FAILED
        with self.transaction():
            x, number = self.space.as_array(params), len(self._ledger.trials)
            trial = Trial(number, params, x, point, reason, state, error=error, allowed=allowed)
            trial = trial if told is None else dataclasses.replace(trial, **vars(told))
            self._write(Kind.ASK if state is TrialState.PENDING else Kind.ADD, trial)
        return trial

    def _write(self, kind: Kind, trial: Trial) -> None:
        """To the store first: what cannot be kept has not happened."""
        if self._store is not None:
            self._store.write(kind, trial)
        self._ledger.write(trial)

    def _replay(self, events: Sequence[Event]) -> None:
        for event in events:
            trial = replayed(event, self._ledger.trials, self.space)
            if trial is not None:
                self._ledger.write(trial)

    def _check(self, value: Any, noise: Any, constraints: Any) -> Evaluation:
        """What is told, in proper types, if it is in order."""
        if isinstance(value, Evaluation):
            if noise is not None or np.size(constraints):
                raise TypeError(
                    f"got {short_repr(value)} and noise or constraints beside it; tell them in one of the two ways"
                )
            value, noise, constraints = value.value, value.noise, value.constraints
        told = Evaluation(check_value(value), check_noise(noise), check_constraints(constraints))
        if told.constraints:
            self._check_method("some with the value of a trial")
        others = next((t for t in self._ledger.trials if t.state is TrialState.COMPLETE), None)
        if others is not None and len(others.constraints) != len(told.constraints):
            raise TrialError(
                f"wanted {len(others.constraints)} constraints, as trial {others.id} was told, got "
                f"{short_repr(constraints)}; tell every trial the same number of them, earlier data included"
            )
        return told

    def _find(self, trial: Trial | int) -> Trial:
        if isinstance(trial, bool) or not isinstance(trial, Trial | Integral):
            raise TypeError(f"wanted a Trial that ask returned, or its id, got {trial!r}")
        number = trial.id if isinstance(trial, Trial) else int(trial)
        if not 0 <= number < len(self._ledger.trials) or (
            isinstance(trial, Trial) and not np.array_equal(trial.unit_x, self._ledger.trials[number].unit_x)
        ):
            raise TrialError(
                f"trial {number} is unknown here; this run has {len(self._ledger.trials)} trials. "
                "Tell a trial to the optimizer that asked it, or use add(params, value)"
            )
        return self._ledger.trials[number]

    def _replace(self, trial: Trial, **changes: Any) -> Trial:
        changed = dataclasses.replace(trial, **changes)
        self._write(Kind.TELL if changed.state is TrialState.COMPLETE else Kind.FAIL, changed)
        return changed

    def _told(self) -> list[Trial]:
        return [t for t in self._ledger.trials if t.state is TrialState.COMPLETE]


def _value(trial: Trial) -> float:
    return math.nan if trial.value is None else trial.value


def _promises_less(reason: Reason, tolerance: float) -> bool:
    """Whether a proposal's expected improvement is known to be less."""
    return reason.expected_improvement is not None and reason.expected_improvement < tolerance
