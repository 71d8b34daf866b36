"""One run as plots, texts and pages see it, whatever the user has of it: a result, an optimizer, a run or a path."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dale._arrays import Vector
from dale._computing import computing
from dale.errors import SpaceError
from dale.history.direction import Direction
from dale.history.history import History
from dale.history.observations import Observations
from dale.history.result import Result
from dale.history.snapshot import Snapshot
from dale.history.trial import Trial, TrialState
from dale.optimizer import Optimizer
from dale.space.domain import Domain
from dale.space.point import by_name
from dale.space.space import Space, as_space
from dale.store.run import Run, open_run
from dale.view.sobol import SobolIndices, sobol_indices
from dale.view.surrogate import PlotSurrogate

NO_VALUE = "expected at least one completed trial to plot, got none"


class _LastSurrogate:
    """The surrogate that was fitted last, kept in the cache of the run: several plots share it."""

    fitted: tuple[Observations, PlotSurrogate] | None = None


@dataclass(frozen=True, eq=False)
class RunView:
    """A run at one moment.

    Attributes:
        snapshot: Everything derived from the trials.
        result: The same as a result.
        run: The stored run, if there is one: it knows the times.
    """

    snapshot: Snapshot
    result: Result
    run: Run | None = None

    @property
    def space(self) -> Space:
        """The space of the run."""
        return self.snapshot.domain.space

    @property
    def direction(self) -> Direction:
        """Whether the objective is minimised or maximised."""
        return self.snapshot.history.direction

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials, in the order of their ids."""
        return self.snapshot.history.trials

    def holds(self, trial: Trial) -> bool:
        """Whether a trial has the values of the parameters that are held; any trial does if none is."""
        return bool(self.snapshot.domain.contains(trial.unit_x[None, :])[0])

    @cached_property
    def finished(self) -> tuple[Trial, ...]:
        """The completed and failed trials with the values that are held, in the order of their ids."""
        done = (t for t in self.trials if t.state in (TrialState.COMPLETE, TrialState.FAILED))
        return tuple(filter(self.holds, done))

    @cached_property
    def observations(self) -> Observations:
        """All finished trials as arrays, whatever is held, without the values of outliers: the models use them all."""
        with computing():
            return self.snapshot.history.observations.inliers

    @cached_property
    def inliers(self) -> tuple[Trial, ...]:
        """The completed trials with the values that are held, without outliers."""
        return tuple(self.trials[i] for i in self.observations.ids[self._shown])

    @cached_property
    def _shown(self) -> np.ndarray:
        """Which rows of ``observations`` have a value, and the values that are held."""
        return self.observations.has_value & self.snapshot.domain.contains(self.observations.X)

    @cached_property
    def values(self) -> Vector:
        """The values of ``inliers``, (n,)."""
        return self.direction.from_loss(self.losses)

    @property
    def losses(self) -> Vector:
        """The same as the models see them, (n,): lower is better."""
        return self.observations.y[self._shown]

    @property
    def is_noisy(self) -> bool:
        """Whether the values are so noisy that they need a model of their noise."""
        return self.observations.noise.modelled

    @property
    def best(self) -> Trial | None:
        """The best feasible trial; under noise, that with the best posterior mean."""
        return self.snapshot.incumbent.trial

    @cached_property
    def surrogate(self) -> PlotSurrogate:
        """A model of the objective over the whole space."""
        if not self.observations.has_value.any():
            raise ValueError(NO_VALUE)
        kept = self.snapshot.cache.of(_LastSurrogate)
        if kept.fitted is None or kept.fitted[0] is not self.observations:
            kept.fitted = self.observations, PlotSurrogate.of(self.observations.smoothed, self.space, self.direction)
        return kept.fitted[1]

    @cached_property
    def sobol(self) -> SobolIndices:
        """Which of the parameters that vary explain the variance of the surrogate."""
        indices = sobol_indices(self.surrogate, self.space, self.snapshot.domain.held)
        return indices.of([self.surrogate.names.index(name) for name in self.check_names(None)])

    @cached_property
    def posterior_means(self) -> dict[int, float]:
        """Under noise, the posterior mean of the objective at each trial, by its id; empty where there is no noise."""
        if not self.is_noisy:
            return {}
        with computing():
            model, scale = self.observations.noisy_gp, self.observations.standardize
            ids = self.observations.ids[model.rows].tolist()
            losses = [scale.inverse(model.untransformed(float(mean))) for mean in model.means]
            value = self.snapshot.incumbent.value
            least = -math.inf if value is None else self.direction.loss(value)  # no other mean is better
            means = [self.direction.from_loss(max(loss, least)) for loss in losses]
            if value is not None:
                means = [value if self._is_at_best(i) else mean for i, mean in zip(ids, means, strict=True)]
            return dict(zip(ids, means, strict=True))

    def posterior_std(self, trial: Trial) -> float:
        """Standard deviation of the posterior mean of one of the trials in ``posterior_means``."""
        if self._is_at_best(trial.id):
            return self.snapshot.incumbent.std
        with computing():
            row = int(np.flatnonzero(self.observations.ids == trial.id)[0])
            return self.observations.standardize.inverse_scale(self.observations.noisy_gp.at(row)[1])

    def _is_at_best(self, number: int) -> bool:
        """Whether the trial with this id is the recommended one or a replicate of it."""
        best = self.snapshot.incumbent.trial
        return best is not None and np.array_equal(self.trials[number].unit_x, best.unit_x)

    def named(self, trial: Trial) -> dict[str, Any]:
        """The parameters of a trial by name, without those that are inactive."""
        return dict(by_name(trial.params, self.space.names))

    def check_names(self, names: Sequence[str] | None, n: int | None = None) -> tuple[str, ...]:
        """Names of parameters that the user asked for; None for all that vary and are not held.

        Args:
            names: The names.
            n: How many there must be; None for any number.
        """
        varied = tuple(name for name in self.space.names if self.space.n_coordinates(name) > 0)
        if names is None:
            held = self.snapshot.domain.held
            return varied if held is None else tuple(name for name in varied if name not in held.values)
        given = (names,) if isinstance(names, str) else tuple(names)
        unknown = [name for name in given if name not in varied]
        if unknown or len(set(given)) < len(given) or (n is not None and len(given) != n) or not given:
            count = "different names" if n is None else f"{n} different names"
            raise ValueError(f"params: expected {count} out of {', '.join(map(repr, varied))}, got {names!r}")
        return given


