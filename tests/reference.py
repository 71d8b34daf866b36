"""The whole paper in naive, dense formulas: the oracle of the tests, and the copy to read first.

Wabersich & Toussaint, "Advancing Bayesian Optimization: The Mixed-Global-Local (MGL) Kernel and Length-Scale Cool
Down", arXiv 1612.03117. No function here is optimised, and none is imported from dale.

Problem (eq. 1-2): minimise f on the unit cube [0, 1]^d, given X (n, d) and y (n,) with y standardised.
Notation: l length-scale, c constant prior mean, K covariance of the data, k_star (n, m) covariance of the data with
m other points, balls a list of (center, radius), all balls closed. Acquisitions are positive: minus the paper's alpha.
Where the paper is silent or misprinted, a comment says "ours:" and what is done instead.
"""

import math

import numpy as np
from scipy.special import ndtr


# --- Kernels ---------------------------------------------------------------------------------------------------------
def k_se(A, B, l):
    """Squared exponential correlation (len(A), len(B)), eq. 6 with variance 1; l: one number or one per dimension."""
    return np.exp(-0.5 * (((A[:, None, :] - B[None, :, :]) / l) ** 2).sum(axis=2))


def k_matern52(A, B, l):
    """Matern-5/2 correlation (not in the paper; IMGPO, which it compares with, uses it)."""
    r = np.sqrt(5 * (((A[:, None, :] - B[None, :, :]) / l) ** 2).sum(axis=2))
    return (1 + r + r**2 / 3) * np.exp(-r)


def k_q(A, B):
    """Quadratic kernel, eq. 19."""
    return (A @ B.T + 1) ** 2


def ball_of(x, balls):
    """Number of the first ball that holds x, or None."""
    for i, (center, radius) in enumerate(balls):
        if np.linalg.norm(x - center) <= radius:
            return i
    return None


def k_mgl(A, B, balls, l, variance):
    """Mixed-global-local kernel, eq. 18, pair by pair."""
    K = np.zeros((len(A), len(B)))
    for p, a in enumerate(A):
        for q, b in enumerate(B):
            i, j = ball_of(a, balls), ball_of(b, balls)
            if i is None and j is None:  # both outside: k_s
                K[p, q] = variance * k_se(a[None], b[None], l)[0, 0]
            elif i == j:  # both in the same ball: k_q
                K[p, q] = k_q(a[None], b[None])[0, 0]
    return K  # all else stays 0


# --- Gaussian process ------------------------------------------------------------------------------------------------
def posterior(K, k_star, k_star_star_diag, y, c, jitter=0.0):
    """Posterior mean and variance at m points, eq. 3-5; ours: variances that round to below 0 are 0."""
    K = K + jitter * np.eye(len(y))
    mean = c + k_star.T @ np.linalg.solve(K, y - c)  # eq. 3
    variance = k_star_star_diag - (k_star * np.linalg.solve(K, k_star)).sum(axis=0)  # eq. 4-5
    return mean, np.maximum(variance, 0.0)


def ml_mean(K, y):
    """The constant mean of maximum likelihood; K may lack its variance, which cancels."""
    ones = np.ones(len(y))
    return ones @ np.linalg.solve(K, y) / (ones @ np.linalg.solve(K, ones))


def ml_variance(K, y, c):
    """The prior variance of maximum likelihood; K is a correlation matrix."""
    return (y - c) @ np.linalg.solve(K, y - c) / len(y)


def log_marginal_likelihood(K, y, c):
    """Log density of y under N(c, K)."""
    quadratic = (y - c) @ np.linalg.solve(K, y - c)
    return -0.5 * quadratic - 0.5 * np.linalg.slogdet(K)[1] - 0.5 * len(y) * math.log(2 * math.pi)


def noisy_log_evidence(K, y, eta):
    """Log density of y under N(c, s2 (K + eta I)) with c and s2 of maximum likelihood; K is a correlation matrix."""
    C = K + eta * np.eye(len(y))
    c = ml_mean(C, y)
    return log_marginal_likelihood(ml_variance(C, y, c) * C, y, c)


