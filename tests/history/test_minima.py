"""Local minima from the data: position, value, Hessian and error where they are known, and none where there is none."""

import math

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_hess
from scipy.spatial.distance import cdist

import dale
from dale.history import minima
from dale.history.minima import minima_in_cube
from dale.space.space import Space
from noisy_runs import with_data

BOX = [(-5.0, 10.0), (0.0, 15.0)]
MINIMISERS = np.array([[-math.pi, 12.275], [math.pi, 2.275], [9.42477796076938, 2.475]])  # Branin, f = 0.397887
LOWEST = 0.39788735772973816


def branin(X):
    x, y = X[..., 0], X[..., 1]
    a = y - 5.1 * x**2 / (4 * np.pi**2) + 5 * x / np.pi - 6
    return a**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10


def numeric_hessian(f, x, h=1e-3):
    d = len(x)
    E = h * np.eye(d)
    return np.array(
        [
            [(f(x + a + b) - f(x + a - b) - f(x - a + b) + f(x - a - b)) / (4 * h**2) for b in E]
            for a in E
        ]
    )  # fmt: skip


def samples(rng, width, exact):
    """Random points of the cube, twelve around each minimum, and if ``exact`` the minima themselves."""
    corner, side = np.array(BOX)[:, 0], np.ptp(BOX, axis=1)
    minima = (MINIMISERS - corner) / side
    X = np.vstack([rng.random((30, 2)), *(t + width * rng.uniform(-1, 1, (12, 2)) for t in minima)])
    return np.vstack([X, minima]) if exact else X


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("exact", [False, True])
def test_finds_the_three_minima_of_branin(seed, exact):
    space = Space.from_pairs(BOX)
    X = samples(np.random.default_rng(seed), 5e-3, exact)
    y = branin(np.array([space.decode(x) for x in X]))
    minima = minima_in_cube(X, y)
    three = [m for m in minima if m.value < 1.0]
    assert len(three) == 3
    points = np.array([space.decode(m.x) for m in three])
    order = np.argsort(points[:, 0])
    np.testing.assert_allclose(points[order], MINIMISERS, atol=5e-4)
    for m, x in zip([three[i] for i in order], MINIMISERS, strict=True):
        assert m.value == pytest.approx(LOWEST, abs=1e-5)
        hessian = space.hessian(space.decode(m.x), m.hessian)  # in the units of BOX
        expected = numeric_hessian(branin, x)
        np.testing.assert_allclose(hessian, expected, atol=0.005 * np.max(np.abs(expected)))
        assert m.n_points >= 8


def test_converged_if_the_minimum_was_evaluated():
    space = Space.from_pairs(BOX)
    rng = np.random.default_rng(0)
    for exact, width in ((False, 1e-3), (True, 1e-4)):
        X = samples(rng, width, exact)
        y = branin(np.array([space.decode(x) for x in X]))
        three = [m for m in minima_in_cube(X, y) if m.value < 0.5]
        assert len(three) == 3
        for m in three:
            left = max(abs(branin(np.array(space.decode(m.region.center))) - m.value), m.error)
            assert m.converged is bool(left <= 1e-9 * (np.quantile(y, 0.75) - y.min()))
            assert m.converged is exact


def test_best_first_and_none_in_the_neighbourhood_of_another():
    space = Space.from_pairs(BOX)
    X = samples(np.random.default_rng(1), 5e-3, False)
    minima = minima_in_cube(X, branin(np.array([space.decode(x) for x in X])))
    values = [m.value + m.error for m in minima]
    assert values == sorted(values)
    for i, m in enumerate(minima):
        assert not any(m.region.contains(other.x) for other in minima[:i] + minima[i + 1 :])


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_an_exact_quadratic(d):
    rng = np.random.default_rng(d)
    X, t = rng.random((60 if d < 5 else 90, d)), rng.uniform(0.4, 0.6, d)
    H = np.diag(rng.uniform(1, 4, d))
    minima = minima_in_cube(X, 3 + 0.5 * np.einsum("ni,ij,nj->n", X - t, H, X - t))
    np.testing.assert_allclose(minima[0].x, t, atol=1e-8)
    np.testing.assert_allclose(minima[0].hessian, H, atol=1e-6)
    assert minima[0].value == pytest.approx(3.0, abs=1e-9)
    assert not minima[0].converged


@pytest.mark.parametrize(
    "f",
    [
        lambda X: X[:, 0] + X[:, 1],  # linear
        lambda X: -np.sum((X - 0.5) ** 2, axis=1),  # a maximum
        lambda X: (X[:, 0] - 0.5) ** 2 - (X[:, 1] - 0.5) ** 2,  # a saddle
        lambda X: np.zeros(len(X)),  # constant
        lambda X: np.sum((X + 0.3) ** 2, axis=1),  # the minimum is outside the cube
    ],
)
def test_no_minimum_inside(f):
    X = np.random.default_rng(0).random((50, 2))
    assert minima_in_cube(X, f(X)) == ()


