"""Pharmacokinetics: fit an ordinary differential equation with three unknown parameters to noisy blood samples.

One-compartment model with oral administration: a drug is absorbed from the gut, distributed over a volume and cleared.
With A the amount (mg) in the gut and c the concentration (mg/L) in the blood:

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
from dale.view import plot
from dale.view.style import ALERT, FAINT, INK, LABEL, SKY, TITLE, legend_below, new_figure, style_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOSE = 320.0  # mg
HOURS = np.array([0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24])  # times of the blood samples
NOISE = 0.4  # mg/L, standard deviation
TRUTH = {"absorption": 1.5, "clearance": 2.8, "volume": 32.0}
SPACE = Space(absorption=Float(0.1, 10, log=True), clearance=Float(0.3, 30, log=True), volume=Float(10, 100))
ERROR = "root mean square error (mg/L)"


def concentration(params: Mapping[str, float], hours: Vector) -> Vector:
    """Concentration in the blood (mg/L) at the given times after the dose."""
    absorption, clearance, volume = (params[name] for name in TRUTH)

    def rates(_: float, state: Vector) -> list[float]:
        gut, c = state
        return [-absorption * gut, (absorption * gut - clearance * c) / volume]

    solution = solve_ivp(rates, (0.0, 24.0), [DOSE, 0.0], t_eval=hours, rtol=1e-6, atol=1e-8)
    return np.asarray(solution.y[1])


# The samples are the same in every run: the seed of the demo affects only the optimizer.
SAMPLES = concentration(TRUTH, HOURS) + NOISE * np.random.default_rng(0).standard_normal(len(HOURS))


def error(params: Mapping[str, float]) -> float:
    """The objective: root mean square difference between the model and the samples."""
    return float(np.sqrt(np.mean((concentration(params, HOURS) - SAMPLES) ** 2)))


def comparison(result: Result) -> str:
    """Compare the best fit with the parameters that generated the samples."""
    return (
        f"The samples were generated with {format_point(TRUTH)}. "
        f"The error of these parameters, {error(TRUTH):.4g} mg/L, is only noise. "
        f"The error of the best fit is {result.fun:.4g} mg/L."
    )


def figures(result: Result) -> dict[str, Figure]:
    """The fit, the convergence of the run, and slices through the best fit."""
    return {
        "ode-fit.png": fit_figure(result),
        "ode-convergence.png": plot.convergence(result, title="Fit of the pharmacokinetic model", objective=ERROR),
        "ode-slices.png": plot.slice(result, SPACE, title="Slices through the best fit", objective=ERROR),
    }


def fit_figure(result: Result) -> Figure:
    """The samples, the true curve, the best fit, and the curves of the initial design."""
    hours = np.linspace(0, 24, 961)
    figure = new_figure(7.2, 4.4)
    ax = figure.subplots()
    style_axes(ax)
    initial = [t for t in result.history if t.reason.source is Source.INITIAL_DESIGN]
    for k, trial in enumerate(initial):
        label = "initial design" if k == 0 else None
        ax.plot(hours, concentration(dict(trial.params), hours), color=FAINT, linewidth=1.1, label=label)
    best = concentration(dict(result.params or {}), hours)
    ax.plot(hours, best, color=SKY, linewidth=2.6, label=f"best of {result.nfev} evaluations")
    ax.plot(hours, concentration(TRUTH, hours), color=INK, linewidth=1.3, linestyle=(0, (4, 3)), label="truth")
    ax.plot(HOURS, SAMPLES, "o", color=ALERT, markersize=6, markeredgecolor="white", label="blood samples", zorder=3)
    ax.set_xlabel("hours after the dose", fontsize=LABEL)
    ax.set_ylabel("concentration (mg/L)", fontsize=LABEL)
    ax.set_xlim(0, 24.4)
    ax.set_ylim(0, min(ax.get_ylim()[1], 2.0 * float(np.max(SAMPLES))))  # the initial design may be ten times as high
    ax.set_title("Pharmacokinetic model: three parameters of an ODE fitted to samples", fontsize=TITLE, loc="left")
    legend_below(figure, [ax])
    return figure


PROBLEM = Problem(
    name="ode",
    description=f"""\
1. A realistic problem: fit a differential equation to noisy data
   A patient takes {DOSE:.0f} mg of a drug. It is absorbed into the blood at the rate `absorption` (1/h), distributed
   over a `volume` (L) and removed at the rate `clearance` (L/h). All three are unknown. There are {len(HOURS)} blood
   samples. The objective is the root mean square difference (mg/L) between the model and the samples.""",
    space=SPACE,
    objective=error,
    budget=60,
    comparison=comparison,
    figures=figures,
)
