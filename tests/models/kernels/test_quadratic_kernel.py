"""The quadratic kernel (eq. 19) and its features."""

import numpy as np
import pytest

import reference
from dale.models.kernels.quadratic import Quadratic, quadratic_features
from dale.models.quadratic_fit import n_unknowns

dimensions = pytest.mark.parametrize("d", [1, 2, 3, 6])


@dimensions
def test_equals_the_oracle(d):
    rng = np.random.default_rng(d)
    A, B = rng.normal(size=(7, d)), rng.normal(size=(5, d))
    np.testing.assert_allclose(Quadratic()(A, B), reference.k_q(A, B), rtol=1e-13)
    np.testing.assert_allclose(Quadratic().diagonal(A), np.diag(reference.k_q(A, A)), rtol=1e-13)


def test_by_hand():
    assert Quadratic()(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))[0, 0] == 144  # (3 + 8 + 1)^2


@dimensions
def test_features_have_the_kernel_as_inner_product(d):
    rng = np.random.default_rng(d)
    A, B = rng.normal(size=(7, d)), rng.normal(size=(5, d))
    assert quadratic_features(A).shape == (7, n_unknowns(d))
    np.testing.assert_allclose(
        quadratic_features(A) @ quadratic_features(B).T, Quadratic()(A, B), rtol=1e-12, atol=1e-14
    )


@dimensions
def test_gram_matrix_has_the_rank_of_the_features(d):
    p = n_unknowns(d)
    X = np.random.default_rng(d).uniform(-1, 1, (2 * p, d))
    K = Quadratic()(X, X)
    eigenvalues = np.linalg.eigvalsh(K)
    assert np.sum(eigenvalues > 1e-10 * eigenvalues[-1]) == p
    assert eigenvalues[0] >= -1e-13 * eigenvalues[-1]


def test_plain_cholesky_fails_beyond_the_unknowns():
    """Why the local models are computed in weight space."""
    rng, p = np.random.default_rng(0), n_unknowns(2)
    failures = 0
    for _ in range(200):
        X = rng.random((p + 3, 2))
        try:
            np.linalg.cholesky(Quadratic()(X, X))
        except np.linalg.LinAlgError:
            failures += 1
    assert failures > 180, failures
