"""Draw the plots of docs/method.md and docs/paper.md.

A Taylor model, a region in a narrow valley, a run on Branin's function; and a posterior under the MGL kernel.

python examples/method_plots [DIRECTORY]    (default: docs/images; takes a few seconds)
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.colors import to_rgb

import dale
from dale.history.reason import Source
from dale.models import GaussianProcess, MixedGlobalLocalPosterior, Prior
from dale.models.ellipsoid import Ellipsoid
from dale.models.kernels import MixedGlobalLocal, SquaredExponential
from dale.models.taylor import TaylorModel
from dale.view.style import ALERT, INK, LABEL, SKY, SMALL, SOURCE_STYLES, TITLE, legend_below, new_figure, style_axes
from dale_bench.functions import get

IMAGES = Path(__file__).parents[2] / "docs" / "images"
DPI = 120
RADIUS = 0.12  # initial radius of a trust region of the default method
SOURCES = (Source.INITIAL_DESIGN, Source.GLOBAL, Source.LOCAL)
LOCAL = SOURCE_STYLES[Source.LOCAL].colour
VALLEY_MINIMUM = np.array([0.72, 0.62])
VALLEY_LEVELS = (0.003, 0.02, 0.07, 0.2, 0.5, 0.9)
VALLEY_SNAPSHOTS = (6, 11, 18)  # numbers of evaluations
SQUARE = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]])
CIRCLE = np.array([(np.cos(a), np.sin(a)) for a in np.linspace(0, 2 * np.pi, 200)])


def run(name, budget):
    function = get(name)
    result = dale.minimize(function.fun, function.bounds, budget=budget, seed=0, method=dale.methods.default())
    print(f"{name}: {result.fun - function.minimum:.1e} above the minimum after {budget} evaluations")
    return function, result.history


def frame_of(part, history):
    """The frame of a step, or the ball of a closed region."""
    shape = getattr(part, "shape", None)
    return Ellipsoid(history[part.center].unit_x, part.radius, None if shape is None else np.array(shape))


def draw_trials(ax, history, points, size=5.5):
    """Draw one of the points (n, 2) for each trial, styled by source."""
    for source in SOURCES:
        selected = [p for t, p in zip(history, points, strict=True) if t.reason.source is source]
        style = SOURCE_STYLES[source]
        ax.plot(
            *np.reshape(selected, (-1, 2)).T,
            style.marker,
            color=style.colour,
            ms=size,
            mec="white",
            mew=0.5,
            label=style.label,
            zorder=3,
        )


def taylor_figure():
    """One dimension: a Taylor model around the best of eight observations, with its uncertainty."""

    def f(x):
        return 1 - np.exp(-18 * (x - 0.45) ** 2) + 0.25 * np.sin(14 * x)

    X, x, D = np.array([0.05, 0.2, 0.33, 0.42, 0.47, 0.6, 0.75, 0.95]), np.linspace(0, 1, 600), RADIUS
    c = X[np.argmin(f(X))]
    model = TaylorModel.fit(Ellipsoid(np.array([c]), D), X[:, None], f(X), f(c))
    print(f"Taylor model of degree {model.degree} with rho = {model.rho}")
    mean, std = model.predict((x[:, None] - c) / D)
    total = np.hypot(std, model.remainder(np.abs(x - c) / D))
    figure = new_figure(7.2, 4.4)
    ax = figure.subplots()
    style_axes(ax)
    ax.axvspan(c - D, c + D, color=LOCAL, alpha=0.2, lw=0, zorder=0, label="trust region: center ± D")
    for width, alpha, name in ((total, 0.15, "± 2 std incl. remainder"), (std, 0.3, "± 2 std")):
        ax.fill_between(x, f(c) + mean - 2 * width, f(c) + mean + 2 * width, color=SKY, alpha=alpha, lw=0, label=name)
    ax.plot(x, f(c) + mean, color=SKY, lw=2, label="model mean")
    ax.plot(x, f(x), color=INK, lw=1.2, ls=(0, (4, 3)), label="objective")
    ax.plot(X, f(X), "o", color=INK, ms=6.5, mec="white", zorder=3, label="observations")
    ax.plot([c], [f(c)], "*", color=ALERT, ms=15, mec="white", zorder=4, label="center")
    ax.set(xlim=(0, 1), ylim=(-0.6, 1.7))
    ax.set_xlabel("x", fontsize=LABEL)
    ax.set_ylabel("value", fontsize=LABEL)
    ax.set_title("A Taylor model around the best of eight observations", fontsize=TITLE, loc="left")
    legend_below(figure, [ax], columns=4)
    return figure


def valley(x):
    """A function whose contour lines are ellipses, 20 times as long as wide, at 30 degrees to the axes."""
    c, s = np.cos(np.pi / 6), np.sin(np.pi / 6)
    u = (np.asarray(x) - VALLEY_MINIMUM) @ np.array([[c, -s], [s, c]])
    return 1 - np.exp(-(u[..., 0] ** 2 + 400 * u[..., 1] ** 2) / 2)


def valley_figure():
    """A narrow, rotated valley: the region after some evaluations, with balls only and with shapes."""
    figure = new_figure(7.6, 5.9)
    rows = figure.subplots(2, len(VALLEY_SNAPSHOTS), sharex=True, sharey=True)
    x = np.linspace(0, 1, 300)
    values = valley(np.stack(np.meshgrid(x, x), axis=-1))
    for row, shapes, name in zip(rows, (False, True), ("without shapes", "with shapes"), strict=True):
        method = dale.methods.DefaultMethod(taylor=dale.methods.TaylorSettings(shapes=shapes))
        history = dale.minimize(lambda x: float(valley(x)), [(0, 1)] * 2, budget=24, seed=1, method=method).history
        best = np.minimum.accumulate([t.value for t in history])
        print(f"valley, {name}: {best[-1]:.1e} after {len(history)} evaluations")
        for ax, n in zip(row, VALLEY_SNAPSHOTS, strict=True):
            style_axes(ax)
            ax.grid(False)
            ax.contour(x, x, values, VALLEY_LEVELS, colors="#b8b8b8", linewidths=0.8)
            step = [t.reason.step for t in history[: n + 1] if t.reason.step is not None][-1]
            box = frame_of(step, history).to_cube(SQUARE)
            ax.fill(*box.T, facecolor=(*to_rgb(LOCAL), 0.25), edgecolor=LOCAL, lw=1.6, label="trust region", zorder=2)
            draw_trials(ax, history[:n], [t.x for t in history[:n]], size=4.5)
            ax.plot(*VALLEY_MINIMUM, "+", color=INK, ms=10, mew=1.6, zorder=4, label="true minimum")
            ax.text(0.03, 0.95, f"best value {best[n - 1]:.1g}", fontsize=SMALL, transform=ax.transAxes, va="top")
            ax.set(xlim=(0.05, 1), ylim=(0.05, 1), aspect="equal")
            ax.set_title(f"{name}, {n} evaluations", fontsize=LABEL, loc="left")
        row[0].set_ylabel("x1", fontsize=LABEL)
    for ax in rows[-1]:
        ax.set_xlabel("x0", fontsize=LABEL)
    legend_below(figure, list(rows[0]), columns=5)
    return figure


def branin_figure():
    """Branin's function: trials, trust regions and closed regions."""
    f, history = run("branin", 40)
    middle, side = np.array([3.15, 2.25]), 1.8  # of the panel on the right
    outlines = [(t.reason.step, SQUARE, LOCAL, "trust region") for t in history if t.reason.step]
    outlines += [(closed, CIRCLE, ALERT, "closed region") for t in history for closed in t.reason.closed_regions]
    figure = new_figure(7.6, 4.6)
    whole, detail = figure.subplots(1, 2)
    for ax, corner, width in ((whole, f.low, 15), (detail, middle - side / 2, side)):
        style_axes(ax)
        ax.grid(False)
        x, y = (np.linspace(low, low + width, 150) for low in corner)
        values = f.true(np.stack(np.meshgrid(x, y), axis=-1))
        ax.contour(x, y, values, f.minimum + np.geomspace(0.1, 250, 9), colors="#c4c4c4", linewidths=0.7)
        for part, shape, colour, name in outlines:
            corners = f.from_cube(frame_of(part, history).to_cube(shape))
            inside = np.all((corners > corner) & (corners < np.add(corner, width)))
            if shape is CIRCLE or (ax is detail and inside):
                ax.plot(*corners.T, color=colour, lw=1.0 if shape is SQUARE else 1.8, label=name)
        draw_trials(ax, history, [t.x for t in history])
        ax.set(xlim=x[[0, -1]], ylim=y[[0, -1]], aspect="equal")
        ax.set_xlabel("x0", fontsize=LABEL)
    whole.plot(*f.minimisers.T, "+", color=INK, ms=9, mew=1.4, zorder=4, label="true minimum")
    for line in whole.get_lines():
        line.set_clip_on(line.get_marker() in ("None", ""))  # do not cut markers on the boundary
    whole.set_ylabel("x1", fontsize=LABEL)
    whole.set_title("Branin's function, 40 evaluations", fontsize=TITLE, loc="left")
    detail.set_title("The first minimum found", fontsize=TITLE, loc="left")
    whole.plot(*(middle + side / 2 * SQUARE).T, color=INK, lw=1.2, ls=":", label="shown on the right")
    legend_below(figure, [whole, detail], columns=4)
    return figure


