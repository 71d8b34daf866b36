"""The figures of the page. A figure whose rows do not exist is not drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dale_bench.coco.profiles import Panel, profile_figure
from dale_bench.coco.report import ALL, groups_of, references_of
from dale_bench.page.costs import timings
from dale_bench.page.published import DALE, Published

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS = (2, 3, 5, 10)  # dimensions of the first figure, in two rows
GROUPS_IN = 5  # dimension of the figure with groups
TOLERANCES = (1e-1, 1e-3, 1e-5, 1e-7)


def bbob(published: Published) -> Figure | None:
    """Runtime profiles on bbob, a panel for each dimension."""
    found = published.bbob
    if found is None:
        return None
    panels = [
        Panel(f"BBOB, d = {d}", by, references_of(found.suite, d), {f for f, _ in by[DALE].hits}, unit=d)
        for d, by in found.runs.items()
        if d in PANELS
    ]
    return profile_figure(panels, columns=2) if panels else None


def bbob_groups(published: Published) -> Figure | None:
    """Runtime profiles on the groups of functions of bbob in one dimension."""
    found = published.bbob
    if found is None or GROUPS_IN not in found.runs:
        return None
    by, references = found.runs[GROUPS_IN], references_of(found.suite, GROUPS_IN)
    groups = groups_of(found.suite, {f for f, _ in by[DALE].hits})
    panels = [Panel(title, by, references, group, unit=GROUPS_IN) for title, group in groups.items() if title != ALL]
    in_first = [name for d, methods in found.runs.items() if d in PANELS for name in methods]
    return profile_figure(panels, styled=in_first)


def cutest(published: Published) -> Figure | None:
    """Data profiles and performance profiles of the CUTEst problems without constraints."""
    from dale_bench.cutest.drawings import profile_figure as cutest_figure

    study = published.cutest_bounds
    return None if study is None else cutest_figure(study, TOLERANCES)


def speed(published: Published) -> Figure | None:
    """Seconds of a proposal over the number of observations."""
    from dale_bench.speed.report import speed_figure

    found = timings(published)
    return speed_figure(found) if found else None
