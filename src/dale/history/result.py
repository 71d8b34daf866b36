"""TODO docstring."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.optimize import OptimizeResult

from dale._arrays import Matrix, Vector
from dale.history.trial import Trial
from dale.space.point import Params, format_point


@dataclass(frozen=True, eq=False)
class LocalMinimum:
    """A minimum that the data show: a quadratic fitted to the observations around it (Def. 1 of the paper).

    Where a local model of the method has converged, ``x`` and ``fun`` are the observation that it ended at.

    Attributes:
        x: Where the quadratic is smallest, as an array in the user's units.
        params: The same as the objective takes it.
        fun: Predicted minimum.
        error: How far off it may be: the leave-one-out error of the quadratic.
        hessian: Second derivatives there, in the user's units: how sharp the minimum is. NaN where a parameter is fixed
            or a choice.
        condition: Ratio of the largest to the smallest hessian in the unit cube: how narrow the valley is.
        radius: Radius of the region in the unit cube.
        n_points: Observations in the region.
        converged: Whether nothing is left to gain here: a local model of the method has converged, or the best
            observation is as good as the predicted minimum, and the prediction that sure, to within 1e-9 of the range
            of the better three quarters of all observations.
    """

    x: Vector
    params: Params
    fun: float
    error: float
    hessian: Matrix
    condition: float
    radius: float
    n_points: int
    converged: bool


class Result(OptimizeResult):
    """SciPy's ``OptimizeResult`` with what dale knows beyond it.

    Attributes:
        x: Best feasible point, as an array in the user's units.
        fun: Value there; where values are noisy, what it is believed to be without the noise.
        nfev: Number of evaluations, not counting values that were known before.
        nit: Number of proposals beyond the initial design.
        success: Whether the run ended as planned.
        status: 0 budget spent, 1 target reached, 2 stopped by the callback, Ctrl-C or SIGTERM, 3 no finite value seen,
            4 every point of a finite space evaluated, 5 time limit reached, 6 converged: nothing left promises more
            than the tolerance, 7 no feasible point found, 8 the executor broke, or no more processes could be started.
        message: The same in words.
        params: Best point as the objective takes it.
        x_iters: All told points, (n, d), in the user's units.
        func_vals: All told values, (n,).
        history: Every trial with the reason it was chosen for.
        local_minima: The minima that the data show, best first; none in a space with unordered choices or
            conditional parameters.
        noise: Standard deviation of the noise in the values, as told or as found; 0 where none was found.
        seed: The seed that gives the same run again.
    """

    x: Vector | None
    fun: float | None
    nfev: int
    nit: int
    success: bool
    status: int
    message: str
    params: Params | None
    x_iters: Matrix
    func_vals: Vector
    history: tuple[Trial, ...]
    local_minima: tuple[LocalMinimum, ...]
    noise: float
    seed: int

    def __str__(self) -> str:
        lines = [f"{self.message} after {self.nfev} evaluations"]
        if self.params is not None:
            noise = f" (values have noise of {self.noise:.2g})" if self.noise else ""
            lines.append(f"best value  {self.fun:.10g}{noise}")
            lines.append(f"best point  {format_point(self.params)}")
        for k, m in enumerate(self.local_minima, 1):
            lines.append(
                f"minimum {k}   {m.fun:.6g} ± {m.error:.1g} at {format_point(m.params)}, "
                f"condition {m.condition:.3g}, {'converged' if m.converged else 'not converged'}"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<dale.Result: {self!s}>"
