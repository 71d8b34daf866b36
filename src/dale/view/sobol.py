"""Which parameters the surrogate varies with: Sobol' indices, the analysis of variance of a function (fANOVA).

With all parameters independent and uniform in the unit cube, the variance of f is a sum over sets S of parameters of
the variance V_S that only these together explain:

    V(E[f | x_S]) = sum of V_T over all T within S.

The main effect of g is V_g / V, the interaction of g and h is V_gh / V, and the total effect of g, which includes all
interactions, is 1 - V(E[f | all but g]) / V.

The mean of the surrogate is c + sum_i w_i prod_g k_g(x_g, x_ig). With a_g = E[k_g(x_g, .)] (n,) and
B_g = E[k_g k_g'] (n, n), averages over the values of parameter g alone,

    V(E[f | x_S]) = w' (prod over S of B_g) * (prod over the others of a_g a_g') w - (w' prod a_g)^2.

Conditions make parameters depend on each other: an inactive one has no effect. There, the indices are estimated from
pairs of points that share some parameters (pick-freeze; Saltelli et al., Comput. Phys. Commun. 181, 2010).

Shapes: n observations, G parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import roots_legendre

from dale._arrays import Matrix, Vector
from dale._computing import computing
from dale.optim.sampling import sobol
from dale.space.held import Held
from dale.space.parameter import Parameter
from dale.space.space import Space
from dale.view.surrogate import PlotSurrogate

N_NODES = 24  # of the Gauss-Legendre quadrature along a continuous coordinate
N_VALUES = 64  # a finite parameter with more values is treated as a continuous one
LOG2_SAMPLES = 11  # number of pairs of points, as a power of 2, where parameters depend on each other
MIN_VARIANCE = 1e-12  # of the mean, relative to that of the values: less is a constant


@dataclass(frozen=True, eq=False)
class SobolIndices:
    """Fractions of the variance of the surrogate's mean.

    Attributes:
        main: Explained by each parameter alone, (G,).
        total: Explained by each parameter with all its interactions, (G,).
        pairs: Explained by two parameters together beyond their main effects, (G, G), symmetric; 0 on the diagonal.
    """

    main: Vector
    total: Vector
    pairs: Matrix

    def of(self, rows: Sequence[int]) -> SobolIndices:
        """Those of some of the parameters."""
        return SobolIndices(self.main[rows], self.total[rows], self.pairs[np.ix_(rows, rows)])

    @classmethod
    def zero(cls, G: int) -> SobolIndices:
        """Of a constant."""
        return cls(np.zeros(G), np.zeros(G), np.zeros((G, G)))


@computing()
def sobol_indices(model: PlotSurrogate, space: Space, held: Held | None = None) -> SobolIndices:
    """The indices of a surrogate; those of parameters that are held are 0.

    Examples:
        >>> import dale
        >>> space = dale.Space(a=(0, 1), b=(0, 1))
        >>> X = np.random.default_rng(0).random((60, 2))
        >>> model = PlotSurrogate.fit(X, 2 * X[:, 0] + X[:, 1], space)
        >>> sobol_indices(model, space).main.round(2)
        array([0.8, 0.2])
    """
    return _by_sampling(model, space, held) if space.conditions else _in_closed_form(model, space, held)


def _in_closed_form(model: PlotSurrogate, space: Space, held: Held | None = None) -> SobolIndices:
    G, w = len(model.names), model.weights
    fixed = {g for g, name in enumerate(model.names) if held is not None and name in held.values}
    a, B = [], []
    for g, name in enumerate(model.names):
        nodes, mass = _nodes(space.parameters[name])
        if held is not None and g in fixed:
            nodes, mass = held.point[None, model.groups[g]], np.ones(1)
        k = model.factor_of(g, nodes)
        a.append(mass @ k)
        B.append(k.T @ (mass[:, None] * k))
    outer = [np.outer(m, m) for m in a]
    constant = float(w @ np.prod(a, axis=0)) ** 2

    def variance(kept: set[int]) -> float:
        """V(E[f | x_S])."""
        if kept <= fixed:
            return 0.0  # the difference of two large numbers would leave rounding errors
        product = np.ones((len(w), len(w)))
        for g in range(G):
            product *= B[g] if g in kept else outer[g]
        return max(float(w @ product @ w) - constant, 0.0)

    everything = set(range(G))
    V = variance(everything)
    if V <= MIN_VARIANCE:
        return SobolIndices.zero(G)
    main = np.array([variance({g}) for g in range(G)])
    total = np.array([V - variance(everything - {g}) for g in range(G)])
    pairs = np.zeros((G, G))
    for g, h in combinations(range(G), 2):
        pairs[g, h] = pairs[h, g] = max(variance({g, h}) - main[g] - main[h], 0.0)
    return SobolIndices(main / V, np.maximum(total, main) / V, pairs / V)  # rounding errors aside, total >= main


def _by_sampling(model: PlotSurrogate, space: Space, held: Held | None = None) -> SobolIndices:
    G = len(model.names)
    A, B = np.hsplit(spread_points(LOG2_SAMPLES, 2 * space.dimension), 2)
    if held is not None:
        A, B = held.applied_to(A), held.applied_to(B)
    f_A, f_B = (model.mean(space.snap_all(X)) for X in (A, B))
    V = float(np.var(np.concatenate([f_A, f_B])))
    if MIN_VARIANCE * model.scale**2 >= V:
        return SobolIndices.zero(G)

    def mixed(kept: tuple[int, ...]) -> Vector:
        """f at points with some parameters of A and the others of B."""
        X = B.copy()
        for g in kept:
            X[:, model.groups[g]] = A[:, model.groups[g]]
        return model.mean(space.snap_all(X))

    def explained(f: Vector) -> float:
        """V(E[f | x_S]) from f at points that share x_S with A; f_B removes the mean."""
        return float(np.mean(f_A * (f - f_B)))

    alone = [mixed((g,)) for g in range(G)]
    main = np.clip([explained(f) / V for f in alone], 0.0, 1.0)
    total = np.clip([float(np.mean((f - f_B) ** 2)) / (2 * V) for f in alone], 0.0, 1.0)
    pairs = np.zeros((G, G))
    for g, h in combinations(range(G), 2):
        pairs[g, h] = pairs[h, g] = max(explained(mixed((g, h))) / V - main[g] - main[h], 0.0)
    return SobolIndices(main, np.maximum(total, main), pairs)


def spread_points(power: int, dimension: int) -> Matrix:
    """2^power points of the unit cube, evenly spread: Sobol's sequence, shifted by a random but fixed vector."""
    return np.asarray((sobol(dimension, power) + np.random.default_rng(0).random(dimension)) % 1.0)


def _nodes(parameter: Parameter) -> tuple[Matrix, Vector]:
    """Coordinates (m, k) of values of a parameter and their probabilities (m,): all of a few, else a quadrature."""
    n = parameter.cardinality
    if n is not None and (n <= N_VALUES or parameter.n_coordinates > 1):
        return np.array([parameter.encode_index(k) for k in range(n)]), np.full(n, 1 / n)
    x, mass = roots_legendre(N_NODES)
    return (x[:, None] + 1) / 2, mass / 2
