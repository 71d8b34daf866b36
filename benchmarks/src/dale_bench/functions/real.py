"""Two real problems: the calibration of an ODE, and the tuning of a classifier of handwritten digits.

Neither minimum has a closed form. A comment at each constant describes how it was found.
"""

from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from dale._arrays import Vector
from dale_bench.functions.function import Fixed, Function

# Pelts (in thousands) of snowshoe hare and Canada lynx traded by the Hudson's Bay Company, 1900 to 1920
HARE = [30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1]
HARE += [40.3, 57.0, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6, 16.2, 24.7]
LYNX = [4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4]
LYNX += [8.0, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6]
LOG_PELTS = np.log([HARE, LYNX])  # (2, 21)
YEARS = np.arange(LOG_PELTS.shape[1], dtype=np.float64)

# Least-squares solves (SciPy, tolerances 1e-13) from 40 uniform random starts: 7 end here, the others in three worse
# minima (0.765, 0.794, 0.936); then refined with 3-point derivatives. The best of 10^5 random points is 0.327.
ODE_MINIMUM = 0.3004694288823059
ODE_MINIMISER = [-0.3590695541881322, -1.651384308689778, -1.4645668265704028, 0.01333130217961502]

# The best of three successively finer grids, each around the best point of the previous one (scikit-learn 1.9, 3047
# points in total, the last with steps of 0.025 and 0.0125): the center of a small plateau with 16 errors. One error is
# 5.6e-4; another version of scikit-learn may differ by one or two.
DIGITS_MINIMUM = 16 / 1797
DIGITS_MINIMISER = [0.35, -0.95]
DIGITS_EXTRA = "the function 'digits' needs scikit-learn; install it with: pip install 'dale-bench[peers]'"


def lotka_volterra_misfit(x: Vector) -> Vector:
    """Root mean square of log(model / pelts); x = log10 (birth of hare, predation, birth of lynx, death of lynx).

    Integrated in the logarithms u, v of the two populations, so that they stay positive: u' = a - b e^v,
    v' = c e^u - m, from the counts of 1900.
    """
    return np.apply_along_axis(_misfit, -1, np.asarray(x, dtype=np.float64))


def _misfit(x: Vector) -> float:
    a, b, c, m = 10.0**x

    def derivative(_: float, z: Vector) -> tuple[float, float]:
        return a - b * np.exp(z[1]), c * np.exp(z[0]) - m

    span = YEARS[0], YEARS[-1]
    # with these tolerances the error of the solver is below 1e-12, so that the objective is smooth
    run = solve_ivp(derivative, span, LOG_PELTS[:, 0], method="DOP853", t_eval=YEARS, rtol=1e-10, atol=1e-10)
    if not run.success:
        raise RuntimeError(f"the integration of the Lotka-Volterra model failed at {x.tolist()}: {run.message}")
    return float(np.sqrt(np.mean((run.y - LOG_PELTS)[:, 1:] ** 2)))


def digits_error(x: Vector) -> Vector:
    """Error rate of a support vector machine in 5-fold cross-validation; x = log10 (C, gamma)."""
    return np.apply_along_axis(_cross_validate, -1, np.asarray(x, dtype=np.float64))


def _cross_validate(x: Vector) -> float:
    images, labels, folds = _digits()
    selection, svm = _sklearn("model_selection"), _sklearn("svm")
    classifier = svm.SVC(C=10.0 ** x[0], gamma=10.0 ** x[1])
    predicted = selection.cross_val_predict(classifier, images, labels, cv=folds)
    return float(np.mean(predicted != labels))


@lru_cache
def _digits() -> tuple[Any, Any, Any]:
    images, labels = _sklearn("datasets").load_digits(return_X_y=True)
    folds = _sklearn("model_selection").StratifiedKFold(5, shuffle=True, random_state=0)
    return images / 16, labels, folds  # grey levels in [0, 1]


def _sklearn(module: str) -> Any:
    try:
        return import_module(f"sklearn.{module}")
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("sklearn"):
            raise
        raise ModuleNotFoundError(DIGITS_EXTRA, name="sklearn") from error


def ode(seed: int) -> Function:
    """`ode`: the predator-prey model fitted to 20 years of pelt counts; four narrow basins."""
    return Function(
        name="ode",
        low=np.array([-1.0, -2.5, -2.5, -1.0]),
        high=np.array([0.5, -0.5, -0.5, 0.5]),
        true=lotka_volterra_misfit,
        minimum=ODE_MINIMUM,
        minimisers=np.array([ODE_MINIMISER]),
        formula="rms of log(Lotka-Volterra / hare and lynx pelts, 1901-1920), over log10 of its four rates",
        source="data: Howard (2009), Texas A&M lecture notes, after Hewitt (1921); model: Lotka (1925)",
        entire=False,
        searched=True,
    )


def digits(seed: int) -> Function:
    """`digits`: two settings of a support vector machine; needs scikit-learn (an extra)."""
    return Function(
        name="digits",
        low=np.array([-2.0, -4.0]),
        high=np.array([3.0, 1.0]),
        true=digits_error,
        minimum=DIGITS_MINIMUM,
        minimisers=np.array([DIGITS_MINIMISER]),
        formula="5-fold cross-validated error of an RBF support vector machine on 1797 digits, over log10 (C, gamma)",
        source="data: Alpaydin & Kaynak (1998), UCI Optical Recognition of Handwritten Digits, as in scikit-learn",
        smooth=False,
        entire=False,
        searched=True,
    )


FIXED: Fixed = {"ode": ode, "digits": digits}
