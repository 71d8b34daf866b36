"""A drug in the blood: an ordinary differential equation with three unknowns, fitted to noisy samples.

A swallowed dose enters the blood at a rate, spreads over a volume and is cleared from it (the one-compartment model of
pharmacokinetics). With A the drug (mg) still in the gut and c its concentration (mg/L) in the blood:

    A' = -absorption A,   c' = (absorption A - clearance c) / volume,   A(0) = dose,   c(0) = 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from scipy.integrate import solve_ivp

from dale._arrays import Vector
from dale.cli.demo.problem import Problem
from dale.history.reason import Source
from dale.history.result import Result
from dale.space.float import Float
from dale.space.point import format_point
from dale.space.space import Space
from dale.view.plot import convergence_figure, slices_figure
from dale.view.style import ALERT, FAINT, INK, LABEL, SKY, TITLE, legend_below, new_figure, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOSE = 320.0  # mg
HOURS = np.array([0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24])  # when blood was taken
NOISE = 0.4  # mg/L, standard deviation
TRUTH = {"absorption": 1.5, "clearance": 2.8, "volume": 32.0}
SPACE = Space(absorption=Float(0.1, 10, log=True), clearance=Float(0.3, 30, log=True), volume=Float(10, 100))
ERROR = "root mean square error (mg/L)"


def concentration(params: Mapping[str, float], hours: Vector) -> Vector:
    """Concentration in the blood (mg/L) at some times after the dose."""
    absorption, clearance, volume = (params[name] for name in TRUTH)

    def rates(_: float, state: Vector) -> list[float]:
        gut, c = state
        return [-absorption * gut, (absorption * gut - clearance * c) / volume]

    solution = solve_ivp(rates, (0.0, 24.0), [DOSE, 0.0], t_eval=hours, rtol=1e-6, atol=1e-8)
    return np.asarray(solution.y[1])


# The data are the same in every run: the seed of the demo is that of the search.
SAMPLES = concentration(TRUTH, HOURS) + NOISE * np.random.default_rng(0).standard_normal(len(HOURS))


def error(params: Mapping[str, float]) -> float:
    """Root mean square difference between the model and the samples: the objective."""
    return float(np.sqrt(np.mean((concentration(params, HOURS) - SAMPLES) ** 2)))


def verdict(result: Result) -> str:
    """The best fit against the parameters that made the data."""
    return (
        f"The samples were made with {format_point(TRUTH)}. "
        f"There the error is {error(TRUTH):.4g} mg/L, all of it noise; "
        f"at the best point found it is {result.fun:.4g} mg/L."
    )


def figures(result: Result) -> dict[str, Figure]:
    """How the search went, what it says about each parameter, and the fit."""
    return {
        "ode-fit.png": fit_figure(result),
        "ode-convergence.png": convergence_figure(result, title="Fitting the drug model", objective=ERROR),
        "ode-slices.png": slices_figure(result, SPACE, title="The error along each parameter", objective=ERROR),
    }


def fit_figure(result: Result) -> Figure:
    """The samples, the curve that made them, the best one found, and those that the search began with."""
    hours = np.linspace(0, 24, 961)
    figure = new_figure(7.2, 4.4)
    ax = figure.subplots()
    plain(ax)
    started = [t for t in result.history if t.reason.source is Source.INITIAL_DESIGN]
    for k, trial in enumerate(started):
        label = f"first {len(started)} guesses" if k == 0 else None
        ax.plot(hours, concentration(dict(trial.params), hours), color=FAINT, linewidth=1.1, label=label)
    best = concentration(dict(result.params or {}), hours)
    ax.plot(hours, best, color=SKY, linewidth=2.6, label=f"best of {result.nfev} evaluations")
    ax.plot(hours, concentration(TRUTH, hours), color=INK, linewidth=1.3, linestyle=(0, (4, 3)), label="truth")
    ax.plot(HOURS, SAMPLES, "o", color=ALERT, markersize=6, markeredgecolor="white", label="blood samples", zorder=3)
    ax.set_xlabel("hours after the dose", fontsize=LABEL)
    ax.set_ylabel("concentration (mg/L)", fontsize=LABEL)
    ax.set_xlim(0, 24.4)
    ax.set_ylim(0, min(ax.get_ylim()[1], 2.0 * float(np.max(SAMPLES))))  # a bad guess may be ten times as high
    ax.set_title("A drug in the blood: three parameters of an ODE, fitted", fontsize=TITLE, loc="left")
    legend_below(figure, [ax])
    return figure


PROBLEM = Problem(
    about=f"""\
1. A real problem: fit a differential equation to noisy data
   A patient swallows {DOSE:.0f} mg of a drug. It enters the blood at the rate `absorption` (1/h), spreads over
   a `volume` (L) and is removed by `clearance` (L/h). All three are unknown; there are {len(HOURS)} blood samples.
   The objective is the root mean square difference (mg/L) between the samples and the solution.""",
    space=SPACE,
    objective=error,
    budget=60,
    verdict=verdict,
    figures=figures,
)
