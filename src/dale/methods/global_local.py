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
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from typing import ClassVar

import numpy as np

from dale.acquisition import log_expected_improvement
from dale.arrays import Matrix, Vector
from dale.beliefs import Beliefs
from dale.climb import climb
from dale.descent import Tolerance, descend
from dale.gp import Posterior, Prior
from dale.kernels import SquaredExponential
from dale.length_scale import AlphaRatio
from dale.methods.feasibility import Feasibility, units_of, violations, weighted
from dale.methods.history import History, Rounding
from dale.methods.local import LocalModel, Step
from dale.methods.local_within import step_within
from dale.methods.memory import Memory
from dale.methods.method import Proposal
from dale.methods.noise import Noise, NoisyModel, as_learnt, learnt, noisy_model, probe, without_probe
from dale.methods.observations import (
    APART,
    APART_FAILED,
    APART_PENDING,
    POINT_GRAIN,
    THIN,
    VALUE_GRAIN,
    apart,
    before_a_model,
    believable,
    explore,
    merged,
    rounded,
    thinned,
)
from dale.methods.standardise import Scale
from dale.regions.ball import Ball
from dale.regions.trust import LEAST_BALL, LEAST_RADIUS, LifeOfRegions, TrustRegion, TrustRegions, closing_radius
from dale.search import CLIMBS, Box, Found, starting_points
from dale.seeding import generator
from dale.trial import ClosedRegion, LocalStep, Reason, Source, State

INITIAL = 3
OPENING = 3  # evaluations for each parameter before the first uncertain step
KEEP_ON = 1e-3
TURN_ASIDE = 1e-2
RIVALS = 3  # other settings of the options whose best observations may be stepped from
TURNS = 3  # one of so many is global while local steps promise little
NOTHING = 1e-14  # of the spread of the better half of the values: a promise below it is none
MOST = 768  # observations that the global model sees at most, less one for each pending point: less time for each ...
FEWEST = 256  # ... though no fewer than this
MOST_PENDING = 128  # pending points that it sees
LEVELS = tuple(np.linspace(0, 1, 17))  # at which a coordinate that is not free is tried at the best observation
SKEWED = 5.0  # upper range over lower range, around the median, from which values are compressed
SAME_POINT = 1e-11
TOP = Tolerance(slope=1e-6, gain=1e-10)  # of a climb; points are rounded anyway


