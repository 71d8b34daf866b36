"""A matplotlib figure that a notebook shows. Importing this module imports matplotlib."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

SCALE = 2  # pixels of the image for each pixel on the screen, for displays of high resolution
SCREEN_DPI = 90


class NotebookFigure(Figure):
    """A figure with a PNG of itself, so that Jupyter needs neither pyplot nor a magic line to show it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        FigureCanvasAgg(self)

    def _repr_png_(self) -> tuple[bytes, dict[str, Any]]:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=SCALE * SCREEN_DPI)
        width, height = self.get_size_inches() * SCREEN_DPI
        return buffer.getvalue(), {"width": round(float(width)), "height": round(float(height))}

    def _repr_html_(self) -> None:
        """No HTML: a notebook would prefer it to the image."""
