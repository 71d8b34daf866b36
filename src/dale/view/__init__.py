"""What happened in a run: as numbers, as pictures, as text. All of it is read from the history."""

from dale.view.data import ContourData, Convergence, Slice, convergence, landscape, slices
from dale.view.plot import convergence_figure, landscape_figure, slices_figure
from dale.view.style import MatplotlibMissing, save
from dale.view.summary import summary
from dale.view.tolerances import Sharpness, sharpness

__all__ = [
    "ContourData",
    "Convergence",
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
