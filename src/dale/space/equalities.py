"""Linear equalities between parameters: which parameters they determine, and the values of these from the others'.

Notation: k independent equalities A x = b. Gauss-Jordan elimination with complete pivoting chooses k parameters y and
solves for them, y = r + R x_F, where x_F are the others. The search sees x_F only, so that every proposal lies in the
affine subspace. The bounds of y are input constraints on x_F (``space/constraints.py``).

The entries are scaled by the widths of the parameters: the parameter whose range moves an equality the most is
determined by it, and of equals the last in the order of the coordinates. Elimination is exact, in fractions. R and r
are kept in twice the precision of a float, and so are the sums at a point (Ogita, Rump & Oishi, "Accurate sum and dot
product", 2005): y is the float nearest to the solution, and no other floats satisfy the equalities better.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dale._arrays import Matrix, Vector
from dale.errors import SpaceError
from dale.space.parameter import Parameter

TOLERANCE = 1e-6  # of the sum of the terms: a point of the user's may violate an equality by this
RANK_TOLERANCE = 1e-12  # scaled: a row without a larger entry depends on the others
BOUND_TOLERANCE = 2 * np.finfo(float).eps  # of the sum of the terms: a value this close to a bound is the bound
MAX_NUMBER = 1e280  # products of larger ones may overflow
SPLITTER = 2.0**27 + 1  # splits a float into two halves of 26 bits
SUPPORTED = "continuous parameters on a linear scale, Float(low, high)"
BY_HAND = "remove one parameter from the space and compute it from the others"


class Equality(NamedTuple):
    """sum of coefficient times parameter = value.

    Attributes:
        coefficients: By name of the parameter.
        value: The right side.
    """

    coefficients: Mapping[str, float]
    value: float

    def __str__(self) -> str:
        return f"{format_sum(self.coefficients)} == {self.value:.10g}"


def format_sum(coefficients: Mapping[str, float]) -> str:
    """A weighted sum of parameters as text.

    Examples:
        >>> format_sum({"a": 1.0, "b": -2.5})
        'a - 2.5 * b'
    """
    text = ""
    for name, c in coefficients.items():
        if c != 0:
            text += (" - " if text else "-") if c < 0 else (" + " if text else "")
            text += name if abs(c) == 1 else f"{abs(c):.10g} * {name}"
    return text or "0"


@dataclass(frozen=True, eq=False)
class Equalities:
    """Equalities, solved for as many parameters.

    Attributes:
        rows: The equalities, without those that follow from others.
        determined: Names of the parameters that they determine.
        free: Names of the other parameters in them, without fixed ones.
        weights: R and its rounding error, each (k, number of free).
        offsets: r and its rounding error, each (k,).
        bounds: Lower and upper bounds of the determined parameters, each (k,).
        sizes: Absolute coefficients of the free and determined parameters in the rows, (k, number of both).
        constants: Absolute sums of the constant terms of the rows, (k,).
    """

    rows: tuple[Equality, ...]
    determined: tuple[str, ...]
    free: tuple[str, ...]
    weights: tuple[Matrix, Matrix]
    offsets: tuple[Vector, Vector]
    bounds: tuple[Vector, Vector]
    sizes: Matrix
    constants: Vector

    @classmethod
    def of(
        cls, rows: Iterable[Equality], parameters: Mapping[str, Parameter], conditional: Iterable[str]
    ) -> Equalities | None:
        """Solve equalities; None if they follow from the values of fixed parameters.

        Raises:
            SpaceError: They are not supported, contradict each other, or leave no point within the bounds.
        """
        rows, conditional = tuple(rows), frozenset(conditional)
        for row in rows:
            _check_row(row, parameters, conditional)
        used = {name for row in rows for name, c in row.coefficients.items() if c != 0}
        ranges = {name: _range(parameter) for name, parameter in parameters.items() if name in used}
        system = _System.of(rows, ranges)
        pivots = system.eliminate()
        if not pivots:
            return None
        kept, columns = [i for i, _ in pivots], [j for _, j in pivots]
        others = [j for j in range(len(system.names)) if j not in columns]
        determined, free = (tuple(system.names[j] for j in some) for some in (columns, others))
        low, high = np.array([ranges[name] for name in determined]).T
        return cls(
            rows=tuple(rows[i] for i in kept),
            determined=determined,
            free=free,
            weights=_in_two_floats([-system.left[i][j] for i in kept for j in others], (len(kept), len(others))),
            offsets=_in_two_floats([system.right[i] for i in kept], (len(kept),)),
            bounds=(low, high),
            sizes=np.array([[abs(rows[i].coefficients.get(n, 0.0)) for n in (*free, *determined)] for i in kept]),
            constants=np.array([abs(rows[i].value) + float(abs(system.fixed[i])) for i in kept]),
        )

    def solve(self, X: Matrix) -> Matrix:
        """Values of the determined parameters (m, k) where the free ones have the values X (m, number of free)."""
        total, error = (np.tile(part, (len(X), 1)) for part in self.offsets)
        for x, w, w_error in zip(X.T[:, :, None], self.weights[0].T, self.weights[1].T, strict=True):
            product, product_error = _two_product(x, w)
            total, sum_error = _two_sum(total, product)
            error = error + (sum_error + product_error + x * w_error)
        return self._at_bounds(X, total + error)

    def _at_bounds(self, X: Matrix, Y: Matrix) -> Matrix:
        """The values Y (m, k), moved to a bound where the equalities hold there too, to the last digit."""
        terms = np.tile(self.constants, (len(X), 1))
        for x, size in zip(np.abs(np.hstack([X, Y])).T[:, :, None], self.sizes.T, strict=True):
            terms = terms + size * x  # column by column: the sum must not depend on the number of points
        own = self.sizes[:, len(self.free) :]  # (k, k): of the determined parameters in the rows
        with np.errstate(divide="ignore", invalid="ignore"):
            slack = BOUND_TOLERANCE * np.min(np.where(own > 0, terms[:, :, None] / own, np.inf), axis=1)
        for bound in self.bounds:
            Y = np.where(np.abs(Y - bound) <= slack, bound, Y)
        return Y + 0.0  # no negative zeros

    def check(self, values: Mapping[str, Any]) -> None:
        """Raise a ``SpaceError`` if a point of the user's, by name, violates an equality beyond rounded digits."""
        for row in self.rows:
            terms = [c * float(values[name]) for name, c in row.coefficients.items() if c != 0]
            total, size = math.fsum(terms), math.fsum(map(abs, terms)) + abs(row.value)
            if not abs(total - row.value) <= TOLERANCE * size:
                raise SpaceError(
                    f"expected {row}, got {total:.10g} on the left side; the equality must hold up to {TOLERANCE:g} of "
                    "the sum of the absolute terms: correct the point or omit it"
                )


