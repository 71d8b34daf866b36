"""How much more the next evaluations are expected to gain: from the models, and from what benchmark runs have shown.

*Near the best point* the Taylor model (``local_model.py``) predicts a reduction g within a tenth of its radius. Of a
sequence of local steps, the first ones gain most. With w the range of the better three quarters of the values,

    local(n) = log(1 + n) / 2 * g / (1 + 4 g / w).

The denominator is there because reductions of the size of w are not kept. Where no Taylor model can be fitted, because
values are noisy, parameters are not continuous or observations are few, g is the reduction that the surrogate of the
plots (``surrogate.py``) predicts at new points.

*Elsewhere*, models are poor judges of what they have not seen. In benchmark runs, evaluations that were no local steps
led to a better basin at a rate that fell like 1 / k with their number k, as records of a random sequence do, and the
new basin was lower by a typical fraction of w:

    chance(n) = 1 - exp(-RATE log(1 + n / k)),   gain(n) = local(n) + chance(n) * SIZE w.

The constants come from runs on 20 functions with other seeds than those of the published calibration
(docs/benchmarks.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dale._arrays import Matrix
from dale._computing import computing
from dale.acquisition.feasibility import log_completes
from dale.history.evaluation import check_count
from dale.history.minima import MIN_RELATIVE_REDUCTION, minimiser
from dale.history.trial import Trial
from dale.models.taylor import TaylorModel
from dale.view.data.landscape import probability_of_feasibility
from dale.view.local_model import local_model
from dale.view.run_view import RunView, view_of

HORIZONS = (10, 50)  # numbers of evaluations of an outlook
REACH = 0.1  # of the local model, in its radii
STEPS = 0.5  # gain of n local steps: this times log(1 + n), in units of the predicted reduction
SATURATION = 4.0  # of reductions that are not small in comparison with w
RATE = 0.1  # of better basins, for each factor e in the number of evaluations that were no local steps
SIZE = 0.3  # gain by a better basin, in units of w
N_CANDIDATES = 256  # points at which the reduction is predicted, of each kind
PATH = np.linspace(0.1, 1.0, 10)  # and along the path to the minimum of the model
MIN_PROBABILITY = 0.5  # of being feasible, and of completing, for a point to count
MIN_VALUES = 2  # beyond the number of parameters: fewer values say nothing


@dataclass(frozen=True)
class Forecast:
    """How much the next evaluations are expected to improve the best value.

    Attributes:
        n: Number of evaluations.
        gain: Expected improvement of the best value, in units of the objective.
        local: The part of it that is expected near the best point.
        chance: Probability of a better basin elsewhere.
    """

    n: int
    gain: float
    local: float
    chance: float

    def __str__(self) -> str:
        what = "evaluation is" if self.n == 1 else f"{self.n} evaluations are"
        return (
            f"The next {what} expected to gain {self.near} near the best point; "
            f"the chance of a better basin elsewhere is {100 * self.chance:.2g} %."
        )

    @property
    def near(self) -> str:
        """The part near the best point as text."""
        return f"{self.local:.2g}" if self.local > 0 else "nothing"


@dataclass(frozen=True)
class Outlook:
    """What the next evaluations are expected to gain.

    Attributes:
        forecasts: For several numbers of evaluations.
    """

    forecasts: tuple[Forecast, ...]

    def __str__(self) -> str:
        def of_each(texts: Iterable[str]) -> str:
            first, *others = texts
            return f"{first} ({', '.join(others)})"

        n, near = of_each(str(f.n) for f in self.forecasts), of_each(f.near for f in self.forecasts)
        chance = of_each(f"{100 * f.chance:.2g} %" for f in self.forecasts)
        return (
            f"The next {n} evaluations are expected to gain {near} near the best point; chance of a better basin "
            f"elsewhere: {chance}."
        )


@computing()
def forecast(run: Any, n: int = 10, space: Any = None) -> Forecast:
    """How much the next n evaluations are expected to improve the best value.

    Args:
        run: A result, an optimizer, a stored run or the path of a store.
        n: Number of evaluations.
        space: Search space; needed only for a result that does not know it.

    Raises:
        ValueError: There are too few values, or none is feasible.

    Examples:
        >>> import dale
        >>> from dale.view import forecast
        >>> result = dale.minimize(lambda x: (x[0] - 1) ** 2 + x[1] ** 2, [(-2, 2)] * 2, budget=16, seed=0)
        >>> forecast(result, 10).local < 1e-9
        True
    """
    view = view_of(run, space)
    check_count(n, "n", "a positive integer")
    needed = _n_needed(view)
    if view.best is None or len(view.values) < needed:
        what = f"{needed} values" if len(view.values) < needed else "a feasible value"
        raise ValueError(f"a forecast needs {what}, got {len(view.values)} values; evaluate more points first")
    return _forecasts(view, view.best, (n,))[0]


def _forecasts(view: RunView, best: Trial, numbers: Sequence[int]) -> tuple[Forecast, ...]:
    """The forecasts of several numbers of evaluations, from one look at the models."""
    losses = view.losses
    width = float(np.quantile(losses, 0.75)) - float(np.min(losses))  # huge values say nothing
    if view.snapshot.is_exhausted or not width > 0:
        return tuple(Forecast(n, 0.0, 0.0, 0.0) for n in numbers)
    reduction = _reduction(view, best)
    step = STEPS * reduction / (1 + SATURATION * reduction / width)
    k = max(sum(t.reason.step is None for t in view.finished), 1)
    found = []
    for n in numbers:
        local, chance = math.log1p(n) * step, -math.expm1(-RATE * math.log1p(n / k))
        found.append(Forecast(n, local + chance * SIZE * width, local, chance))
    return tuple(found)


def outlook(view: RunView) -> list[Outlook]:
    """The forecasts that belong to a summary; none while there are too few values, or if the space is exhausted."""
    if view.best is None or len(view.values) < _n_needed(view) or view.snapshot.is_exhausted:
        return []
    return [Outlook(_forecasts(view, view.best, HORIZONS))]


def _n_needed(view: RunView) -> int:
    """Number of values that a forecast needs."""
    return view.snapshot.domain.n_parameters + MIN_VALUES


def _reduction(view: RunView, best: Trial) -> float:
    """The predicted reduction of the best value near it, in units of the objective."""
    model = local_model(view, best) if view.snapshot.domain.is_continuous else None
    if model is None:
        return _reduction_of_surrogate(view, best)
    X = _possible(view, _near_center(model))
    reduction = -float(np.min(model.predict(model.frame.to_local(X)).mean, initial=0.0))
    return view.observations.standardize.inverse_scale(reduction) if reduction > MIN_RELATIVE_REDUCTION else 0.0


def _near_center(model: TaylorModel) -> Matrix:
    """Points of the cube within reach of a local model: at random, and on the path to its minimum, (m, d)."""
    rng, d = np.random.default_rng(0), len(model.center)
    directions = rng.standard_normal((N_CANDIDATES, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    anywhere = REACH * directions * rng.random((N_CANDIDATES, 1)) ** (1 / d)
    Z = np.vstack([anywhere, PATH[:, None] * minimiser(model, REACH)])
    return np.clip(model.frame.to_cube(Z), 0.0, 1.0)


def _reduction_of_surrogate(view: RunView, best: Trial) -> float:
    """The predicted reduction at new points: anywhere, and near the best one in some coordinates."""
    rng, domain, d = np.random.default_rng(0), view.snapshot.domain, len(best.unit_x)
    anywhere = rng.random((N_CANDIDATES, d))
    near = np.clip(best.unit_x + REACH * rng.standard_normal((N_CANDIDATES, d)), 0.0, 1.0)
    some = np.where(rng.random((N_CANDIDATES, d)) < 1 / max(d, 1), anywhere, best.unit_x)
    X = _possible(view, domain.snap(np.vstack([anywhere, near, some])))
    if not view.is_noisy:
        X = X[[domain.is_new(x, view.snapshot.history.seen) for x in X]]
    if not len(X):
        return 0.0
    losses = view.direction.loss(view.surrogate.mean(np.vstack([best.unit_x, X])))
    return max(float(losses[0] - np.min(losses[1:])), 0.0)


def _possible(view: RunView, X: Matrix) -> Matrix:
    """Those of the points (m, d) that are allowed and probably feasible, and whose evaluation probably completes."""
    X = X[view.snapshot.domain.allowed(X)]
    feasible = probability_of_feasibility(view, X) if len(X) else np.zeros(0)
    if len(feasible):
        X = X[feasible >= MIN_PROBABILITY]
    failures = view.snapshot.failures
    return X if failures is None or not len(X) else X[log_completes(failures, X) >= math.log(MIN_PROBABILITY)]