def test_noise_has_no_minima():
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        found += len(minima_in_cube(rng.random((40, 2)), rng.normal(size=40))) > 0
    assert found <= 2, found


@pytest.mark.parametrize("n", [0, 1, 7])
def test_too_few_points(n):
    X = np.random.default_rng(0).random((n, 2))
    assert minima_in_cube(X, np.sum((X - 0.5) ** 2, axis=1)) == ()


def test_coinciding_points():
    X = np.vstack([np.full((20, 2), 0.5), np.random.default_rng(0).random((3, 2))])
    assert minima_in_cube(X, np.arange(23.0)) == ()


def test_the_error_is_at_least_the_noise_of_the_best_point():
    """Noise of 2 % of the values: there is less of it where they vanish than replicates elsewhere show."""
    rng = np.random.default_rng(1)
    X = rng.random((60, 2))
    y = np.sum((X - 0.4) ** 2, axis=1) * np.exp(0.02 * rng.standard_normal(60))
    optimizer = with_data(np.vstack([X, X[:1]]), np.append(y, 1.05 * y[0]))
    result, level = optimizer.result(), optimizer.snapshot.history.observations.noise.level
    (minimum,) = result.local_minima
    assert result.noise <= minimum.error < level / 3
    assert not minimum.converged


def relative_error(hessian, expected):
    """The largest relative error of a second derivative along a line: it does not change with linear coordinates."""
    L = np.linalg.cholesky(expected)
    return np.max(np.abs(np.linalg.eigvalsh(np.linalg.solve(L, np.linalg.solve(L, hessian).T)) - 1))


