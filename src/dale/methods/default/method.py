"""The default method: the paper's two sides, each carried on, and the choice between them. A function of the history.

1. Before the initial design is complete: its next point.
2. The local side: the Taylor region around the best observation proposes a step (``local.py``), or is closed if it has
   nothing more to give (``regions/trust.py``). Then the best observation outside all closed balls has its say.
3. The global side: a Gaussian process on thinned observations, its length-scale cooled down by Alg. 2, its mean and
   variance those of the values; its best point of log EI outside the closed balls.
4. The choice, by log EI. A global model promises too much, for its EI is a maximum over a whole cube of guesses; so a
   step from the best observation is taken if the local model is certain of it or it promises at least ``KEEP_ON`` of
   the global EI, else two times out of three; a step from elsewhere if it promises at least ``TURN_ASIDE`` of it.
   Before 3 d evaluations the global side has the word, unless the local model is certain.
   Where there are options, the best observations with other options than the best one's have regions too: the most
   promising of their steps is taken if it promises more than that from the best, and ``TURN_ASIDE`` of the global EI.
5. Where values turn out to be noisy (``noise.py``), a global model of signal and noise takes the place of both sides.

Pending points are believed to give what each model predicts there, though no less than the best value seen; failed
ones are as bad as the worst for the global side, and no step goes near them. Absurd values, far beyond all others, are
as bad as the worst of the others for the global side, and unknown to the local one.

With black-box constraints the best observation is the best feasible one (while there is none, the one that violates
least), the global side weighs log EI with the probability to be feasible (``feasibility.py``), and local steps keep
within limits (``local_within.py``). What constraints on the inputs do not allow is never proposed (``inputs.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar

from dale.history.history import History
from dale.history.noise import NoiseEstimate
from dale.history.outliers import MAX_OBSERVATIONS, remove_outliers
from dale.history.reason import Source
from dale.history.seeding import generator
from dale.methods.base import Cache, Proposal, changed_settings
from dale.methods.default.global_search import GlobalSearch
from dale.methods.default.local_search import LocalSearch
from dale.methods.default.local_step import LocalModel, Step
from dale.methods.default.noisy_search import NoisySearch
from dale.methods.default.replicate import propose_replicate, without_replicate
from dale.methods.default.trust_region import RegionReplay
from dale.methods.initial_design import initial_proposal, space_filling_proposal
from dale.methods.length_scale.alpha_ratio import AlphaRatio

INITIAL = 3
OPENING = 3  # evaluations for each parameter before the first uncertain step
KEEP_ON = 1e-3
TURN_ASIDE = 1e-2
TURNS = 3  # one of so many is global while local steps promise little


@dataclass(frozen=True)
class DefaultMethod:
    """Settings; an ablation changes one at a time.

    Attributes:
        length_scale: How the global model's length-scale is cooled down.
        local: The Taylor regions; None for none.
        initial: Size of the initial design.
        opening: Evaluations for each parameter before the first uncertain local step.
        keep_on: Part of the global promise that is enough for a step from the best observation.
        turn_aside: And for one from elsewhere.
        compress: Whether strongly skewed values are compressed for the global model.
        most: Observations that the global model sees at most.
    """

    length_scale: AlphaRatio = AlphaRatio(initial=0.35, max_variance_ratio=4.0)  # noqa: RUF009 (frozen)
    local: LocalModel | None = LocalModel()  # noqa: RUF009
    initial: int = INITIAL
    opening: int = OPENING
    keep_on: float = KEEP_ON
    turn_aside: float = TURN_ASIDE
    compress: bool = True
    most: int = MAX_OBSERVATIONS
    name: ClassVar[str] = "default"
    revision: ClassVar[int] = 1
    takes_constraints: ClassVar[bool] = True

    def changed_settings(self) -> dict[str, Any]:
        """As ``Method``."""
        return changed_settings(self)

    def propose(self, history: History, seed: int, cache: Cache) -> Proposal:
        """The next point of the unit cube."""
        first = initial_proposal(history, self.initial, seed)
        if first is not None:
            return first
        rng = generator(seed, history.n_asked)
        failed = history.X[~history.told]
        history = remove_outliers(history, self.most)
        noise = NoiseEstimate.of(history)
        if noise.modelled:
            return NoisySearch.of(self, history, noise, rng).best_of_all()
        history = without_replicate(history)
        patience = self.local.patience if self.local else 1
        regions = cache.of(RegionReplay).now(history.trials, patience)
        valleys = LocalSearch(self, history, regions, failed, noise.level > 0, rng)
        replicate = propose_replicate(history, valleys.best, regions.around(valleys.X[valleys.best]).failures)
        if replicate is not None:
            return replicate
        local = valleys.at_the_best()
        landscape = GlobalSearch(self, history, valleys.regions, valleys.scale, rng, valleys.incumbent)
        decision = self.length_scale.choose(landscape)
        posterior = landscape.with_pending(decision.posterior)
        promised = landscape.promise(posterior) + landscape.log_unit
        rival = valleys.best_rival() if len(history.X) >= self.opening * history.n_parameters else None
        if rival is not None and rival[1].promise >= max(
            promised + math.log(self.turn_aside), local[1].promise if local else -math.inf
        ):
            local = rival
        elif local is not None and not self._keeps_on(local, promised, history):
            local = None
        elif local is None and valleys.best_is_closed and valleys.n >= self.opening * history.n_parameters:
            aside = valleys.elsewhere()
            local = aside if aside and aside[1].promise >= promised + math.log(self.turn_aside) else None
        if local is not None:
            proposal = valleys.proposal(*local)
        else:
            found = landscape.search(posterior)
            proposal = space_filling_proposal(history, rng) if found is None else landscape.proposal(found, posterior)
        return Proposal(
            proposal.point,
            replace(
                proposal.reason,
                length_scale=decision.length_scale,
                log_alpha_ratio=decision.log_alpha_ratio,
                cooled=decision.cooled,
                n_regions=len(valleys.regions.open),
                closed_regions=tuple(valleys.closed),
            ),
        )

    def _keeps_on(self, local: tuple[int, Step], promised: float, history: History) -> bool:
        """Whether a step from the best observation is taken."""
        step = local[1]
        if len(history.X) < self.opening * history.n_parameters and not step.certain:
            return False
        if step.certain or step.promise >= promised + math.log(self.keep_on):
            return True
        last = islice((t for t in reversed(history.trials) if not t.retry), TURNS - 1)
        return any(t.reason.source is not Source.LOCAL for t in last)