@dataclass(eq=False)
class _System:
    """Rows of left x = right, reduced in place.

    Attributes:
        rows: The equalities as written.
        names: The parameters x, those that vary.
        widths: Widths of their ranges.
        left: Coefficients, as fractions.
        right: Right sides, less the terms of fixed parameters.
        fixed: Sums of these terms.
        scales: Largest coefficient of each row as written, times the width.
    """

    rows: Sequence[Equality]
    names: Sequence[str]
    widths: Sequence[float]
    left: list[list[Fraction]]
    right: list[Fraction]
    fixed: list[Fraction]
    scales: list[float]

    @classmethod
    def of(cls, rows: Sequence[Equality], ranges: Mapping[str, tuple[float, float]]) -> _System:
        names = [name for name, (low, high) in ranges.items() if low < high]
        left = [[Fraction(row.coefficients.get(name, 0.0)) for name in names] for row in rows]
        constant = {name: Fraction(low) for name, (low, high) in ranges.items() if low == high}
        fixed = [
            sum((Fraction(row.coefficients.get(name, 0.0)) * x for name, x in constant.items()), Fraction(0))
            for row in rows
        ]
        for row, shift in zip(rows, fixed, strict=True):
            _check_reachable(row, float(shift), {name: ranges[name] for name in names})
        widths = [ranges[name][1] - ranges[name][0] for name in names]
        scales = [max((abs(float(c)) * w for c, w in zip(row, widths, strict=True)), default=0.0) for row in left]
        right = [Fraction(row.value) - shift for row, shift in zip(rows, fixed, strict=True)]
        return cls(rows, names, widths, left, right, fixed, scales)

    def eliminate(self) -> list[tuple[int, int]]:
        """Reduce the system to the identity in some columns; return the pivots (row, column), in order of columns."""
        waiting, pivots = [i for i, scale in enumerate(self.scales) if scale > 0], []
        while waiting:
            entries = [(self._size(i, j), j, -i) for i in waiting for j in range(len(self.widths))]
            size, j, i = max(entries)
            if size <= RANK_TOLERANCE:
                break
            self._pivot(-i, j)
            waiting.remove(-i)
            pivots.append((-i, j))
        for i in waiting:
            if abs(float(self.right[i])) > RANK_TOLERANCE * self.scales[i]:
                raise SpaceError(
                    f"the equality {self.rows[i]} contradicts the others; no point satisfies all of them: remove one"
                )
        return sorted(pivots, key=lambda pivot: pivot[1])

    def _size(self, i: int, j: int) -> float:
        return abs(float(self.left[i][j])) * self.widths[j] / self.scales[i]

    def _pivot(self, i: int, j: int) -> None:
        """Solve row i for column j, and eliminate the column from all other rows."""
        pivot = self.left[i][j]
        self.left[i] = [c / pivot for c in self.left[i]]
        self.right[i] /= pivot
        for other in range(len(self.left)):
            factor = self.left[other][j]
            if other != i and factor != 0:
                self.left[other] = [a - factor * b for a, b in zip(self.left[other], self.left[i], strict=True)]
                self.right[other] -= factor * self.right[i]


