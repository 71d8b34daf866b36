"""The Spartan kernel against its definition, and its derivatives against differences."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from dale.models.gaussian_process import GaussianProcess
from dale.models.kernels import Matern52, Spartan, SquaredExponential

RNG = np.random.default_rng(1)
A, B = RNG.random((5, 3)), RNG.random((7, 3))
CENTER = (0.3, 0.6, 0.5)


def naive(x, y, broad, local, local_std=0.1, global_std=3.0):
    """One covariance, from the normal densities."""

    def weights(point):
        near = multivariate_normal.pdf(point, CENTER, local_std**2 * np.eye(3))
        far = multivariate_normal.pdf(point, [0.5] * 3, global_std**2 * np.eye(3))
        return np.sqrt(far / (near + far)), np.sqrt(near / (near + far))

    (g_x, h_x), (g_y, h_y) = weights(x), weights(y)
    k_g, k_l = (k(x[None, :], y[None, :])[0, 0] for k in (broad, local))
    return g_x * g_y * k_g + h_x * h_y * k_l


@pytest.mark.parametrize("kind", [SquaredExponential, Matern52])
class TestSpartan:
    def test_equals_its_definition(self, kind):
        broad, local = kind(0.9), kind(0.15)
        expected = [[naive(a, b, broad, local) for b in B] for a in A]
        np.testing.assert_allclose(Spartan(broad, local, CENTER)(A, B), expected, rtol=1e-10)

    def test_is_a_correlation_function(self, kind):
        kernel = Spartan(kind(0.9), kind(0.15), CENTER)
        X = np.vstack([A, B])
        np.testing.assert_allclose(np.diag(kernel(X, X)), kernel.diagonal(X))
        assert np.min(np.linalg.eigvalsh(kernel(X, X))) > 0

    def test_gradients_by_differences(self, kind):
        kernel, step = Spartan(kind(0.9), kind(0.25), CENTER), 1e-6
        gradients = kernel.gradients(A, B, kernel(A, B))
        for j, axis in enumerate(np.eye(3)):
            difference = (kernel(A + step * axis, B) - kernel(A - step * axis, B)) / (2 * step)
            np.testing.assert_allclose(gradients[:, :, j], difference, atol=1e-7)
        for a, expected in zip(A, gradients, strict=True):
            np.testing.assert_allclose(kernel.gradient(a, B, kernel(a[None, :], B)[0]), expected, atol=1e-12)

    def test_hessians_by_differences(self, kind):
        kernel, step, w = Spartan(kind(0.9), kind(0.25), CENTER), 1e-5, RNG.normal(size=7)
        hessians = kernel.hessians(A, B, kernel(A, B), w)
        for j, axis in enumerate(np.eye(3)):
            above, below = (
                np.einsum("n,mnd->md", w, kernel.gradients(A + s * axis, B, kernel(A + s * axis, B)))
                for s in (step, -step)
            )
            np.testing.assert_allclose(hessians[:, :, j], (above - below) / (2 * step), atol=1e-5)


def test_equal_kernels_are_one_kernel_at_the_center_of_the_window():
    kernel = Spartan(SquaredExponential(0.4), SquaredExponential(0.4), CENTER, local_std=1e3, global_std=1e3)
    np.testing.assert_allclose(kernel(A, B), SquaredExponential(0.4)(A, B), rtol=1e-6)


def test_the_window_has_the_short_length_scale():
    """The std between two observations is large in the window and small far from it."""
    X = np.array([[0.1], [0.3], [0.7], [0.9]])
    model = GaussianProcess.fit(Spartan(SquaredExponential(1.0), SquaredExponential(0.05), (0.2,)), X, np.zeros(4))
    _, (near, far) = model.predict(np.array([[0.2], [0.8]]))
    assert near > 10 * far


def test_wrong_settings():
    with pytest.raises(ValueError, match="local_std: expected a positive finite number, got 0"):
        Spartan(SquaredExponential(1.0), SquaredExponential(0.1), (0.5,), local_std=0)
    with pytest.raises(TypeError, match=r"center: expected a tuple of coordinates, got 0\.5"):
        Spartan(SquaredExponential(1.0), SquaredExponential(0.1), 0.5)
