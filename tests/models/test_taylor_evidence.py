"""What the evidence decides of a local Taylor model: degree and radius of convergence; and how it compares shapes."""

import math

import mpmath as mp
import numpy as np
import pytest
from taylor_oracle import DenseTaylor, digits, linear_contrasts, with_series

from dale.models.ellipsoid import Ellipsoid
from dale.models.monomials import affordable_degree, n_terms
from dale.models.series import (
    MIN_LOG_BAYES_FACTOR,
    MIN_RHO_RADII,
    MIXED_STDS,
    QUADRATIC_RHOS,
    RHOS,
    SMALL_RHO_FACTOR,
    Series,
    SeriesData,
)
from dale.models.taylor import TaylorModel


def small_rhos(radius):
    """Below the least of ``RHOS``, in steps, as long as they are above the least that the region needs."""
    rhos, rho = [], RHOS[0] / SMALL_RHO_FACTOR
    while rho > MIN_RHO_RADII * radius:
        rhos.append(rho)
        rho /= SMALL_RHO_FACTOR
    return tuple(rhos)


def candidates(d, n, radius, structured=False):
    """All series that n observations may choose from, with what each has to pay."""
    highest, redundant = affordable_degree(d), n > n_terms(d, 2)
    rhos, stds = small_rhos(radius) + RHOS, MIXED_STDS if structured else (1.0,)
    allowed = {Series(highest, rho, mixed): 0.0 for rho in rhos for mixed in stds}
    if redundant:
        allowed |= quadratic_series(d, stds)
        allowed |= {Series(2, rho, mixed): 0.0 for rho in rhos for mixed in stds}
    return allowed


def quadratic_series(d, stds=(1.0,)):
    """Those that end after their quadratic terms, with what each has to pay."""
    highest = affordable_degree(d)
    return {Series(highest, rho, mixed): MIN_LOG_BAYES_FACTOR for rho in QUADRATIC_RHOS for mixed in stds}


def losses(model, structured=False):
    """Of all series, by fits of each."""
    d = len(model.center)
    return {
        series: with_series(model, series).loss + cost
        for series, cost in candidates(d, model.n_points, model.radius, structured).items()
    }


def rotation(rng, d):
    return np.linalg.qr(rng.normal(size=(d, d)))[0]


def shape(rng, d, aspect):
    axes = np.geomspace(1, aspect, d)
    return rotation(rng, d) * (axes / np.prod(axes) ** (1 / d))


FUNCTIONS = {
    "quadratic": lambda U, rng: U**2 @ np.geomspace(1, 10 ** rng.uniform(0, 4), U.shape[1]),
    "kinks": lambda U, rng: np.abs(U) @ np.geomspace(1, 10 ** rng.uniform(0, 2), U.shape[1]),
    "sixth powers": lambda U, rng: U**6 @ np.geomspace(1, 10 ** rng.uniform(0, 4), U.shape[1]),
    "ripples": lambda U, rng: np.sum(U**2, axis=1) + 0.1 * np.sum(np.cos(rng.uniform(5, 60) * U), axis=1),
    "exponential": lambda U, rng: np.exp(rng.uniform(1, 5) * U[:, 0]) + np.sum(U, axis=1),
    "waves": lambda U, rng: np.sin(rng.uniform(2, 30) * U @ rng.normal(size=U.shape[1])) + np.sum(U**2, axis=1),
    "bananas": lambda U, rng: (
        np.sum((U[:, 1:] - 2 * U[:, :-1] ** 2) ** 2, axis=1) + 0.01 * np.sum((U - 0.3) ** 2, axis=1)
    ),
    "noise": lambda U, rng: rng.normal(size=len(U)),
}


