"""What every model offers: predictions, their derivatives, and conditioning, which returns a new model."""

import numpy as np
import pytest

from dale.models.base import Model, Prediction, PredictionDerivatives
from dale.models.ellipsoid import Ellipsoid
from dale.models.gaussian_process import GaussianProcess
from dale.models.kernels.matern import Matern52
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.taylor import TaylorModel

RNG = np.random.default_rng(0)
X = RNG.random((9, 2))
Y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2
CENTER, VALUE = np.array([0.5, 0.5]), float(np.sin(1.5) + 0.25)
MODELS: dict[str, Model] = {
    "squared exponential": GaussianProcess.fit(SquaredExponential(0.4), X, Y),
    "Matern": GaussianProcess.fit(Matern52(0.4), X, Y),
    "Taylor": TaylorModel.fit(Ellipsoid(CENTER, 0.3), X, Y, VALUE),
    "Taylor in a shape": TaylorModel.fit(Ellipsoid(CENTER, 0.3, np.diag([2.0, 0.5])), X, Y, VALUE),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_the_protocol(model):
    A = RNG.uniform(-0.5, 1.0, (4, 2))
    prediction, derivatives = model.predict(A), model.derivatives(A)
    assert isinstance(prediction, Prediction)
    assert isinstance(derivatives, PredictionDerivatives)
    np.testing.assert_allclose(derivatives.mean, prediction.mean, rtol=1e-9)
    np.testing.assert_allclose(derivatives.std, prediction.std, rtol=1e-6)
    assert [part.shape for part in derivatives] == [(4,), (4,), (4, 2), (4, 2), (4, 2, 2), (4, 2, 2)]


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_conditioning_returns_a_new_model_that_has_learned(model):
    A = np.array([[0.31, -0.2], [0.9, 0.77]])
    before = model.predict(A)
    conditioned = model.condition(A, before.mean + 0.01)
    assert type(conditioned) is type(model)
    np.testing.assert_array_equal(model.predict(A).mean, before.mean)
    after = conditioned.predict(A)
    assert np.all(np.abs(after.mean - before.mean - 0.01) < np.abs(before.mean - before.mean - 0.01))
    assert np.all(after.std <= before.std * 1.5)
