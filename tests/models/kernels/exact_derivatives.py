"""A check of a kernel's gradients and Hessians that the tests of several kernels share."""

import numpy as np

import precise


def assert_derivatives_are_exact(k, exact, shortest):
    """Against 50 digits, also at a point of B; with weights for all points, or for each.

    Args:
        k: The kernel.
        exact: The same for two points, with 50 digits.
        shortest: The shortest length-scale, which sets the unit of the derivatives.
    """
    rng = np.random.default_rng(2)
    A, B = rng.random((3, 3)), rng.random((2, 3))
    A[1] = B[0]
    for weights in (rng.normal(size=2), rng.normal(size=(3, 2))):
        gradients, hessians = k.gradients(A, B, k(A, B)), k.hessians(A, B, k(A, B), weights)
        assert hessians.shape == (3, 3, 3)
        for i, w in enumerate(np.broadcast_to(weights, (3, 2))):

            def total(x, w=w):
                return sum(float(w[j]) * exact(x, B[j]) for j in range(2))

            unit = np.sum(np.abs(w)) / shortest
            np.testing.assert_allclose(w @ gradients[i], precise.gradient(total, A[i]), rtol=1e-10, atol=1e-13 * unit)
            expected = precise.hessian(total, A[i])
            np.testing.assert_allclose(hessians[i], expected, rtol=1e-10, atol=1e-13 * unit / shortest, err_msg=str(i))
