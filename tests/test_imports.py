"""What ``import dale`` brings with it: numpy, what it uses of scipy, and no more."""

import subprocess
import sys

import pytest

import dale

HEAVY = [
    "scipy.stats",
    "scipy.integrate",
    "scipy.interpolate",
    "scipy.ndimage",
    "scipy.signal",
    "matplotlib",
    "pandas",
    "sklearn",
    "skopt",
    "torch",
    "botorch",
    "gpytorch",
    "optuna",
    "pybads",
    "pybobyqa",
    "dask",
    "distributed",
    "threadpoolctl",
    "tqdm",
    "argparse",
    "unittest",
    "multiprocessing",
    "concurrent.futures",
    "dale_bench",
    "dale.cli",
    "dale.integrations",
    "dale.view",
]


def fresh(code):
    """What a fresh interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


@pytest.fixture(scope="module")
def brought_by_numpy_and_scipy():
    needed = "numpy, scipy.linalg, scipy.optimize, scipy.spatial.distance, scipy.special"
    return set(fresh(f"import sys, {needed}; print(*sys.modules)"))


@pytest.fixture(scope="module")
def brought_by_dale():
    return set(fresh("import sys, dale; print(*sys.modules)"))


@pytest.mark.parametrize("module", HEAVY)
def test_nothing_heavy_comes_with_dale(module, brought_by_dale, brought_by_numpy_and_scipy):
    assert module not in brought_by_dale - brought_by_numpy_and_scipy


def test_scipy_stats_is_not_needed(brought_by_dale):
    """It is slow to import; also not by way of another part of scipy, and not by a run."""
    assert "scipy.stats" not in brought_by_dale
    run = "dale.minimize(lambda x: float(x @ x), [(-1, 2)] * 3, budget=8, seed=0)"
    assert "scipy.stats" not in fresh(f"import sys, dale; {run}; print(*sys.modules)")


def test_of_numpy_and_scipy_only_what_every_run_needs(brought_by_dale, brought_by_numpy_and_scipy):
    beyond = brought_by_dale - brought_by_numpy_and_scipy
    assert {name for name in beyond if name.split(".")[0] in ("numpy", "scipy")} == set()


def test_all_public_names_are_there():
    names = fresh("import dale; print(*[name for name in dale.__all__ if getattr(dale, name) is not None])")
    assert names == dale.__all__
    assert set(dale.__all__) <= set(dir(dale))
    assert fresh("from dale import *; print(minimize.__name__)") == ["minimize"]