def known_noise_log_evidence(K, y, s2, variances):
    """Log density of y under N(c, s2 K + diag(variances)) with c of maximum likelihood."""
    C = s2 * K + np.diag(variances)
    return log_marginal_likelihood(C, y, ml_mean(C, y))


def leave_one_out(K, y, c):
    """Mean and variance at each point given all the others (Sec. 4.1); what K has on its diagonal counts as noise."""
    means, variances = np.empty(len(y)), np.empty(len(y))
    for i in range(len(y)):
        rest = [j for j in range(len(y)) if j != i]
        mean, variance = posterior(K[np.ix_(rest, rest)], K[rest][:, [i]], K[[i], [i]], y[rest], c)
        means[i], variances[i] = mean[0], variance[0]
    return means, variances


# --- Acquisition -----------------------------------------------------------------------------------------------------
def expected_improvement(mean, std, best):
    """Minus eq. 7; ours: where the std is 0 it is max(best - mean, 0), since eq. 7 rewards a worse mean there."""
    gain = best - np.asarray(mean, float)
    std = np.broadcast_to(np.asarray(std, float), gain.shape)
    u = np.divide(gain, std, out=np.zeros(gain.shape), where=std > 0)
    density = np.exp(-(u**2) / 2) / math.sqrt(2 * math.pi)
    value = np.maximum(std * (u * ndtr(u) + density), 0.0)  # rounding may fall below 0 at u < -38
    return np.where(std > 0, value, np.maximum(gain, 0.0))


def log_expected_improvement(mean, std, best):
    """Its logarithm as it stands: -inf where the improvement is 0 or underflows (u < -38)."""
    with np.errstate(divide="ignore"):
        return np.log(expected_improvement(mean, std, best))


def lower_confidence_bound(mean, std, weight=2.0):
    """The bound itself: the smaller, the better (the paper's UCB, for minimisation)."""
    return mean - weight * std


def probability_of_improvement(mean, std, best):
    """Chance of a value below best; without std, 1 or 0."""
    gain = best - np.asarray(mean, float)
    std = np.broadcast_to(np.asarray(std, float), gain.shape)
    u = np.divide(gain, std, out=np.zeros(gain.shape), where=std > 0)
    return np.where(std > 0, ndtr(u), gain > 0)


# --- Length-scale cool down (Sec. 2) ---------------------------------------------------------------------------------
def length_scale_floor(n, d, c):
    """Eq. 16: the l at which k_se falls to c over the distance delta_d with V_d(delta_d) = V_1(1 / n) (eq. 14-15)."""
    delta_1 = 1 / n
    ratio = math.gamma(d / 2 + 1) / math.gamma(3 / 2) * math.pi ** (0.5 * (1 - d)) * delta_1
    return math.sqrt(-1 / (2 * math.log(c))) * ratio ** (1 / d)


def alpha_ratio_step(log_alpha_old, log_alpha_new, l_old, l_new, threshold=1.5):
    """The next length-scale, Alg. 2 lines 5-11; ours: a candidate that is not smaller is none."""
    if l_new < l_old and log_alpha_new > log_alpha_old + math.log(threshold):  # line 6
        return l_new
    return l_old


# --- Local minimum regions (Sec. 3) ----------------------------------------------------------------------------------
def monomials(X):
    """The columns 1, x_a, x_a^2 / 2 and x_a x_b (a < b) of the regression, (n, N_U)."""
    n, d = X.shape
    columns = [np.ones(n)] + [X[:, a] for a in range(d)]
    for a in range(d):
        for b in range(a, d):
            columns.append(X[:, a] ** 2 / 2 if a == b else X[:, a] * X[:, b])
    return np.column_stack(columns)


def quadratic_fit(X, y):
    """Least squares b0 + b1'x + x'Bx / 2, eq. 17; returns b0, b1 (d,), B (d, d)."""
    d = X.shape[1]
    beta = np.linalg.lstsq(monomials(X), y, rcond=None)[0]
    B = np.zeros((d, d))
    pairs = [(a, b) for a in range(d) for b in range(a, d)]
    for (a, b), value in zip(pairs, beta[1 + d :], strict=True):
        B[a, b] = B[b, a] = value
    return beta[0], beta[1 : 1 + d], B


