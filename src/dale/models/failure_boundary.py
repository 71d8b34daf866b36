"""A model of where evaluations fail: the signed distance to the boundary of the failing set, as a Gaussian process.

Let g(x) be the distance of x to the boundary of the set of points whose evaluation fails, negative outside this set.
The slope of a signed distance is 1. For a kernel exp(-|x - x'|^2 / 2 l^2) of variance s2 the mean squared slope is
d s2 / l^2, so s2 = l^2 / d. A completed evaluation says that g(x) <= 0, a failed one that g(x) > 0.

With r the distance of x to the nearest evaluation with the other outcome, which is on the other side of the boundary,
g(x) is in [-r, 0] or in [0, r]. The uniform distribution on this interval has

    mean -r/2 or r/2,    variance r^2 / 12,

and to such observations the length-scale l, which says how curved the boundary is, and the constant prior mean are
fitted. Then expectation propagation replaces them by observations with means m_i and variances v_i that lead to the
moments of the truncated distribution of each g(x_i), given all others (Rasmussen & Williams, sec. 3.6, with a step as
the likelihood). Two close evaluations with different outcomes thus locate the boundary between them, so that it can be
bisected, and a failure that was expected says little.

Failures may also be random. Then no boundary explains them, and the outcomes are more probable under a constant rate of
failure, for which all rates are equally probable before: with f of n evaluations failed,

    p(outcomes | random) = f! (n - f)! / (n + 1)!,    P(completes | random) = (n - f + 1) / (n + 2).

With w the probability that there is a boundary, from p(outcomes | random) and the evidence of the Gaussian process, an
evaluation completes with the probability w P(g(x) <= 0) + (1 - w) P(completes | random).

Most failures depend on few of the coordinates: a program runs out of memory with one setting, whatever the others are.
So the distance is one in the coordinates of a subset S of the d coordinates, the most probable one,

    p(S | outcomes) ~ p(outcomes | S) / C(d, |S|),

where each size of S is equally probable before. The search adds one coordinate after the other while this rises, then
removes some while it rises. The end must be more probable than all coordinates by ``MIN_GAIN``.

A boundary between the values of a discrete parameter cannot be bisected. A cell, the points with equal discrete
coordinates, may fail as a whole. A cell that does not fails with a probability of about 1/8, so that k failures without
a completed evaluation there divide P(g(x) <= 0) by 8^k.

Shapes: X (n, d).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky
from scipy.spatial import cKDTree
from scipy.special import betaln, expit, log_ndtr

from dale._arrays import Matrix, Vector
from dale.models.gaussian_process import GaussianProcess, Prior
from dale.models.kernels.base import StationaryKernel
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.likelihood import log_marginal_likelihood
from dale.models.preprocessing import last_growth

LENGTH_SCALES = tuple(float(l) for l in np.geomspace(0.08, 2.5, 8))  # in units of sqrt(d)
SELECTION_LENGTH_SCALES, SELECTION_SWEEPS = LENGTH_SCALES[2::3], 8  # while coordinates are selected
IRRELEVANT = 1e6  # length-scale of the other coordinates
MIN_GAIN = 3.0  # log probability that some coordinates gain over all: of many subsets, one is better by chance
MAX_SELECTED = 60  # evaluations from which they are selected, evenly spread over the run
MAX_POINTS = 120  # in the model: ...
MAX_NEAREST = 80  # ... those closest to an evaluation with the other outcome, and some of the others, evenly spread
MIN_DISTANCE = 1e-9  # of two points, in sides of the cube
MAX_PRECISION = 1e10  # of an observation, relative to that of the prior: the resolution of the correlation matrix
MIN_PRECISION = 1e-12  # likewise
N_SWEEPS, DAMPING, TOLERANCE = 40, 0.7, 1e-3  # of expectation propagation; tolerance of the precisions
LOG_PRIOR_ODDS = 3.0  # of a boundary against random failures
LOG_CELL = math.log(8)  # by which a failure in a cell without completed evaluations lowers log P there
CELL_DIGITS = 9  # of the coordinates of a cell
LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True, eq=False)
class FailureBoundary:
    """Where evaluations fail.

    Attributes:
        distance: Model of the signed distance g, at most 0 where evaluations complete.
        weight: w, the probability that failures have a boundary.
        rate: Probability that an evaluation completes if failures are random.
        discrete: Which coordinates are discrete, (d,); None if none is.
        failed_cells: Number of failures in each cell in which no evaluation has completed, by its coordinates.

    Examples:
        >>> X = np.linspace(0, 1, 9)[:, None]
        >>> boundary = FailureBoundary.fit(X, X[:, 0] > 0.6)
        >>> boundary.distance.predict(np.array([[0.2], [0.56], [0.9]])).mean < 0
        array([ True,  True, False])
        >>> boundary.weight > 0.9
        True
    """

    distance: GaussianProcess
    weight: float
    rate: float
    discrete: np.ndarray | None = None
    failed_cells: Mapping[bytes, int] = field(default_factory=dict)

    @classmethod
    def fit(cls, X: Matrix, failed: np.ndarray) -> FailureBoundary | None:
        """The model of evaluated points X, of which some (n,) failed; None unless some failed and others completed."""
        n, n_failed = len(X), int(np.sum(failed))
        if n_failed in (0, n):
            return None
        everything, some = np.ones(X.shape[1], dtype=bool), relevant_coordinates(X, failed)
        found = _signs(X, failed, everything, _to_other_outcome(X, failed), LENGTH_SCALES, N_SWEEPS)
        r = _to_other_outcome(X[:, some], failed)
        if not some.all() and np.min(r) >= MIN_DISTANCE:  # later evaluations may contradict the selection
            found = max(found, _signs(X, failed, some, r, LENGTH_SCALES, N_SWEEPS), key=lambda signs: signs.log_odds)
        distance = GaussianProcess.fit(found.kernel, found.X, found.values, found.prior, found.noise)
        weight, rate = float(expit(LOG_PRIOR_ODDS + found.log_odds)), (n - n_failed + 1) / (n + 2)
        return cls(distance, weight, rate)

    @property
    def log_highest(self) -> float:
        """Logarithm of the highest probability that an evaluation completes, anywhere."""
        return math.log(self.weight + (1 - self.weight) * self.rate)

    def with_cells(self, X: Matrix, failed: np.ndarray, discrete: np.ndarray) -> FailureBoundary:
        """The model with the failures in each cell counted, for evaluated points X of which some (n,) failed."""
        if not discrete.any():
            return self
        keys = _cells(X, discrete)
        complete = {key for key, is_failed in zip(keys, failed, strict=True) if not is_failed}
        counts = Counter(key for key in keys if key not in complete)
        return replace(self, discrete=discrete, failed_cells=counts)

    def log_cells(self, A: Matrix) -> Vector:
        """Minus the logarithms by which the cells of points (m, d) divide P(g(x) <= 0), (m,)."""
        if self.discrete is None or not self.failed_cells:
            return np.zeros(len(A))
        return -LOG_CELL * np.array([float(self.failed_cells.get(key, 0)) for key in _cells(A, self.discrete)])


def _cells(A: Matrix, discrete: np.ndarray) -> list[bytes]:
    """The cells of points (m, d), the same for coordinates that differ by rounding errors."""
    return [row.tobytes() for row in np.round(A[:, discrete], CELL_DIGITS) + 0.0]


def relevant_coordinates(X: Matrix, failed: np.ndarray) -> np.ndarray:
    """Which coordinates (d,) tell failed evaluations (n,) from others; all of them unless fewer are more probable.

    They are selected anew whenever the number of evaluations has grown by a tenth (``last_growth``).

    Examples:
        >>> X = np.random.default_rng(0).random((40, 8))
        >>> relevant_coordinates(X, X[:, 1] > 0.6)
        array([False,  True, False, False, False, False, False, False])
    """
    n, d = last_growth(len(X)), X.shape[1]
    use = np.linspace(0, n - 1, min(n, MAX_SELECTED)).astype(int)
    return np.isin(np.arange(d), _selected(X[use].tobytes(), failed[use].tobytes(), d))


@lru_cache(maxsize=16)
def _selected(points: bytes, outcomes: bytes, d: int) -> tuple[int, ...]:
    """The most probable coordinates of n points (n, d), of which some (n,) failed."""
    X, failed = np.frombuffer(points).reshape(-1, d), np.frombuffer(outcomes, dtype=bool)
    everything = tuple(range(d))
    if d == 1 or failed.all() or not failed.any():
        return everything

    def score(these: Sequence[int]) -> tuple[int, float]:
        """How many evaluations do not contradict another one, and the log probability of the coordinates."""
        relevant = np.isin(np.arange(d), these)
        r = _to_other_outcome(X[:, relevant], failed)
        n_contradictions = int(np.sum(r < MIN_DISTANCE))
        if n_contradictions:
            return -n_contradictions, -math.inf
        log_odds = _signs(X, failed, relevant, r, SELECTION_LENGTH_SCALES, SELECTION_SWEEPS).log_odds
        return 0, log_odds - math.log(math.comb(d, len(these)))

    def best_of(subsets: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], tuple[int, float]]:
        scores = {these: score(these) for these in subsets}
        there = max(scores, key=lambda these: scores[these])
        return there, scores[there]

    some, reached = best_of([(j,) for j in everything])
    for change in (1, -1):  # add, then remove: those that were needed at first may not be in the end
        while 0 < len(some) + change < d:
            if change > 0:
                subsets = [(*some, j) for j in everything if j not in some]
            else:
                subsets = [tuple(k for k in some if k != j) for j in some]
            there, found = best_of(subsets)
            if not found > reached:
                break
            some, reached = there, found
    n_right, log_p = score(everything)
    return some if reached > (n_right, log_p + MIN_GAIN) else everything


def _to_other_outcome(Z: Matrix, failed: np.ndarray) -> Vector:
    """Distance of each of n points (n, d) to the nearest one with the other outcome, (n,)."""
    r = np.empty(len(Z))
    r[failed] = cKDTree(Z[~failed]).query(Z[failed])[0]
    r[~failed] = cKDTree(Z[failed]).query(Z[~failed])[0]
    return r


class _Signs(NamedTuple):
    """Observations of the signed distance that stand for the outcomes.

    Attributes:
        kernel: Correlation function of the distance.
        prior: Its mean and variance.
        X: Points, (n, d).
        values: Observed distances, (n,).
        noise: Their variances divided by that of the prior, (n,).
        log_odds: Log odds of this distance against random failures.
    """

    kernel: StationaryKernel
    prior: Prior
    X: Matrix
    values: Vector
    noise: Vector
    log_odds: float


def _signs(
    X: Matrix, failed: np.ndarray, relevant: np.ndarray, r: Vector, length_scales: Sequence[float], n_sweeps: int
) -> _Signs:
    """The signed distance in some coordinates (d,), for distances r (n,) to the nearest other outcome in these."""
    use = np.argsort(r, kind="stable")
    if len(use) > MAX_POINTS:
        others = np.linspace(MAX_NEAREST, len(use) - 1, MAX_POINTS - MAX_NEAREST).astype(int)
        use = np.append(use[:MAX_NEAREST], use[others])
    use = np.sort(use)
    X, r, sign = X[use], np.maximum(r[use], MIN_DISTANCE), np.where(failed[use], 1.0, -1.0)
    values, variances = sign * r / 2, r * r / 12
    d = int(np.sum(relevant))
    models = (_fit(l * math.sqrt(d), relevant, X, values, variances) for l in length_scales)
    best = max(models, key=log_marginal_likelihood)
    kernel, (c, s2) = best.kernel, best.prior
    values, variances, log_evidence = propagate(s2 * kernel(X, X), c, sign, values, variances, n_sweeps)
    n_failed = int(np.sum(sign > 0))
    log_random = float(betaln(n_failed + 1, len(X) - n_failed + 1))
    return _Signs(kernel, best.prior, X, values, variances / s2, log_evidence - log_random)


def _fit(length_scale: float, relevant: np.ndarray, X: Matrix, values: Vector, variances: Vector) -> GaussianProcess:
    """The signed distance at one length-scale of some coordinates (d,), with its most probable prior mean."""
    s2 = length_scale**2 / int(np.sum(relevant))
    each = length_scale if relevant.all() else tuple(np.where(relevant, length_scale, IRRELEVANT).tolist())
    model = GaussianProcess.fit(SquaredExponential(each), X, values, Prior(0.0, s2), variances / s2)
    weights = model.factor.solve(np.ones(len(values)))
    return model.with_prior(Prior(float(weights @ values / weights.sum()), s2))


def propagate(
    K: Matrix, c: float, sign: Vector, values: Vector, variances: Vector, n_sweeps: int = N_SWEEPS
) -> tuple[Vector, Vector, float]:
    """Observations that approximate the signs of a Gaussian process, and the log probability of these signs.

    Args:
        K: Prior covariances, (n, n).
        c: Prior mean.
        sign: 1 where g > 0, -1 where g <= 0, (n,).
        values: Initial means of the observations, (n,).
        variances: Their initial variances, (n,).
        n_sweeps: The number of sweeps at most.

    Returns:
        Means (n,), variances (n,) and the log probability. Where the sweeps do not converge, as those of many close
        points with different outcomes, it is the median of the later ones: that of the last one may be anything.
    """
    highest = MAX_PRECISION / np.diag(K)
    tau, nu = _bounded(1 / variances, values / variances, highest)  # natural parameters
    log_evidences = []
    for _ in range(n_sweeps):
        root = np.sqrt(tau)
        try:
            L = cholesky(np.eye(len(K)) + root[:, None] * K * root, lower=True, check_finite=False)
        except LinAlgError:  # rounding errors: the last observations are good enough
            break
        S = K - K @ (root[:, None] * cho_solve((L, True), root[:, None] * K, check_finite=False))
        v = np.maximum(np.diag(S), np.diag(K) / (2 * MAX_PRECISION))
        m = c + S @ (nu - tau * c)
        # The distribution of g(x_i) given all others, truncated at 0.
        cavity = np.maximum(1 / v - tau, MIN_PRECISION / np.diag(K))
        mean, std = (m / v - nu) / cavity, 1 / np.sqrt(cavity)
        u = sign * mean / std
        ratio = np.exp(-0.5 * u * u - LOG_SQRT_2PI - log_ndtr(u))
        shrunk = np.maximum(1 - ratio * (u + ratio), 1 / MAX_PRECISION)  # of the variance by the truncation
        new_tau = np.maximum(cavity * (1 / shrunk - 1), MIN_PRECISION / np.diag(K))
        new_nu = cavity * (mean + sign * std * ratio) / shrunk - cavity * mean
        log_evidences.append(_log_evidence(L, c, tau, nu, mean, std, float(np.sum(log_ndtr(u)))))
        change = float(np.max(np.abs(new_tau - tau) / (tau + new_tau)))
        tau, nu = _bounded(tau + DAMPING * (new_tau - tau), nu + DAMPING * (new_nu - nu), highest)
        if change < TOLERANCE:
            return nu / tau, 1 / tau, log_evidences[-1]
    later = log_evidences[len(log_evidences) // 2 :]
    return nu / tau, 1 / tau, float(np.median(later)) if later else -math.inf


def _log_evidence(L: Matrix, c: float, tau: Vector, nu: Vector, mean: Vector, std: Vector, log_signs: float) -> float:
    """Eq. 3.65 of Rasmussen & Williams, with a prior mean, for means and stds (n,) of g(x_i) given all others."""
    root, off = np.sqrt(tau), nu / tau - c
    misfit = root * off
    quadratic = float(misfit @ cho_solve((L, True), misfit, check_finite=False))
    total = std**2 + 1 / tau
    return float(
        log_signs
        + 0.5 * np.sum(np.log1p(tau * std**2) + (mean - nu / tau) ** 2 / total)
        - np.sum(np.log(np.diag(L)))
        - 0.5 * quadratic
    )


def _bounded(tau: Vector, nu: Vector, highest: Vector) -> tuple[Vector, Vector]:
    """Natural parameters (n,) with precisions up to a limit (n,) and the same means."""
    factor = np.minimum(highest / tau, 1.0)
    return tau * factor, nu * factor
