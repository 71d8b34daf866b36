"""The local Taylor model: against 80 digits in function space, least-norm interpolation and finite differences."""

import math

import mpmath as mp
import numpy as np
import pytest

from dale.models import taylor
from dale.models.monomials import MAX_DEGREE, MAX_TERMS, affordable_degree, monomials, n_terms
from dale.models.taylor import MAX_POINTS, QUADRATIC_RHOS, RHOS, TaylorModel

digits = mp.workdps(80)  # the condition of the kernel takes 38, twice in the std
exact = np.vectorize(mp.mpf, otypes=[object])


class Dense:
    """The model as a Gaussian process in function space: K in units of s^2, then s^2 by restricted likelihood."""

    @digits
    def __init__(self, Z, v, t, degree):
        n, d = Z.shape
        self.Z, self.t, self.degree = exact(Z), mp.mpf(t), degree
        r = np.array([mp.sqrt(square) for square in np.sum(self.Z * self.Z, axis=1)])
        noise = self.t ** (degree - 1) * r ** (degree + 1) + mp.mpf(taylor.NUGGET) * r
        self.K = mp.matrix((self.kernel(self.Z, self.Z) + np.diag(noise**2)).tolist())
        self.weights = mp.cholesky_solve(self.K, mp.matrix(v))
        residual = mp.fdot(exact(v), self.weights)
        self.variance = residual / (n - d)
        lower = mp.cholesky(self.K)
        self.loss = (n - d) * mp.log(self.variance) / 2 + mp.fsum(mp.log(lower[i, i]) for i in range(n))
        self.rounding = float(mp.norm(exact(v) / noise) / mp.sqrt(residual)) * 2.0**-52  # of v, against the residual

    def kernel(self, A, B):
        G = A @ B.T
        return mp.mpf(taylor.LINEAR_PRIOR_STD) ** 2 * G + sum(
            self.t ** (2 * (k - 2)) * G**k for k in range(2, self.degree + 1)
        )

    @digits
    def predict(self, A):
        """Mean and std of the polynomial, the latter in units of s."""
        inverse, pairs = self.K**-1, []
        for a in exact(A)[:, None]:
            k = mp.matrix(self.kernel(self.Z, a)[:, 0].tolist())
            pairs.append(((k.T * self.weights)[0], mp.sqrt(self.kernel(a, a)[0, 0] - (k.T * inverse * k)[0])))
        return np.array(pairs, dtype=float).T


def bumpy(X):
    """A bowl that is no polynomial, with a gradient."""
    return 2 * X[:, 0] - np.exp(-np.sum((X - 0.4) ** 2, axis=1)) + 0.3 * np.sin(X @ np.arange(1, X.shape[1] + 1))


def bumpy_model(d, n):
    rng, radius = np.random.default_rng([d, n]), 0.3
    center = rng.uniform(0.3, 0.7, d)
    X = center + radius * rng.uniform(-1, 1, (n, d))
    return TaylorModel.fit(X, bumpy(X), center, float(bumpy(center[None])[0]), radius), X, rng


def quadratic(rng, d):
    H, g = rng.normal(size=(d, d)), rng.normal(size=d)
    return lambda X: X @ g + np.einsum("ni,ij,nj->n", X, H, X)


models = pytest.mark.parametrize(("d", "n"), [(1, 5), (2, 7), (2, 30), (3, 40), (5, 12), (7, 20)])


@pytest.mark.parametrize("d", range(1, 8))
def test_features_make_powers_of_the_inner_product(d):
    """And their gradients are those of the complex step."""
    rng = np.random.default_rng(d)
    A, B = rng.normal(size=(6, d)), rng.normal(size=(7, d))
    terms = monomials(d, affordable_degree(d))
    for k in range(1, affordable_degree(d) + 1):
        ours = terms.degree == k
        np.testing.assert_allclose(terms(A)[:, ours] @ terms(B)[:, ours].T, (A @ B.T) ** k, rtol=1e-12, atol=1e-12)
    features, gradients = terms.with_gradients(A)
    np.testing.assert_array_equal(features, terms(A))
    for i, e in enumerate(np.eye(d)):
        np.testing.assert_allclose(gradients[:, :, i], terms(A + 1e-100j * e).imag / 1e-100, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("d", "degree"), [(d, affordable_degree(d)) for d in range(1, 8)] + [(1, 1), (3, 1), (20, 2)])
