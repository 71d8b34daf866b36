"""The Mixed-Global-Local kernel and model for BoTorch; where torch is installed."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed; it comes with the extra botorch")
pytest.importorskip("botorch", reason="BoTorch is not installed; it comes with the extra botorch")

from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound, qLogExpectedImprovement  # noqa: E402
from botorch.acquisition.max_value_entropy_search import qMaxValueEntropy  # noqa: E402
from botorch.acquisition.predictive_entropy_search import qPredictiveEntropySearch  # noqa: E402
from botorch.optim import optimize_acqf  # noqa: E402
from gpytorch.kernels import RBFKernel, ScaleKernel  # noqa: E402

from dale.integrations.botorch import MixedGlobalLocalGP, MixedGlobalLocalKernel  # noqa: E402
from dale.methods.region_identification import identify_regions  # noqa: E402
from dale.models.ellipsoid import Ellipsoid  # noqa: E402
from dale.models.kernels.mixed_global_local import MixedGlobalLocal  # noqa: E402
from dale.models.kernels.squared_exponential import SquaredExponential  # noqa: E402
from dale.models.mixed_global_local import MixedGlobalLocalPosterior  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # of the libraries
BALLS = [Ellipsoid(np.array([0.25, 0.3]), 0.2), Ellipsoid(np.array([0.8, 0.75]), 0.15)]
BOUNDS = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.double)


def tensor(values):
    return torch.tensor(np.asarray(values), dtype=torch.double)


def points(n, seed):
    """Some outside, and enough in each ball."""
    rng = np.random.default_rng(seed)
    inside = [ball.center + ball.radius * rng.uniform(-0.6, 0.6, (n, 2)) for ball in BALLS]
    return np.vstack([rng.random((n, 2)), *inside])


def test_the_kernel_is_that_of_dale():
    A, B = points(10, 0), points(7, 1)
    outside = ScaleKernel(RBFKernel()).double()
    outside.outputscale, outside.base_kernel.lengthscale = tensor(2.5), tensor(0.3)
    theirs = MixedGlobalLocalKernel(outside, BALLS)
    ours = MixedGlobalLocal(SquaredExponential(0.3), tuple(BALLS), 2.5)
    np.testing.assert_array_equal(theirs.region_of(tensor(A)).numpy(), ours.region_of(A))
    np.testing.assert_allclose(theirs(tensor(A), tensor(B)).to_dense().detach().numpy(), ours(A, B), atol=1e-12)
    np.testing.assert_allclose(theirs(tensor(A), diag=True).detach().numpy(), ours.diagonal(A), atol=1e-12)
    batch = torch.stack([tensor(A), tensor(A) / 2])
    np.testing.assert_allclose(theirs(batch, tensor(B)).to_dense()[1].detach().numpy(), ours(A / 2, B), atol=1e-12)


def test_the_posterior_is_that_of_dale():
    X, A, noise = points(9, 2), points(40, 3), 1e-4
    y = np.sin(5 * X[:, 0]) + X[:, 1] ** 2
    kernel = MixedGlobalLocal(SquaredExponential(0.15), tuple(BALLS), 1.5)
    ours = MixedGlobalLocalPosterior.fit(kernel, X, y, mean=0.3, noise=noise).predict(A)
    inside = kernel.region_of(X) >= 0
    yvar = tensor(np.where(inside, noise, 1e-10))[:, None]
    model = MixedGlobalLocalGP(tensor(X), tensor(y)[:, None], BALLS, 0.15, mean=0.3, variance=1.5, noise=yvar)
    posterior = model.posterior(tensor(A))
    np.testing.assert_allclose(posterior.mean[:, 0].detach().numpy(), ours.mean, atol=1e-6)
    np.testing.assert_allclose(posterior.variance[:, 0].detach().numpy(), ours.std**2, atol=1e-6)


def test_invalid_regions():
    with pytest.raises(ValueError, match="region 1 overlaps an earlier one"):
        MixedGlobalLocalKernel(RBFKernel(), [BALLS[0], Ellipsoid(np.array([0.3, 0.3]), 0.1)])
    with pytest.raises(ValueError, match="region 0: expected a ball"):
        MixedGlobalLocalKernel(RBFKernel(), [Ellipsoid(np.array([0.3, 0.3]), 0.1, np.eye(2))])


def model_of(n=15):
    X = points(n, 4)
    y = -np.sum((X - 0.4) ** 2, axis=1)
    return MixedGlobalLocalGP(tensor(X), tensor(y)[:, None], BALLS, 0.3, noise=1e-6), tensor(y)


def candidates_for_mes():
    return torch.rand(200, 2, dtype=torch.double, generator=torch.Generator().manual_seed(0))


ACQUISITIONS = {
    "log EI": lambda model, y: LogExpectedImprovement(model, y.max()),
    "q log EI": lambda model, y: qLogExpectedImprovement(model, y.max()),
    "UCB": lambda model, y: UpperConfidenceBound(model, 2.0),
    "MES": lambda model, y: qMaxValueEntropy(model, candidates_for_mes()),
    "PES": lambda model, y: qPredictiveEntropySearch(model, tensor([[0.4, 0.4]])),
}


@pytest.mark.parametrize("name", ACQUISITIONS)
def test_acquisition_functions(name):
    model, y = model_of()
    x, value = optimize_acqf(ACQUISITIONS[name](model, y), BOUNDS, q=1, num_restarts=2, raw_samples=32)
    assert torch.isfinite(value).all()
    assert ((x >= 0) & (x <= 1)).all()


def bowl_in_waves(x):
    return float(np.sum((x - 0.37) ** 2) + 0.05 * np.sum(1 - np.cos(9 * (x - 0.37))))


def test_a_whole_loop():
    rng = np.random.default_rng(0)
    X = rng.random((8, 2))
    y = np.array([bowl_in_waves(x) for x in X])
    torch.manual_seed(0)
    for _ in range(14):
        balls = [region.ball for region in identify_regions(X, y).live]
        model = MixedGlobalLocalGP(tensor(X), -tensor(y)[:, None], balls, 0.2, noise=1e-8)
        acquisition = qLogExpectedImprovement(model, -y.min())
        x, _ = optimize_acqf(acquisition, BOUNDS, q=1, num_restarts=3, raw_samples=48)
        X = np.vstack([X, x.numpy()])
        y = np.append(y, bowl_in_waves(X[-1]))
    assert y.min() < 1e-2