@dataclass(frozen=True)
class GlobalLocal:
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

    length_scale: AlphaRatio = AlphaRatio(initial=0.35, most_surprise=4.0)  # noqa: RUF009 (frozen)
    local: LocalModel | None = LocalModel()  # noqa: RUF009
    initial: int = INITIAL
    opening: int = OPENING
    keep_on: float = KEEP_ON
    turn_aside: float = TURN_ASIDE
    compress: bool = True
    most: int = MOST
    takes_constraints: ClassVar[bool] = True

    def propose(self, history: History, seed: int, memory: Memory) -> Proposal:
        """The next point of the unit cube."""
        first = before_a_model(history, self.initial, seed)
        if first is not None:
            return first
        rng = generator(seed, history.n_asked)
        failed = history.X[~history.told]
        history = believable(history, self.most)
        noise = Noise.of(history)
        if noise.modelled:
            return NoisyLandscape.of(self, history, noise, rng).best_of_all()
        history = without_probe(history)
        patience = self.local.patience if self.local else 1
        regions = memory.of(LifeOfRegions).now(history.trials, patience)
        valleys = Valleys(self, history, regions, failed, noise.level > 0, rng)
        doubt = probe(history, valleys.best, regions.around(valleys.X[valleys.best]).failures)
        if doubt is not None:
            return doubt
        local = valleys.at_the_best()
        landscape = Landscape(self, history, valleys.regions, valleys.scale, rng, valleys.incumbent)
        decision = self.length_scale.decide(landscape)
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
            proposal = explore(history, rng) if found is None else landscape.proposal(found, posterior)
        return Proposal(
            proposal.point,
            replace(
                proposal.reason,
                length_scale=decision.length_scale,
                log_alpha_ratio=decision.log_alpha_ratio,
                cooled=decision.cooled,
                n_regions=len(valleys.regions.open),
                closed=tuple(valleys.closed),
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
        return any(t.reason.source is not Source.REGION for t in last)


@dataclass(eq=False)
class Valleys:
    """The local side at one proposal."""

    method: GlobalLocal
    history: History
    regions: TrustRegions
    failed: Matrix  # where evaluations gave no value, (m, d)
    noisy: bool  # though too little for a model of the noise: nothing converges
    rng: np.random.Generator
    closed: list[ClosedRegion] = field(default_factory=list)  # by this proposal

    @cached_property
    def scale(self) -> Scale:
        """Standardises the values."""
        return Scale.of(self.history.y[self.history.told])

    @cached_property
    def X(self) -> Matrix:
        """Told points (n, d)."""
        return self.history.X[self.history.told]

    @cached_property
    def z(self) -> Vector:
        """Their standardised values (n,), less that of the best."""
        return self.scale.above_lowest(self.history.y[self.history.told])

    @cached_property
    def units(self) -> Vector:
        """Of the black-box constraints, (k,)."""
        return units_of(self.history.constraints[self.history.told])

    @cached_property
    def merit(self) -> Vector:
        """What is least at the best point, (n,): the values of feasible ones; where there are none, the violations."""
        if not self.history.constrained:
            return self.z
        told = self.history.told
        feasible = self.history.feasible[told]
        if feasible.any():
            return np.where(feasible, self.z, np.inf)
        if len(self.units) == 0:  # what is known lies outside of what is allowed
            return np.full(self.n, np.inf)
        allowed = [self.history.trials[i].allowed for i in self.history.ids[told]]
        return np.where(allowed, violations(self.history.constraints[told], self.units), np.inf)

    @property
    def n(self) -> int:
        """Told points."""
        return len(self.z)

    @property
    def best(self) -> int:
        """Number of the best one."""
        return int(np.argmin(self.merit))

    @property
    def incumbent(self) -> int | None:
        """Row of the best one in the history, if it is feasible."""
        row = int(np.flatnonzero(self.history.told)[self.best])
        return row if self.history.feasible[row] else None

    @property
    def best_is_closed(self) -> bool:
        """Whether it lies in a closed ball."""
        return bool(self.regions.inside(self.X[self.best][None, :])[0])

    def at_the_best(self) -> tuple[int, Step] | None:
        """The step from the best observation; if there is none, its region is closed."""
        if self.best_is_closed:
            return None
        return self._step_or_close(self.best, at_the_best=True)

    def elsewhere(self) -> tuple[int, Step] | None:
        """The step from the best observation outside all closed balls."""
        outside = np.flatnonzero(~self.regions.inside(self.X))
        if len(outside) == 0:
            return None
        return self._step_or_close(int(outside[np.argmin(self.merit[outside])]), at_the_best=False)

    def best_rival(self) -> tuple[int, Step] | None:
        """The most promising step from the best observations with other options than those of the best one."""
        rounding = self.history.rounding
        if rounding is None or rounding.ordered.all():
            return None
        options = self.X[:, ~rounding.ordered]
        seen = {options[self.best].tobytes()}
        steps = []
        for i in np.argsort(self.merit, kind="stable"):
            if len(seen) > RIVALS:
                break
            if options[i].tobytes() not in seen:
                seen.add(options[i].tobytes())
                steps.append(self._step_or_close(int(i), at_the_best=False))
        return max((step for step in steps if step is not None), key=lambda s: s[1].promise, default=None)

    def _step_or_close(self, i: int, *, at_the_best: bool) -> tuple[int, Step] | None:
        settings = self.method.local
        rounding = self.history.rounding
        if settings is None or self.n < self.X.shape[1] + 2 or (rounding is not None and not rounding.ordered.any()):
            return None
        if self.merit[i] == np.inf:
            return None
        region = self.regions.around(self.X[i], settings.first_radius)
        nothing = NOTHING * min(1.0, float(np.median(self.z)))
        nothing = max(nothing, 2 * self.scale.resolution_at_lowest, np.finfo(float).tiny)
        while True:
            step = self._step(settings, i, region, nothing)
            done = at_the_best and -step.lowest < nothing and step.promise < math.log(nothing)
            if done or region.radius < LEAST_RADIUS:
                converged = done and region.confirmed and not self.noisy and step.drop is None
                self._close(i, step, region, converged=converged)
                return None
            if np.min(np.max(np.abs(self.X - step.point), axis=1)) >= SAME_POINT:
                break
            if not at_the_best and self.regions.inside(step.point[None, :])[0]:
                return None  # it has led into a finished valley
            region = replace(region, radius=region.radius / 2)  # what is known there contradicts the model
        return (i, step) if self._may_be_asked(step.point, region.radius) else None

    def _step(self, settings: LocalModel, i: int, region: TrustRegion, nothing: float) -> Step:
        history = self.history
        if not history.constrained:
            return settings.step(self.X, self.z, i, region, history.pending, self.rng, history.rounding, nothing)
        return step_within(
            settings,
            self.X,
            self.z,
            history.constraints[history.told] / self.units,
            i,
            region,
            history.pending,
            self.rng,
            history.rounding,
            history.inputs,
            np.inf if self.incumbent is None else float(self.z[self.best]),
            nothing,
        )

    def _close(self, i: int, step: Step, region: TrustRegion, *, converged: bool) -> None:
        radius = closing_radius(step.model, region, self.X, self.z)
        if self.history.rounding is not None:  # the next whole number may be nearer than a ball is large
            radius = min(radius, LEAST_BALL if converged else 2 * region.radius)
        ball = Ball(self.X[i], radius)
        self.regions = self.regions.without(ball)
        self.closed.append(ClosedRegion(self._trial(i), ball.radius, converged))

    def _may_be_asked(self, point: Vector, radius: float) -> bool:
        """Whether a step is in no closed ball, and apart from failures and from what is being evaluated."""
        pending = self.history.pending
        return bool(
            apart(point[None, :], self.failed, min(APART_FAILED, radius / 8))[0]
            and apart(point[None, :], pending, APART_PENDING)[0]
            and not self.regions.inside(point[None, :])[0]
        )

    def _trial(self, i: int) -> int:
        return int(self.history.ids[self.history.told][i])

    def _others(self, i: int) -> int:
        """Steps of the region around observation i that are being evaluated."""
        region, trials = self.regions.around(self.X[i]), self.history.trials
        steps = (t.reason.step for t in trials if t.state is State.PENDING)
        return sum(region.reaches(trials[step.centre].point) for step in steps if step is not None)

    def proposal(self, i: int, step: Step) -> Proposal:
        """The step, with its reason."""
        reason = Reason(
            Source.REGION,
            acquisition=self.scale.back_length(math.exp(step.promise)) if step.drop is None else None,
            mean=self.scale.lowest + self.scale.back_length(float(self.z[i]) + step.mean),
            spread=self.scale.back_length(step.spread),
            step=LocalStep(
                centre=self._trial(i),
                radius=step.model.radius,
                length=float(np.max(np.abs(step.z))),
                decrease=self.scale.back_length(-step.mean) if step.drop is None else step.drop,
                others=self._others(i),
                units=() if step.drop is None else tuple(self.units.tolist()),
            ),
        )
        return Proposal(step.point, reason)


@dataclass(frozen=True, eq=False)
class Landscape:
    """The global side at one proposal; it is the ``Situation`` that a length-scale policy looks at."""

    method: GlobalLocal
    history: History
    regions: TrustRegions
    scale: Scale
    rng: np.random.Generator
    incumbent: int | None  # row of the best feasible observation
    _seen: list[tuple[Posterior, Vector]] = field(init=False, default_factory=list)

    @property
    def previous(self) -> float | None:
        """Length-scale of the last proposal."""
        return self.history.length_scale

    @property
    def n(self) -> int:
        """Number of observations that the model sees."""
        return len(self._data[1])

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.history.dimension

    @cached_property
    def starts(self) -> Matrix:
        """Where the search looks first, (m, d)."""
        incumbent = self.history.X[np.nanargmin(self.history.y) if self.incumbent is None else self.incumbent]
        starts = starting_points(self.rng, Box.unit(self.dimension), incumbent)
        if self.history.rounding is not None:
            starts = _as_seen(starts, incumbent, self.history.rounding)
        if self.history.inputs is not None:
            starts = self.history.inputs.allowed_among(starts, incumbent, self.rng)
        starts = starts[~self.regions.inside(starts)]
        if len(self.history.pending) > MOST_PENDING:  # those that the model does not get keep others away themselves
            starts = starts[apart(starts, self.history.pending, THIN * math.sqrt(self.dimension))]
        return starts

    @cached_property
    def best(self) -> float:
        """The best standardised value."""
        return float(np.min(self.scale(self.history.y[self.history.told])))

    @cached_property
    def feasibility(self) -> Feasibility | None:
        """What is believed about black-box constraints; None where there are none."""
        if self.history.constraints.shape[1] == 0:
            return None
        told = self.history.told
        X, z = self.history.X[told], self.scale(self.history.y[told])
        keep = thinned(X, z, THIN * math.sqrt(self.dimension), self.method.most)
        return Feasibility.of(X[keep], self.history.constraints[told][keep], self._pending)

    @property
    def _pending(self) -> Matrix:
        """The points being evaluated that a model gets."""
        pending = self.history.pending
        if len(pending) > MOST_PENDING:
            pending = pending[np.linspace(0, len(pending) - 1, MOST_PENDING).astype(int)]
        return pending

    @property
    def target(self) -> float:
        """The value to improve on, as the model sees it."""
        best, unit = self.best, self.unit
        if self.incumbent is None or not self.history.constrained:
            return self._data[2]
        z = float(self.scale(self.history.y[self.incumbent]))
        return math.log1p((z - best) / unit) if self.compressed else float(rounded(z, VALUE_GRAIN))

    @property
    def _seeks_feasible(self) -> bool:
        """Whether nothing is feasible yet, so that there is nothing to improve on."""
        return self.incumbent is None and self.feasibility is not None

    @cached_property
    def _data(self) -> tuple[Matrix, Vector, float, float]:
        """Points (m, d) and values (m,) of the model, the target, and what one unit is in standardised values."""
        told, best = self.history.told, self.best
        z = self.scale(self.history.y)
        worst = float(np.max(z[told]))
        X, z = merged(self.history.X, np.where(told, z, worst), told)
        most = self.method.most
        most = max(most - len(self.history.pending), min(FEWEST, most))
        keep = thinned(X, z, THIN * math.sqrt(self.dimension), most)
        X, z = X[keep], z[keep]
        median = float(np.median(z))
        if self.method.compress and worst - median > SKEWED * (median - best) > 0:
            return X, rounded(np.log1p((z - best) / (median - best)), VALUE_GRAIN), 0.0, median - best
        return X, rounded(z, VALUE_GRAIN), float(rounded(best, VALUE_GRAIN)), 1.0

    @property
    def compressed(self) -> bool:
        """Whether the model sees log(1 + (z - best) / unit) in place of z; else its unit is 1."""
        return self._data[3] != 1.0

    @property
    def unit(self) -> float:
        """One unit of the model's values, in standardised values."""
        return self._data[3]

    @property
    def log_unit(self) -> float:
        """Logarithm of what one unit of the acquisition is in standardised values; a probability's is 1."""
        if self._seeks_feasible:
            return 0.0
        return math.log(self.unit) + (self.target if self.compressed else 0.0)  # slope of the way back at the target

    def posterior(self, length_scale: float) -> Posterior:
        """The global model: its mean and variance are those of the values, whatever the length-scale."""
        X, v, _, _ = self._data
        prior = Prior(float(np.mean(v)), float(np.var(v)) or 1.0)
        return Posterior.fit(SquaredExponential(length_scale), X, v, prior)

    def with_pending(self, posterior: Posterior) -> Posterior:
        """The model that believes to have seen what it predicts at pending points, though nothing below the best."""
        pending = self._pending
        if len(pending) == 0:
            return posterior
        X, v, target, _ = self._data
        believed = np.clip(posterior.predict(pending).mean, target, np.max(v))
        return Posterior.fit(posterior.kernel, np.vstack([X, pending]), np.append(v, believed), prior=posterior.prior)

    def standardised(self, prior: Prior) -> Prior:
        """A mean and variance of the objective's values, in units of the model."""
        return Prior(float(self.scale(np.array(prior.mean))), prior.variance / self.scale.back_length(1.0) ** 2)

    def promise(self, posterior: Posterior) -> float:
        """Logarithm of the best acquisition among the starting points: enough for a comparison."""
        return float(np.max(self._levels(posterior), initial=-math.inf))

    def _levels(self, posterior: Posterior) -> Vector:
        """Log EI at the starting points, (m,); remembered, for it is asked for again and again."""
        for model, levels in self._seen:
            if model is posterior:
                return levels
        if self._seeks_feasible:
            levels = self._feasible_starts
        else:
            levels = log_expected_improvement(*self._predict(posterior, self.starts), self.target).value
            levels = levels if self.feasibility is None else levels + self._feasible_starts
        self._seen.append((posterior, levels))
        return levels

    @cached_property
    def _feasible_starts(self) -> Vector:
        """Log probability that the starting points are feasible, (m,)."""
        return np.zeros(0) if self.feasibility is None else self.feasibility.log_probability(self.starts)

    def _predict(self, posterior: Posterior, A: Matrix) -> tuple[Vector, Vector]:
        """Mean and spread at points (m, d), as the acquisition function takes them."""
        return posterior.predict(A)

    def _believe(self, posterior: Posterior, A: Matrix) -> Beliefs:
        """The same with derivatives."""
        return posterior.predict_with_curvatures(A)

    def search(self, posterior: Posterior) -> Found | None:
        """The best allowed point of the acquisition function: the best starting points climbed from together."""
        level = self._levels(posterior)
        order = np.argsort(-level, kind="stable")[: 2 * CLIMBS]
        order = order[level[order] > -math.inf]
        order = order[self.allowed(self.starts[order])][:CLIMBS]
        if len(order) == 0:
            return None
        starts = self.starts[order]
        lower, upper = Box.unit(self.dimension)
        if self.history.rounding is not None:  # what cannot move freely stays as it is
            free = self.history.rounding.free & self.history.rounding.active(starts)
            lower, upper = np.where(free, lower, starts), np.where(free, upper, starts)
        tops, promises = self._climbed(posterior, starts, lower, upper)
        best = Found(starts[0], float(level[order[0]]))
        for x, value, allowed in zip(tops, promises, self.allowed(tops), strict=True):
            if allowed and value > best.value:
                best = Found(x, float(value))
        return best

    def _climbed(
        self, posterior: Posterior, starts: Matrix, lower: Vector | Matrix, upper: Vector | Matrix
    ) -> tuple[Matrix, Vector]:
        believe, inputs = partial(self._believe, posterior), self.history.inputs
        if not self.history.constrained:
            return climb(believe, self.target, starts, lower, upper, tolerance=TOP)
        below = weighted(None if self._seeks_feasible else believe, self.target, self.feasibility)
        tops, losses = descend(below, starts, lower, upper, tolerance=TOP)
        if inputs is not None:
            tops, losses = inputs.walked_back(below, tops, losses, starts, lower, upper)
        return tops, -losses

    def allowed(self, A: Matrix) -> np.ndarray:
        """Which points (m, d) are in no closed ball, neither observed nor being evaluated, and may be proposed."""
        new = ~self.regions.inside(A) & apart(A, self.history.X, APART) & apart(A, self.history.pending, APART_PENDING)
        if self.history.inputs is not None:
            new[new] = self.history.inputs.allowed(A[new])
        return new

    def proposal(self, found: Found, posterior: Posterior) -> Proposal:
        """The best point of the global model."""
        mean, spread = (float(v[0]) for v in posterior.predict(found.x[None, :]))
        stretch = self.unit * math.exp(min(mean, 700.0)) if self.compressed else 1.0  # slope of the way back
        reason = Reason(
            Source.GLOBAL,
            acquisition=None if self._seeks_feasible else self._back_promise(found.value),
            mean=self.scale.back(self.best + self.unit * math.expm1(min(mean, 700.0)) if self.compressed else mean),
            spread=self.scale.back_length(stretch * spread),
        )
        coarse = rounded(found.x, POINT_GRAIN)
        return Proposal(coarse if self.allowed(coarse[None, :])[0] else found.x, reason)

    def _back_promise(self, level: float) -> float:
        """Expected improvement in units of the objective, from log EI of the model."""
        slope = math.exp(self.target) if self.compressed else 1.0
        return self.scale.back_length(math.exp(level) * self.unit * slope)


@dataclass(frozen=True, eq=False)
class NoisyLandscape(Landscape):
    """The global side where values are noisy, which then is the only one: all observations, and errors in them.

    It looks for what one more evaluation would teach about the minimum of the mean; repeated points are welcome.
    """

    model: NoisyModel

    @classmethod
    def of(cls, method: GlobalLocal, history: History, noise: Noise, rng: np.random.Generator) -> NoisyLandscape:
        """As it stands now."""
        scale = Scale.of(history.y[history.told])
        model = noisy_model(history, noise, scale, method.most)
        return cls(method, history, TrustRegions(), scale, rng, model.least(history.feasible), model)

    def best_of_all(self) -> Proposal:
        """The most promising point."""
        posterior = self.with_pending(self.posterior())
        found = self.search(posterior)
        if found is None:
            return explore(self.history, self.rng)
        point, reason = self.proposal(found, posterior)
        return Proposal(point, replace(reason, length_scale=self.model.fitted.length_scale))

    @cached_property
    def _data(self) -> tuple[Matrix, Vector, float, float]:
        return self.model.X, self.model.v, self.target, 1.0

    @property
    def target(self) -> float:
        """The least mean of all feasible observations; of all, while none is feasible."""
        return float(np.min(self.model.means) if self.incumbent is None else self.model.mean_of(self.incumbent))

    def posterior(self, length_scale: float | None = None) -> Posterior:
        """The model, with failed evaluations as bad as the worst."""
        failed = self.history.X[~self.history.told][-self.method.most :]
        return self._with(self.model.posterior, failed, np.full(len(failed), np.max(self.model.v)))

    def with_pending(self, posterior: Posterior) -> Posterior:
        """The model that believes to have seen what it predicts at pending points."""
        return self._with(posterior, self._pending, posterior.predict(self._pending).mean)

    def _with(self, posterior: Posterior, X: Matrix, v: Vector) -> Posterior:
        """With more observations, as noisy as others are."""
        if len(X) == 0:
            return posterior
        more = len(posterior.points) - len(self.model.X) + len(X)
        noise = np.append(self.model.fitted.noise, np.full(more, np.median(self.model.fitted.noise)))
        X, v = np.vstack([posterior.points, X]), np.append(posterior.values, v)
        return Posterior.fit(posterior.kernel, X, v, posterior.prior, noise)

    def _predict(self, posterior: Posterior, A: Matrix) -> tuple[Vector, Vector]:
        mean, spread = posterior.predict(A)
        return mean, learnt(spread, self.model.error)

    def _believe(self, posterior: Posterior, A: Matrix) -> Beliefs:
        return as_learnt(posterior.predict_with_curvatures(A), self.model.error)

    def allowed(self, A: Matrix) -> np.ndarray:
        """Which points (m, d) are not being evaluated, and may be proposed."""
        new = apart(A, self.history.pending, APART_PENDING)
        if self.history.inputs is not None:
            new[new] = self.history.inputs.allowed(A[new])
        return new


def _as_seen(starts: Matrix, incumbent: Vector, rounding: Rounding) -> Matrix:
    """Starting points (m, d) as the objective sees them, and the incumbent with one thing about it changed."""
    changed = []
    for j in np.flatnonzero(~rounding.free):
        others = np.tile(incumbent, (len(LEVELS), 1))
        others[:, j] = LEVELS
        changed.append(others)
    return np.unique(rounding.snap(np.vstack([starts, *changed])), axis=0)
