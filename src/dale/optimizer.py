"""Ask and tell: the one object that changes.

``ask`` thinks, ``tell`` records. The trials are all there is: every proposal is a function of them and of the seed.
"""

from __future__ import annotations

import dataclasses
import math
from numbers import Integral, Real
from threading import RLock
from typing import Any, Literal, overload

import numpy as np
from scipy.spatial.distance import cdist

from dale.arrays import Matrix, Vector
from dale.errors import SpaceError, SpaceExhausted, TrialError
from dale.methods import History, Method, default
from dale.methods.global_local import NOTHING
from dale.methods.history import Ledger, Rounding
from dale.methods.inputs import Inputs
from dale.methods.memory import Memory
from dale.methods.observations import far_from_all
from dale.methods.standardise import Scale
from dale.regions import CubeMinimum, local_minima
from dale.seeding import check_seed, generator
from dale.space import Constraints, Space, as_constraints, as_space
from dale.threads import one_blas_thread
from dale.trial import Evaluation, LocalMinimum, Params, Reason, Result, Source, State, Trial, describe_point

SO_FAR, NOTHING_TOLD, NOT_FEASIBLE = 0, 3, 7  # Result.status
NO_FEASIBLE = "No feasible point was found"
NO_PROPOSAL = (Source.KNOWN, Source.GIVEN, Source.DESIGN)
RESPACE_TRIES = 16  # a proposal that rounds to a point seen before is replaced, this often at most
MANY = 4096  # points of a larger one that are looked through for one that the constraints allow
ENUMERATED = 1024  # points of a finite space that is looked through as a whole instead


