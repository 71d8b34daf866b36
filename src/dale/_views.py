"""How objects show themselves: plots and HTML for notebooks, from ``dale.view``.

``dale.view`` sees every other room, so no room can import it. It is imported by name when a user asks for a view.
"""

from __future__ import annotations

import math
import os
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any, Protocol


class Html:
    """An object that a notebook shows as HTML."""

    def _repr_html_(self) -> str:
        text: str = import_module("dale.view.html").html_of(self)
        return text


class Viewable(Html):
    """A run that can be plotted, and written as a page."""

    def plot(self, kind: str = "convergence", **options: Any) -> Any:
        """Plot the run, as the function of ``dale.plot`` with this name does; the options are its arguments.

        Args:
            kind: ``"convergence"``, ``"slice"``, ``"contour"``, ``"corner"``, ``"parallel"``, ``"importance"``,
                ``"directions"``, ``"length_scale"``, ``"calibration"`` or ``"timeline"``.
            options: Such as ``style="dark"``.

        Returns:
            A matplotlib figure.
        """
        return import_module("dale.view.plot.kinds").plot_of_kind(self, kind, **options)

    def report(self, path: str | os.PathLike[str], **options: Any) -> Any:
        """Write one self-contained HTML page of the run, as ``dale.report`` does; the options are its arguments.

        Args:
            path: The file to write.
            options: ``title``, ``objective`` (the label of the objective), ``space``.

        Returns:
            The path of the file.
        """
        return import_module("dale.view.report.page").report(self, path, **options)

    def forecast(self, n: int = 10) -> Any:
        """How much the next ``n`` evaluations are expected to improve the best value.

        Returns:
            A ``dale.view.Forecast``: the expected gain, the part of it near the best point, and the chance of a better
            basin elsewhere. ``print`` shows it as a sentence.
        """
        return import_module("dale.view.forecast").forecast(self, n)

    def predict(self, points: Any) -> Any:
        """What the models predict at points.

        Args:
            points: A list of points as the objective receives them, an array (m, d) in a space without names, or a
                table with a column for each parameter.

        Returns:
            A ``dale.view.Predictions``: ``mean`` and ``std`` of the objective, the probability that a point is
            ``feasible``, and that its evaluation ``fails``, each (m,).
        """
        return import_module("dale.view.predict").predict(self, points)


class Page(Protocol):
    """The page of a run in progress, written again as trials end (``dale.view.report.live``)."""

    @property
    def due(self) -> float:
        """When the page has to be written next, on the clock of ``monotonic``; infinite while it is up to date."""
        ...

    def update(self, *, changed: bool = True) -> None:
        """Write the page, if it is time to."""
        ...

    def end(self, result: Any) -> None:
        """Write the page of the result."""
        ...


class NoPage:
    """In place of a page that nobody wants."""

    due = math.inf

    def update(self, *, changed: bool = True) -> None:
        """Write nothing."""

    def end(self, result: Any) -> None:
        """Write nothing."""


def live_page(path: str | os.PathLike[str] | None, optimizer: Any, budget: int) -> AbstractContextManager[Page]:
    """The page of a run as a context manager; None for no page."""
    if path is None:
        return nullcontext(NoPage())
    page: AbstractContextManager[Page] = import_module("dale.view.report.live").LiveReport(path, optimizer, budget)
    return page


def check_page(path: str | os.PathLike[str] | None, store: str | os.PathLike[str] | None) -> None:
    """Check the path of a page before the run, or raise an error."""
    if path is not None:
        import_module("dale.view.report.page").check_path(path, store)


def short_advice(run: Any) -> list[str]:
    """What a result says in a few words beyond its numbers."""
    lines: list[str] = import_module("dale.view.advice").short_advice(run)
    return lines
