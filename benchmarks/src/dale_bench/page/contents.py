"""All blocks and figures by name, the pages that have them, and how to write or check these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dale_bench.coco import reference
from dale_bench.page import coco, costs, cutest, drawings, functions, problems, real, summary
from dale_bench.page.marks import blocks_of, rewritten, stale
from dale_bench.page.published import RESULTS, Published

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGES = (Path("docs/benchmarks.md"), Path("README.md"))
IMAGES = Path("docs/images/benchmarks")
DPI = 110  # smaller files than those of dale's own plots
BLOCKS: Mapping[str, Callable[[Published], str]] = {
    "summary": summary.block,
    "bbob": coco.bbob,
    "bbob-long": coco.bbob_long,
    "bbob-slow-peers": coco.bbob_slow,
    "noisy": coco.noisy,
    "mixint": coco.mixint,
    "constrained": coco.constrained,
    "cutest": cutest.solved,
    "real": real.compared,
    "functions": functions.ranks,
    "ablation": functions.ablation,
    "problems": problems.compared,
    "parallel": problems.parallel,
    "speed": costs.speed,
    "scale": costs.scale,
    "workers": costs.workers,
    "forecasts": costs.forecasts,
}
FIGURES: Mapping[str, Callable[[Published], Figure | None]] = {
    "bbob": drawings.bbob,
    "bbob-groups": drawings.bbob_groups,
    "bbob-long": drawings.bbob_long,
    "noisy": drawings.noisy,
    "integers-constraints": drawings.integers_and_constraints,
    "cutest": drawings.cutest,
    "real": drawings.real,
    "speed": drawings.speed,
}


def texts(root: Path, pages: Mapping[Path, str]) -> dict[str, str]:
    """The text of each block that a page has, from the rows.

    Raises:
        ValueError: cocopp, which has the references of bbob, is not installed.
    """
    if reference.data_directory() is None:
        raise ValueError("expected cocopp, which has best2009; run: pip install -e './benchmarks[coco]'")
    published = Published(root / RESULTS)
    used = [name for name in BLOCKS if any(name in blocks_of(page) for page in pages.values())]
    return {name: BLOCKS[name](published) for name in used}


def read_pages(root: Path) -> dict[Path, str]:
    """The pages of a clone of the repository.

    Raises:
        ValueError: A page does not exist.
    """
    for page in PAGES:
        if not (root / page).exists():
            raise ValueError(f"expected the root of the repository with {page}, got {root}; run it there")
    return {root / page: (root / page).read_text(encoding="utf-8") for page in PAGES}


def write_pages(root: Path) -> list[Path]:
    """Rewrite the blocks of all pages; return the pages that have changed."""
    pages = read_pages(root)
    new = texts(root, pages)
    changed = []
    for path, page in pages.items():
        text = rewritten(page, new)
        if text != page:
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed


def stale_blocks(root: Path) -> list[str]:
    """The blocks of all pages that differ from what the rows give, as PAGE: NAME."""
    pages = read_pages(root)
    new = texts(root, pages)
    return [f"{path.relative_to(root)}: {name}" for path, page in pages.items() for name in stale(page, new)]


def write_figures(root: Path) -> list[Path]:
    """Draw the figures that have rows."""
    published = Published(root / RESULTS)
    written = []
    for name, draw in FIGURES.items():
        figure = draw(published)
        if figure is not None:
            path = root / IMAGES / f"{name}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, dpi=DPI)
            written.append(path)
    return written
