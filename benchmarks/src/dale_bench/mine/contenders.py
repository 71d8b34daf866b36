"""The methods and peers for a function of the user, and which of them support its space.

dale, Optuna's TPE and random points get the space itself, and failures as such. All others get a penalty as the value
of a failure; Optuna's GP too, which ignores failed trials and would propose the same point again and again. Peers that
see only the unit cube take part if all parameters are continuous.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from dale.errors import SpaceExhausted
from dale.methods.base import Method
from dale.space.space import Space
from dale_bench import ours
from dale_bench.contender import Contender
from dale_bench.contenders import CONTENDERS, contender
from dale_bench.mine.objective import Cube, OwnTask, Penalized
from dale_bench.problems.contenders import GP, MARGIN, RANDOM, SMAC, TPE, ask_and_tell

SHORT_NAMES = {"dale": "default", "tpe": TPE.name, "gp": GP.name}
KNOWS_THE_FUNCTION = ("ei_optimal", "ei_optimal300")  # need one of dale-bench's own functions
FAILURES_AS_SUCH = {c.name: c for c in (TPE, RANDOM)}
ON_SPACES = {c.name: c for c in (GP, MARGIN, SMAC)}


def own_contender(name: str) -> Contender:
    """The contender with a name or a short name; its ``run`` takes an `OwnTask` and a seed.

    Raises:
        ValueError: It is unknown, or not available for functions of the user.
    """
    name = SHORT_NAMES.get(name, name)
    if name in FAILURES_AS_SUCH:
        return FAILURES_AS_SUCH[name]
    if name in ON_SPACES:
        return replace(ON_SPACES[name], run=partial(_penalized, ON_SPACES[name].run))
    if name in KNOWS_THE_FUNCTION:
        raise ValueError(f"{name} needs a function whose minimum is known; choose another method")
    try:
        found = contender(name)
    except ValueError as error:
        raise ValueError(f"{error}; {', '.join((*ON_SPACES, *SHORT_NAMES))}") from None
    make = _method_of(found)
    if make is not None:
        return replace(found, run=partial(_with_method, make))
    return replace(found, run=partial(_in_cube, found.run))


def gets_penalties(name: str) -> bool:
    """Whether failures have a penalty as their value for this contender."""
    run = own_contender(name).run
    return isinstance(run, partial) and run.func in (_penalized, _in_cube)


def why_not(name: str, space: Space, *, equalities: bool) -> str | None:
    """Why a contender does not support a space; None if it does. The name is not a short one."""
    make = _method_of(CONTENDERS[name]) if name in CONTENDERS else None
    if make is not None:
        supported = not space.constraints or make(None).capabilities.input_constraints
        return None if supported else "it does not support input constraints"
    if equalities:
        return "it does not support equalities"
    if name in FAILURES_AS_SUCH or name == GP.name:
        return None
    if space.constraints:
        return "it does not support input constraints"
    if name == SMAC.name:
        return None
    if name == MARGIN.name:
        numbers = space.is_numeric and not space.conditions
        return None if numbers else "it supports numbers only, without options and conditions"
    return None if space.continuous.all() else "it supports continuous parameters only"


def _method_of(found: Contender) -> Callable[[Any], Method] | None:
    """What makes the method, if the contender is one of dale's."""
    run = found.run
    return run.args[0] if isinstance(run, partial) and run.func is ours.ask_and_tell else None


def _with_method(make: Callable[[Any], Method], task: OwnTask, seed: int) -> None:
    with suppress(SpaceExhausted):
        ask_and_tell(task, seed, make(None))


def _penalized(run: Callable[[Any, int], None], task: OwnTask, seed: int) -> None:
    run(Penalized(task), seed)


def _in_cube(run: Callable[[Any, int], None], task: OwnTask, seed: int) -> None:
    run(Cube(Penalized(task)), seed)
