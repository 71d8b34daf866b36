"""How a region learns its shape: axes from the curvatures of its model, and a Bayes factor against the round region.

In a narrow valley no isotropic Taylor series explains the data, and a round region is held to the width of the valley.
In the coordinates z = S^-1 (x - c) / D with the right shape S the valley is round. S is found by iteration: along the
principal axes V of the model's Hessian, in the present z, the RMS curvatures m (``TaylorModel.curvatures``) give

    new S = S V diag(m^-1/2), normalised to determinant 1,

in which all curvatures have about the same size. Along the coordinate axes, V = I, the same gives an axis-parallel
shape. A new shape is kept while the evidence of the model rises. It changes no axis by more than a factor
``MAX_STRETCH`` at once, its aspect ratio is at most ``MAX_ASPECT``, and no axis of the region is longer than half the
cube: nothing can be learnt about a valley beyond it.

In a mixed space, all this is about the d coordinates that steps move. On the others, those of options and of inactive
parameters, a shape is the identity.

A full shape has d (d + 1) / 2 - 1 degrees of freedom. From a few variables on, two smaller families compete with it,
which fewer observations determine: axis-parallel shapes (d - 1), and shapes with one axis of its own length in any
direction (d), the long axis of a ridge or the short one of a stiff direction, while all others are equal. Each freedom
pays log(n) / 2 (Laplace's approximation of the evidence, as in BIC). The most probable of the ball and these shapes on
the same n observations is used. In a ball and in an axis-parallel shape the mixed second derivatives may be small a
priori, by evidence and for the price of one freedom; in the search for other shapes they may not, because that would
fix the axes. Where three families and several degrees compete, a round compares shapes for one degree only, to save
time; all degrees are searched in the ball, in the shape of the last step and in the shape that is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from dale._arrays import Matrix, Vector
from dale.methods.default.trust_region import MAX_RADIUS
from dale.models.monomials import affordable_degree, n_terms
from dale.models.series import Refinement
from dale.models.taylor import TaylorModel

MAX_ROUNDS = 4  # of improving a shape, in one proposal
MAX_STRETCH = 4.0  # factor by which an axis changes in one round
MAX_ASPECT = 1e4  # of the longest axis to the shortest
MIN_GAIN = 0.5  # log evidence that a round has to gain ...
MIN_GAIN_OF_QUADRATICS = 0.1  # ... and where there are so many variables that all models are quadratics
MIN_CURVATURE = 1e-8  # in units of the largest: flatter axes count as this flat
MIN_POINTS_PER_AXIS = 2  # observations for each coordinate that the smaller families need
MIN_DIMENSION_PARALLEL = 4  # for axis-parallel shapes: a full shape of fewer variables needs hardly more observations
MIN_DIMENSION_ONE_AXIS = 3  # for shapes with one axis of its own: in two variables they are all shapes
EQUAL_AXES = 1e-9  # maximum difference of the logarithms of axes that count as equal

Fit = Callable[..., TaylorModel]


class _Family(NamedTuple):
    """A family of shapes.

    Attributes:
        freedoms: Degrees of freedom of its shapes.
        improve: A shape of the family, of the movable coordinates, in which the curvatures of a model are more alike;
            None unless they are finite and one is positive.
        contains: Whether a shape belongs to it.
        structured: Whether mixed second derivatives may be small a priori.
    """

    freedoms: int
    improve: Callable[[TaylorModel, np.ndarray], Matrix | None]
    contains: Callable[[Matrix], bool]
    structured: bool = False


def learn_shape(
    fit: Fit, start: Matrix | None, radius: float, movable: np.ndarray | None = None, *, structured: bool = True
) -> TaylorModel:
    """The model in the most probable shape.

    Args:
        fit: The model of fixed observations in a shape (d, d), or None for a ball; its second argument is where the
            searches for the radius of convergence start (`TaylorModel.starts`). Option: ``structured``.
        start: The shape to start from: that of the region's last step; None for a ball.
        radius: Radius of the region.
        movable: Coordinates that steps move, (d,); None for all. The shape acts on them alone.
        structured: Whether the smaller families, and structured models, may win.
    """
    ball = fit(None, (), structured=False)
    movable = np.ones(len(ball.center), dtype=bool) if movable is None else movable
    d, n = int(np.sum(movable)), ball.n_points
    if d <= 1 or not ball.differences.any():  # a plateau has no shape
        return ball
    start = None if start is None else _block(start, movable)
    balls, three_families = {False: ball}, structured and d >= MIN_DIMENSION_PARALLEL
    if three_families:
        balls[True] = fit(None, ball.starts, structured=True)
    candidates = [(0, model) for model in balls.values()]
    for family in _families(d, n, structured=structured):
        own = start if start is not None and family.contains(start) else None
        of_family = partial(fit, structured=family.structured)
        model = _improved(of_family, balls[family.structured], own, radius, movable, family, refine=three_families)
        candidates.append((family.freedoms, model))
    price = 0.5 * math.log(max(n, 1))
    best = min(candidates, key=lambda c: c[1].loss + price * (c[0] + (c[1].series.mixed != 1)))[1]
    if best.frame.shape is None or not three_families:
        return best
    return fit(best.frame.shape, (*best.starts, *ball.starts), structured=best.series.mixed != 1)


def _families(d: int, n: int, *, structured: bool) -> Iterator[_Family]:
    """The families of shapes that n observations of d movable coordinates may teach."""
    parallel = structured and d >= MIN_DIMENSION_PARALLEL
    enough = n > MIN_POINTS_PER_AXIS * d
    if parallel and enough:
        yield _Family(d - 1, _next_parallel, _is_diagonal, structured=True)
    if structured and d >= MIN_DIMENSION_ONE_AXIS and enough:
        yield _Family(d, _next_one_axis, _has_one_axis)
    if n > n_terms(d, 2):
        yield _Family(d * (d + 1) // 2 - 1, _next_full, lambda shape: not (parallel and _is_diagonal(shape)))


def _improved(
    fit: Fit,
    ball: TaylorModel,
    start: Matrix | None,
    radius: float,
    movable: np.ndarray,
    family: _Family,
    *,
    refine: bool,
) -> TaylorModel:
    """The model in the shape that rounds of improvement lead to, from the ball or from a better shape.

    A round has to gain ``MIN_GAIN``; the first one from a ball, whose Hessian is a poor guide, may gain less.
    """
    enough = MIN_GAIN if affordable_degree(len(movable)) > 2 else MIN_GAIN_OF_QUADRATICS
    best, min_gain = ball, 0.0
    if start is not None:
        known = fit(_embedded(_within_cube(start, radius), movable), ball.starts)
        if known.loss < ball.loss:
            best, min_gain = known, enough
    for _ in range(MAX_ROUNDS):
        block = family.improve(best, movable)
        if block is None:
            break
        new = fit(_embedded(_within_cube(block, radius), movable), Refinement(best.starts) if refine else best.starts)
        if not new.loss < best.loss - min_gain:
            break
        best, min_gain = new, enough
    return best


def _is_diagonal(shape: Matrix) -> bool:
    """Whether a shape is axis-parallel; the axes of a singular value decomposition may be negative."""
    return bool(np.all(shape == np.diag(np.abs(np.diag(shape)))))


def _embedded(block: Matrix, movable: np.ndarray) -> Matrix:
    """The shape (d, d) that acts as a block on the movable coordinates and leaves the others as they are."""
    shape = np.eye(len(movable))
    shape[np.ix_(movable, movable)] = block
    return shape


def _block(shape: Matrix, movable: np.ndarray) -> Matrix | None:
    """The part of a shape (d, d) that acts on the movable coordinates; None if it acts on others too."""
    block = shape[np.ix_(movable, movable)]
    return block if np.array_equal(_embedded(block, movable), shape) else None


def _next_parallel(model: TaylorModel, movable: np.ndarray) -> Matrix | None:
    """The next axis-parallel shape."""
    return _next_along(model, np.eye(len(movable))[:, movable], movable)


def _next_full(model: TaylorModel, movable: np.ndarray) -> Matrix | None:
    """The next full shape."""
    axes = None
    if not movable.all():
        E = np.eye(len(movable))[:, movable]  # (d, number of movable ones)
        axes = E @ np.linalg.eigh(E.T @ model.hessian @ E)[1]
    return _next_along(model, axes, movable)


def _next_along(model: TaylorModel, axes: Matrix | None, movable: np.ndarray) -> Matrix | None:
    """The next shape along axes in the present one (columns); None for the principal axes of the Hessian."""
    axes, size = model.curvatures(axes)
    stretch = _stretch(size)
    if stretch is None:
        return None
    return (axes if model.frame.shape is None else model.frame.shape @ axes)[movable] * stretch


def _next_one_axis(model: TaylorModel, movable: np.ndarray) -> Matrix | None:
    """The next shape with one axis of its own: along that principal axis of the Hessian by x which differs most.

    Such shapes are not closed under multiplication, so the axes are those in x, not those in the present shape.
    """
    E = np.eye(len(movable))[:, movable]
    S = E.T @ (np.eye(len(movable)) if model.frame.shape is None else model.frame.shape) @ E
    inverse = np.linalg.inv(S)
    U = np.linalg.eigh(inverse.T @ (E.T @ model.hessian @ E) @ inverse)[1]
    stretch = _stretch(model.curvatures(E @ inverse @ U)[1] * np.sum((inverse @ U) ** 2, axis=0) ** -1)
    if stretch is None:
        return None
    axes = stretch / np.linalg.norm(inverse @ U, axis=0)
    logs = np.log(axes)
    others = np.ones(len(axes), dtype=bool)
    others[int(np.argmax(np.abs(logs - np.median(logs))))] = False
    return _symmetric(U, np.where(others, _geometric_mean(axes[others]), axes))


def _stretch(curvatures: Vector) -> Vector | None:
    """Factors of axes, of geometric mean 1, that make curvatures alike; None unless these are finite, one positive."""
    if not (np.max(curvatures) > 0 and np.isfinite(curvatures).all()):
        return None
    stretch = np.maximum(curvatures, MIN_CURVATURE * np.max(curvatures)) ** -0.5
    return np.clip(stretch / _geometric_mean(stretch), 1 / MAX_STRETCH, MAX_STRETCH)


def _has_one_axis(shape: Matrix) -> bool:
    """Whether all principal axes but one are equal."""
    logs = np.log(np.linalg.svd(shape, compute_uv=False))
    return int(np.sum(np.abs(logs - np.median(logs)) > EQUAL_AXES)) <= 1


def _symmetric(U: Matrix, axes: Vector) -> Matrix:
    """The symmetric shape with these principal axes: the same for all bases of equal ones, unlike U diag(axes)."""
    S = (U * axes) @ U.T
    return np.asarray((S + S.T) / 2)


def _within_cube(shape: Matrix, radius: float) -> Matrix:
    """The shape with determinant 1 and no axis longer than half the cube.

    Its columns are its principal axes; but from a symmetric shape it is symmetric.
    """
    is_symmetric = np.array_equal(shape, shape.T)
    if _is_diagonal(shape):
        U, axes = np.eye(len(shape)), np.diag(shape)
    else:
        U, axes, _ = np.linalg.svd(shape)
    axes = np.maximum(axes, np.max(axes) / MAX_ASPECT)
    axes = axes / _geometric_mean(axes)
    longest = max(MAX_RADIUS / radius, 1.0)
    for _ in range(len(axes)):  # what the longest axes lose, the others gain
        axes = np.minimum(axes, longest)
        others = axes < longest
        if not others.any():
            break
        axes = np.where(others, axes * np.prod(axes) ** (-1 / np.sum(others)), axes)
        if axes.max() <= longest * (1 + 1e-9):
            break
    return _symmetric(U, axes) if is_symmetric else np.asarray(U * axes)


def _geometric_mean(a: Vector) -> float:
    return float(np.exp(np.mean(np.log(a))))
