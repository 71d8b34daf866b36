"""Maximum likelihood below an upper bound that falls while the search is local (Wang et al.).

Too large a length-scale makes a model overconfident: it predicts a small std at its own proposal, evaluates next to
known points and never corrects itself. So with U the upper bound, at first the largest length-scale of the grid,

    after 5 proposals in a row whose predicted std is below t:   U = max(0.9 l, L)

with l the length-scale in use and L the smallest of the grid. The next length-scale is the most likely one in [L, U].

The bound is replayed from the reasons of the proposals, so a run remains a function of its history. Departures from the
authors' code: there the length-scale is estimated for every 20th proposal and when the bound falls, here for every one;
there t is twice the std of the noise, here a fraction of the std of the observed values, as our models have neither
noise nor a fixed variance. The fraction is ours; the factor 0.9 and the 5 proposals are theirs.

Reference: Wang, Hutter, Zoghi, Matheson & de Freitas, "Bayesian Optimization in a Billion Dimensions via Random
Embeddings", JAIR 2016, on the estimation of hyperparameters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dale.methods.length_scale.maximum_likelihood import MaximumLikelihood
from dale.methods.length_scale.policy import (
    LengthScaleChoice,
    LengthScaleContext,
    PastProposal,
    checked_grid,
    search_context,
)
from dale.models.likelihood import GRID


@dataclass(frozen=True)
class UpperBounded:
    """The most likely length-scale below a bound.

    Attributes:
        grid: Length-scales to choose from, in increasing order: the first is L, the last the first upper bound.
        min_std: t, in units of the std of the values.
        patience: Number of proposals in a row below ``min_std`` after which the bound falls.
        factor: The new bound, relative to the length-scale in use.

    Examples:
        >>> import dale
        >>> method = dale.methods.ei(UpperBounded())
    """

    grid: tuple[float, ...] = GRID[::3]
    min_std: float = 0.002  # ours
    patience: int = 5  # Wang et al.
    factor: float = 0.9  # the same

    def __post_init__(self) -> None:
        object.__setattr__(self, "grid", checked_grid(self.grid))
        if not self.min_std >= 0:
            raise ValueError(f"min_std: expected a number of at least 0, got {self.min_std!r}")
        if not 0 < self.factor < 1:
            raise ValueError(f"factor: expected a number between 0 and 1, got {self.factor!r}")
        if self.patience < 1 or self.patience != int(self.patience):
            raise ValueError(f"patience: expected an integer of at least 1, got {self.patience!r}")

    def choose(self, context: LengthScaleContext) -> LengthScaleChoice:
        """Maximise log p(y | l) below the bound."""
        bound = self.upper_bound(search_context(context, self).proposals)
        below = tuple(l for l in self.grid if l < bound)
        return MaximumLikelihood((*below, bound)).choose(context)

    def upper_bound(self, proposals: Iterable[PastProposal]) -> float:
        """The bound after these proposals."""
        bound, n_certain = self.grid[-1], 0
        for proposal in proposals:
            n_certain = n_certain + 1 if proposal.std < self.min_std else 0
            if n_certain == self.patience:
                bound, n_certain = max(self.factor * proposal.length_scale, self.grid[0]), 0
        return bound
