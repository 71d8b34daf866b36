"""dale as a method of ``scipy.optimize.minimize``: ``minimize(fun, x0, method=dale.scipy_method, bounds=...)``.

SciPy calls a method of the user's with everything that it was given itself, before it converts bounds and constraints:
https://docs.scipy.org/doc/scipy/reference/generated/scipy.optimize.minimize.html, "Custom minimizers".
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint, OptimizeResult, OptimizeWarning

from dale._arrays import Vector
from dale.history.result import Result
from dale.minimize import minimize
from dale.space.equalities import BY_HAND

BUDGET_PER_VARIABLE = 20  # evaluations by default, for each variable and one more
PASSED_ON = frozenset(  # options that are arguments of dale.minimize
    {"seed", "method", "target", "noise", "time_limit", "tolerance", "stopping"}
    | {"n_parallel", "executor", "timeout", "store", "progress"}
)


def scipy_method(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    bounds: Any = None,
    constraints: Any = (),
    callback: Callable[..., Any] | None = None,
    tol: float | None = None,
    **options: Any,
) -> Result:
    """The method argument of ``scipy.optimize.minimize``.

    Args:
        fun: The objective, called as ``fun(x, *args)``.
        x0: Evaluated first; moved into the bounds if it is outside.
        args: More arguments of the objective.
        bounds: A ``scipy.optimize.Bounds`` or pairs (low, high), all of them finite.
        constraints: Input constraints: ``LinearConstraint``, ``NonlinearConstraint`` or dictionaries of type "ineq".
            They are evaluated far more often than the objective.
        callback: Called after each evaluation as ``callback(intermediate_result=...)`` if that is the name of its only
            parameter, else with the best point. ``StopIteration`` stops.
        tol: Expected improvement, in units of the objective, that is not worth another evaluation.
        options: ``budget``, the number of evaluations (else ``maxfev`` or ``maxiter``, else 20 for each variable and 20
            more); ``disp`` for a progress bar; and the arguments ``seed``, ``method``, ``target``, ``noise``,
            ``time_limit``, ``stopping``, ``n_parallel``, ``executor``, ``timeout`` and ``store`` of ``dale.minimize``.

    Examples:
        >>> import dale
        >>> from scipy.optimize import minimize, rosen
        >>> result = minimize(rosen, [0, 0], method=dale.scipy_method, bounds=[(-2, 2)] * 2, options={"seed": 0})
        >>> bool(result.fun < 1e-6), result.nfev
        (True, 60)
    """
    pairs = _pairs(bounds, len(np.atleast_1d(x0)))
    _warn_about_ignored(options)
    known = {name: options[name] for name in PASSED_ON if name in options}
    known.setdefault("tolerance", tol)
    known.setdefault("progress", None if options.get("disp") else False)
    budget = next((options[name] for name in ("budget", "maxfev", "maxiter") if options.get(name) is not None), None)
    result: Result = minimize(
        _WithArguments(fun, args) if args else fun,
        pairs,
        budget=BUDGET_PER_VARIABLE * (len(pairs) + 1) if budget is None else budget,
        x0=_within(x0, pairs),
        constraints=_constraints(constraints),
        callback=None if callback is None else _as_dale_callback(callback),
        **known,
    )
    return result


@dataclass(frozen=True)
class _WithArguments:
    """The objective with its further arguments; unlike a lambda, it can be sent to another process."""

    fun: Callable[..., Any]
    args: tuple[Any, ...]

    def __call__(self, x: Vector) -> Any:
        return self.fun(x, *self.args)


@dataclass(frozen=True)
class _AtMostZero:
    """SciPy's inequality fun(x) >= 0 as dale takes it."""

    fun: Callable[..., Any]
    args: tuple[Any, ...]

    def __call__(self, x: Vector) -> Vector:
        return -np.atleast_1d(np.asarray(self.fun(x, *self.args), dtype=float))


def _pairs(bounds: Any, n: int) -> list[tuple[float, float]]:
    """Finite bounds of n variables."""
    what_to_give = "; give the widest range in which the objective can be evaluated, such as bounds=[(-5, 10), (0, 15)]"
    if bounds is None:
        raise ValueError(f"dale searches within bounds, got none{what_to_give}")
    if isinstance(bounds, Bounds):
        lower, upper = (np.broadcast_to(side, n).tolist() for side in (bounds.lb, bounds.ub))
        bounds = list(zip(lower, upper, strict=True))
    pairs = [tuple(pair) for pair in bounds]
    if len(pairs) != n or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"expected a pair (low, high) for each of {n} variables, got {bounds!r}")
    for i, (low, high) in enumerate(pairs):
        if low is None or high is None or not math.isfinite(low) or not math.isfinite(high):
            raise ValueError(f"variable {i}: expected finite bounds, got ({low!r}, {high!r}){what_to_give}")
    return [(float(low), float(high)) for low, high in pairs]


def _within(x0: Any, pairs: Sequence[tuple[float, float]]) -> Vector:
    x0 = np.atleast_1d(np.asarray(x0, dtype=float)).ravel()
    inside = np.clip(x0, *np.array(pairs).T)
    if not np.array_equal(inside, x0):
        warnings.warn(
            "x0 is outside the bounds and was moved to the nearest point inside", OptimizeWarning, stacklevel=5
        )
    return inside


def _constraints(constraints: Any) -> list[Any] | None:
    """Constraints of any of SciPy's kinds, as ``dale.minimize`` takes them."""
    single = isinstance(constraints, Mapping | LinearConstraint | NonlinearConstraint)
    found = [constraints] if single else list(constraints or ())
    return [_from_dictionary(c) if isinstance(c, Mapping) else c for c in found] or None


def _from_dictionary(constraint: Mapping[str, Any]) -> _AtMostZero:
    kind = str(constraint.get("type", "")).lower()
    if kind != "ineq" or not callable(constraint.get("fun")):
        raise ValueError(
            'expected constraints as {"type": "ineq", "fun": ...}, LinearConstraint or NonlinearConstraint, got '
            f"{dict(constraint)!r}"
            + (f"; for a linear equality use LinearConstraint, for another one {BY_HAND}" if kind == "eq" else "")
        )
    return _AtMostZero(constraint["fun"], tuple(constraint.get("args", ())))


def _as_dale_callback(callback: Callable[..., Any]) -> Callable[[Result], None]:
    """A callback of SciPy's as dale calls it; not called before there is a value."""
    takes_result = set(signature(callback).parameters) == {"intermediate_result"}

    def call(result: Result) -> None:
        if result.x is not None:
            if takes_result:
                callback(intermediate_result=OptimizeResult(x=result.x, fun=result.fun, nfev=result.nfev))
            else:
                callback(np.copy(result.x))

    return call


def _warn_about_ignored(options: Mapping[str, Any]) -> None:
    """As SciPy does: for derivatives, and for options that no part of dale takes."""
    for name in ("jac", "hess", "hessp"):
        if options.get(name) is not None:
            warnings.warn(f"dale uses no derivatives ({name})", RuntimeWarning, stacklevel=5)
    taken = {*PASSED_ON, "budget", "maxfev", "maxiter", "disp", "jac", "hess", "hessp"}
    unknown = sorted(options.keys() - taken)
    if unknown:
        warnings.warn(f"unknown options: {', '.join(unknown)}", OptimizeWarning, stacklevel=5)