def examine(X, y, i, k, eps, margin, margin_from):
    """Alg. 3, lines 6-28, for the k nearest neighbours of X_i: the reason to refuse them or None, and the region."""
    N_U = 1 + X.shape[1] + X.shape[1] * (X.shape[1] + 1) // 2
    distance = np.linalg.norm(X - X[i], axis=1)
    order = np.argsort(distance, kind="stable")
    knn, others = order[:k], order[k:]  # line 6; ours: X_i is a neighbour of itself
    center, radius = X[i], distance[knn[-1]]  # line 7; ours: the ball around X_i, closed
    # Ours: fit in t = (x - center) / radius, which keeps more digits; refuse a fit that has no unique answer.
    if radius == 0 or np.linalg.matrix_rank(monomials((X[knn] - center) / radius)) < N_U:
        return "degenerate", None
    b0, b1, B = quadratic_fit((X[knn] - center) / radius, y[knn])  # line 8
    if np.linalg.eigvalsh(B).min() <= 0:  # line 9
        return "not convex", None
    t = -np.linalg.solve(B, b1)  # line 12; ours: with the half of eq. 17
    minimiser = center + radius * t
    minimum = b0 + b1 @ t / 2  # line 13; ours: likewise
    if np.linalg.norm(minimiser - center) > radius:  # line 14
        return "minimum outside the ball", None
    if minimiser.min() < 0 or minimiser.max() > 1:  # ours: the ball may reach beyond the cube
        return "minimum outside the box", None
    if minimum > y.min():  # line 17
        return "no improvement", None
    if np.linalg.norm(X - minimiser, axis=1).min() < eps:  # lines 20-21
        return "converged", None
    if margin_from == "center":
        tau = distance[others].min()  # line 24
        in_ball = tau <= radius * (1 + 1e-14)  # ours: as far as the farthest member, in the ball and not in the fit
    else:
        tau, in_ball = max(0.0, distance[others].min() - radius), False
    if tau < margin or in_ball:  # line 25
        return "ignores neighbours", None
    region = {"center": center, "radius": radius, "index": i, "k": k, "members": knn}
    return None, region | {"minimiser": minimiser, "minimum": minimum, "hessian": B / radius**2}


def identify_regions(X, y, eps=1e-9, margin=0.05, margin_from="center", continue_after=("ignores neighbours",)):
    """Alg. 3: returns the regions, best first and disjoint, and for each refused (i, k) the reason.

    Ours: after the reasons `continue_after` the next k is tried. The paper prints `break` everywhere.
    """
    n, d = X.shape
    found, rejections = [], []  # ours: a list that grows on success only, in place of line 2 and its slots
    for i in range(n):  # line 3
        N_U = 1 + d + d * (d + 1) // 2  # line 4
        for k in range(N_U, min(2 * N_U, n - 1) + 1):  # line 5
            reason, region = examine(X, y, i, k, eps, margin, margin_from)
            if reason is None:
                found.append(region)  # line 28
                continue
            rejections.append((i, k, reason))
            if reason not in continue_after:
                break
    kept = []  # line 31; ours: keep the best first rather than drop the worst first, which may drop too many
    for r in sorted(found, key=lambda r: round(r["minimum"], 9)):  # ours: of equals (to rounding) the first found
        if all(np.linalg.norm(r["center"] - s["center"]) > r["radius"] + s["radius"] for s in kept):
            kept.append(r)
        else:
            rejections.append((r["index"], r["k"], "overlaps"))
    return kept, rejections


# --- One iteration (Alg. 1, lines 6-7, with the settings of Sec. 4) --------------------------------------------------
def apart(A, values, n=10, distance=0.1):
    """The n best of points A (m, d), each at a distance from all better ones."""
    chosen = []
    for i in np.argsort(-values):
        if len(chosen) < n and all(np.linalg.norm(A[i] - A[j]) > distance for j in chosen):
            chosen.append(i)
    return A[chosen]