def random_model(seed, name, **options):
    """A function around a random center, seen from a tenth of the radius to ten times the radius."""
    rng = np.random.default_rng([seed, list(FUNCTIONS).index(name)])
    d = int(rng.choice([1, 2, 2, 3, 4, 5]))
    n, radius, center = int(rng.integers(d + 2, 3 * n_terms(d, 2) + 1)), 10 ** rng.uniform(-5, -0.5), rng.random(d)
    X = np.clip(center + radius * 10 ** rng.uniform(-1, 1, (n, 1)) * rng.uniform(-1, 1, (n, d)), 0, 1)
    points = np.vstack([center, X])
    y = FUNCTIONS[name]((points - rng.uniform(0.3, 0.7, d)) @ rotation(rng, d), rng)
    return TaylorModel.fit(Ellipsoid(center, radius), X, y[1:], float(y[0]), **options)


def test_loss_against_dense_formulas():
    """That of the chosen series, with the Bayes factor that a quadratic one pays; each rule decides some cases."""
    rhos, rules, missed = set(), set(), 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        d = int(rng.choice([1, 2, 2, 3, 7]))
        few, n = d == 7, 11 if d == 7 else n_terms(d, 2) + int(rng.integers(1, 4))
        Z, radius, g = rng.uniform(-1, 1, (n, d)), 0.25, rng.normal(size=d)
        if few:
            Z[:3] = Z[3:6] + 1e-6 * Z[:3]  # as good as redundant, but not counted
        H = rng.normal(size=(d, d))
        y = Z @ g + np.einsum("ni,ij,nj->n", Z, H, Z) + 10.0 ** rng.uniform(-9, 1) * np.sin(5 * Z @ g) ** 3
        model = TaylorModel.fit(Ellipsoid(np.zeros(d), radius), radius * Z, y, 0.0)
        allowed = candidates(d, n, radius)
        costs = quadratic_series(d) | allowed
        loss = {s: float(DenseTaylor(Z, y, radius, s).loss) for s in costs}
        paid = {s: loss[s] + costs[s] for s in costs}
        assert model.loss == pytest.approx(paid[model.series], rel=1e-6, abs=1e-6)
        best = min(allowed, key=paid.__getitem__)
        missed += model.series != best
        rhos.add(best.rho)
        rules.add(f"degree {best.degree}")
        if few and min(paid, key=paid.__getitem__) != best:
            rules.add("redundancy")
        if not few and min(loss, key=loss.__getitem__) != best:
            rules.add("factor")
    assert rules >= {"redundancy", "factor", "degree 2", "degree 6"}
    assert len(rhos) >= 6
    assert missed <= 1  # the search for rho is local


def test_evidence_is_comparable_between_degrees_radii_of_convergence_and_shapes():
    """It is the density of the same contrasts of the values, up to a constant of the data.

    The contrasts are combinations of the values, fixed before any shape or series, that no linear function enters. So
    this holds as long as the gradient is far below its own prior, ``LINEAR_PRIOR_STD`` s.
    """
    for seed in range(4):
        rng = np.random.default_rng(seed)
        d, n, radius = 2 + seed % 2, 13, 0.2
        X = radius * rng.uniform(-1.5, 1.5, (n, d))
        y, contrasts = np.sum(np.sin(20 * X), axis=1) + np.sum(X, axis=1), linear_contrasts(X)
        constants, densities = [], []
        for S in (None, shape(rng, d, 3.0), shape(rng, d, 10.0)):
            model = TaylorModel.fit(Ellipsoid(np.zeros(d), radius, S), X, y, 0.0)
            for series in (Series(affordable_degree(d), 0.4), Series(affordable_degree(d), 3.2), Series(2, 0.2)):
                oracle = DenseTaylor(model.frame.to_local(X), y, radius, series)
                with digits:
                    densities.append(float(oracle.contrasts_loss(contrasts)))
                constants.append(with_series(model, series).loss - densities[-1])
        assert np.ptp(constants) < 0.03, constants
        assert np.ptp(densities) > 10


