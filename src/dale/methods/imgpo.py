"""IMGPO: a tree of boxes that splits where a Gaussian process does not rule out a better value.

Maximise g = -f on the unit cube. A leaf of the tree is a box; its value is g at its centre where that has been evaluated
(or a *bound* where it has not: the leaf is GP-based). With D the observations, g+ the best of them, and M the number of
times that a bound has been relied upon,

    U(x) = mu(x) + s_M sigma(x),   s_M = sqrt(2 log(pi^2 M^2 / (12 eta)))

is above g(x) at all those places together with probability 1 - eta. It starts from the cube with its centre evaluated,
M = 1 and Xi = 1, and goes on in rounds:

1. v = -inf. For each depth h from 0: the leaf with the largest value, if that is above v. If it is GP-based, evaluate it
   and look again; else it is chosen, and v its value.
2. For each chosen h: xi is the least of 1 .. min(ceil(Xi), Xi_max) with a choice at h + xi. Where the leaf, split xi levels
   deep, would have no U as large as the choice at h + xi is worth, the choice at h is dropped; M counts these bounds.
3. v = -inf. For each h still chosen whose value is at least v: split the longest side (the first on ties) in three. The
   middle child inherits the centre. Left and right: if U <= g+, the bound is U, GP-based, M += 1; else evaluate, and v
   becomes the value if larger.
4. Xi += 4 if g+ has improved, else Xi = max(Xi - 1/2, 1).

Neither a search of an acquisition function nor chance is involved: the tree is a function of the values.

Reference: Kawaguchi, Kaelbling & Lozano-Perez, Bayesian Optimization with Exponential Convergence, NIPS 2015, Alg. 1.

What the reference leaves open or other uses need:
- The model: isotropic Matern-5/2, no noise but the factor's jitter. Values are standardised before every prediction, so
  "mean 0" is their average and units do not matter. sigma_f^2 is the closed-form maximum-likelihood one. l is 1/4 in the
  first round and the likeliest of a grid after each round.
- A GP-based leaf that is evaluated in step 1 takes the value it was evaluated to.
- A failed evaluation is worth as much as the worst value seen by then.
- Observations at points that the tree did not ask for enter D, not the tree; if the tree wants such a point later, it is
  not evaluated again.
- While the point that the tree wants is being evaluated, and where the tree wants none (leaves of ``LEAST_SIDE``, or
  ``IDLE`` rounds without an evaluation), the proposal is a point far from all others.

Shapes: points (d,), observations (n, d), (n,).
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from dale.arrays import Matrix, Vector
from dale.design import far_from
from dale.gp import Factor, GrowingFactor, Posterior, Prediction, Prior, log_marginal_likelihood
from dale.gp.posterior import LEAST_VARIANCE, UNKNOWN
from dale.kernels import Matern52
from dale.length_scale.policy import GRID, best_of
from dale.methods.history import History
from dale.methods.method import Proposal
from dale.methods.standardise import Scale
from dale.seeding import generator
from dale.trial import Reason, Source

ETA = 0.05  # this and the next three as in the reference
DEEPEST_LOOK = 4  # Xi_max
LOOK_MORE, LOOK_LESS = 4.0, 0.5  # steps of Xi
FIRST_LENGTH_SCALE = 0.25
LENGTH_SCALES = GRID[::2]  # 10 values a decade
GRAIN = 2.0**-23  # of standardised values and bounds: finer digits are rounding error, which must not decide
MOST_CUTS = 15  # of a side: a box of 3^-15 is not split
SAME = 1e-9  # points as close as this in every coordinate are one; rounding in the user's units moves them by 1e-12
IDLE = 200  # rounds without an evaluation

Waiting = Generator[Proposal | None, None, "T"]


@dataclass(frozen=True, eq=False)
class Leaf:
    """A box of the cube.

    Attributes:
        centre: Its centre, (d,).
        cuts: How often each side has been cut in three.
        row: The observation at the centre; None where there is none: the leaf is GP-based.
        bound: What g is at most at the centre of a GP-based leaf.
    """

    centre: Vector
    cuts: tuple[int, ...]
    row: int | None = None
    bound: float = math.inf

    @property
    def depth(self) -> int:
        """Number of cuts."""
        return sum(self.cuts)

    @property
    def sides(self) -> Vector:
        """Their lengths, (d,)."""
        return 3.0 ** -np.array(self.cuts)

    def thirds(self) -> tuple[Leaf, Leaf, Leaf]:
        """Middle, left and right along the longest side, the first on ties. The middle inherits what is known."""
        j = self.cuts.index(min(self.cuts))
        cuts = (*self.cuts[:j], self.cuts[j] + 1, *self.cuts[j + 1 :])
        step = np.zeros(len(cuts))
        step[j] = 3.0 ** -cuts[j]
        return replace(self, cuts=cuts), Leaf(self.centre - step, cuts), Leaf(self.centre + step, cuts)


class Tree:
    """Leaves by depth. At any time their boxes tile the cube."""

    def __init__(self, dimension: int) -> None:
        self.levels = [[Leaf(np.full(dimension, 0.5), (0,) * dimension)]]

    def replace(self, old: Leaf, new: Leaf) -> None:
        """Put what has been learnt about a leaf in its place."""
        level = self.levels[old.depth]
        level[level.index(old)] = new

    def split(self, old: Leaf, children: list[Leaf]) -> None:
        """Put three children in the place of a leaf."""
        self.levels[old.depth].remove(old)
        if old.depth + 1 == len(self.levels):
            self.levels.append([])
        self.levels[old.depth + 1] += children


@dataclass(frozen=True, eq=False)
class Model:
    """The Gaussian process given observations of g, in their own units outside and standardised inside."""

    X: Matrix
    g: Vector
    length_scale: float

    @cached_property
    def scale(self) -> Scale:
        """Standardises the values."""
        return Scale.of(self.g)

    @property
    def best(self) -> float:
        """g+."""
        return float(np.max(self.g))

    @cached_property
    def posterior(self) -> Posterior:
        """Mean 0 and maximum-likelihood variance; values without variation say nothing about it."""
        z, kernel = _rounded(self.scale(self.g)), Matern52(self.length_scale)
        factor = Factor.of(kernel(self.X, self.X))
        variance = float(z @ factor.solve(z)) / len(z)
        return Posterior(
            kernel, self.X, z, factor, Prior(0.0, variance) if variance > LEAST_VARIANCE else Prior(*UNKNOWN)
        )

    def bound(self, A: Matrix, M: Vector) -> float:
        """The largest U at points A (m, d), of which each is the M-th bound."""
        mean, spread = self.posterior.predict(A)
        s = np.sqrt(2 * np.log(np.pi**2 * M**2 / (12 * ETA)))
        return self.scale.back(float(np.max(_rounded(mean + s * spread))))

    def likeliest_length_scale(self) -> float:
        """Maximum likelihood over a grid."""
        models = [replace(self, length_scale=l) for l in LENGTH_SCALES]
        return LENGTH_SCALES[best_of(np.array([log_marginal_likelihood(m.posterior) for m in models]))]

    def why(self, x: Vector) -> Reason:
        """What the model says about a point that the tree wants."""
        mean, spread = self.posterior.predict(x[None, :])
        return Reason(
            Source.GLOBAL,
            length_scale=self.length_scale,
            mean=-self.scale.back(float(mean[0])),
            spread=self.scale.back_length(float(spread[0])),
        )


class Search:
    """The algorithm on a growing row of observations: ``wish`` is what the tree waits for; None if for nothing."""

    def __init__(self, dimension: int) -> None:
        self.X: Matrix = np.empty((0, dimension))
        self.y: Vector = np.empty(0)
        self.tree = Tree(dimension)
        self.n_bounds = 1  # M
        self.length_scale = FIRST_LENGTH_SCALE
        self._rounds = self._run()
        self.wish = next(self._rounds)

    def learn(self, X: Matrix, y: Vector) -> None:
        """Take more observations (n, d), (n,); NaN where failed. The tree grows where its wish is among them."""
        for x, value in zip(X, y, strict=True):
            self.X, self.y = np.vstack([self.X, x]), np.append(self.y, value)
            self.__dict__.pop("model", None)
            if self.wish is None or _same(x, self.wish.point):
                self.wish = next(self._rounds)

    def follows(self, history: History) -> bool:
        """Whether the history begins with what was learnt."""
        n = len(self.y)
        return np.array_equal(self.X, history.X[:n]) and np.array_equal(self.y, history.y[:n], equal_nan=True)

    @cached_property
    def model(self) -> Model:
        """Of all observations so far; failed ones count as the worst."""
        told = np.isfinite(self.y)
        worst = np.max(self.y[told], initial=-math.inf) if np.any(told) else 0.0
        return Model(self.X, -np.where(told, self.y, worst), self.length_scale)

    def value(self, leaf: Leaf) -> float:
        """g at its centre, or the bound of it."""
        return leaf.bound if leaf.row is None else float(self.model.g[leaf.row])

    def _run(self) -> Waiting[None]:
        """All rounds. Yields what is to be evaluated and goes on when it has been."""
        [cube] = self.tree.levels[0]
        yield Proposal(cube.centre, Reason(Source.DESIGN))
        self.tree.replace(cube, replace(cube, row=len(self.y) - 1))
        look, idle = 1.0, 0  # Xi
        while True:
            n, best = len(self.y), self.model.best
            chosen = yield from self._choose()  # step 1
            for h in sorted(chosen):  # step 2
                xi = next((k for k in range(1, min(math.ceil(look), DEEPEST_LOOK) + 1) if h + k in chosen), None)
                if xi is not None and self._hopeless(chosen[h], xi, self.value(chosen[h + xi])):
                    del chosen[h]
            v = -math.inf
            for h in sorted(chosen):  # step 3
                if self.value(chosen[h]) >= v:
                    v = max(v, (yield from self._split(chosen[h])))
            look = look + LOOK_MORE if self.model.best > best else max(look - LOOK_LESS, 1.0)  # step 4
            idle = 0 if len(self.y) > n else idle + 1
            if idle == 0:
                self.length_scale = self.model.likeliest_length_scale()
                del self.model
            elif idle >= IDLE or not chosen:
                yield None

    def _choose(self) -> Waiting[dict[int, Leaf]]:
        """Step 1: by depth."""
        chosen, v = {}, -math.inf
        for h, level in enumerate(self.tree.levels):
            while True:
                leaf = max((l for l in level if min(l.cuts) < MOST_CUTS), key=self.value, default=None)
                if leaf is None or not self.value(leaf) > v:
                    break
                if leaf.row is not None:
                    chosen[h], v = leaf, self.value(leaf)
                    break
                self.tree.replace(leaf, (yield from self._evaluated(leaf)))
        return chosen

    def _hopeless(self, leaf: Leaf, levels: int, value: float) -> bool:
        """Step 2: whether all bounds in the leaf, split this many levels deep, are below the value."""
        boxes, centres = [leaf], []
        for _ in range(levels):
            thirds = [box.thirds() for box in boxes]
            centres += [side.centre for _, left, right in thirds for side in (left, right)]
            boxes = [child for children in thirds for child in children]
        if self.model.bound(np.array(centres), self.n_bounds + np.arange(len(centres))) >= value:
            return False
        self.n_bounds += len(centres)
        return True

    def _split(self, leaf: Leaf) -> Waiting[float]:
        """Step 3: the best value that was evaluated."""
        middle, *sides = leaf.thirds()
        for i, side in enumerate(sides):
            U = self.model.bound(side.centre[None, :], np.array([self.n_bounds]))
            if U <= self.model.best:
                sides[i] = replace(side, bound=U)
                self.n_bounds += 1
            else:
                sides[i] = yield from self._evaluated(side)
        self.tree.split(leaf, [middle, *sides])
        return max(self.value(side) for side in sides)

    def _evaluated(self, leaf: Leaf) -> Waiting[Leaf]:
        """The leaf with the observation at its centre, which may be there already."""
        known = np.flatnonzero(_same(self.X, leaf.centre))
        if len(known) == 0:
            yield Proposal(leaf.centre, self.model.why(leaf.centre))
            known = np.array([len(self.y) - 1])
        return replace(leaf, row=int(known[0]))


_searches: WeakKeyDictionary[GrowingFactor, Search] = WeakKeyDictionary()  # the last one of each run: saves a replay


@dataclass(frozen=True)
class IMGPO:
    """The method; it has nothing to set."""

    def propose(self, history: History, seed: int, memory: GrowingFactor) -> Proposal:
        """What the tree waits for after a replay of the history."""
        search = _searches.pop(memory, None)  # out of reach of other threads
        if search is None or not search.follows(history):
            search = Search(history.dimension)
        n = len(search.y)
        search.learn(history.X[n:], history.y[n:])
        _searches[memory] = search
        if search.wish is not None and not np.any(_same(history.pending, search.wish.point)):
            return search.wish
        points = np.vstack([history.X, history.pending])
        return Proposal(far_from(points, history.dimension, generator(seed, history.n_asked)), Reason(Source.EXPLORE))


def _same(A: Matrix, x: Vector) -> np.ndarray:
    """Which of the points A (..., d) are x, but for the rounding of the user's units."""
    return np.asarray(np.all(np.abs(A - x) <= SAME, axis=-1))


def _rounded(z: Vector) -> Vector:
    return np.round(z / GRAIN) * GRAIN