def _check_row(row: Equality, parameters: Mapping[str, Parameter], conditional: frozenset[str]) -> None:
    """Whether an equality is one between parameters that can be determined by others."""
    for name, c in row.coefficients.items():
        if c == 0:
            continue
        parameter = parameters[name]
        if name in conditional or not (parameter.is_linear or (parameter.is_numeric and _fixed(parameter))):
            kind = "conditional" if name in conditional else repr(parameter)
            raise SpaceError(
                f"the equality {row} involves {name!r}, which is {kind}; equalities are supported between {SUPPORTED}. "
                f"Instead, {BY_HAND}"
            )
        if max(map(abs, (c, row.value, *_range(parameter)))) > MAX_NUMBER:
            raise SpaceError(f"expected numbers of at most {MAX_NUMBER:g} in {row} and the bounds of {name!r}")


def _check_reachable(row: Equality, shift: float, ranges: Mapping[str, tuple[float, float]]) -> None:
    """Whether the bounds leave an equality more than one point; ``shift`` is the sum of the fixed terms."""
    terms = {name: c for name, c in row.coefficients.items() if c != 0 and name in ranges}
    ends = [sorted((c * ranges[name][0], c * ranges[name][1])) for name, c in terms.items()]
    lowest, highest = (math.fsum([shift, *side]) for side in zip(*ends, strict=True)) if ends else (shift, shift)
    size = abs(row.value) + abs(shift) + math.fsum(max(abs(low), abs(high)) for low, high in ends)
    rounding = BOUND_TOLERANCE * size
    if not lowest - rounding <= row.value <= highest + rounding:
        raise SpaceError(
            f"no point within the bounds satisfies {row}: the left side is between {lowest:.10g} and {highest:.10g}; "
            "correct the equality or use wider bounds"
        )
    if terms and not lowest + rounding < row.value < highest - rounding:
        at_bounds = ", ".join(map(repr, terms))
        raise SpaceError(
            f"only one point within the bounds satisfies {row}, with {at_bounds} at their bounds; use wider bounds, or "
            "fix these parameters with low = high"
        )


def _fixed(parameter: Parameter) -> bool:
    return parameter.n_coordinates == 0


def _range(parameter: Parameter) -> tuple[float, float]:
    """Bounds of a linear parameter; the value of a fixed one, twice."""
    n = parameter.n_coordinates
    return float(parameter.decode(np.zeros(n))), float(parameter.decode(np.ones(n)))


def _in_two_floats(numbers: Sequence[Fraction], shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Fractions as the nearest floats, and the floats nearest to the differences."""
    nearest = [float(number) for number in numbers]
    rest = [float(number - Fraction(near)) for number, near in zip(numbers, nearest, strict=True)]
    return np.array(nearest).reshape(shape), np.array(rest).reshape(shape)


def _two_sum(a: Matrix, b: Matrix) -> tuple[Matrix, Matrix]:
    """a + b, and its rounding error (Knuth)."""
    total = a + b
    rest = total - a
    return total, (a - (total - rest)) + (b - rest)


def _two_product(a: Matrix, b: Matrix) -> tuple[Matrix, Matrix]:
    """a times b, and its rounding error (Dekker, Veltkamp)."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _split(a), _split(b)
    error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return product, error


def _split(a: Matrix) -> tuple[Matrix, Matrix]:
    scaled = SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high
