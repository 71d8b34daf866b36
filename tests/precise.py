"""The formulas that cancel or lose digits, once more with 50 digits: the oracle where float64 is not enough."""

import mpmath as mp
import numpy as np

mp.mp.dps = 50


def squared_distance(a, b, length_scale):
    """Sum of ((a_i - b_i) / l_i)^2; float64 numbers are taken as they are, exactly."""
    scales = np.broadcast_to(length_scale, np.shape(a))
    return mp.fsum(((mp.mpf(p) - mp.mpf(q)) / mp.mpf(float(s))) ** 2 for p, q, s in zip(a, b, scales, strict=True))


def squared_exponential(a, b, length_scale):
    return mp.exp(-squared_distance(a, b, length_scale) / 2)


def matern52(a, b, length_scale):
    s = mp.sqrt(5 * squared_distance(a, b, length_scale))
    return (1 + s + s**2 / 3) * mp.exp(-s)


class Posterior:
    """Eqs. 3-5 with variance s2, correlation function k and jitter on the diagonal of the correlations."""

    def __init__(self, k, length_scale, X, y, c, s2, jitter):
        self.k, self.length_scale, self.X = k, length_scale, X
        self.c, self.s2 = mp.mpf(c), mp.mpf(s2)
        n = len(y)
        K = mp.matrix(n)
        for i in range(n):
            for j in range(i + 1):
                K[i, j] = K[j, i] = k(X[i], X[j], length_scale)
            K[i, i] += mp.mpf(jitter)
        self.inverse = K**-1
        self.weights = self.inverse * mp.matrix([mp.mpf(v) - self.c for v in y])

    def mean_and_variance(self, x):
        """At one point, whose coordinates may be floats or high-precision numbers."""
        k = mp.matrix([self.k(x, p, self.length_scale) for p in self.X])
        return self.c + (k.T * self.weights)[0], self.s2 * (1 - (k.T * self.inverse * k)[0])

    def slopes(self, x):
        """Slopes of the mean and of the spread by central differences, good to about 25 digits."""
        step, mean_slope, spread_slope = mp.mpf(10) ** -15, [], []
        for i in range(len(x)):
            ends = []
            for sign in (-1, 1):
                moved = [mp.mpf(v) for v in x]
                moved[i] += sign * step
                mean, variance = self.mean_and_variance(moved)
                ends.append((mean, mp.sqrt(variance)))
            mean_slope.append((ends[1][0] - ends[0][0]) / (2 * step))
            spread_slope.append((ends[1][1] - ends[0][1]) / (2 * step))
        return np.array(mean_slope, dtype=float), np.array(spread_slope, dtype=float)


def h(u):
    """phi(u) + u Phi(u): expected improvement in units of the spread."""
    u = mp.mpf(u)
    return mp.npdf(u) + u * mp.erfc(-u / mp.sqrt(2)) / 2


def log_h(u):
    """Its logarithm; of every 50 digits the sum loses 2 log10 |u|."""
    return mp.log(h(u))


def dense_quadratic(X, y, c, noise, A):
    """Mean and variance at points A under the kernel k_q of eq. 19 with noise on the diagonal (eqs. 3-5)."""
    with mp.workdps(100):

        def k_q(a, b):
            return (mp.fsum(mp.mpf(p) * mp.mpf(q) for p, q in zip(a, b, strict=True)) + 1) ** 2

        K = mp.matrix(len(y))
        for i in range(len(y)):
            for j in range(len(y)):
                K[i, j] = k_q(X[i], X[j])
            K[i, i] += mp.mpf(noise)
        inverse = K**-1
        weights = inverse * mp.matrix([mp.mpf(v) - mp.mpf(c) for v in y])
        out = []
        for a in A:
            k = mp.matrix([k_q(a, x) for x in X])
            out.append((mp.mpf(c) + (k.T * weights)[0], k_q(a, a) - (k.T * inverse * k)[0]))
        return np.array(out, dtype=float).T
