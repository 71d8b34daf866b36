"""What all tests share."""

import math
import sys

import pytest


@pytest.fixture
def all_may_fail(monkeypatch):
    """A run in which all evaluations fail alike spends its budget, so that a test can look at its trials."""
    monkeypatch.setattr("dale.evaluate.failures.max_failures", lambda budget: math.inf)


@pytest.fixture(scope="session", autouse=True)
def _no_cluster_is_left():
    yield
    if "clusters" in sys.modules:
        sys.modules["clusters"].OPEN.close()
