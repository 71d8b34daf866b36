"""The figures of the page. A figure whose rows do not exist is not drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dale.view.style import FAINT, LABEL, SMALL, TITLE, legend_below, new_figure, style_axes
from dale_bench.coco.profiles import Panel, profile_figure
from dale_bench.coco.report import ALL, groups_of, references_of
from dale_bench.figures import line_style
from dale_bench.page.costs import timings
from dale_bench.page.published import DALE, RANDOM, Published, SuiteRuns
from dale_bench.real.report import label as real_label
from dale_bench.real.scores import Scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = (2, 3, 5, 10)  # dimensions of the first figure, in two rows
GROUPS_IN = 5  # dimension of the figure with groups
TOLERANCES = (1e-1, 1e-3, 1e-5, 1e-7)
STYLED = (DALE, "cobyqa", "bobyqa", "bads", "cma", "optuna_tpe")  # have the same colours in all figures
STAND_IN = {"optuna_gp": "bobyqa", "skopt": "cma"}  # have the colours of others that have no real problems
MARKERS = {DALE: "o", "optuna_tpe": "s", "optuna_gp": "D", "skopt": "^", "bads": "v", "cobyqa": "P", RANDOM: "x"}
MEAN = "mean"
SPREAD = 0.22  # of the markers in a row, so that equal ranks do not cover each other


def bbob(published: Published) -> Figure | None:
    """Runtime profiles on bbob, a panel for each dimension."""
    found = published.bbob
    panels = [panel for d, panel in _panels(found, "BBOB").items() if d in PANELS] if found else []
    return profile_figure(panels, columns=2, styled=STYLED) if panels else None


def bbob_groups(published: Published) -> Figure | None:
    """Runtime profiles on the groups of functions of bbob in one dimension."""
    found = published.bbob
    if found is None or GROUPS_IN not in found.runs:
        return None
    by, references = found.runs[GROUPS_IN], references_of(found.suite, GROUPS_IN)
    groups = groups_of(found.suite, {f for f, _ in by[DALE].hits})
    panels = [Panel(title, by, references, group, unit=GROUPS_IN) for title, group in groups.items() if title != ALL]
    return profile_figure(panels, styled=STYLED)


def bbob_long(published: Published) -> Figure | None:
    """Runtime profiles on bbob with budgets in proportion to the dimension."""
    found = published.bbob_long
    panels = list(_panels(found, "BBOB, longer").values()) if found else []
    return profile_figure(panels, columns=2 if len(panels) == 4 else 3, styled=STYLED) if panels else None


def noisy(published: Published) -> Figure | None:
    """Runtime profiles of the best points evaluated on bbob-noisy, and the scores of the recommended points."""
    found, recommended = published.noisy, published.noisy_recommended
    if found is None or recommended is None:
        return None
    panels = _panels(found, "BBOB with noise")
    figure = profile_figure(list(panels.values()), columns=2, styled=STYLED)
    for ax, d in zip(figure.axes, panels, strict=False):
        n = recommended.checkpoints(d)
        for method, runs in recommended.runs[d].items():
            scores = [runs.mean_fraction(list(runs.hits), k) for k in n]
            colour = line_style(method, STYLED)["color"]
            ax.plot([k / d for k in n], scores, "o", markersize=6, color=colour, clip_on=False, zorder=3)
    return figure


def integers_and_constraints(published: Published) -> Figure | None:
    """Runtime profiles on bbob-mixint and bbob-constrained."""
    suites = {"integers": published.mixint, "constraints": published.constrained}
    panels = [panel for name, found in suites.items() if found for panel in _panels(found, f"BBOB, {name}").values()]
    return profile_figure(panels, columns=2 if len(panels) == 4 else 3, styled=STYLED) if panels else None


def _panels(found: SuiteRuns, title: str) -> dict[int, Panel]:
    """All functions of a suite, by dimension; without random points."""
    panels = {}
    for d, by in found.runs.items():
        shown = {method: runs for method, runs in by.items() if method != RANDOM}
        functions = {f for f, _ in by[DALE].hits}
        panels[d] = Panel(f"{title}, d = {d}", shown, references_of(found.suite, d), functions, unit=d)
    return panels


def cutest(published: Published) -> Figure | None:
    """Data profiles and performance profiles of the CUTEst problems without constraints."""
    from dale_bench.cutest.drawings import profile_figure as cutest_figure

    study = published.cutest_bounds
    return None if study is None else cutest_figure(study, TOLERANCES)


def real(published: Published) -> Figure | None:
    """The mean rank of each method on each real problem, a panel for each kind."""
    if not published.real:
        return None
    n = max(len(scores.problems) for scores in published.real.values())
    figure = new_figure(4.7 * len(published.real), 0.4 * n + 1.4)
    panels = list(figure.subplots(1, len(published.real), squeeze=False)[0])
    for ax, (kind, scores) in zip(panels, published.real.items(), strict=True):
        _draw_ranks(ax, scores)
        ax.set_title(f"real problems, {kind}", fontsize=TITLE)
    legend_below(figure, panels, columns=len(MARKERS))
    return figure


def _draw_ranks(ax: Axes, scores: Scores) -> None:
    """A row for each problem, and one for the mean over all problems, of the methods that have all."""
    complete = scores.complete_methods()
    ranks = scores.ranks(complete)
    rows = {problem: scores.ranks_on(problem) for problem in scores.problems}
    rows[MEAN] = {} if ranks is None else dict(zip(complete, ranks.mean[1].tolist(), strict=True))
    methods = [method for method in MARKERS if method in scores.methods]
    for method, shift in zip(methods, np.linspace(-SPREAD, SPREAD, len(methods)), strict=True):
        points = [(by[method], row + shift) for row, by in enumerate(rows.values()) if method in by]
        ax.plot(*zip(*points, strict=True), label=real_label(method), zorder=3, **_marker(method))
    ax.axhline(len(rows) - 1.5, color=FAINT, linewidth=0.8)
    ax.set_yticks(range(len(rows)), labels=list(rows), fontsize=SMALL)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlim(left=0.8)
    ax.set_xlabel("mean rank at the end, 1 is best", fontsize=LABEL)
    style_axes(ax)


def _marker(method: str) -> Mapping[str, Any]:
    name = STAND_IN.get(method, method)
    colour = line_style(name, STYLED)["color"] if name in STYLED else FAINT
    return {"marker": MARKERS[method], "markersize": 8 if method == DALE else 6, "color": colour, "linestyle": "none"}


def speed(published: Published) -> Figure | None:
    """Seconds of a proposal over the number of observations."""
    from dale_bench.speed.report import speed_figure

    found = timings(published)
    return speed_figure(found) if found else None