def view_of(run: Any, space: Any = None) -> RunView:
    """A run from a result, an optimizer, a stored run or the path of a store.

    Args:
        run: The run.
        space: Its space. Needed only for a result without one, and for a store with options that no file can keep; it
            is an error if it is not the space of the run.
    """
    if isinstance(run, RunView):
        view = run
    elif isinstance(run, Optimizer):
        stored = None if run.store is None else open_run(run.store, run.space)
        view = RunView(run.snapshot, run.result(), stored)
    elif isinstance(run, Run):
        view = RunView(run.snapshot, run.result(), run)
    elif isinstance(run, str | os.PathLike):
        opened = open_run(run, space)
        return RunView(opened.snapshot, opened.result(), opened)
    elif isinstance(run, Mapping) and "history" in run:
        view = RunView(*_snapshot_of(run, space))
    else:
        raise TypeError(
            f"expected a result, an Optimizer, a run from dale.open or the path of a store, got {type(run).__name__}"
        )
    if space is not None:
        _check_space(view.space, as_space(space))
    return view


def _snapshot_of(run: Mapping[str, Any], space: Any) -> tuple[Snapshot, Result]:
    """The snapshot of a result; made again if the result was copied, or read from a pickle."""
    result = run if isinstance(run, Result) else Result(run)
    snapshot = result.__dict__.get("_snapshot")
    if snapshot is not None:
        return snapshot, result
    own = result.get("space")
    if own is None and space is None:
        raise ValueError("this result does not know its space; pass it as space=")
    own = as_space(space if own is None else own)
    trials: tuple[Trial, ...] = result.history
    try:
        for trial in trials:
            if not np.array_equal(own.encode(trial.params), trial.unit_x):
                raise SpaceError(f"trial {trial.id} at {trial.params!r} is another point in it")
    except (SpaceError, TypeError) as error:
        raise ValueError(f"expected the space of the run, got {own!r}: {error}") from None
    noise = result.get("specified_noise", result.get("noise"))
    empty = History.empty(own.dimension, noise, result.get("direction", Direction.MINIMIZE))
    whole = Snapshot(empty.with_trials(trials), Domain.of(own))
    return whole.holding(result["fixed"]) if result.get("fixed") else whole, result


def _check_space(own: Space, given: Space) -> None:
    if own.has_same_parameters(given):
        return
    names = [*own.names, *(name for name in given.names if name not in own.names)]
    for name in names:
        one = own.declared(name) if name in own.names else "no such parameter"
        other = given.declared(name) if name in given.names else "no such parameter"
        if one != other:
            raise ValueError(
                f"space: expected that of the run, got another one: {name} is {one!r} in the run and {other!r} here; "
                "leave the argument out"
            )
    raise ValueError(f"space: expected that of the run, {own!r}, got {given!r}; leave the argument out")