def test_second_derivatives_of_every_monomial_by_complex_step(d, degree):
    """One by one, and of polynomials with one set of weights, or with one for each point."""
    rng, terms = np.random.default_rng(d), monomials(d, degree)
    p = len(terms.degree)
    A, z = rng.normal(size=(6, d)), rng.normal(size=d)

    def exactly(Z):
        """All of them, (m, p, d, d)."""
        return np.stack([terms.with_gradients(Z + 1e-100j * e)[1].imag / 1e-100 for e in np.eye(d)], axis=3)

    one_by_one = terms.hessians(terms(np.tile(z, (p, 1))), np.eye(p))
    np.testing.assert_allclose(one_by_one, exactly(z[None])[0], rtol=1e-12, atol=1e-14)
    for weights in (rng.normal(size=p), rng.normal(size=(6, p))):
        expected = np.einsum("mp,mpij->mij", np.broadcast_to(weights, (6, p)), exactly(A))
        hessians = terms.hessians(terms(A), weights)
        np.testing.assert_allclose(hessians, expected, rtol=1e-11, atol=1e-11 * max(np.max(np.abs(expected)), 1.0))
        np.testing.assert_array_equal(hessians, hessians.transpose(0, 2, 1))


def test_number_of_terms_and_degree():
    for d in range(1, 21):
        counts = {k: sum(math.comb(d + j - 1, j) for j in range(1, k + 1)) for k in range(1, MAX_DEGREE + 1)}
        assert {k: n_terms(d, k) for k in counts} == counts
        assert affordable_degree(d) == max([2] + [k for k in counts if counts[k] <= MAX_TERMS])
    assert [affordable_degree(d) for d in range(1, 21)] == [6, 6, 6, 4, 3, 3] + 14 * [2]


def within(d, n, radius, size):
    """Points within ``size`` radii of the center: model, oracle, and places as near and less near."""
    rng = np.random.default_rng([d, n])
    X, f, w = radius * size * rng.uniform(-1, 1, (n, d)), quadratic(rng, d), rng.normal(size=d)
    y = f(X) + 4 * (X @ w) ** 3 + (X @ w) ** 4
    model = TaylorModel.fit(X, y, np.zeros(d), 0.0, radius)
    near = np.vstack([size * rng.uniform(-1, 1, (3, d)), X[:2] / radius])
    return model, Dense(X / radius, y, radius / model.rho, model.degree), near, rng.uniform(-1, 1, (3, d))


@pytest.mark.parametrize(("d", "n"), [(1, 4), (1, 10), (2, 5), (2, 14), (3, 8), (3, 16), (5, 12), (7, 12)])
@pytest.mark.parametrize("radius", [0.1, 1e-3, 1e-6])
@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-6])
def test_posterior_against_dense_formulas(d, n, radius, size):
    """To 1e-8, but s, and the mean far from all points, only as well as the last digits of the values tell them."""
    model, oracle, near, far = within(d, n, radius, size)
    mean, std = oracle.predict(np.vstack([near, far]))
    s, known = math.sqrt(oracle.variance), std > 1e-14  # below, see the next test
    ours = model.predict(np.vstack([near, far]))
    np.testing.assert_allclose(ours[0][: len(near)], mean[: len(near)], rtol=1e-8)
    assert np.all(np.abs(ours[0] - mean) <= 1e-8 * np.abs(mean) + 20 * oracle.rounding * s * std)
    np.testing.assert_allclose(ours[1][known] / model.scale, std[known], rtol=1e-8)
    assert model.scale == pytest.approx(s, rel=1e-8 + oracle.rounding)


def test_std_between_points_much_closer_than_the_radius():
    model, oracle, near, _ = within(2, 14, 0.1, 1e-6)
    np.testing.assert_allclose(model.predict(near)[1] / model.scale, oracle.predict(near)[1], rtol=1e-8)


def test_rho_is_the_one_of_the_largest_evidence():
    """A quadratic one needs redundant points and a Bayes factor; each rule decides some of the cases."""
    seen = set()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        d = int(rng.choice([1, 2, 2, 3, 7]))
        few, n = d == 7, 11 if d == 7 else n_terms(d, 2) + int(rng.integers(1, 4))
        Z, f, g, radius = rng.uniform(-1, 1, (n, d)), quadratic(rng, d), rng.normal(size=d), 0.25
        if few:
            Z[:3] = Z[3:6] + 1e-6 * Z[:3]  # as good as redundant, but not counted
        y = f(Z) + 10.0 ** rng.uniform(-9, 1) * np.sin(5 * Z @ g) ** 3
        model = TaylorModel.fit(radius * Z, y, np.zeros(d), 0.0, radius)
        loss = {rho: Dense(Z, y, radius / rho, model.degree).loss for rho in RHOS + QUADRATIC_RHOS}
        fair = {rho: a + taylor.MIN_LOG_BAYES_FACTOR * (rho in QUADRATIC_RHOS) for rho, a in loss.items()}
        plain, penalised = min(loss, key=loss.__getitem__), min(fair, key=fair.__getitem__)
        expected = min(RHOS, key=loss.__getitem__) if few else penalised
        assert model.rho == expected
        seen |= {expected, few and penalised != expected and "redundancy", not few and penalised != plain and "factor"}
    assert {"redundancy", "factor"} <= seen
    assert len(seen & set(RHOS + QUADRATIC_RHOS)) >= 6, seen