class Optimizer:
    """Proposes evaluations and learns from their values.

    Args:
        space: Pairs of bounds, ``scipy.optimize.Bounds``, a mapping or a ``Space``; what ``minimize`` takes.
        seed: Same seed, same run; None takes a fresh one, which ``seed`` then tells.
        method: A method of ``dale.methods``; None for the default.
        noise: Standard deviation of the errors in the values: 0 for none, ``"auto"`` to find out.
        constraints: On the inputs, never violated by a proposal: what ``minimize`` takes.
    """

    def __init__(
        self,
        space: Any,
        *,
        seed: int | None = None,
        method: Method | None = None,
        noise: float | Literal["auto"] = "auto",
        constraints: Any = None,
    ) -> None:
        self.space: Space = as_space(space)
        self.seed = check_seed(seed)
        if method is not None and (isinstance(method, type) or not callable(getattr(method, "propose", None))):
            raise TypeError(f"method must be one of dale.methods, such as dale.methods.paper(), got {method!r}")
        self.method: Method = method if method is not None else default()
        free = self.space.continuous
        rounding = None if free.all() else Rounding(self.space.snap_all, free, self.space.ordered)
        if isinstance(noise, str) and noise != "auto":
            raise ValueError(f'noise must be "auto" or a number, the standard deviation of the values, got {noise!r}')
        usual = _check_noise(None if noise == "auto" else noise)
        self.constraints: Constraints | None = as_constraints(constraints, self.space)
        if self.constraints is not None:
            self._check_method("constraints on the inputs")
        self._ledger = Ledger(self.space.dimension, rounding, usual, self._inputs())
        self._memory = Memory()
        self._lock = RLock()

    def __getstate__(self) -> dict[str, Any]:
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
            return self._ask() if at is None else self._give(at, Source.GIVEN)
        if isinstance(n, bool) or not isinstance(n, Integral):
            raise TypeError(f"n must be a positive integer or None, got {n!r}")
        if n < 1:
            raise ValueError(f"n must be a positive integer or None, got {n!r}")
        if at is not None:
            raise ValueError("a list of trials cannot be asked at one point; leave out n or at")
        trials = [self._ask()]
        while len(trials) < n and not self._exhausted():
            trials.append(self._ask())
        return trials

    def tell(self, trial: Trial | int, value: Any, *, noise: float | None = None, constraints: Any = ()) -> Trial:
        """Record the objective's value at a trial.

        Telling the same twice changes nothing; another value is an error. A value for a failed trial is taken.

        Args:
            trial: The trial, or its id.
            value: The objective there.
            noise: Standard deviation of the error in the value, where it is known.
            constraints: Numbers that must be at most 0 for the point to be feasible, as many for each trial.
        """
        with self._lock:
            known = self._find(trial)
            told = self._check(value, noise, constraints)
            if known.state is State.TOLD:
                before = Evaluation(known.value, known.noise, known.constraints)
                if before == told:
                    return known
                raise TrialError(f"trial {known.id} was told {before!r} before, got {told!r}; nothing was changed")
            return self._replace(known, state=State.TOLD, error=None, **vars(told))

    def fail(self, trial: Trial | int, error: str = "") -> Trial:
        """Record that a trial could not be evaluated; its neighbourhood is avoided from now on."""
        with self._lock:
            known = self._find(trial)
            if known.state is State.TOLD:
                raise TrialError(
                    f"trial {known.id} was told {known.value!r} before and cannot fail; nothing was changed"
                )
            return self._replace(known, state=State.FAILED, error=str(error))

    def add(self, params: Any, value: Any, *, noise: float | None = None, constraints: Any = ()) -> Trial:
        """Record an evaluation that was made elsewhere; the rest as for ``tell``."""
        with self._lock:
            told = self._check(value, noise, constraints)
            return self.tell(self._give(params, Source.KNOWN), **vars(told))

    @property
    def history(self) -> tuple[Trial, ...]:
        """Every trial, in the order of the asks."""
        return tuple(self._ledger.trials)

    @property
    def best(self) -> Trial | None:
        """The feasible trial with the lowest value; None while there is none."""
        return min((t for t in self._told() if t.feasible), key=_value, default=None)

    def result(self) -> Result:
        """What is known now, as SciPy's ``OptimizeResult`` and more."""
        told, best = self._told(), self.best
        y = np.array([_value(t) for t in told])
        return Result(
            x=None if best is None else np.array(best.x),
            fun=None if best is None else best.value,
            nfev=sum(t.state is not State.PENDING and t.reason.source is not Source.KNOWN for t in self._ledger.trials),
            nit=sum(t.reason.source not in NO_PROPOSAL for t in self._ledger.trials),
            success=best is not None,
            status=SO_FAR if best is not None else NOT_FEASIBLE if told else NOTHING_TOLD,
            message="Best so far" if best is not None else NO_FEASIBLE if told else self._nothing_told(),
            params=None if best is None else best.params,
            x_iters=np.array([t.x for t in told]).reshape(len(told), len(self.space.names)),
            func_vals=y,
            history=self.history,
            local_minima=self._local_minima(told, y) if told else (),
            seed=self.seed,
        )

    def _nothing_told(self) -> str:
        errors = [t.error.strip().splitlines()[-1] for t in self._ledger.trials if t.error and t.error.strip()]
        return "No evaluation has given a finite value" + (f" (the last error: {errors[-1]})" if errors else "")

    def _ask(self) -> Trial:
        with one_blas_thread(), self._lock:
            if self._exhausted():
                raise self._no_other(f"all {self.space.cardinality} points of the space")
            history = self._ledger.history()
            point, reason = self.method.propose(history, self.seed, self._memory)
            point, reason = self._distinct(self.space.snap(point), reason, history)
            params = self.space.decode(point)
            return self._record(params, self.space.encode(params), reason)  # the same to the last bit

    def _no_other(self, what: str) -> SpaceExhausted:
        return SpaceExhausted(
            f"{what} have been asked, there is no other; "
            "tell those that are out and take the result, or make the space larger"
        )

    def _give(self, params: Any, source: Source) -> Trial:
        """A trial at a point of the user's, kept as it was given, to the last bit."""
        checked = self.space.check(params)
        allowed = self.constraints is None or self.constraints.allows(checked)
        if not allowed and source is Source.GIVEN:
            raise SpaceError(
                f"the constraints do not allow {describe_point(checked)}; leave the point out, or tell what is known "
                "there with add(params, value)"
            )
        return self._record(checked, self.space.encode(params), Reason(source), allowed=allowed)

    def _inputs(self) -> Inputs | None:
        """What the constraints on the inputs allow, in the cube."""
        known = self.constraints
        if known is None:
            return None
        with one_blas_thread():
            return Inputs.of(
                known.allowed, known.margins, lambda: known.flat, self.space.dimension, lambda: known.trouble
            )

    def _check_method(self, what: str) -> None:
        """Refuse constraints that the method would not know what to do with."""
        if not getattr(self.method, "takes_constraints", False):
            raise TypeError(
                f"{type(self.method).__name__} takes no constraints, got {what}; use the default method "
                "(method=None), or a method of your own with takes_constraints = True"
            )

    def _exhausted(self) -> bool:
        """Whether each point of a finite space has been asked."""
        n = self.space.cardinality
        return (
            n is not None
            and n <= len(self._ledger.trials)
            and n <= len({t.point.tobytes() for t in self._ledger.trials})
        )

    def _distinct(self, point: Vector, reason: Reason, history: History) -> tuple[Vector, Reason]:
        """The proposal, or a point far from all others if rounding in the user's units has made it one seen before."""
        seen = np.vstack([history.X, history.pending])
        if not _is_row(point, seen) and self._allows(point):
            return point, reason
        # Length-scale, closed regions and the step, which counts as a failure, are part of the history.
        reason = dataclasses.replace(
            reason, source=Source.EXPLORE, acquisition=None, mean=None, spread=None, region=None
        )
        return self._another(seen, generator(self.seed, history.n_asked)), reason

    def _another(self, seen: Matrix, rng: np.random.Generator) -> Vector:
        """A point that is far from those seen; where floats leave no other, one of them."""
        n = self.space.cardinality
        if n is not None and n <= ENUMERATED:
            left = [p for p in map(self.space.point, range(n)) if not _is_row(p, seen) and self._allows(p)]
            if not left:
                raise self._no_other("all points of the space that the constraints allow")
            return left[np.argmax(np.min(cdist(left, seen), axis=1))] if len(seen) else left[0]
        inputs = self._ledger.inputs
        for _ in range(RESPACE_TRIES):
            point = self.space.snap(far_from_all(seen, self.space.dimension, rng, inputs))
            if not _is_row(point, seen) and self._allows(point):
                return point
        if n is not None:  # of one more than were seen, one is new
            first = int(rng.integers(min(n, 2**62)))
            tries = len(seen) + 1 if inputs is None else min(n, len(seen) + MANY)
            row = (self.space.point((first + k) % n) for k in range(tries))
            new = next((p for p in row if not _is_row(p, seen) and self._allows(p)), None)
            if new is None:
                raise self._no_other("all points that the constraints allow, as far as they could be found,")
            return new
        # Where even rounding leads out of the allowed set, it is as thin as floats: a point of the pool again.
        return point if inputs is None or self._allows(point) else self.space.snap(inputs.pool[0])

    def _allows(self, point: Vector) -> bool:
        """Whether the constraints on the inputs allow a point of the cube."""
        return self.constraints is None or self.constraints.allows(self.space.decode(point))

    def _record(self, params: Params, point: Vector, reason: Reason, *, allowed: bool = True) -> Trial:
        with self._lock:
            trial = Trial(len(self._ledger.trials), params, self.space.as_array(params), point, reason, allowed=allowed)
            self._ledger.write(trial)
        return trial

    def _check(self, value: Any, noise: Any, constraints: Any) -> Evaluation:
        """What is told, in proper types, if it is in order."""
        told = Evaluation(_check_value(value), _check_noise(noise), _check_constraints(constraints))
        if told.constraints:
            self._check_method("some with the value of a trial")
        others = next((t for t in self._ledger.trials if t.state is State.TOLD), None)
        if others is not None and len(others.constraints) != len(told.constraints):
            raise ValueError(
                f"wanted {len(others.constraints)} constraints, as trial {others.id} was told, got {constraints!r}; "
                "tell every trial the same number of them"
            )
        return told

    def _find(self, trial: Trial | int) -> Trial:
        if isinstance(trial, bool) or not isinstance(trial, Trial | Integral):
            raise TypeError(f"wanted a Trial that ask returned, or its id, got {trial!r}")
        number = trial.id if isinstance(trial, Trial) else int(trial)
        if not 0 <= number < len(self._ledger.trials) or (
            isinstance(trial, Trial) and not np.array_equal(trial.point, self._ledger.trials[number].point)
        ):
            raise TrialError(
                f"trial {number} is unknown here; this run has {len(self._ledger.trials)} trials. "
                "Tell a trial to the optimizer that asked it, or use add(params, value)"
            )
        return self._ledger.trials[number]

    def _replace(self, trial: Trial, **changes: Any) -> Trial:
        changed = dataclasses.replace(trial, **changes)
        self._ledger.write(changed)
        return changed

    def _told(self) -> list[Trial]:
        return [t for t in self._ledger.trials if t.state is State.TOLD]

    def _local_minima(self, told: list[Trial], y: Vector) -> tuple[LocalMinimum, ...]:
        """The minima that the data show; not those where constraints are violated, as far as is known."""
        if not np.all(self.space.ordered):
            return ()  # a quadratic across options means nothing
        X = np.array([t.point for t in told])
        scale = Scale.of(y)  # squares of values around 1e155 overflow
        shown = [
            m
            for m in local_minima(X, scale(y))
            if told[int(np.argmin(cdist(m.fit.minimiser[None, :], X)))].feasible and self._allows(m.fit.minimiser)
        ]
        minima = [self._finished(self._in_units(m, scale), m, scale) for m in shown]
        return tuple(sorted(minima, key=lambda m: m.fun + m.error))

    def _finished(self, minimum: LocalMinimum, in_cube: CubeMinimum, scale: Scale) -> LocalMinimum:
        """The minimum as a local model that has converged in its ball left it: finer than any quadratic fit."""
        closed = [self._ledger.trials[c.centre] for t in self._ledger.trials for c in t.reason.closed if c.converged]
        inside = [t for t in closed if in_cube.fit.ball.contains(t.point)]
        if not inside:
            return minimum
        best = min(inside, key=_value)
        error = max(scale.back_length(NOTHING), float(np.spacing(abs(_value(best)))))  # it promised no more than this
        return dataclasses.replace(minimum, x=best.x, params=best.params, fun=_value(best), error=error, converged=True)

    def _in_units(self, minimum: CubeMinimum, scale: Scale) -> LocalMinimum:
        fit = minimum.fit
        params = self.space.decode(fit.minimiser)
        free = bool(np.all(self.space.continuous))
        eigenvalues = np.linalg.eigvalsh(fit.hessian)
        return LocalMinimum(
            x=self.space.as_array(params),
            params=params,
            fun=scale.back(fit.minimum if free else float(fit(self.space.encode(params)[None, :])[0])),
            error=scale.back_length(fit.leave_one_out_error),
            hessian=self.space.hessian(params, fit.hessian * scale.back_length(1.0)),
            condition=float(eigenvalues[-1] / eigenvalues[0]),
            radius=fit.ball.radius,
            n_points=minimum.n_points,
            converged=minimum.converged,
        )


