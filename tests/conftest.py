"""What all tests share."""

import sys

import pytest


@pytest.fixture(scope="session", autouse=True)
def _no_cluster_is_left():
    yield
    if "clusters" in sys.modules:
        sys.modules["clusters"].OPEN.close()
