"""How a region learns its shape: axes from the curvatures of its model, and a Bayes factor against the round region.

In a narrow valley no isotropic Taylor series explains the data, and a round region is held to the width of the valley.
In the coordinates z = S^-1 (x - c) / D with the right shape S the valley is round. S is found by iteration: along the
principal axes V of the model's Hessian, in the present z, the RMS curvatures m (``TaylorModel.curvatures``) give

    new S = S V diag(m^-1/2), normalised to determinant 1,

in which all curvatures have about the same size. Along the coordinate axes, V = I, the same gives an axis-parallel
shape. A new shape is kept while the evidence of the model rises. It changes no axis by more than a factor ``MAX_TURN``
at once, its aspect ratio is at most ``MAX_ASPECT``, and no axis of the region is longer than half the cube: nothing can
be learnt about a valley beyond it.

In a mixed space, all this is about the d coordinates that steps move. On the others, those of options and of inactive
parameters, a shape is the identity.

A full shape has d (d + 1) / 2 - 1 degrees of freedom, an axis-parallel one d - 1, and each pays log(n) / 2 (Laplace's
approximation of the evidence, as in BIC). The most probable of ball, axis-parallel and full shape on the same n
observations is used. In a ball and in an axis-parallel shape the mixed second derivatives may be small a priori, by
evidence; in the search for a full shape they may not, because that would fix the axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dale._arrays import Matrix, Vector
from dale.methods.default.trust_region import MAX_RADIUS
from dale.models.monomials import n_terms
from dale.models.taylor import TaylorModel

MAX_ROUNDS = 4  # of improving a shape, in one proposal
MAX_TURN = 4.0  # factor by which an axis changes in one round
MAX_ASPECT = 1e4  # of the longest axis to the shortest
MIN_GAIN = 0.1  # log evidence that a round has to gain
MIN_CURVATURE = 1e-8  # in units of the largest: flatter axes count as this flat

Fit = Callable[..., TaylorModel]
MIN_POINTS_PER_AXIS = 2  # observations for each coordinate that an axis-parallel shape needs
MIN_DIMENSION = 4  # for axis-parallel shapes: a full shape of fewer variables needs hardly more observations


def learn_shape(
    fit: Fit, start: Matrix | None, radius: float, movable: np.ndarray | None = None, *, structured: bool = True
) -> TaylorModel:
    """The model in the most probable shape.

    Args:
        fit: The model of fixed observations in a shape (d, d), or None for a ball; its second argument is where the
            search for degree and radius of convergence starts.
        start: The shape to start from: that of the region's last step; None for a ball.
        radius: Radius of the region.
        movable: Coordinates that steps move, (d,); None for all. The shape acts on them alone.
        structured: Whether, from ``MIN_DIMENSION`` variables on, axis-parallel shapes and structured models may win.
    """
    ball = fit(None, None, structured=False)
    movable = np.ones(len(ball.center), dtype=bool) if movable is None else movable
    d, n = int(np.sum(movable)), ball.n_points
    if d <= 1 or not ball.differences.any():  # a plateau has no shape
        return ball
    start = None if start is None else _block(start, movable)
    freedom = 0.5 * math.log(max(n, 1))
    candidates = [(ball.loss, ball)]
    structured = structured and d >= MIN_DIMENSION
    is_parallel = structured and start is not None and _is_diagonal(start)
    if structured:
        ball_structured = fit(None, ball.series, structured=True)
        candidates.append((ball_structured.loss, ball_structured))
        if n > MIN_POINTS_PER_AXIS * d:
            parallel = _improved(fit, ball_structured, start if is_parallel else None, radius, movable, parallel=True)
            candidates.append((parallel.loss + freedom * (d - 1), parallel))
    if n > n_terms(d, 2):
        full = _improved(fit, ball, None if is_parallel else start, radius, movable, parallel=False)
        candidates.append((full.loss + freedom * (d * (d + 1) // 2 - 1), full))
    return min(candidates, key=lambda c: c[0])[1]


def _improved(
    fit: Fit, ball: TaylorModel, start: Matrix | None, radius: float, movable: np.ndarray, *, parallel: bool
) -> TaylorModel:
    """The model in the shape that rounds of improvement lead to, from the ball or from a better shape."""
    best = ball
    if start is not None:
        known = fit(_embedded(_within_cube(start, radius), movable), ball.series, structured=parallel)
        best = known if known.loss < ball.loss else ball
    for _ in range(MAX_ROUNDS):
        block = _rounder(best, movable, parallel=parallel)
        if block is None:
            break
        new = fit(_embedded(_within_cube(block, radius), movable), best.series, structured=parallel)
        if not new.loss < best.loss - MIN_GAIN:
            break
        best = new
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


def _rounder(model: TaylorModel, movable: np.ndarray, *, parallel: bool) -> Matrix | None:
    """A block in whose coordinates the curvatures of a model are more alike; None if they are no positive numbers."""
    E = np.eye(len(movable))[:, movable]  # (d, number of movable ones)
    axes = E if parallel else None
    if not parallel and not movable.all():
        axes = E @ np.linalg.eigh(E.T @ model.hessian @ E)[1]
    axes, size = model.curvatures(axes)
    if not (np.max(size) > 0 and np.isfinite(size).all()):
        return None
    stretch = np.maximum(size, MIN_CURVATURE * np.max(size)) ** -0.5
    stretch = np.clip(stretch / _geometric_mean(stretch), 1 / MAX_TURN, MAX_TURN)
    return (axes if model.frame.shape is None else model.frame.shape @ axes)[movable] * stretch


def _within_cube(shape: Matrix, radius: float) -> Matrix:
    """The shape with determinant 1 along its principal axes (columns), none of them longer than half the cube."""
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
    return np.asarray(U * axes)


def _geometric_mean(a: Vector) -> float:
    return float(np.exp(np.mean(np.log(a))))
