"""Ask and tell: the one object that changes.

``ask`` thinks, ``tell`` records. The trials are all there is: every proposal is a function of them and of the seed.
"""

from __future__ import annotations

import dataclasses
import math
from numbers import Integral, Real
from threading import RLock
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from scipy.spatial.distance import cdist

from dale.arrays import Matrix, Vector
from dale.design import far_from
from dale.errors import SpaceExhausted, TrialError
from dale.methods import Method, default
from dale.methods.global_local import MOST, NOTHING
from dale.methods.history import Ledger, Rounding
from dale.methods.memory import Memory
from dale.methods.noise import Noise, least_mean
from dale.methods.observations import believable
from dale.methods.standardise import Scale
from dale.regions import CubeMinimum, local_minima
from dale.seeding import check_seed, generator
from dale.space import Space, as_space
from dale.threads import one_blas_thread
from dale.trial import Evaluation, LocalMinimum, Params, Reason, Result, Source, State, Trial

SO_FAR, NOTHING_TOLD = 0, 3  # Result.status
NO_PROPOSAL = (Source.KNOWN, Source.GIVEN, Source.DESIGN)
RESPACE_TRIES = 16  # a proposal that rounds to a point seen before is replaced, this often at most
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
    """

    def __init__(
        self,
        space: Any,
        *,
        seed: int | None = None,
        method: Method | None = None,
        noise: float | Literal["auto"] = "auto",
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
        self._ledger = Ledger(self.space.dimension, rounding, usual)
        self._memory = Memory()
        self._best: tuple[int, Incumbent] | None = None  # with the ledger's version that it belongs to
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
        """The told trial with the lowest value, or where values are noisy, with the lowest mean; None before any."""
        return self._incumbent().trial

    @property
    def best_value(self) -> float | None:
        """Its value; where values are noisy, what it is believed to be without the noise."""
        return self._incumbent().value

    def result(self) -> Result:
        """What is known now, as SciPy's ``OptimizeResult`` and more."""
        told, (best, fun, noise) = self._told(), self._incumbent()
        y = np.array([_value(t) for t in told])
        return Result(
            x=None if best is None else np.array(best.x),
            fun=fun,
            nfev=sum(t.state is not State.PENDING and t.reason.source is not Source.KNOWN for t in self._ledger.trials),
            nit=sum(t.reason.source not in NO_PROPOSAL for t in self._ledger.trials),
            success=best is not None,
            status=NOTHING_TOLD if best is None else SO_FAR,
            message=self._nothing_told() if best is None else "Best so far",
            params=None if best is None else best.params,
            x_iters=np.array([t.x for t in told]).reshape(len(told), len(self.space.names)),
            func_vals=y,
            history=self.history,
            local_minima=self._local_minima() if told else (),
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
        best = min(self._told(), key=_value, default=None)
        if best is None:
            return Incumbent(None, None, 0.0)
        history = believable(self._ledger.history(), MOST)
        noisy = least_mean(history, MOST)
        if noisy is None:
            return Incumbent(best, best.value, Noise.of(history).level)
        return Incumbent(self._ledger.trials[noisy[0]], *noisy[1:])

    def _nothing_told(self) -> str:
        errors = [t.error.strip().splitlines()[-1] for t in self._ledger.trials if t.error and t.error.strip()]
        return "No evaluation has given a finite value" + (f" (the last error: {errors[-1]})" if errors else "")

    def _ask(self) -> Trial:
        with one_blas_thread(), self._lock:
            history = self._ledger.history()
            noisy = bool(history.told.any()) and Noise.of(believable(history, MOST)).modelled
            seen = history.pending if noisy else np.vstack([history.X, history.pending])  # noisy ones are repeated
            if self._exhausted(seen):
                raise SpaceExhausted(
                    f"all {self.space.cardinality} points of the space have been asked, there is no other; "
                    "tell those that are out and take the result, or make the space larger"
                )
            point, reason = self.method.propose(history, self.seed, self._memory)
            point, reason = self._distinct(self.space.snap(point), reason, seen, history.n_asked)
            params = self.space.decode(point)
            return self._record(params, self.space.encode(params), reason)  # the same to the last bit

    def _give(self, params: Any, source: Source) -> Trial:
        """A trial at a point of the user's, kept as it was given, to the last bit."""
        return self._record(self.space.check(params), self.space.encode(params), Reason(source))

    def _exhausted(self, seen: Matrix) -> bool:
        """Whether each point of a finite space is among those seen."""
        n = self.space.cardinality
        return n is not None and n <= len(seen) and n <= len({p.tobytes() for p in seen})

    def _distinct(self, point: Vector, reason: Reason, seen: Matrix, n_asked: int) -> tuple[Vector, Reason]:
        """The proposal, or a point far from all others if rounding in the user's units has made it one seen before."""
        if not _is_row(point, seen):
            return point, reason
        # Length-scale, closed regions and the step, which counts as a failure, are part of the history. So is a repeat
        # that floats have no room for.
        source = reason.source if reason.source is Source.REPEAT else Source.EXPLORE
        reason = dataclasses.replace(reason, source=source, acquisition=None, mean=None, spread=None, region=None)
        return self._another(seen, generator(self.seed, n_asked)), reason

    def _another(self, seen: Matrix, rng: np.random.Generator) -> Vector:
        """A point that is far from those seen; where floats leave no other, one of them."""
        n = self.space.cardinality
        if n is not None and n <= ENUMERATED:
            left = [p for p in map(self.space.point, range(n)) if not _is_row(p, seen)]
            return left[np.argmax(np.min(cdist(left, seen), axis=1))]
        for _ in range(RESPACE_TRIES):
            point = self.space.snap(far_from(seen, self.space.dimension, rng))
            if not _is_row(point, seen):
                return point
        if n is not None:  # of one more than were seen, one is new
            first = int(rng.integers(min(n, 2**62)))
            row = (self.space.point((first + k) % n) for k in range(len(seen) + 1))
            return next(p for p in row if not _is_row(p, seen))
        return point

    def _record(self, params: Params, point: Vector, reason: Reason) -> Trial:
        with self._lock:
            trial = Trial(len(self._ledger.trials), params, self.space.as_array(params), point, reason)
            self._ledger.write(trial)
        return trial

    def _check(self, value: Any, noise: Any, constraints: Any) -> Evaluation:
        """What is told, in proper types, if it is in order."""
        told = Evaluation(_check_value(value), _check_noise(noise), _check_constraints(constraints))
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

    def _local_minima(self) -> tuple[LocalMinimum, ...]:
        if not np.all(self.space.ordered):
            return ()  # a quadratic across options means nothing
        history = believable(self._ledger.history(), MOST)
        X, y = history.X[history.told], history.y[history.told]
        scale = Scale.of(y)  # squares of values around 1e155 overflow
        minima = [self._finished(self._in_units(m, scale), m, scale) for m in local_minima(X, scale(y))]
        if Noise.of(history).level > 0:
            minima = [dataclasses.replace(m, converged=False) for m in minima]
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
