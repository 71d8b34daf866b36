"""The tests that Optuna publishes for samplers, unchanged: 66 basic, 44 of relative and 1 of single-objective ones."""

import pytest
from optuna.testing.pytest_samplers import BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase

from dale.integrations.optuna import DaleSampler

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:optuna")


class TestDaleSampler(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return lambda: DaleSampler(seed=0)