@pytest.mark.parametrize("n", [9, 15, 25])
def test_hessian_of_the_least_norm(n):
    """Too few points for a quadratic and no remainder: the interpolant with the least Frobenius norm, by its KKT."""
    d, radius, rng = 7, 1e-9, np.random.default_rng(n)
    Z, v = rng.uniform(-1, 1, (n, d)), rng.normal(size=n)
    model = TaylorModel.fit(radius * Z, v, np.zeros(d), 0.0, radius)
    kkt = np.block([[(Z @ Z.T) ** 2 / 4, Z], [Z.T, np.zeros((d, d))]])
    solution = np.linalg.solve(kkt, np.append(v, np.zeros(d)))
    H = Z.T @ (solution[:n, None] * Z) / 2
    np.testing.assert_allclose(model.hessian, H, rtol=0, atol=1e-4 * np.max(np.abs(H)))
    np.testing.assert_allclose(model.gradient, solution[n:], rtol=0, atol=1e-4 * np.max(np.abs(H)))


@pytest.mark.parametrize("d", range(1, 8))
@pytest.mark.parametrize("radius", [0.1, 0.3])
def test_a_quadratic_is_recognised(d, radius):
    """In the whole cube; up to rho^-2, the effect of prior and remainder, unless points determine higher degrees."""
    rng = np.random.default_rng(d)
    f, center, A = quadratic(rng, d), rng.uniform(0.3, 0.7, d), rng.random((200, d))
    value, enough = float(f(center[None])[0]), min(2 * n_terms(d, affordable_degree(d)), MAX_POINTS)
    for n, error in ((enough, 1e-10 if d < 7 else 1e-8), (n_terms(d, 2) + 3, 1e-6)):
        X = center + radius * rng.uniform(-1, 1, (n, d))
        model = TaylorModel.fit(X, f(X), center, value, radius)
        assert model.rho in QUADRATIC_RHOS
        mean, _ = model.predict((A - center) / radius)
        np.testing.assert_allclose(value + mean, f(A), rtol=0, atol=error * np.ptp(f(A)))


@pytest.mark.parametrize("d", range(1, 8))
def test_few_points_never_choose_a_quadratic_rho(d):
    rng = np.random.default_rng(d)
    for f in (quadratic(rng, d), lambda X: np.exp(-np.sum((X - 0.5) ** 2, axis=1))):
        for n in range(d + 1, n_terms(d, 2) + 1):
            X, y = (points := rng.random((n + 1, d)))[1:], f(points)
            assert TaylorModel.fit(X, y[1:], points[0], y[0], 10 ** rng.uniform(-3, -0.5)).rho in RHOS


@models
def test_gradients_and_hessians_by_central_differences(d, n):
    """Of the mean everywhere; of the std but at the center, where it has a kink."""
    model, _, rng = bumpy_model(d, n)
    Z, h = np.vstack([np.zeros((1, d)), rng.uniform(-1.5, 1.5, (6, d))]), 1e-5
    predicted, mean = model.derivatives(Z), model.mean_derivatives(Z)
    np.testing.assert_allclose([predicted.mean, predicted.std], model.predict(Z), rtol=1e-13)
    for ours, same in zip(mean, (predicted.mean, predicted.mean_gradient, predicted.mean_hessian), strict=True):
        np.testing.assert_array_equal(ours, same)
    np.testing.assert_array_equal(model.gradient, predicted.mean_gradient[0])
    np.testing.assert_array_equal(model.hessian, predicted.mean_hessian[0])
    away = slice(1, None)
    claims = [
        (Z, "mean", predicted.mean_gradient),
        (Z[away], "std", predicted.std_gradient[away]),
        (Z, "mean_gradient", predicted.mean_hessian),
        (Z[away], "std_gradient", predicted.std_hessian[away]),
    ]
    for i, step in enumerate(h * np.eye(d)):
        for points, of, claimed in claims:
            up, down = (getattr(model.derivatives(points + sign * step), of) for sign in (1, -1))
            rise = (up - down) / (2 * h)
            np.testing.assert_allclose(claimed[..., i], rise, rtol=1e-5, atol=1e-5 * np.max(np.abs(rise)), err_msg=of)


