"""The paper's figures, drawn from runs and models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dale import methods
from dale._arrays import Vector
from dale.methods.length_scale.alpha_ratio import AlphaRatio
from dale.methods.length_scale.floor import length_scale_floor
from dale.models.ellipsoid import Ellipsoid
from dale.models.gaussian_process import GaussianProcess
from dale.models.kernels.squared_exponential import SquaredExponential
from dale.models.likelihood import GRID, best_of, log_marginal_likelihood
from dale.models.quadratic_fit import QuadraticFit
from dale.optimizer import Optimizer
from dale.view.style import ALERT, FAINT, INK, LABEL, SKY, SMALL, TITLE, legend_below, new_figure, style_axes
from dale_bench.comparison import Comparison
from dale_bench.figures import COLOURS, draw_regret, regret_figure
from dale_bench.functions import get

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINE = np.linspace(0.0, 1.0, 400)


def misleading_likelihood() -> Figure:
    """Fig. 1a: observations that show only the slow part of a function; maximum likelihood misses the fast part."""

    def f(x: Vector) -> Vector:
        return 3 * (x - 0.45) ** 2 + 0.5 * np.sin(10 * np.pi * x)

    X = np.array([0.1, 0.2, 0.4, 0.6, 0.7, 0.9])[:, None]  # zeros of the sine
    y = f(X[:, 0])
    z = (y - y.mean()) / y.std()
    fits = [GaussianProcess.fit(SquaredExponential(length_scale), X, z) for length_scale in GRID]
    by_likelihood = fits[best_of(np.array([log_marginal_likelihood(p) for p in fits]))]
    floor = length_scale_floor(len(X), 1)
    short = GaussianProcess.fit(SquaredExponential(floor), X, z)
    figure = new_figure(9.0, 3.6)
    panels = figure.subplots(1, 2, sharey=True)
    for ax, posterior, title in (
        (panels[0], by_likelihood, f"maximum likelihood: l = {by_likelihood.kernel.length_scale:.2g}"),
        (panels[1], short, f"the floor of eq. 16: l = {floor:.2g}"),
    ):
        _draw_model(ax, posterior, (f(LINE) - y.mean()) / y.std())
        ax.set_title(title, fontsize=TITLE)
    panels[0].set_ylabel("objective, standardised", fontsize=LABEL)
    legend_below(figure, panels)
    return figure


def poor_minimum() -> Figure:
    """Fig. 1b: a narrow minimum with one length-scale, and the quadratic through the points around it."""

    def f(x: Vector) -> Vector:
        return np.where(np.abs(x - 0.6) < 0.22, 30 * (x - 0.6) ** 2 - 1.2, 0.252 + 0.12 * np.sin(14 * (x - 0.6)))

    X = np.array([0.03, 0.15, 0.27, 0.45, 0.52, 0.74, 0.9])[:, None]
    y = f(X[:, 0])
    level, unit = y.mean(), y.std()
    posterior = GaussianProcess.fit(SquaredExponential(0.08), X, (y - level) / unit)
    figure = new_figure(6.2, 3.9)
    ax = figure.subplots()
    _draw_model(ax, posterior, (f(LINE) - level) / unit)
    near = np.array([3, 4, 5])
    ball = Ellipsoid(X[4], float(np.max(np.abs(X[near] - X[4]))))
    fit = QuadraticFit.to(X[near], ((y - level) / unit)[near], ball)
    if fit is not None:
        inside = LINE[(X[3, 0] <= LINE) & (X[5, 0] >= LINE)]
        ax.plot(inside, fit(inside[:, None]), color=COLOURS[4], linewidth=2.2, label="quadratic region")
        ax.plot(fit.minimiser, [fit.minimum], "D", color=COLOURS[4], markersize=6, label="its minimum")
    ax.set_ylabel("objective, standardised", fontsize=LABEL)
    legend_below(figure, [ax])
    return figure


def regret(comparison: Comparison, function: str, requested: tuple[str, ...]) -> Figure:
    """Figs. 2a, 2c, 2f."""
    figure = new_figure(5.4, 4.2)
    ax = figure.subplots()
    curves = comparison.curves.get(function, {})
    draw_regret(ax, curves, requested)
    ax.set_title(function, fontsize=TITLE)
    if curves:
        ax.legend(fontsize=SMALL, frameon=False)
    return figure


def surface(name: str, seed: int = 0) -> Figure:
    """Figs. 2b and 2e: contours of the objective."""
    function = get(name, seed)
    ticks = np.linspace(0.0, 1.0, 200)
    points = np.stack(np.meshgrid(ticks, ticks), axis=-1)
    values = function.true(function.from_cube(points.reshape(-1, 2))).reshape(200, 200)
    figure = new_figure(5.6, 4.6)
    ax = figure.subplots()
    filled = ax.contourf(ticks, ticks, values, levels=30, cmap="viridis")
    figure.colorbar(filled, ax=ax, label="objective")
    best = function.to_cube(function.minimisers[0])
    ax.plot(*best, "*", color="white", markeredgecolor=INK, markersize=14, label="minimum")
    ax.set_xlabel("x1", fontsize=LABEL)
    ax.set_ylabel("x2", fontsize=LABEL)
    ax.set_title(f"{name}, seed {seed}", fontsize=TITLE)
    ax.legend(fontsize=SMALL)
    return figure


def alpha_ratio(name: str, seed: int = 0) -> Figure:
    """Fig. 2d: the alpha ratio of each proposal, and the proposals at which it reduced the length-scale."""
    function = get(name, seed)
    optimizer = Optimizer([(0.0, 1.0)] * function.dimension, seed=seed, method=methods.ei(methods.paper().length_scale))
    objective = function.on_cube()
    for _ in range(function.budget // 2):
        trial = optimizer.ask()
        optimizer.tell(trial, objective(trial.x))
    model = [t for t in optimizer.history if t.reason.length_scale is not None]
    n = np.array([t.id + 1 for t in model])
    ratio = np.array([np.exp(t.reason.log_alpha_ratio or 0.0) for t in model])
    cooled = np.array([t.reason.cooled for t in model])
    figure = new_figure(6.4, 4.6)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    top.bar(n[cooled], np.ones(int(cooled.sum())), width=0.8, color=ALERT, alpha=0.6, label="vote to cool down")
    top.plot(n, ratio, "o-", color=SKY, markersize=3.5, linewidth=1.2, label="alpha ratio (eq. 8)")
    top.axhline(AlphaRatio().threshold, color=INK, linewidth=1, linestyle="--", label="threshold 1.5")
    top.set_ylabel("alpha ratio", fontsize=LABEL)
    top.set_ylim(0, max(3.0, float(np.percentile(ratio, 90)) * 1.2))
    top.legend(fontsize=SMALL, frameon=False)
    bottom.step(n, [t.reason.length_scale for t in model], where="post", color=SKY)
    bottom.set_yscale("log")
    bottom.set_ylabel("length-scale", fontsize=LABEL)
    bottom.set_xlabel("evaluations", fontsize=LABEL)
    top.set_title(f"{name}, seed {seed}", fontsize=TITLE)
    for ax in (top, bottom):
        style_axes(ax)
    return figure


def comparison(runs: Comparison, functions: tuple[str, ...], requested: tuple[str, ...]) -> Figure:
    """Fig. 3."""
    return regret_figure(runs, [f for f in functions if f in runs.curves], requested)


def _draw_model(ax: Axes, posterior: GaussianProcess, truth: Vector) -> None:
    mean, std = posterior.predict(LINE[:, None])
    ax.fill_between(LINE, mean - 2 * std, mean + 2 * std, color=SKY, alpha=0.18, label="mean ± 2 stds")
    ax.plot(LINE, mean, color=SKY, linewidth=2, label="GP mean")
    ax.plot(LINE, truth, color=FAINT, linewidth=1.4, linestyle="--", label="objective")
    ax.plot(posterior.points[:, 0], posterior.values, "o", color=INK, markersize=5, label="observations", zorder=4)
    ax.set_xlabel("x", fontsize=LABEL)
    style_axes(ax)
