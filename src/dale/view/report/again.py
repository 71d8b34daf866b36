"""The command, or the Python code, that makes a run again. It is text to read: nothing of it is executed."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from dale import methods
from dale.history.direction import Direction
from dale.space.point import short_repr
from dale.view.report.words import declared
from dale.view.run_view import RunView

PROGRAM_OPTIONS = ("result", "key")  # of a dale.Command, as its store keeps them


def again_of(view: RunView, budget: int | None) -> dict[str, Any]:
    """The text, its language, and notes about what it leaves out."""
    problem: Mapping[str, Any] = {} if view.run is None else view.run.problem
    objective = dict(problem.get("objective", {}))
    args = objective.get("args")
    n = view.snapshot.history.n_evaluated if budget is None else budget
    if isinstance(args, list) and view.run is not None:
        return {"text": _command(view, problem, args, n), "notes": [*_notes(view, problem), _SPACE_FILE]}
    return {"text": _python(view, problem, n), "notes": [*_notes(view, problem), "objective is your function."]}


_SPACE_FILE = "space.toml is the file with the parameters that are listed below. Options such as --timeout, which do "
_SPACE_FILE += "not change the proposals of a serial run, are not stored."


def _command(view: RunView, problem: Mapping[str, Any], args: list[Any], n: int) -> str:
    words = ["dale", "run", "--space", "space.toml", "--budget", str(n), "--seed", str(view.result.seed)]
    name = _method_name(problem)
    if name not in (None, "default"):
        words += ["--method", str(name)]
    if view.direction is Direction.MAXIMIZE:
        words.append("--maximize")
    if problem.get("noise", "auto") != "auto":
        words += ["--noise", f"{problem['noise']}"]
    for option in PROGRAM_OPTIONS:
        if (given := problem["objective"].get(option)) is not None:
            words += [f"--{option}", str(given)]
    return shlex.join([*words, "--", *map(str, args)])


def _python(view: RunView, problem: Mapping[str, Any], n: int) -> str:
    options = [f"budget={n}", f"seed={view.result.seed}"]
    name = _method_name(problem)
    if name not in (None, "default"):
        options.append(f"method=dale.methods.{name}()")
    if problem.get("noise", "auto") != "auto":
        options.append(f"noise={problem['noise']!r}")
    constraints = problem.get("constraints")
    if constraints and all(isinstance(constraint, str) for constraint in constraints):
        options.append(f"constraints={constraints!r}")
    elif view.snapshot.domain.allowed_set is not None or constraints:
        options.append("constraints=...")
    call = f"dale.{view.direction}(objective, space, {', '.join(options)})"
    return f"import dale\n\nspace = {_space(view)}\nresult = {call}"


def _space(view: RunView) -> str:
    space = view.space
    if not space.named:
        return f"dale.Space.from_pairs([{', '.join(f'dale.{declared(view, name)}' for name in space.names)}])"
    rows = [f"    {short_repr(name)}: dale.{declared(view, name)}," for name in space.names]
    return "\n".join(["dale.Space({", *rows, "})"])


def _method_name(problem: Mapping[str, Any]) -> str | None:
    method = problem.get("method") or {}
    name = method.get("name")
    return name if isinstance(name, str) and name in methods.__all__ else None


def _notes(view: RunView, problem: Mapping[str, Any]) -> list[str]:
    method = problem.get("method") or {}
    notes = []
    if view.run is None:
        notes.append("Arguments such as method= and x0= are not known without a store: pass those of the run.")
    elif method.get("settings") or _method_name(problem) is None:
        notes.append(f"The method {method.get('name')} had settings of its own: pass the same method.")
    if any(str(t.reason.source) in ("added", "user") for t in view.trials):
        notes.append("Points of the user's were added or evaluated first: pass them too (x0, y0).")
    return notes