@models
def test_the_center_is_interpolated_and_the_remainder_grows_from_there(d, n):
    model, _, _ = bumpy_model(d, n)
    mean, std = model.predict(np.zeros((1, d)))
    assert (mean[0], model.degree, model.n_points) == (0.0, affordable_degree(d), n)
    assert 0 <= std[0] <= 1e-12 * model.scale
    m, r = model.degree, np.array([0.0, 0.3, 1.0, 2.0])
    expected = model.scale * (model.radius / model.rho) ** (m - 1) * r ** (m + 1)
    np.testing.assert_allclose([*model.remainder(r), model.remainder(2.0)], [*expected, expected[-1]], rtol=1e-12)


def assert_same(one, other):
    assert (one.rho, one.scale, one.n_points) == (other.rho, other.scale, other.n_points)
    np.testing.assert_array_equal(one.weights, other.weights)
    np.testing.assert_array_equal(one.covariance_factor, other.covariance_factor)


def test_the_nearest_points_are_used_and_none_at_the_center():
    X = np.random.default_rng(0).random((MAX_POINTS + 50, 2))
    center, y, distance = X[7], bumpy(X), np.linalg.norm(X - X[7], axis=1)
    nearest = np.argsort(distance)[1 : MAX_POINTS + 1]
    expected = TaylorModel.fit(X[nearest], y[nearest], center, y[7], 0.1)
    wrong = np.where(distance > np.max(distance[nearest]), 1e6, y)
    more = np.vstack([center, X, center + 1e-11]), np.hstack([-50.0, wrong, 50.0])
    assert_same(TaylorModel.fit(*more, center, y[7], 0.1), expected)
    assert expected.n_points == MAX_POINTS


@models
@pytest.mark.parametrize("factor", [2.0**-30, -1.0, 3e5, 1e-9])
def test_units_of_the_values_do_not_matter(d, n, factor):
    model, X, rng = bumpy_model(d, n)
    y, Z = bumpy(X), rng.uniform(-1, 1, (9, d))
    scaled = TaylorModel.fit(X, factor * y, model.center, factor * model.value, model.radius)
    assert scaled.rho == model.rho
    np.testing.assert_allclose(scaled.predict(Z), model.predict(Z) * np.array([[factor], [abs(factor)]]), rtol=1e-9)
    y, value = np.round(y * 2**30) / 2**30, round(model.value * 2**30) / 2**30  # so that 1000 more loses no digits
    shifted = TaylorModel.fit(X, y + 1000.0, model.center, value + 1000.0, model.radius)
    assert_same(shifted, TaylorModel.fit(X, y, model.center, value, model.radius))


def test_any_data():
    """Crowded, repeated, contradictory, constant, huge and tiny: finite numbers, and no warning."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        d, radius, scale = int(rng.integers(1, 7)), 10 ** rng.uniform(-9, math.log10(0.3)), 10 ** rng.uniform(-12, 12)
        n, center = int(rng.integers(d + 2, 61)), rng.random(d)
        X = np.clip(center + 10 ** rng.uniform(math.log10(radius) - 2, 0, (n, 1)) * rng.uniform(-1, 1, (n, d)), 0, 1)
        X[rng.random(n) < rng.choice([0.0, 0.3, 1.0])] = X[0]
        X[rng.random(n) < rng.choice([0.0, 0.3])] = center
        value = float(bumpy(center[None])[0])
        y = (bumpy(X), rng.normal(size=n), np.full(n, value))[seed % 3]
        model = TaylorModel.fit(X, scale * y, center, scale * value, radius)
        Z = np.vstack([(X - center) / radius, rng.uniform(-1, 1, (5, d)), np.zeros((1, d))])
        derivatives = *model.derivatives(Z), *model.mean_derivatives(Z), model.gradient, model.hessian
        for numbers in (*model.predict(Z), *derivatives, model.remainder(1.0)):
            assert np.all(np.isfinite(numbers)), seed


@models
def test_conditioning_is_a_fit_with_the_same_rho(d, n):
    """To all observations, in whichever order, with rho as it was: s is estimated again."""
    model, X, rng = bumpy_model(d, n)
    P = model.center + 0.1 * rng.uniform(-1, 1, (3, d))
    Z, differences = (P - model.center) / model.radius, bumpy(P) - model.value
    before = model.Z.copy(), model.differences.copy()
    conditioned = model.condition(Z, differences)
    np.testing.assert_array_equal(model.Z, before[0])
    np.testing.assert_array_equal(model.differences, before[1])
    y = np.append(bumpy(X), bumpy(P))
    refitted = TaylorModel.fit(
        np.vstack([X, P]), y, model.center, model.value, model.radius, rhos=(model.rho,), quadratic_rhos=()
    )
    assert_same(conditioned, refitted)
    assert (conditioned.degree, conditioned.n_points) == (model.degree, min(n + 3, refitted.n_points))
    one_by_one = model
    for z, difference in zip(Z, differences, strict=True):
        one_by_one = one_by_one.condition(z[None, :], np.array([difference]))
    assert_same(one_by_one, refitted)