@pytest.mark.parametrize("n_draws", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_values_drawn_from_a_prior_are_explained_best_by_it(n_draws):
    """On average over draws, for every pair of degrees and shapes: Gibbs' inequality."""
    rng, d, n, radius = np.random.default_rng(0), 2, 16, 0.1
    X = radius * rng.uniform(-1.5, 1.5, (n, d))
    priors = [
        (S, series) for S in (None, shape(rng, d, 5.0)) for series in (Series(6, 0.4), Series(6, 0.1), Series(2, 0.1))
    ]
    frames = {i: Ellipsoid(np.zeros(d), radius, S) for i, (S, _) in enumerate(priors)}
    lowers = []
    for i, (_, series) in enumerate(priors):
        oracle = DenseTaylor(frames[i].to_local(X), np.ones(n), radius, series)
        with digits:
            lowers.append(np.array(mp.cholesky(oracle.K).tolist(), dtype=float))
    advantage = np.zeros((len(priors), len(priors)))
    for truth, lower in enumerate(lowers):
        for _ in range(n_draws):
            y = lower @ rng.normal(size=n)
            loss = [
                with_series(TaylorModel.fit(frames[i], X, y, 0.0), series).loss for i, (_, series) in enumerate(priors)
            ]
            advantage[truth] += (np.array(loss) - loss[truth]) / n_draws
    others = ~np.eye(len(priors), dtype=bool)
    assert np.all(advantage[others] > 0), advantage


@pytest.mark.parametrize("n_seeds", [12, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("structured", "most"), [(False, 0.05), (True, 0.15)])
def test_the_search_finds_the_minimum_of_the_grid(structured, most, n_seeds):
    """How often its loss is that of the best of all series, over cases of 8 kinds.

    Where it is not, another basin of the evidence is deeper: most often that of an exact quadratic, at the far end of
    rho; or one of another structure.
    """
    missed = []
    for name in FUNCTIONS:
        for seed in range(n_seeds):
            model = random_model(seed, name, structured=structured)
            loss = losses(model, structured)
            assert loss[model.series] == pytest.approx(model.loss, rel=1e-12, abs=1e-9)
            if model.loss > min(loss.values()) + 1e-9:
                missed.append((name, seed))
    assert len(missed) <= most * n_seeds * len(FUNCTIONS), missed


def test_the_search_ends_in_a_minimum_among_neighbours():
    """Of its degree, along rho and along the structure; a second search from there ends no higher."""
    for name in FUNCTIONS:
        for seed in range(10):
            model = random_model(seed, name, structured=True)
            loss = losses(model, structured=True)
            degree, rho, mixed, _ = model.series
            for line in (
                sorted(s for s in loss if (s.degree, s.mixed) == (degree, mixed)),
                sorted(s for s in loss if (s.degree, s.rho) == (degree, rho)),
            ):
                i = line.index(model.series)
                assert all(model.loss <= loss[s] + 1e-9 for s in line[max(i - 1, 0) : i + 2]), (name, seed)
            again = TaylorModel.fit(
                model.frame,
                model.frame.to_cube(model.Z),
                model.differences,
                0.0,
                starts=(model.series,),
                structured=True,
            )
            assert again.loss <= model.loss + 1e-6 * abs(model.loss), (name, seed)


def test_a_similar_model_starts_at_the_series_of_each_degree(monkeypatch):
    """With the same data it ends where it starts, after looking at the neighbours of each start only."""
    model = random_model(2, "waves")
    assert [series.degree for series in model.starts] == [4, 2]
    fits = []
    fit = SeriesData.fit
    monkeypatch.setattr(SeriesData, "fit", lambda self, *args: fits.append(args[0]) or fit(self, *args))
    again = TaylorModel.fit(model.frame, model.frame.to_cube(model.Z), model.differences, 0.0, starts=model.starts)
    assert again.starts == model.starts
    assert len(fits) <= 3 * len(model.starts)


@pytest.mark.parametrize("radius", [1e-2, 1e-4, 1e-7])
def test_rho_follows_detail_down_to_the_radius(radius):
    """Noise has detail at every scale; nothing smaller than the region is searched."""
    rng = np.random.default_rng(3)
    for d in (1, 2, 3):
        n = 3 * n_terms(d, 2)
        X, y = radius * rng.uniform(-3, 3, (n, d)), rng.normal(size=n)
        model = TaylorModel.fit(Ellipsoid(np.zeros(d), radius), X, y, 0.0)
        assert model.rho == min((*small_rhos(radius), RHOS[0]))
        assert model.rho > MIN_RHO_RADII * radius
        assert model.rho <= max(SMALL_RHO_FACTOR * MIN_RHO_RADII * radius, RHOS[0]) * (1 + 1e-9)


@pytest.mark.parametrize("d", [4, 6])
def test_mixed_derivatives_are_small_where_the_evidence_says_so(d):
    """Of a sum of functions of one variable each, not of a rotated one; and only if structure is asked for."""
    rng = np.random.default_rng(d)
    X, Q = 0.5 + 0.1 * rng.uniform(-1, 1, (n_terms(d, 2), d)), rotation(rng, d)
    curvatures = np.geomspace(1, 100, d)

    def fit(U, **options):
        y = (U - 0.5) ** 2 @ curvatures + np.sum(U**3, axis=1)
        return TaylorModel.fit(Ellipsoid(np.full(d, 0.5), 0.1), X, y, 0.125 * d, **options).series.mixed

    assert fit(X, structured=True) < 1
    assert fit(0.5 + (X - 0.5) @ Q, structured=True) == 1
    assert fit(X) == 1


def test_max_degree():
    rng = np.random.default_rng(0)
    X = rng.random((12, 3))
    y = np.exp(X[:, 0]) * np.sin(5 * X @ np.ones(3))
    for max_degree in (2, 3, 4):
        model = TaylorModel.fit(Ellipsoid(np.full(3, 0.5), 0.2), X[:9], y[:9], float(y[11]), max_degree=max_degree)
        assert model.series.degree == model.degree == max_degree
    redundant = TaylorModel.fit(Ellipsoid(np.full(3, 0.5), 0.2), X, y, float(y[11]), max_degree=4)
    assert redundant.degree in (2, 4)


def test_the_shape_of_a_narrow_valley_has_more_evidence_than_a_ball():
    """And a wrong one less; on the same observations."""
    gains = []
    for seed in range(10):
        rng, d = np.random.default_rng(seed), 2
        X, S = 0.5 + 0.1 * rng.uniform(-1, 1, (20, d)), np.diag([math.sqrt(10), math.sqrt(0.1)])
        U = (X - 0.5) @ np.linalg.inv(S)
        y = np.sum(U**2 + 0.01 * np.sin(20 * U), axis=1)
        narrow, ball, across = (
            TaylorModel.fit(Ellipsoid(np.full(d, 0.5), 0.05, A), X, y, 0.0).loss for A in (S, None, np.linalg.inv(S))
        )
        gains.append([ball - narrow, across - ball])
    assert np.all(np.median(gains, axis=0) > 5), gains


def test_what_was_fitted_to_the_same_observations_is_not_fitted_again(monkeypatch):
    """In the same shape a structured model is searched for next to the plain one; the result is the same."""
    model = random_model(4, "waves")
    X, fits = model.frame.to_cube(model.Z), []
    fit = SeriesData.fit
    monkeypatch.setattr(SeriesData, "fit", lambda self, *args: fits.append(args[0]) or fit(self, *args))

    def both(data):
        fits.clear()
        for structured in (False, True):
            found = TaylorModel.search(model.frame, 0.0, data(), model.starts, structured=structured)
        return found, list(fits)

    def new():
        return SeriesData.of(model.frame.to_local(X), model.differences, model.degree)

    one = new()
    (plain, repeated), (shared, once) = both(new), both(lambda: one)
    assert set(repeated) == set(once)
    assert len(repeated) > len(once) == len(set(once))
    assert (plain.starts, plain.loss) == (shared.starts, shared.loss)
    np.testing.assert_array_equal(plain.weights, shared.weights)
