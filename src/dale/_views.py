"""How objects show themselves: plots and HTML for notebooks, from ``dale.view``.

``dale.view`` sees every other room, so no room can import it. It is imported by name when a user asks for a view.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Html:
    """An object that a notebook shows as HTML."""

    def _repr_html_(self) -> str:
        text: str = import_module("dale.view.html").html_of(self)
        return text


class Viewable(Html):
    """A run that can be plotted."""

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


def short_advice(run: Any) -> list[str]:
    """What a result says in a few words beyond its numbers."""
    lines: list[str] = import_module("dale.view.advice").short_advice(run)
    return lines
