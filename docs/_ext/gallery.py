"""How the gallery is made: in which order its examples stand, and which figures it shows."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

DPI = 130
ORDER = {  # of sections, and of the examples in them
    "problems": ("curve_fit", "mixed_parameters", "conditional_space", "constraints", "noise", "failures"),
    "insight": ("importance", "flat_minimum", "length_scale"),
    "running": ("ask_tell", "parallel_workers", "resume", "external_program"),
    "libraries": ("scipy", "optuna", "sklearn"),
    "method": ("narrow_valley", "mgl_kernel"),
}


def section_key(folder: str) -> tuple[int, str]:
    """The sort key of a section; new ones come last."""
    name = Path(folder).name
    return (list(ORDER).index(name) if name in ORDER else len(ORDER), name)


class InReadingOrder:
    """Sorts the files of a section by ``ORDER``; new ones come last."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def __call__(self, filename: str) -> tuple[int, str]:
        """The sort key of a file."""
        name = filename.removeprefix("plot_").removesuffix(".py")
        order = ORDER.get(Path(self.directory).name, ())
        return (order.index(name) if name in order else len(order), name)


def figure_scraper(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figures of a block: those of pyplot, and a figure of dale that is the value of its last line."""
    figures = [plt.figure(number) for number in plt.get_fignums()]
    last = block_vars["example_globals"].get("___")
    if isinstance(last, Figure) and last not in figures and not hasattr(last, "is_in_gallery"):
        last.is_in_gallery = True  # type: ignore[attr-defined]  # the variable stays, also if the next block has no value
        figures.append(last)
    paths = []
    for figure, path in zip(figures, block_vars["image_path_iterator"], strict=False):
        figure.savefig(path, dpi=DPI)
        paths.append(path)
    plt.close("all")
    return figure_rst(paths, gallery_conf["src_dir"])
