"""The features of a Taylor polynomial: their kernel, and their derivatives by the complex step."""

import math

import numpy as np
import pytest

from dale.models.monomials import MAX_DEGREE, MAX_TERMS, affordable_degree, monomials, n_terms


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