def _is_row(point: Vector, points: Matrix) -> bool:
    """Whether a point (d,) is one of some points (n, d)."""
    return bool(np.any(np.all(points == point, axis=1)))


def _value(trial: Trial) -> float:
    return math.nan if trial.value is None else trial.value


def _check_noise(noise: Any) -> float | None:
    """The standard deviation of an error, if it is one."""
    if noise is None:
        return None
    if isinstance(noise, bool | np.bool_) or not isinstance(noise, Real):
        raise TypeError(f"noise must be a number, the standard deviation of the error in a value, got {noise!r}")
    number = float(noise)
    if not 0 <= number < math.inf:
        raise ValueError(f"noise must be a finite number of at least 0, the standard deviation, got {noise!r}")
    return number


def _check_constraints(constraints: Any) -> tuple[float, ...]:
    """Finite real numbers, in a tuple."""
    if constraints is None:
        return ()
    try:
        values = [constraints] if np.ndim(constraints) == 0 else list(constraints)
    except (TypeError, ValueError):
        values = [constraints]
    for value in values:
        if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or not math.isfinite(value):
            raise ValueError(
                f"constraints must be finite numbers, feasible when at most 0, got {constraints!r}; "
                "use fail(trial, why) for an evaluation that has none"
            )
    return tuple(float(v) for v in values)


def _check_value(value: Any) -> float:
    """The value as a float, if it is one finite real number."""
    if isinstance(value, np.ndarray) and value.size == 1 and not np.ma.is_masked(value):
        value = value.reshape(()).item()
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(
            f"the value of a trial must be one real number, got {value!r}; dale minimises one objective "
            "(for several see Optuna or BoTorch), and an evaluation without a value is told with fail(trial, why)"
        )
    try:
        number = float(value)
    except OverflowError:  # an integer beyond all floats
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(
            f"the value of a trial must be finite, got {number!r}; use fail(trial, why) for a failed evaluation"
        )
    return number