def climb(f, A, step=0.05, shortest=1e-4):
    """The local maxima of f uphill of points A (m, d) of the cube, by steps along the axes, and the values there."""
    axes = np.vstack([np.eye(A.shape[1]), -np.eye(A.shape[1])])
    values, steps = f(A), np.full(len(A), step)
    while steps.max() > shortest:
        B = np.clip(A[:, None, :] + steps[:, None, None] * axes, 0, 1)  # (m, 2 d, d)
        around = f(B.reshape(-1, A.shape[1])).reshape(len(A), -1)
        best, better = around.argmax(axis=1), around.max(axis=1) > values
        A = np.where(better[:, None], B[np.arange(len(A)), best], A)
        values = np.where(better, around.max(axis=1), values)
        steps = np.where(better, steps, steps / 2)
    return A, values


def propose(
    X,
    y,
    l_previous,
    candidates,
    log_alpha_previous=None,
    log_acquisition=log_expected_improvement,
    threshold=1.5,
    min_correlation=0.2,
    variance_divisor=100.0,
    jitter=1e-10,
    **regions_as,
):
    """The next point, searched for from the best of candidates (m, d), of which some must lie outside all regions.

    log_alpha_previous is the log_alpha of the step before, in the unit of the present y. None: that of eq. 8, computed
    on today's data at the old length-scale. regions_as: arguments of identify_regions.
    """
    n, d = X.shape
    best = y.min()
    regions, _ = identify_regions(X, y, **regions_as)
    balls = [(r["center"], r["radius"]) for r in regions]

    # By eq. 18 the data and the candidates outside all balls do not depend on those inside.
    members = {j for r in regions for j in r["members"]}
    outside = [j for j in range(n) if j not in members] or list(range(n))  # ours: all, if none is outside
    X_out, y_out = X[outside], y[outside]
    free = np.array([x for x in candidates if ball_of(x, balls) is None])

    def estimate(l):
        K = k_se(X_out, X_out, l) + jitter * np.eye(len(outside))
        c = ml_mean(K, y_out)
        s2 = ml_variance(K, y_out, c)
        return (c, s2) if s2 > 1e-12 else (0.0, 1.0)  # ours: for equal values; y is standardised

    def acquire(l, c, s2):
        """The highest maximum outside the regions, and its value; ours: a maximum of k_s in a region is none."""
        K = k_se(X_out, X_out, l)

        def log_alpha(A):
            mean, variance = posterior(K, k_se(X_out, A, l), np.ones(len(A)), y_out, c, jitter)
            return log_acquisition(mean, np.sqrt(s2 * variance), best)  # s2 scales K and k_star: it cancels in the mean

        values = log_alpha(free)
        maxima = zip(*climb(log_alpha, apart(free, values)), strict=True)
        outside = [(x, value) for x, value in maxima if ball_of(x, balls) is None]
        x, value = max(outside or [(free[values.argmax()], values.max())], key=lambda pair: pair[1])
        return x, float(value)

    # Line 6, by Alg. 2; ours: what is computed today has one mean and variance, from the old l.
    c, s2 = estimate(l_previous)
    l_new = max(l_previous / 2, length_scale_floor(n, d, min_correlation))  # Alg. 2, lines 2-3
    log_new = acquire(l_new, c, s2)[1]  # line 4
    log_old = acquire(l_previous, c, s2)[1] if log_alpha_previous is None else log_alpha_previous  # line 5
    l = alpha_ratio_step(log_old, log_new, l_previous, l_new, threshold)
    comparable = l_new < l_previous and max(log_old, log_new) > -math.inf

    # Line 7: the best point outside, then the minimum of each region, if its acquisition value is larger.
    c, s2 = estimate(l)
    log_alpha = acquire(l, c, s2)[1]  # alpha*_n, of the next step
    point, value = acquire(l, c, s2 / variance_divisor if regions else s2)
    source = "global"
    for r in regions:
        # k_q with at least N_U points and no noise: the least-squares quadratic, of no std (test_reference.py).
        local = float(log_acquisition(r["minimum"], 0.0, best))
        if local > value:
            point, source, value = r["minimiser"], "local", local
    return {
        "point": point,
        "source": source,
        "l": l,
        "log_alpha_ratio": log_new - log_old if comparable else None,
        "cooled": l < l_previous,
        "log_alpha": log_alpha,
        "acquisition": math.exp(value),
        "n_regions": len(regions),
    }
