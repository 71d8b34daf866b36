"""A search algorithm for Ray Tune: ``tune.Tuner(..., tune_config=tune.TuneConfig(search_alg=DaleSearch()))``.

Ray numbers trials by ids of its own, and saves and restores its search algorithms. The file that is written here is
JSON with every trial and the reason for it, so a restored search continues exactly as the saved one would have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dale.errors import SpaceError, SpaceExhausted
from dale.history.direction import Direction
from dale.history.trial import Trial
from dale.methods.base import Method
from dale.optimizer import Optimizer
from dale.space.choice import Choice
from dale.space.float import Float
from dale.space.int import Int
from dale.space.space import Space, as_space
from dale.store.codec import dump_json, load_json
from dale.store.events import Event, EventKind, event_content, replay
from dale.store.problem import space_from_json, space_to_json

try:
    from ray.tune.search import Searcher
    from ray.tune.search import sample as domains
    from ray.tune.search.variant_generator import parse_spec_vars
    from ray.tune.utils.util import flatten_dict, unflatten_dict
except ImportError as error:
    raise ImportError(f"dale.integrations.ray needs Ray Tune ({error}): pip install 'dale[ray]'") from error


class DaleSearch(Searcher):
    """Proposes the configurations of Ray's trials. Running ones are taken into account, and failed ones are avoided.

    Args:
        space: A ``dale.Space`` or what ``dale.minimize`` takes, with names; None for the ``param_space`` of the tuner:
            ``tune.uniform``, ``loguniform``, ``quniform``, ``randint``, ``lograndint``, ``qrandint`` and ``choice``,
            nested or not, and constants.
        metric: The result that is optimised; None for that of the tuner.
        mode: "min" or "max"; None for that of the tuner.
        points_to_evaluate: Configurations to begin with.
        evaluated_rewards: Their values, if they are known: then they are not evaluated again.
        seed: Same seed, same search, if trials end in the same order; None takes a fresh one.
        method: A method of ``dale.methods``; None for the default.

    Attributes:
        optimizer: The ``dale.Optimizer``; None until the space is known.
    """

    def __init__(
        self,
        space: Any = None,
        metric: str | None = None,
        mode: str | None = None,
        points_to_evaluate: Sequence[Mapping[str, Any]] = (),
        evaluated_rewards: Sequence[float] | None = None,
        *,
        seed: int | None = None,
        method: Method | None = None,
    ) -> None:
        if mode not in (None, "min", "max"):
            raise ValueError(f"mode: expected 'min', 'max' or None, got {mode!r}")
        if evaluated_rewards is not None and len(evaluated_rewards) != len(points_to_evaluate):
            raise ValueError(
                f"expected a value for each of {len(points_to_evaluate)} points, got {len(evaluated_rewards)}"
            )
        super().__init__(metric=metric, mode=mode)
        self._metric: str | None = metric
        self._mode: str | None = mode
        self.optimizer: Optimizer | None = None
        self._settings: dict[str, Any] = {"seed": seed, "method": method}
        self._points = [dict(point) for point in points_to_evaluate]
        self._rewards = None if evaluated_rewards is None else list(evaluated_rewards)
        self._numbers: dict[str, int] = {}  # numbers of the optimizer's trials by Ray's ids
        self._space = None if space is None else _named(as_space(space))
        if self._space is not None and mode is not None:
            self._begin(self._space)

    def set_search_properties(self, metric: str | None, mode: str | None, config: dict[str, Any], **spec: Any) -> bool:
        """Take metric, mode and space from the tuner, where they were not given before."""
        self._metric = self._metric or metric
        self._mode = self._mode or mode
        if self.optimizer is None:
            space = self._space
            if space is None:
                space = from_param_space(config)
            self._begin(space)
            return True
        return not config  # Ray warns that a second space is not used

    def suggest(self, trial_id: str) -> dict[str, Any] | str:
        """The configuration of a new trial; FINISHED if every point of a finite space has been proposed."""
        optimizer = self._ready()
        try:
            trial = optimizer.ask(at=flatten_dict(self._points.pop(0))) if self._points else optimizer.ask()
        except SpaceExhausted:
            return str(Searcher.FINISHED)
        self._numbers[trial_id] = trial.id
        return dict(unflatten_dict(dict(trial.params)))

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """Record the last result of a trial. It has failed with an error, or without a finite value of the metric."""
        optimizer, number = self._ready(), self._numbers.pop(trial_id, None)
        if number is None:
            return  # of another search algorithm
        value = math.nan if error or not result else float(result.get(str(self._metric), math.nan))
        self._report(optimizer.history[number], value, "an error" if error else f"{self._metric} = {value!r}")

    def add_evaluated_point(
        self, parameters: dict[str, Any], value: float, error: bool = False, pruned: bool = False, **_: Any
    ) -> None:
        """Record a point whose value is known."""
        trial = self._ready().ask(at=flatten_dict(parameters))
        self._report(trial, math.nan if error or pruned else float(value), "an error")

    def save(self, checkpoint_path: str) -> None:
        """Write everything to a file, as JSON."""
        optimizer = self._ready()
        events = [event_content(EventKind.ADD, trial, optimizer.space) for trial in optimizer.history]
        state = {
            "metric": self._metric,
            "mode": self._mode,
            "seed": optimizer.seed,
            "space": space_to_json(optimizer.space),
            "trials": events,
            "numbers": self._numbers,
            "points": self._points,
        }
        Path(checkpoint_path).write_text(dump_json(state), encoding="ascii")

    def restore(self, checkpoint_path: str) -> None:
        """Continue where ``save`` was called. The method is not in the file: give it to the constructor."""
        state = load_json(Path(checkpoint_path).read_text(encoding="ascii"))
        space = space_from_json(state["space"])
        events = [Event(i, 0, EventKind.ADD, i, "", content) for i, content in enumerate(state["trials"])]
        self._metric, self._mode = state["metric"], state["mode"]
        self._numbers, self._points, self._rewards = state["numbers"], state["points"], None
        optimizer = Optimizer(space, seed=state["seed"], method=self._settings["method"], direction=self._direction)
        history = replay(optimizer.snapshot.history, events, space)
        optimizer.__setstate__({**optimizer.__getstate__(), "_history": history})  # as a copy is made
        self.optimizer = optimizer

    def _begin(self, space: Space) -> None:
        self.optimizer = Optimizer(space, direction=self._direction, **self._settings)
        if self._rewards is not None:
            for point, value in zip(self._points, self._rewards, strict=True):
                self.add_evaluated_point(point, value)
            self._points = []

    @property
    def _direction(self) -> Direction:
        return Direction.MAXIMIZE if self._mode == "max" else Direction.MINIMIZE

    def _ready(self) -> Optimizer:
        if self.optimizer is None:
            raise RuntimeError(
                "the space is not known yet; give it to DaleSearch, with metric and mode, or as the param_space of the "
                "tuner"
            )
        return self.optimizer

    def _report(self, trial: Trial, value: float, error: str) -> None:
        optimizer = self._ready()
        if math.isfinite(value):
            optimizer.tell(trial, value)
        else:
            optimizer.fail(trial, error)


def from_param_space(config: dict[str, Any]) -> Space:
    """The space of a tuner, nested names joined by "/"; constants are left to Ray."""
    _, variables, grids = parse_spec_vars(config)
    if grids:
        names = ", ".join("/".join(path) for path, _ in grids)
        raise SpaceError(f"{names}: a grid is not searched by a search algorithm; use tune.choice instead")
    return Space({"/".join(path): _parameter(domain, "/".join(path)) for path, domain in variables})


def _parameter(domain: Any, name: str) -> Float | Int | Choice:
    sampler, step = domain.get_sampler(), None
    if isinstance(sampler, domains.Quantized):
        sampler, step = sampler.get_sampler(), sampler.q
    log = isinstance(sampler, domains.LogUniform)
    if isinstance(domain, domains.Categorical):
        return Choice(domain.categories)
    if isinstance(sampler, domains.Uniform | domains.LogUniform) and not (log and step):
        if isinstance(domain, domains.Float):
            return Float(domain.lower, domain.upper, log=log, step=step)
        if isinstance(domain, domains.Integer):  # the upper bound is a value only in steps
            return Int(domain.lower, domain.upper - (step is None), log=log, step=1 if step is None else step)
    raise SpaceError(
        f"{name}: expected tune.uniform, loguniform, quniform, randint, lograndint, qrandint or choice, got {domain!r}"
    )


def _named(space: Space) -> Space:
    if not space.named:
        raise SpaceError(f"expected a space with names, such as dale.Space(lr=(0, 1)), got {space!r}")
    return space
