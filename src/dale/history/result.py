"""The result of a run: SciPy's ``OptimizeResult`` with what dale knows beyond it."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from dale._arrays import Matrix, Vector
from dale._views import Viewable, short_advice
from dale.history.direction import Direction
from dale.history.failures import describe_failures, exception_line
from dale.history.local_minimum import LocalMinimum
from dale.history.reason import Source
from dale.history.snapshot import Snapshot
from dale.history.stopping import Status
from dale.history.trial import Trial, TrialState
from dale.history.trial_table import Tabular
from dale.space.point import format_point
from dale.space.space import Space

VIEWS = tuple(name for name in vars(Viewable) if not name.startswith("_"))  # methods
MAX_TIMES = 4  # as many evaluations as were made: beyond that, no number is stated
NOT_PROPOSED = (Source.ADDED, Source.USER, Source.INITIAL_DESIGN)


class Result(Viewable, Tabular, OptimizeResult):
    """SciPy's ``OptimizeResult`` with what dale knows beyond it.

    Attributes:
        x: Best feasible point, as an array in the user's units. If there is none, ``x``, ``fun`` and ``params`` are
            None, and ``success`` is False.
        fun: Value there; where values are noisy, the posterior mean.
        nfev: Number of evaluations; values that the user added are not counted.
        nit: Number of proposals after the initial design.
        success: Whether the run ended as planned.
        status: How it ended, a ``dale.Status``.
        message: The same in words.
        params: Best point as the objective takes it.
        x_iters: All points with a value, (n, d), in the user's units.
        func_vals: All values, (n,).
        history: Every trial with the reason it was chosen for.
        n_failed: Number of failed trials; ``print(result)`` counts them by kind.
        local_minima: The local minima that the observations show, best first; local maxima if the objective is
            maximised. None in a space with unordered choices or conditional parameters. Computed when first read; until
            then it is not among ``keys()``.
        noise: Standard deviation of the noise in the values, as specified or as detected; 0 where there is none. Where
            it varies, that at the best point.
        roughness: Standard deviation by which values scatter around a smooth function, although they are exact, as
            those of a simulation on a mesh, or with a fixed random seed; 0 unless probes prove it.
        specified_noise: The ``noise=`` of the run; None for ``"auto"``.
        fun_std: Standard deviation of ``fun``, which is the mean of a model where values are noisy; 0 otherwise.
        model_difference: The part of ``fun_std`` that the local and the global model of noisy values differ by, beyond
            the std of the global one; 0 otherwise.
        space: The search space.
        seed: The seed that gives the same run again.
        direction: Whether the objective is minimised or maximised.
        fixed: Values of the parameters that are held, by name; only if there are any.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: (x[0] - 1) ** 2, [(-2, 2)], budget=8, seed=0)
        >>> result.nfev, result.status, bool(abs(result.x[0] - 1) < 1e-6)
        (8, <Status.BUDGET_SPENT: 0>, True)
    """

    # Typed as they are where there is a result, so that result.x[0] and result.fun + 1 need no assertion. Without one,
    # success is False, and these three are None.
    x: Vector
    fun: float
    nfev: int
    nit: int
    success: bool
    status: Status
    message: str
    params: Any
    x_iters: Matrix
    func_vals: Vector
    history: tuple[Trial, ...]
    n_failed: int
    noise: float
    roughness: float
    specified_noise: float | None
    fun_std: float
    model_difference: float
    space: Space
    seed: int
    direction: Direction

    @classmethod
    def of(cls, snapshot: Snapshot, seed: int) -> Result:
        """What is known at one state of a run."""
        history = snapshot.history
        incumbent = snapshot.incumbent
        best = incumbent.trial
        status = _status(snapshot)
        complete = history.complete
        result = cls(
            x=None if best is None else np.array(best.x),
            fun=incumbent.value,
            nfev=history.n_evaluated,
            nit=sum(t.reason.source not in NOT_PROPOSED and t.reason.retry_of is None for t in history.trials),
            success=best is not None,
            status=status,
            message=_message(status, snapshot),
            params=None if best is None else best.params,
            x_iters=np.array([t.x for t in complete]).reshape(len(complete), len(snapshot.domain.space.names)),
            func_vals=np.array([t.value for t in complete], dtype=float),
            history=history.trials,
            n_failed=sum(t.state is TrialState.FAILED for t in history.trials),
            noise=incumbent.noise,
            roughness=history.observations.roughness,
            specified_noise=None if math.isnan(history.default_noise) else history.default_noise,
            fun_std=incumbent.std,
            model_difference=incumbent.difference,
            space=snapshot.domain.space,
            seed=seed,
            direction=history.direction,
        )
        if snapshot.domain.held is not None:
            result["fixed"] = dict(snapshot.domain.held.values)
        object.__setattr__(result, "_snapshot", snapshot)
        return result

    @property
    def local_minima(self) -> tuple[LocalMinimum, ...]:
        """The local minima that the observations show, best first; local maxima if the objective is maximised."""
        minima: tuple[LocalMinimum, ...] = self["local_minima"]
        return minima

    @local_minima.setter
    def local_minima(self, minima: tuple[LocalMinimum, ...]) -> None:
        self["local_minima"] = minima

    def __missing__(self, key: str) -> Any:
        snapshot: Snapshot | None = self.__dict__.get("_snapshot")
        if key != "local_minima" or snapshot is None:
            raise KeyError(key)
        self["local_minima"] = snapshot.local_minima
        return self["local_minima"]

    def __dir__(self) -> list[str]:
        return sorted({*self, *VIEWS, "local_minima", "to_csv", "to_frame"})  # local_minima: not computed yet

    def __copy__(self) -> Result:
        return self._with_snapshot(dict(self))

    def copy(self) -> Result:
        """A shallow copy."""
        return copy.copy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Result:
        for trial in self.get("history", ()):  # frozen, so they are shared
            memo[id(trial)], memo[id(trial.params)] = trial, trial.params
        return self._with_snapshot(copy.deepcopy(dict(self), memo))

    def _with_snapshot(self, values: dict[str, Any]) -> Result:
        """Another result of the same state, which is frozen: so it knows constraints that are code."""
        other = type(self)(values)
        if "_snapshot" in self.__dict__:
            object.__setattr__(other, "_snapshot", self.__dict__["_snapshot"])
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        if "_snapshot" in self.__dict__:
            _ = self.local_minima  # a pickle has no snapshot to compute them from
        return type(self), (dict(self),)

    def __str__(self) -> str:
        lines = [f"{self.message} after {self.nfev} evaluations"]
        if self.params is not None:
            noise = f" (values there have noise of {self.noise:.2g})" if self.noise else ""
            lines.append(f"best value  {with_std(self.fun, self.get('fun_std', 0.0))}{noise}")
            if self.get("fun_std"):
                lines.append(f"            {_error(self)}")
            lines.append(f"best point  {format_point(self.params)}")
        if self.get("roughness"):
            lines.append(f"roughness   {self.roughness:.2g}: standard deviation of exact values around the models")
        if self.get("fixed"):
            lines.append(f"{'held':<11} {format_point(self.fixed)}")
        for k, m in enumerate(self.local_minima, 1):
            lines.append(
                f"{m.direction.optimum} {k}   {m.fun:.6g} ± {m.error:.1g} at {format_point(m.params)}, "
                f"condition {m.condition:.3g}, {'converged' if m.converged else 'not converged'}"
            )
        for i, line in enumerate(describe_failures(self.get("history", ()))):
            lines.append(f"{'' if i else 'failed':<11} {line}")
        if "_snapshot" in self.__dict__:
            lines += short_advice(self)
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<dale.Result: {self!s}>"


def with_std(value: float, std: float, digits: int = 10) -> str:
    """A value and its standard deviation, if that is not 0.

    The value has at most ``digits`` significant digits, and none beyond the second one of the standard deviation.
    """
    if not std > 0:
        return f"{value:.{digits}g}"
    if value != 0:
        leading = math.floor(math.log10(abs(value))) - math.floor(math.log10(std))
        digits = min(max(leading + 2, 1), digits)
    return f"{value:.{digits}g} ± {std:.2g}"


def _error(result: Result) -> str:
    """What reduces the standard deviation of a mean: three times as many evaluations as those that gave it halve it.

    This is true of the part that is no difference of models.
    """
    std, difference = float(result.fun_std), float(result.get("model_difference", 0.0))
    statistical = std * math.sqrt(max(1 - (difference / std) ** 2, 0.0))
    if difference > statistical:
        return f"most of this error is what the local and the global model differ by there, {difference:.2g}"
    most = MAX_TIMES * len(result.func_vals)
    if result.noise > math.sqrt(most / 3) * statistical:
        return f"more than {most} more evaluations near the best point would halve this error"
    n = max(math.ceil(3 * (result.noise / statistical) ** 2), 1)
    return f"about {n} more evaluation{'s' if n > 1 else ''} near the best point would halve this error"


def _status(snapshot: Snapshot) -> Status:
    if snapshot.incumbent.trial is not None:
        return Status.IN_PROGRESS
    contains = snapshot.domain.contains
    has_value = any(contains(t.unit_x[None, :])[0] for t in snapshot.history.complete)  # with the values that are held
    return Status.NO_FEASIBLE if has_value else Status.NO_VALUE


def _message(status: Status, snapshot: Snapshot) -> str:
    held, history = snapshot.domain.held, snapshot.history
    if status is not Status.NO_VALUE:
        return status.message
    if held is not None and history.complete:
        return f"No evaluation with the held values {held} has returned a finite value; those with other values have"
    return status.message + _last_error(history.trials)


def _last_error(trials: tuple[Trial, ...]) -> str:
    errors = [exception_line(t.error) for t in trials if t.error and t.error.strip()]
    return f" (the last error: {errors[-1]})" if errors else ""
