"""Roughness: values that are exact, but scatter like noise from point to point.

A simulation on a mesh or with adaptive steps, or one that draws its random numbers from a fixed seed, returns the same
value at the same point, but its values jump between neighbours. A model that interpolates them follows the jumps: its
steps fail, and its region shrinks although the trend goes on. A model with noise follows the trend.

Values around the lowest one tell the scatter e: the std of the noise in the Taylor model that explains them best, if
that gains ``MIN_GAIN`` nats of evidence over the model that interpolates. Kinks, cliffs and narrow ripples look the
same there. What tells them apart are the values beside a point: with y_0 at c and y_-, y_+ at c - s and c + s, where s
is far shorter than the region of c, the jump

    min(|y_- - y_0|, |y_+ - y_0|, |y_- - 2 y_0 + y_+| / 2)

is about e where values are rough; it is of order |s|^2 on a smooth function, of order |s| on a kink, and 0 at a cliff,
which has c and one of the others on the same side. The default method evaluates such points
(``methods/default/probe.py``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dale._arrays import Matrix, Vector
from dale.history.recommendation import MAX_DEGREE, NoisyData, smallest_region
from dale.history.trial import Trial, TrialState
from dale.models.ellipsoid import Ellipsoid
from dale.models.monomials import n_terms
from dale.models.series import Noise
from dale.models.taylor import TaylorModel

MIN_GAIN = 6.0  # log evidence that a model with noise gains over one that interpolates
MORE_POINTS = 3  # than the terms of a quadratic; of fewer, the noise is unknown
JUMPS = 0.03, 5.0  # of rough values, in units of the scatter


def scatter(X: Matrix, z: Vector, trials: Sequence[Trial]) -> float:
    """Std of the noise that explains values z (n,) around the lowest one; 0 where a model explains them without."""
    data = NoisyData.of(X, z)
    row = int(data.first[np.argmin(data.z)])
    frame = Ellipsoid(X[row], *smallest_region(X[row], trials))
    near = data.nearest(frame)
    if len(near) < n_terms(X.shape[1], 2) + MORE_POINTS:
        return 0.0
    value = float(data.z[row])
    exact = TaylorModel.fit(frame, X[near], data.z[near], value)
    noise = Noise(np.ones(len(near)))
    noisy = TaylorModel.fit(frame, X[near], data.z[near], value, max_degree=MAX_DEGREE, noise=noise)
    return noisy.noise_at_center if noisy.loss < exact.loss - MIN_GAIN else 0.0


def proved_scatter(trials: Sequence[Trial]) -> float:
    """The scatter that two probes beside a trial have last proved; 0 if none have."""
    probes: dict[int, list[Trial]] = {}
    for trial in trials:
        center = trial.reason.probe_of
        if center is not None and trial.state is TrialState.COMPLETE:
            probes.setdefault(center, []).append(trial)
    pairs = [(trials[center], beside) for center, beside in probes.items() if len(beside) == 2]
    return next(
        (beside[0].reason.scatter or 0.0 for center, beside in reversed(pairs) if _is_rough(center, beside)), 0.0
    )


def _is_rough(center: Trial, probes: Sequence[Trial]) -> bool:
    """Whether the values of two probes differ from that of their center as its scatter makes them."""
    if center.state is not TrialState.COMPLETE:
        return False
    one, other = (probe.loss - center.loss for probe in probes)
    jump = min(abs(one), abs(other), abs(one + other) / 2)
    return _is_scatter(jump, probes[0])


def refutes_roughness(center: Trial, probe: Trial) -> bool:
    """Whether one probe alone shows that values do not scatter as they should: they are smooth, or there is a cliff."""
    return center.state is not TrialState.COMPLETE or not _is_scatter(abs(probe.loss - center.loss), probe)


def _is_scatter(jump: float, probe: Trial) -> bool:
    """Whether a jump is of the size of the scatter that a probe was to test."""
    scatter = probe.reason.scatter or 0.0
    return JUMPS[0] * scatter < jump < JUMPS[1] * scatter
