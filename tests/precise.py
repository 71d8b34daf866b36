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


def gradient(f, x):
    """Of a function of high-precision points by central differences, good to about 20 digits: (d,)."""
    step = mp.mpf(10) ** -12
    return np.array([(f(p) - f(m)) / (2 * step) for p, m in zip(_moved(x, step), _moved(x, -step), strict=True)], float)


def hessian(f, x):
    """Its second derivatives, in the same way: (d, d)."""
    step, d = mp.mpf(10) ** -12, len(x)
    H = np.empty((d, d))
    for i, up in enumerate(_moved(x, step)):
        down = _moved(x, -step)[i]
        for j in range(d):
            ends = [f(_moved(end, sign * step)[j]) for end in (up, down) for sign in (1, -1)]
            H[i, j] = (ends[0] - ends[1] - ends[2] + ends[3]) / (4 * step**2)
    return H


def _moved(x, step):
    """The point with each of its coordinates moved in turn."""
    return [[mp.mpf(v) + step * (i == j) for j, v in enumerate(x)] for i in range(len(x))]


class GaussianProcess:
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

    def gradients(self, x):
        """Gradients of the mean and of the std."""
        mean, std = (lambda p: self.mean_and_variance(p)[0]), (lambda p: mp.sqrt(self.mean_and_variance(p)[1]))
        return gradient(mean, x), gradient(std, x)


def h(u):
    """phi(u) + u Phi(u): expected improvement in units of the std."""
    u = mp.mpf(u)
    return mp.npdf(u) + u * mp.erfc(-u / mp.sqrt(2)) / 2


def log_h(u):
    """Its logarithm; of every 50 digits the sum loses 2 log10 |u|."""
    return mp.log(h(u))


def log_expected_improvement_with_derivatives(mean, std, best):
    """Log EI, then by mean and by std, then by mean twice, by both and by std twice, all by differences.

    Fourth order with steps of 1e-12 of the std; twice differentiated, 110 digits keep more than 30.
    """
    with mp.workdps(110):
        m, s, b = mp.mpf(mean), mp.mpf(std), mp.mpf(best)
        step = s * mp.mpf(10) ** -12

        def f(i, j):
            there = s + j * step
            return mp.log(there * h((b - m - i * step) / there))

        def once(g):
            return (8 * (g(1) - g(-1)) - (g(2) - g(-2))) / (12 * step)

        def twice(g):
            return (16 * (g(1) + g(-1)) - (g(2) + g(-2)) - 30 * g(0)) / (12 * step**2)

        return (
            f(0, 0),
            once(lambda i: f(i, 0)),
            once(lambda j: f(0, j)),
            twice(lambda i: f(i, 0)),
            once(lambda i: once(lambda j: f(i, j))),
            twice(lambda j: f(0, j)),
        )


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
