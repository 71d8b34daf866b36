"""Forks: a new run that begins with the trials of another one, in the same space or in a changed one."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dale import methods
from dale.errors import ForkWarning
from dale.history.direction import Direction
from dale.history.result import Result
from dale.history.trial import Trial, TrialState
from dale.methods.base import Method, check_method, require_constraints
from dale.optimizer import Optimizer
from dale.space.constraints import Constraints, as_constraints
from dale.space.space import Space, as_space
from dale.store.events import Event, replay
from dale.store.fork import FirstTrials, check_at, events_of, origin
from dale.store.location import resolve_path
from dale.store.problem import MAX_SHOWN, differences, problem_to_json
from dale.store.run import Run, open_run
from dale.store.sqlite import create


def fork(
    source: Any,
    store: str | os.PathLike[str] | None = None,
    *,
    at: int | None = None,
    space: Any = None,
    fill: Mapping[str, Any] | None = None,
    method: Method | None = None,
    constraints: Any = None,
) -> Optimizer:
    """A new run that begins with the trials of another one; that one does not change.

    Without a new space the fork continues as the run itself would have: with the same seed and trials it proposes the
    same points, bit for bit. Corrections of these trials go along, also later ones. Trials that are pending in the run
    are pending in the fork too, and the first that its ``ask`` returns.

    With a new space, all trials that fit become added data, as by ``Optimizer.add``: steps and reasons belong to the
    old space. Those that do not fit are left out, and a ``ForkWarning`` counts them. Transient failures, pending and
    discarded trials are left out too.

    Args:
        source: An optimizer, a result, a run from ``dale.open`` or the path of a store.
        store: Path of a new file that keeps the fork; None for a fork in memory.
        at: Take only the first so many trials, those with a lower id; None for all.
        space: Another space. Bounds may grow or shrink, parameters may be added or fixed.
        fill: Values that the earlier trials had for parameters that are new.
        method: The method; needed if it is not the default, unless the source is an optimizer.
        constraints: Input constraints; needed if there are any, unless the source is an optimizer.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: (x[0] - 1) ** 2, [(-2, 2)], budget=8, seed=0)
        >>> bool(dale.fork(result, at=5).ask().x == result.history[5].x)
        True
        >>> wider = dale.fork(result, space=[(-5, 5)])
        >>> len(wider.history), wider.space
        (8, Space.from_pairs([Float(low=-5.0, high=5.0, log=False, step=None)]))
    """
    known = _origin_of(source)
    n = check_at(at, len(known.trials))
    method = check_method(known.method if method is None else method)
    if space is not None and constraints is None and known.is_constrained:
        raise ValueError(
            "the run has input constraints: with a new space, pass constraints=, those of the fork, or constraints=[] "
            "for none"
        )
    given = known.constraints if constraints is None else constraints
    chosen = known.space if space is None else as_space(space)
    limits = as_constraints(given, chosen)
    chosen = chosen if limits is None else limits.space  # with equalities, if there are any
    problem = problem_to_json(chosen, known.seed, method, known.noise, given, known.objective, known.direction)
    first = FirstTrials(known.trials[:n], known.events, known.space)
    if space is None:
        _check_same(known, problem)
        events, n_outside = first.in_same_space(fill)
    else:
        if any(trial.constraints for trial in first.trials):
            require_constraints(method, outcome=True)
        problem.pop("objective", None)  # its arguments may have to change with the parameters
        events, n_outside = first.in_space(chosen, limits, fill)
    settings: dict[str, Any] = {"method": method, "noise": "auto" if known.noise is None else known.noise}
    settings |= {"constraints": given, "direction": known.direction}
    optimizer = Optimizer(chosen, seed=known.seed, **settings)
    if store is None:
        history = replay(optimizer.snapshot.history, events, chosen)
        pending = tuple(t.id for t in history.trials if t.state is TrialState.PENDING)
        optimizer.__setstate__({**optimizer.__getstate__(), "_history": history, "_inherited": pending})  # like a copy
    else:
        create(resolve_path(store), {**problem, **origin(known.path, n)}, events, must_be_new=True)
        optimizer = Optimizer(chosen, store=store, **settings)
    if n_outside:
        warnings.warn(
            f"{n_outside} of {n_outside + len(events)} trials are outside of the new space and were left out",
            ForkWarning,
            stacklevel=2,
        )
    return optimizer


class _Origin(NamedTuple):
    """A run to fork; ``problem`` is that of its store, if there is one."""

    space: Space
    seed: int
    direction: Direction
    noise: float | None
    trials: tuple[Trial, ...]
    events: Sequence[Event]
    method: Method
    constraints: Any = None
    path: str | None = None
    problem: Mapping[str, Any] | None = None

    @property
    def is_constrained(self) -> bool:
        stored = () if self.problem is None else self.problem["constraints"]
        return bool(self.constraints or stored or self.space.constraints)

    @property
    def objective(self) -> Mapping[str, Any] | None:
        return None if self.problem is None else self.problem.get("objective")


def _origin_of(source: Any) -> _Origin:
    if isinstance(source, str | os.PathLike):
        source = open_run(source)
    if isinstance(source, Run):
        noise = None if source.noise == "auto" else source.noise
        return _Origin(
            source.space,
            source.seed,
            source.direction,
            noise,
            source.history,
            source.events,
            methods.default(),
            constraints=source.constraints,
            path=str(source.path),
            problem=source.problem,
        )
    if isinstance(source, Optimizer):
        given = _as_given(source.constraints)
        if source.store is not None:
            stored = _origin_of(open_run(source.store, source.space))
            return stored._replace(method=source.method, constraints=given)
        noise = _number_or_none(source.snapshot.history.default_noise)
        events = events_of(source.history, source.space)
        run = (source.space, source.seed, source.direction)
        return _Origin(*run, noise, source.history, events, source.method, given)
    if isinstance(source, Result) and source.get("space") is not None:
        snapshot = source.__dict__.get("_snapshot")
        noise = None if snapshot is None else _number_or_none(snapshot.history.default_noise)
        given = None if snapshot is None else _as_given(snapshot.domain.constraints)
        events = events_of(source.history, source.space)
        run = (source.space, source.seed, source.get("direction", Direction.MINIMIZE))
        return _Origin(*run, noise, source.history, events, methods.default(), given)
    raise TypeError(
        f"expected an Optimizer, a result, a run from dale.open or the path of a store, got {type(source).__name__}"
    )


def _as_given(constraints: Constraints | None) -> Any:
    return None if constraints is None else list(constraints.given)


def _number_or_none(noise: float) -> float | None:
    return None if math.isnan(noise) else noise


def _check_same(known: _Origin, problem: Mapping[str, Any]) -> None:
    """Whether a fork without a new space has the settings of the run."""
    found = [] if known.problem is None else list(differences(known.problem, problem))
    if found:
        raise ValueError(
            f"a fork in the same space has the settings of its run, {known.path}: {'; '.join(found[:MAX_SHOWN])}; pass "
            "the method= and constraints= of the run, or a space= to begin a run with other settings from its data"
        )
