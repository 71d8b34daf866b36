"""A length-scale for each leaf of a tree of Gaussian processes (``models/treed.py``)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dale.methods.length_scale.policy import LengthScaleChoice, LengthScaleContext, checked_grid, search_context
from dale.models.likelihood import GRID
from dale.models.treed import TreedGaussianProcess, TreeSettings


@dataclass(frozen=True)
class TreedLengthScales:
    """A tree of Gaussian processes as the global model; the reason of a proposal has the length-scale at the incumbent.

    Attributes:
        grid: Length-scales to choose from, in increasing order.
        min_leaf: Smallest number of observations in a leaf; None for 3 (d + 1).
        max_depth: Largest number of cuts above a leaf.

    Examples:
        >>> import dale
        >>> method = dale.methods.ei(TreedLengthScales(max_depth=2))
    """

    grid: tuple[float, ...] = GRID[10:61:5]  # 0.03 to 10
    min_leaf: int | None = None
    max_depth: int = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "grid", checked_grid(self.grid))
        if self.max_depth < 0:
            raise ValueError(f"max_depth: expected at least 0, got {self.max_depth!r}")
        if self.min_leaf is not None and self.min_leaf < 1:
            raise ValueError(f"min_leaf: expected at least 1, got {self.min_leaf!r}")

    def choose(self, context: LengthScaleContext) -> LengthScaleChoice:
        """Grow the tree."""
        search = search_context(context, self)
        min_leaf = 3 * (context.dimension + 1) if self.min_leaf is None else self.min_leaf
        settings = TreeSettings(search.kernel, self.grid, min_leaf, self.max_depth)
        tree = search.with_pending(TreedGaussianProcess.fit(settings, *search.outside))
        leaf = tree.leaf_at(search.incumbent)
        return LengthScaleChoice(float(np.max(leaf.kernel.length_scale)), leaf, model=tree)