def rotated(rng, d, condition):
    """A symmetric matrix with random axes and eigenvalues from 1 to the condition."""
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return (Q * np.geomspace(1, condition, d)) @ Q.T


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 8), marks=pytest.mark.slow)], ids=["one", "more"])
@pytest.mark.parametrize("condition", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("d", [2, 3, 5])
def test_runs_on_ill_conditioned_quadratics(d, condition, seeds):
    """Hessian, condition and position to 1 %, the latter in units of the width of the valley."""
    for seed in seeds:
        rng = np.random.default_rng([d, seed])
        H, t = rotated(rng, d, condition), rng.uniform(0.3, 0.7, d)
        budget = (d + 1) * (d + 2) // 2 + 2 * d + 10

        def fun(x, H=H, t=t):
            return 1 + (x - t) @ H @ (x - t) / 2

        (minimum,) = dale.minimize(fun, [(0, 1)] * d, budget=budget, seed=seed).local_minima
        assert relative_error(minimum.hessian, H) < 0.01
        np.testing.assert_allclose(np.linalg.eigvalsh(minimum.hessian), np.geomspace(1, condition, d), rtol=0.01)
        assert minimum.condition == pytest.approx(condition, rel=0.01)
        assert (minimum.x - t) @ H @ (minimum.x - t) < 1e-4
        assert abs(minimum.fun - 1) < 1e-9
        assert minimum.converged


@pytest.mark.parametrize("seed", range(2))
def test_a_run_on_a_curved_valley(seed):
    """Rosenbrock: in a ball, a quadratic would be wrong by a factor."""
    result = dale.minimize(rosen, [(-2, 2)] * 2, budget=60, seed=seed)
    (minimum,) = result.local_minima
    assert relative_error(minimum.hessian, rosen_hess(np.ones(2))) < 0.01
    np.testing.assert_allclose(minimum.x, 1.0, atol=1e-6)
    assert abs(minimum.fun) <= max(3 * minimum.error, 1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_a_run_in_a_shape(seed):
    """Condition 1e6, and no quadratic: in a ball, the Hessian would be wrong by several per cent."""
    rng = np.random.default_rng([7, seed])
    H, t = rotated(rng, 3, 1e6), rng.uniform(0.3, 0.7, 3)
    lam, Q = np.linalg.eigh(H)

    def fun(x):
        z = Q.T @ (x - t)
        return float(lam @ (np.expm1(z) - z))

    (minimum,) = dale.minimize(fun, [(0, 1)] * 3, budget=60, seed=seed).local_minima
    assert relative_error(minimum.hessian, H) < 0.02
    assert (minimum.x - t) @ H @ (minimum.x - t) < 1e-4


@pytest.mark.parametrize("seed", range(2))
def test_a_run_on_branin(seed):
    result = dale.minimize(branin, BOX, budget=40, seed=seed)
    minimum = result.local_minima[0]
    expected = min(MINIMISERS, key=lambda x: np.linalg.norm(x - minimum.x))
    np.testing.assert_allclose(minimum.x, expected, atol=1e-6)
    assert relative_error(minimum.hessian, numeric_hessian(branin, expected)) < 0.01


def narrow(seed, n):
    """Observations around the minimum of a function of condition 1e6 that is no quadratic, with their shape."""
    rng = np.random.default_rng(seed)
    H, t = rotated(rng, 2, 1e6), np.array([0.45, 0.55])
    lam, Q = np.linalg.eigh(H)
    shape = Q * lam**-0.5 / np.prod(lam**-0.5) ** 0.5
    X = t + 0.01 * rng.uniform(-1, 1, (n, 2)) @ shape.T
    Z = (X - t) @ Q
    return X, (np.expm1(Z) - Z) @ lam, H, shape


def test_a_shape_tells_the_neighbourhood():
    X, y, H, shape = narrow(0, 24)
    best = int(np.argmin(y))
    (minimum,) = minima_in_cube(X, y, {best: shape})
    assert relative_error(minimum.hessian, H) < 0.01
    np.testing.assert_array_equal(minimum.region.shape, shape)


def test_a_wrong_shape_does_not_count():
    """A ball is more probable for a round function than a shape of another."""
    X = np.random.default_rng(0).random((40, 2))
    y = np.sum(np.cosh(X - 0.45), axis=1)
    (minimum,) = minima_in_cube(X, y, {int(np.argmin(y)): narrow(0, 3)[-1]})
    assert minimum.region.shape is None
    np.testing.assert_allclose(minimum.hessian, np.eye(2), atol=0.01)


def test_observations_that_only_rounding_errors_tell_apart():
    """Many of them at the minimum do not make a neighbourhood."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.random((20, 2)), 0.4 + 1e-6 * rng.uniform(-1, 1, (30, 2))])
    y = 1e3 + np.sum((X - 0.4) ** 2, axis=1)
    optimizer = dale.Optimizer([(0, 1)] * 2, seed=0)
    for x, value in zip(X, y, strict=True):
        optimizer.add(x, value)
    minimum = optimizer.result().local_minima[0]
    np.testing.assert_allclose(minimum.x, 0.4, atol=1e-5)
    np.testing.assert_allclose(minimum.hessian, 2 * np.eye(2), atol=0.01)


def test_the_error_is_that_of_the_prediction():
    """Errors of the predicted minimum, in units of the stated one: neither tiny nor huge."""
    ratios = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, t = rng.random((40, 2)), rng.uniform(0.35, 0.65, 2)
        for m in minima_in_cube(X, np.sum(np.cosh(2 * (X - t)) - 1, axis=1)):
            ratios.append(abs(m.value) / m.error)
    assert len(ratios) >= 15
    assert np.median(ratios) < 2
    assert np.quantile(ratios, 0.9) < 6


@pytest.mark.parametrize("level", [1e-6, 1e-3, 5e-3])
def test_noise(level):
    """An interpolated center would be too low; the error is at least the noise."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        optimizer = dale.Optimizer([(0, 1)] * 2, seed=0, noise=level)
        for x in rng.random((60, 2)):
            optimizer.add(x, float(np.sum((x - 0.4) ** 2)) + level * rng.standard_normal())
        minimum = optimizer.result().local_minima[0]
        assert level <= minimum.error < 10 * level
        assert abs(minimum.fun) < 3 * minimum.error
        np.testing.assert_allclose(minimum.x, 0.4, atol=10 * level)
        np.testing.assert_allclose(minimum.hessian, 2 * np.eye(2), atol=200 * level)
        assert not minimum.converged


def test_the_work_grows_like_the_number_of_points(monkeypatch):
    """Counted in distances: four times the points need about four times as many, not sixteen times."""
    computed = []
    distances = minima.cdist
    monkeypatch.setattr(minima, "cdist", lambda a, b: computed.append(len(a) * len(b)) or distances(a, b))

    def work(n):
        computed.clear()
        X = np.random.default_rng(0).random((n, 2))
        optimizer = dale.Optimizer([(0, 1), (0, 1)], seed=0)
        optimizer.add_all({"x0": X[:, 0], "x1": X[:, 1], "value": np.sum((X - 0.3) ** 2, axis=1)})
        assert len(optimizer.result().local_minima) == 1
        return sum(computed)

    assert 0 < work(4000) < 8 * work(1000)


def test_the_lowest_of_their_neighbours_are_those_of_all_distances():
    """Against the naive definition, with ties: on a grid, and with replicates."""
    rng = np.random.default_rng(0)
    for k in range(60):
        n, d, size = int(rng.integers(30, 150)), int(rng.integers(1, 5)), int(rng.integers(2, 20))
        X = rng.random((n, d))
        X = (X, np.round(4 * X) / 4, X[rng.integers(0, n // 4, n)])[k % 3]
        y = np.round(rng.standard_normal(n), k % 4)
        D = cdist(X, X)
        neighbours = np.sort(D, axis=1)[:, size - 1 : size] >= D
        naive = [i for i in range(n) if y[i] <= y[neighbours[i]].min()]
        assert minima._lowest_of_their_neighbours(X, y, size) == sorted(naive, key=lambda i: y[i])
