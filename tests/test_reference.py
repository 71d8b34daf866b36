"""The oracle against numbers worked out by hand, and against identities that it does not use itself."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

import reference as ref


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def column(*values):
    return np.array(values, float)[:, None]


# Three points around the minimum of (x - 0.52)^2, and two far away.
X_LINE = column(0.0, 0.4, 0.5, 0.6, 1.0)
Y_LINE = (X_LINE[:, 0] - 0.52) ** 2


class TestKernels:
    def test_correlations_at_one_length_scale(self):
        A, B = np.array([[0.1, 0.2]]), np.array([[0.1, 0.5]])
        assert ref.k_se(A, B, 0.3)[0, 0] == pytest.approx(math.exp(-0.5))
        assert ref.k_matern52(A, B, 0.3)[0, 0] == pytest.approx((1 + 5**0.5 + 5 / 3) * math.exp(-(5**0.5)))

    @pytest.mark.parametrize("kernel", [ref.k_se, ref.k_matern52])
    def test_one_length_scale_per_dimension(self, kernel):
        A, B = np.array([[0.1, 0.2]]), np.array([[0.2, 0.6]])
        assert kernel(A, B, np.array([0.1, 0.4])) == pytest.approx(kernel(A / [0.1, 0.4], B / [0.1, 0.4], 1.0))
        assert kernel(A, B, 0.3) == pytest.approx(kernel(A, B, np.array([0.3, 0.3])))

    def test_quadratic(self):
        assert ref.k_q(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))[0, 0] == 144  # (3 + 8 + 1)^2

    def test_mixed_global_local(self):
        X = column(0.1, 0.2, 0.5, 0.8, 0.9)
        balls = [(np.array([0.15]), 0.051), (np.array([0.8]), 0.1)]  # 0, 1 in the first; 3, 4 in the second
        K = ref.k_mgl(X, X, balls, 0.3, 2.0)
        expected = np.zeros((5, 5))
        expected[:2, :2] = ref.k_q(X[:2], X[:2])
        expected[2, 2] = 2.0
        expected[3:, 3:] = ref.k_q(X[3:], X[3:])
        assert pytest.approx(expected) == K

    def test_without_balls_the_mixed_kernel_is_global(self, rng):
        A, B = rng.random((3, 2)), rng.random((4, 2))
        assert ref.k_mgl(A, B, [], 0.3, 2.0) == pytest.approx(2.0 * ref.k_se(A, B, 0.3))


class TestGaussianProcess:
    def test_one_observation(self):
        rho = 0.6
        mean, variance = ref.posterior(np.eye(1), np.array([[rho]]), np.ones(1), np.array([2.0]), 1.0)
        assert mean == pytest.approx([1 + rho])
        assert variance == pytest.approx([1 - rho**2])

    def test_interpolates(self, rng):
        X, y = rng.random((8, 2)), rng.normal(size=8)
        K = ref.k_se(X, X, 0.2)
        mean, variance = ref.posterior(K, K, np.ones(8), y, 0.3)
        assert mean == pytest.approx(y)
        assert variance == pytest.approx(np.zeros(8), abs=1e-12)

    def test_far_away_is_the_prior(self):
        X, far = column(0.0), column(100.0)
        mean, variance = ref.posterior(ref.k_se(X, X, 0.1), ref.k_se(X, far, 0.1), np.ones(1), np.array([5.0]), 0.3)
        assert (mean[0], variance[0]) == (0.3, 1.0)

    def test_maximum_likelihood_by_hand(self):
        K, y = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([1.0, 3.0])
        assert ref.ml_mean(K, y) == pytest.approx(2.0)  # by symmetry
        assert ref.ml_variance(K, y, 2.0) == pytest.approx(2.0)  # (-1, 1) is an eigenvector of K, of value 1/2

    def test_closed_forms_are_the_maximum(self, rng):
        X, y = rng.random((7, 2)), rng.normal(size=7)
        R = ref.k_se(X, X, 0.2)
        c = ref.ml_mean(R, y)
        s2 = ref.ml_variance(R, y, c)
        maximum = ref.log_marginal_likelihood(s2 * R, y, c)
        for dc, ds in [(0.01, 1), (-0.01, 1), (0, 1.01), (0, 0.99)]:
            assert ref.log_marginal_likelihood(ds * s2 * R, y, c + dc) < maximum

    def test_likelihood_is_the_normal_density(self, rng):
        X, y = rng.random((5, 2)), rng.normal(size=5)
        K = 1.7 * ref.k_se(X, X, 0.2)
        expected = multivariate_normal(np.full(5, 0.3), K).logpdf(y)
        assert ref.log_marginal_likelihood(K, y, 0.3) == pytest.approx(expected)

    def test_leave_one_out_has_a_closed_form(self, rng):
        X, y = rng.random((6, 2)), rng.normal(size=6)
        K = ref.k_se(X, X, 0.2) + 0.1 * np.eye(6)
        means, variances = ref.leave_one_out(K, y, 0.3)
        precision = np.linalg.inv(K)  # Rasmussen & Williams, eq. 5.12
        assert variances == pytest.approx(1 / np.diag(precision))
        assert means == pytest.approx(y - precision @ (y - 0.3) / np.diag(precision))


class TestAcquisition:
    def test_expected_improvement_by_hand(self):
        assert ref.expected_improvement(0.0, 1.0, 0.0) == pytest.approx(1 / math.sqrt(2 * math.pi))
        assert ref.expected_improvement(0.0, 1.0, 1.0) == pytest.approx(1.0833154705876864)  # Phi(1) + phi(1)
        assert ref.expected_improvement([1.0, 3.0], 0.0, 2.0).tolist() == [1.0, 0.0]

    def test_expected_improvement_is_an_expectation(self):
        expected = quad(lambda f: (0.2 - f) * norm.pdf(f, 0.5, 0.7), -10, 0.2)[0]
        assert ref.expected_improvement(0.5, 0.7, 0.2) == pytest.approx(expected)
        assert ref.log_expected_improvement(0.5, 0.7, 0.2) == pytest.approx(math.log(expected))

    def test_no_improvement_in_logs(self):
        assert ref.log_expected_improvement([3.0, 3.0], [0.0, 1e-3], 2.0).tolist() == [-math.inf, -math.inf]

    def test_bound_and_probability(self):
        assert ref.lower_confidence_bound(1.0, 0.5, 3.0) == -0.5
        assert ref.probability_of_improvement(0.0, 2.0, 2.0) == pytest.approx(norm.cdf(1))
        assert ref.probability_of_improvement([1.0, 2.0, 3.0], 0.0, 2.0).tolist() == [1.0, 0.0, 0.0]


class TestLengthScale:
    @pytest.mark.parametrize(
        ("d", "floors"), [(2, [0.257, 0.141, 0.063, 0.044, 0.031]), (6, [0.396, 0.324, 0.248, 0.221, 0.197])]
    )
    def test_floor(self, d, floors):
        values = [ref.length_scale_floor(n, d, 0.2) for n in (3, 10, 50, 100, 200)]
        assert values == pytest.approx(floors, abs=5e-4)

    def test_floor_in_one_dimension(self):
        floor = ref.length_scale_floor(10, 1, 0.2)
        assert ref.k_se(column(0.0), column(0.1), floor)[0, 0] == pytest.approx(0.2)  # neighbours on the grid of eq. 12

    def test_step(self):
        assert ref.alpha_ratio_step(math.log(1.0), math.log(1.6), 1.0, 0.5, 1.5) == 0.5
        assert ref.alpha_ratio_step(math.log(1.0), math.log(1.4), 1.0, 0.5, 1.5) == 1.0
        assert ref.alpha_ratio_step(math.log(1.0), math.log(9.0), 0.2, 0.3, 1.5) == 0.2  # it never heats
        assert ref.alpha_ratio_step(-math.inf, -math.inf, 1.0, 0.5, 1.5) == 1.0
        assert ref.alpha_ratio_step(-math.inf, -900.0, 1.0, 0.5, 1.5) == 0.5


class TestRegions:
    def test_quadratic_is_recovered(self, rng):
        b0, b1, B = 0.7, np.array([1.0, -2.0, 0.5]), np.array([[3.0, 1.0, 0.2], [1.0, 4.0, -0.6], [0.2, -0.6, 5.0]])
        X = rng.random((14, 3))
        y = b0 + X @ b1 + 0.5 * np.einsum("ni,ij,nj->n", X, B, X)
        fit = ref.quadratic_fit(X, y)
        assert fit[0] == pytest.approx(b0)
        assert fit[1] == pytest.approx(b1)
        assert fit[2] == pytest.approx(B)

    @pytest.mark.parametrize("n", [6, 9])
    def test_local_posterior_is_the_least_squares_quadratic(self, rng, n):
        X, y, Z = rng.random((n, 2)), rng.normal(size=n), rng.random((5, 2))
        b0, b1, B = ref.quadratic_fit(X, y)
        mean, variance = ref.posterior(ref.k_q(X, X), ref.k_q(X, Z), np.diag(ref.k_q(Z, Z)), y, 0.3, jitter=1e-9)
        assert mean == pytest.approx(b0 + Z @ b1 + 0.5 * np.einsum("ni,ij,nj->n", Z, B, Z), abs=1e-3)
        assert variance == pytest.approx(np.zeros(5), abs=1e-5)

    def test_line(self):
        kept, rejections = ref.identify_regions(X_LINE, Y_LINE)
        (region,) = kept
        assert region["minimiser"] == pytest.approx([0.52])
        assert region["minimum"] == pytest.approx(0.0, abs=1e-12)
        assert region["hessian"] == pytest.approx(np.array([[2.0]]))
        assert region["radius"] == pytest.approx(np.abs(X_LINE[region["members"]] - region["center"]).max())
        # From 0.0 the ball of three ends at 0.5; from 0.5 the ball of four holds one end of the line, not the other.
        # The remaining seven pairs (i, k) all give regions, all of them overlap.
        assert rejections[:2] == [(0, 3, "minimum outside the ball"), (2, 4, "ignores neighbours")]
        assert [reason for _, _, reason in rejections[2:]] == ["overlaps"] * 6

    @pytest.mark.parametrize(
        ("X", "y", "options", "rejection"),
        [
            (X_LINE, -Y_LINE, {}, (2, 3, "not convex")),
            (X_LINE, Y_LINE - [1, 0, 0, 0, 0], {}, (2, 3, "no improvement")),
            (X_LINE, Y_LINE, {"eps": 0.05}, (2, 3, "converged")),
            (X_LINE, Y_LINE, {"margin": 0.51}, (2, 3, "ignores neighbours")),
            (X_LINE, Y_LINE, {"margin": 0.45, "margin_from": "surface"}, (2, 3, "ignores neighbours")),
            (X_LINE, Y_LINE, {"margin": 0.0}, (2, 4, "ignores neighbours")),  # 0.0 and 1.0 are as far from 0.5
            (column(0, 0.1, 0.2, 1), (column(0, 0.1, 0.2, 1)[:, 0] + 0.05) ** 2, {}, (0, 3, "minimum outside the box")),
            (column(0.5, 0.5, 0.5, 1), np.zeros(4), {}, (0, 3, "degenerate")),
            (np.repeat(np.linspace(0, 1, 8)[:, None], 2, axis=1), np.arange(8.0), {}, (0, 6, "degenerate")),
        ],
    )
    def test_rejections(self, X, y, options, rejection):
        assert rejection in ref.identify_regions(X, y, **options)[1]

    def test_margin(self):
        """Around 0.5 three points lie within 0.1: the next are 0.5 from the center and 0.4 from the ball."""

        def tried(**options):
            kept, rejections = ref.identify_regions(X_LINE, Y_LINE, **options)
            found = [(r["index"], r["k"], "region") for r in kept]
            return {k: outcome for i, k, outcome in found + rejections if i == 2}

        ignored = "ignores neighbours"
        assert tried(margin=0.49)[3] != ignored
        assert tried(margin=0.51) == {3: ignored, 4: ignored}
        assert tried(margin=0.51, continue_after=()) == {3: ignored}
        assert tried(margin=0.39, margin_from="surface")[3] != ignored
        assert tried(margin=0.41, margin_from="surface") == {3: ignored, 4: ignored}

    def test_continue_everywhere(self):
        """From 0.0 three points have their minimum outside the ball, and four do not."""
        everything = ("minimum outside the ball", "ignores neighbours")
        _, printed = ref.identify_regions(X_LINE, Y_LINE, continue_after=())
        (region,), _ = ref.identify_regions(X_LINE, Y_LINE, continue_after=everything)
        assert (0, 3, "minimum outside the ball") in printed
        assert (0, 4) not in [r[:2] for r in printed]
        assert (region["index"], region["k"]) == (0, 4)  # of equal minima the first found

    def test_too_few_points(self):
        assert ref.identify_regions(X_LINE[:3], Y_LINE[:3]) == ([], [])

    def test_disjoint_minima_are_both_kept_best_first(self):
        X = column(0.10, 0.15, 0.20, 0.80, 0.85, 0.90)
        y = np.where(X[:, 0] < 0.5, 10 * (X[:, 0] - 0.16) ** 2, 10 * (X[:, 0] - 0.84) ** 2 - 0.0004)
        # At k = 4 each ball reaches the other three, which are within the margin of it: no mixed fits.
        kept, _ = ref.identify_regions(X, y, margin=0.1, margin_from="surface", continue_after=())
        assert [r["minimiser"][0] for r in kept] == pytest.approx([0.84, 0.16])
        assert [r["minimum"] for r in kept] == pytest.approx([-0.0004, 0.0], abs=1e-9)


class TestPropose:
    def test_region_wins(self):
        y = (Y_LINE - Y_LINE.mean()) / Y_LINE.std()
        proposal = ref.propose(X_LINE, y, 0.3, column(*np.linspace(0, 1, 101)), margin=0.35)  # leaves i = 2, k = 3
        assert proposal["source"] == "local"
        assert proposal["point"] == pytest.approx([0.52])
        assert proposal["acquisition"] == pytest.approx(0.0004 / Y_LINE.std())  # best - minimum

    def test_global_by_hand(self):
        X, y, candidates = column(0.0, 0.3, 1.0), np.array([1.0, -1.0, 0.0]), column(*np.linspace(0, 1, 101))
        proposal = ref.propose(X, y, 1.0, candidates)
        assert proposal["source"] == "global"
        assert proposal["cooled"] == (proposal["log_alpha_ratio"] > math.log(1.5))
        assert proposal["l"] == (0.5 if proposal["cooled"] else 1.0)  # the floor is 0.186
        K = ref.k_se(X, X, proposal["l"])
        c = ref.ml_mean(K, y)
        s2 = ref.ml_variance(K, y, c)
        fine = column(*np.linspace(0, 1, 10_001))  # from the candidates, the oracle climbs in steps down to 1e-4
        k_star = s2 * ref.k_se(X, fine, proposal["l"])
        mean, variance = ref.posterior(s2 * K, k_star, s2 * np.ones(len(fine)), y, c)
        improvement = ref.expected_improvement(mean, np.sqrt(variance), -1.0)
        assert proposal["point"] == pytest.approx(fine[improvement.argmax()], abs=2e-4)
        assert proposal["acquisition"] == pytest.approx(improvement.max(), rel=1e-4)
        assert proposal["log_alpha"] == pytest.approx(math.log(improvement.max()), rel=1e-4)  # no region is live

    def test_the_stored_value_is_the_denominator(self):
        X, y, candidates = column(0.0, 0.3, 1.0), np.array([1.0, -1.0, 0.0]), column(*np.linspace(0, 1, 101))
        K = ref.k_se(X, X, 1.0)
        c = ref.ml_mean(K, y)
        s2 = ref.ml_variance(K, y, c)
        fine = column(*np.linspace(0, 1, 10_001))
        k_star = s2 * ref.k_se(X, fine, 0.5)
        mean, variance = ref.posterior(s2 * ref.k_se(X, X, 0.5), k_star, s2 * np.ones(len(fine)), y, c)
        log_new = math.log(ref.expected_improvement(mean, np.sqrt(variance), -1.0).max())
        for log_previous in (log_new - math.log(1.5) - 0.01, log_new - math.log(1.5) + 0.01):
            proposal = ref.propose(X, y, 1.0, candidates, log_previous)
            assert proposal["log_alpha_ratio"] == pytest.approx(log_new - log_previous, abs=1e-4)
            assert proposal["cooled"] == (log_new - log_previous > math.log(1.5))

    def test_the_stored_value_is_undivided_and_outside_the_regions(self):
        y = (Y_LINE - Y_LINE.mean()) / Y_LINE.std()
        candidates, settings = column(*np.linspace(0, 1, 101)), {"margin": 0.35, "margin_from": "surface"}
        whole = ref.propose(X_LINE, y, 0.3, candidates, variance_divisor=1.0, **settings)
        divided = ref.propose(X_LINE, y, 0.3, candidates, variance_divisor=100.0, **settings)
        assert whole["log_alpha"] == divided["log_alpha"]
        few = ref.propose(X_LINE, y, 0.3, candidates[[5, 50, 52]], **settings)  # 0.05; and two inside the region
        one = ref.propose(X_LINE, y, 0.3, candidates[[5]], **settings)
        assert few["log_alpha"] == one["log_alpha"]

    def test_at_the_floor_there_is_no_candidate(self):
        proposal = ref.propose(X_LINE[:3], np.array([1.0, -1.0, 0.0]), 0.1, X_LINE)
        assert (proposal["l"], proposal["log_alpha_ratio"], proposal["cooled"]) == (0.1, None, False)

    def test_dense_posterior_decouples(self):
        """Eq. 18 in one matrix gives what propose computes separately: outside points outside, a quadratic inside."""
        (region,), _ = ref.identify_regions(X_LINE, Y_LINE, margin=0.35, margin_from="surface", continue_after=())
        assert (region["index"], region["k"]) == (2, 3)
        balls = [(region["center"], region["radius"])]
        outside = [0, 4]
        Z = np.vstack([column(0.01, 0.7), region["minimiser"][None]])  # two outside the ball, one inside
        K, k_star, K_star = (ref.k_mgl(A, B, balls, 0.3, 0.7) for A, B in [(X_LINE, X_LINE), (X_LINE, Z), (Z, Z)])
        mean, variance = ref.posterior(K, k_star, np.diag(K_star), Y_LINE, 0.1, jitter=1e-10)
        X_out = X_LINE[outside]
        K_out, k_out = 0.7 * ref.k_se(X_out, X_out, 0.3), 0.7 * ref.k_se(X_out, Z[:2], 0.3)
        mean_out, variance_out = ref.posterior(K_out, k_out, np.full(2, 0.7), Y_LINE[outside], 0.1, 1e-10)
        assert mean[:2] == pytest.approx(mean_out)
        assert variance[:2] == pytest.approx(variance_out)
        assert mean[2] == pytest.approx(region["minimum"], abs=1e-6)
        assert variance[2] == pytest.approx(0.0, abs=1e-8)