def mgl_figure():
    """One dimension: a narrow minimum under one length-scale, and under the MGL kernel with a region around it."""

    def f(x):
        return np.where(np.abs(x - 0.6) < 0.22, 30 * (x - 0.6) ** 2 - 1.2, 0.252 + 0.12 * np.sin(14 * (x - 0.6)))

    X, x = np.array([0.03, 0.15, 0.27, 0.45, 0.52, 0.74, 0.9]), np.linspace(0, 1, 600)
    region, outside = Ellipsoid(np.array([0.6]), 0.16), SquaredExponential(0.08)
    kernel = MixedGlobalLocal(outside, (region,), variance=0.5)
    models = {
        "squared-exponential kernel": GaussianProcess.fit(outside, X[:, None], f(X), Prior(0.0, 0.5)),
        "MGL kernel": MixedGlobalLocalPosterior.fit(kernel, X[:, None], f(X)),
    }
    figure = new_figure(7.6, 4.0)
    panels = figure.subplots(1, 2, sharey=True)
    for ax, (name, model) in zip(panels, models.items(), strict=True):
        mean, std = model.predict(x[:, None])
        print(f"{name}: lowest mean {mean.min():.3f} at {x[np.argmin(mean)]:.3f}; the minimum is -1.2 at 0.6")
        style_axes(ax)
        if name == "MGL kernel":
            low, high = float(region.center[0] - region.radius), float(region.center[0] + region.radius)
            ax.axvspan(low, high, color=LOCAL, alpha=0.2, lw=0, zorder=0, label="region")
        ax.fill_between(x, mean - 2 * std, mean + 2 * std, color=SKY, alpha=0.3, lw=0, label="± 2 std")
        ax.plot(x, mean, color=SKY, lw=2, label="mean")
        ax.plot(x, f(x), color=INK, lw=1.2, ls=(0, (4, 3)), label="objective")
        ax.plot(X, f(X), "o", color=INK, ms=6, mec="white", zorder=3, label="observations")
        ax.set(xlim=(0, 1), ylim=(-2.2, 1.8))
        ax.set_xlabel("x", fontsize=LABEL)
        ax.set_title(name, fontsize=TITLE, loc="left")
    panels[0].set_ylabel("value", fontsize=LABEL)
    legend_below(figure, list(panels), columns=5)
    return figure


FIGURES = {
    "method-taylor": taylor_figure,
    "method-valley": valley_figure,
    "method-branin": branin_figure,
    "paper-mgl": mgl_figure,
}


def main():
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    directory.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        draw().savefig(directory / f"{name}.png", dpi=DPI, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
