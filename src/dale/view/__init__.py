"""What happened in a run: as numbers, as pictures, as text. All of it is read from the history."""

from dale.view.plots import convergence_figure, landscape_figure, slices_figure
from dale.view.series import Convergence, Landscape, Slice, convergence, landscape, slices
from dale.view.sharpness import Sharpness, sharpness
from dale.view.style import MatplotlibMissing, save
from dale.view.text import summary

__all__ = [
    "Convergence",
    "Landscape",
    "MatplotlibMissing",
    "Sharpness",
    "Slice",
    "convergence",
    "convergence_figure",
    "landscape",
    "landscape_figure",
    "save",
    "sharpness",
    "slices",
    "slices_figure",
    "summary",
]
