"""The default method: the paper's global and local sides, developed further, and the selection between them.

1. Until the initial design is complete: its next point.
2. The local side: the trust region around the incumbent proposes a step of its Taylor model (``local_step.py``), or is
   closed if its model predicts no further reduction (``trust_region.py``).
3. The global side: a Gaussian process on thinned observations, its length-scale cooled down by Alg. 2, its prior mean
   and variance those of the values. Once a region has been closed, its kernel may be that of trend and
   ripples (``basin_kernel.py``). It proposes the maximum of log EI outside the closed regions (``global_search.py``).
4. The selection between them, by log EI (``selection.py``).
5. If values are noisy, or exact but rough, the local models average, and the global side is a model of signal and noise
   (``noisy_search.py``). Tests show which they are (``replicate.py``, ``probe.py``).

Each model is conditioned on fantasies at pending points: its own predictions, but no less than the best value so far.
In the global model, outliers have the worst of the other values. The local side ignores them.

Where evaluations have failed, both sides weigh log EI with the probability that an evaluation completes, from the model
of ``models/failure_boundary.py``. Failed evaluations have no value, so the models of the objective leave them out. An
option of which all evaluations failed is tried once at the incumbent (``failed_option.py``).

With outcome constraints, the incumbent is the best feasible observation, or the one with the least violation while none
is feasible. The global side adds the log probability of feasibility to log EI (``acquisition/feasibility.py``), and
local steps satisfy the predicted constraints (``constrained_step.py``). Points that the input constraints do not allow
are never proposed (``space/allowed_set.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from dale.history.seeding import RandomStreams
from dale.history.snapshot import Snapshot
from dale.methods.base import Capabilities, Proposal, changed_settings
from dale.methods.default.candidates import LocalCandidate, LocalCandidates
from dale.methods.default.failed_option import propose_failed_option
from dale.methods.default.global_search import GlobalSearch
from dale.methods.default.local_search import LocalSearch
from dale.methods.default.noisy_search import NoisySearch
from dale.methods.default.probe import propose_probe
from dale.methods.default.replicate import propose_replicate
from dale.methods.default.selection import select
from dale.methods.default.settings import GlobalSettings, SelectionSettings, TaylorSettings, TrustRegionSettings
from dale.methods.default.trust_region import RegionReplay
from dale.methods.initial_design import initial_proposal, space_filling_proposal
from dale.methods.length_scale.policy import LengthScaleChoice
from dale.models.gaussian_process import GaussianProcess


@dataclass(frozen=True)
class DefaultMethod:
    """The default method; an ablation changes one setting at a time.

    Attributes:
        trust_region: Settings of the trust regions; None for no local side.
        taylor: Settings of their models.
        global_model: Settings of the global side.
        selection: Settings of the selection between the two.
        n_initial: Size of the initial design. 3: Sec. 4 of the paper.

    Examples:
        >>> import dale
        >>> dale.methods.default().n_initial
        3
    """

    trust_region: TrustRegionSettings | None = TrustRegionSettings()  # noqa: RUF009 (frozen)
    taylor: TaylorSettings = TaylorSettings()  # noqa: RUF009
    global_model: GlobalSettings = GlobalSettings()  # noqa: RUF009
    selection: SelectionSettings = SelectionSettings()  # noqa: RUF009
    n_initial: int = 3
    name: ClassVar[str] = "default"
    revision: ClassVar[int] = 11
    capabilities: ClassVar[Capabilities] = Capabilities(
        input_constraints=True, outcome_constraints=True, held_parameters=True, replicates=True
    )

    def changed_settings(self) -> Mapping[str, Any]:
        """Settings that differ from the defaults, by name."""
        return changed_settings(self)

    def propose(self, snapshot: Snapshot, rng: RandomStreams) -> Proposal:
        """The next point of the unit cube."""
        found = self._compete(snapshot, rng)
        if isinstance(found, Proposal):
            return found
        chosen = found.chosen
        return found.with_length_scale(found.of_local(chosen) if chosen is not None else found.of_global(snapshot, rng))

    def alternatives(self, snapshot: Snapshot, rng: RandomStreams) -> tuple[Proposal, ...]:
        """All proposals that compete at this state, local ones first; ``propose`` returns one of them."""
        found = self._compete(snapshot, rng)
        if isinstance(found, Proposal):
            return (found,)
        local = (found.local.incumbent, found.local.other_options, found.local.uncovered)
        proposals = [found.of_local(candidate) for candidate in local if candidate is not None]
        return tuple(map(found.with_length_scale, [*proposals, found.of_global(snapshot, rng)]))

    def _compete(self, snapshot: Snapshot, rng: RandomStreams) -> Proposal | _Competition:
        """Both sides at this state, and the local candidate that is selected; a proposal where nothing competes."""
        first = initial_proposal(snapshot, self.n_initial, rng)
        if first is not None:
            return first
        history = snapshot.history
        noise, observations = history.observations.noise, history.observations.modelled
        settings = self.trust_region or TrustRegionSettings(failure_tolerance=1)
        regions = snapshot.cache.of(RegionReplay).now(history.trials, settings).within(snapshot.domain)
        local_search = LocalSearch(snapshot, observations, self.trust_region, self.taylor, rng("local"))
        is_known = noise.is_detected if noise.modelled else observations.noise.modelled
        if not is_known:
            region = local_search.region_of(local_search.best, regions)
            test = propose_replicate(snapshot, region.center, region.n_failed)
            if test is None:
                test = propose_probe(snapshot, observations, local_search.best_row, region, rng("local"))
            if test is not None:
                return test
        n_parameters = snapshot.domain.n_parameters
        early = local_search.n < self.selection.min_evaluations_per_parameter * n_parameters
        option = None if early else propose_failed_option(snapshot, local_search.X[local_search.best])
        if option is not None:
            return option
        local = local_search.candidates(regions, early=early)
        global_search: GlobalSearch
        if observations.noise.is_large:
            global_search = noisy = NoisySearch.of(self.global_model, snapshot, observations, rng("global"))
            choice = LengthScaleChoice(noisy.model.fitted.length_scale, noisy.model.posterior)
            posterior = noisy.with_pending(noisy.posterior())
        else:
            global_search = GlobalSearch(
                self.global_model, snapshot, observations, local.regions, rng("global"), local_search.incumbent
            )
            choice = self.global_model.length_scale.choose(global_search)
            posterior = global_search.with_pending(global_search.basin_posterior() or choice.posterior)
        log_ei = global_search.max_log_acquisition(posterior) + global_search.log_unit
        chosen = select(local, log_ei, history, self.selection, n_parameters=n_parameters, early=early)
        return _Competition(local_search, local, chosen, global_search, choice, posterior)


class _Competition(NamedTuple):
    """Both sides of the method at one proposal.

    Attributes:
        local_search: The local side.
        local: Its candidates.
        chosen: The candidate that is selected; None for the global proposal.
        global_search: The global side.
        choice: Its length-scale.
        posterior: Its model.
    """

    local_search: LocalSearch
    local: LocalCandidates
    chosen: LocalCandidate | None
    global_search: GlobalSearch
    choice: LengthScaleChoice
    posterior: GaussianProcess

    def of_local(self, candidate: LocalCandidate) -> Proposal:
        """The proposal of a local candidate."""
        return self.local_search.proposal(candidate, self.local.regions)

    def of_global(self, snapshot: Snapshot, rng: RandomStreams) -> Proposal:
        """The proposal of the global side; a space-filling point where it has none."""
        found = self.global_search.search(self.posterior)
        if found is None:
            return space_filling_proposal(snapshot, rng("global"))
        return self.global_search.proposal(found, self.posterior)

    def with_length_scale(self, proposal: Proposal) -> Proposal:
        """A proposal whose reason states the length-scale and the regions too, from which the next one is computed."""
        reason = replace(
            proposal.reason,
            length_scale=self.choice.length_scale,
            log_alpha_ratio=self.choice.log_alpha_ratio,
            cooled=self.choice.cooled,
            n_regions=len(self.local.regions.open),
            closed_regions=self.local.closed,
        )
        return Proposal(proposal.point, reason)
