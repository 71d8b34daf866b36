"""``dale.Command``: an external program as the objective."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dale.errors import Retry
from dale.evaluate.placeholders import DIRECTORY, PARAMS, TRIAL, as_text, pieces, placeholders
from dale.evaluate.program import Program, ProgramSpec
from dale.space.space import Space

BATCH_FILES = (".bat", ".cmd")  # Windows runs these in a shell, whatever their arguments contain


@dataclass(frozen=True)
class Command:
    """An external program as the objective, instead of a function.

    The program receives its arguments unchanged and without a shell, so the value of a parameter cannot become anything
    but an argument. In an argument, ``{a}`` stands for parameter a (``{x0}``, ``{x1}``, ... in a space without names),
    with all digits or in a format (``{a:.3f}``); ``{params}`` for the path of a JSON file with all parameters;
    ``{trial}`` for the id of the trial; ``{directory}`` for a directory of this evaluation; ``{{``, ``}}`` for braces.

    The value is the last number on standard output, unless ``result`` names a file. Exit code 75 (``EX_TEMPFAIL``)
    means a transient failure, like ``dale.Retry``; any other nonzero exit code fails the trial.

    Args:
        args: The program and its arguments.
        result: Path of a JSON file that the program writes: a number, or an object with ``value`` and optionally
            ``noise``, ``constraints`` and ``extra``, as in ``dale.Evaluation``. It may contain ``{directory}`` and
            ``{trial}``.
        key: Place of the value in that file: ``"metrics.loss"``.
        logs: Directory for the directories of the evaluations. None for one next to the store; without a store they are
            temporary and deleted after each evaluation.
        cwd: Working directory of the program; None for the current one; ``"{directory}"`` for one per evaluation.

    Examples:
        >>> import sys
        >>> import dale
        >>> command = dale.Command([sys.executable, "-c", "print(({a} - 0.3) ** 2)"])
        >>> command({"a": 1.3})
        1.0
        >>> dale.minimize(command, {"a": (0, 1)}, budget=3, seed=0).nfev
        3
    """

    args: tuple[str, ...]
    result: str | None = None
    key: str | None = None
    logs: str | None = None
    cwd: str | None = None

    def __init__(
        self,
        args: Sequence[str | os.PathLike[str]],
        *,
        result: str | os.PathLike[str] | None = None,
        key: str | None = None,
        logs: str | os.PathLike[str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
    ) -> None:
        object.__setattr__(self, "args", _check_args(args))
        for name, path in {"result": result, "logs": logs, "cwd": cwd}.items():
            object.__setattr__(self, name, None if path is None else _text(path, name))
        if key is not None and (not isinstance(key, str) or result is None):
            raise ValueError(f"key must be text, and needs result, the JSON file that it refers to; got key={key!r}")
        object.__setattr__(self, "key", key)
        for piece in placeholders([path for path in (self.result, self.cwd) if path is not None]):
            if piece.name not in (DIRECTORY, TRIAL) or piece.form:
                raise ValueError(f"result and cwd may contain {{directory}} and {{trial}}, got {{{piece.name}}}")

    def __call__(self, params: Any, trial: int = 0) -> Any:
        """Run the program once, and return its value, which ``Optimizer.tell`` accepts.

        Args:
            params: The point: ``trial.params``.
            trial: What ``{trial}`` stands for: ``trial.id``.

        Raises:
            dale.Retry: The exit code is 75, or the program could not be started.
            RuntimeError: The program failed in any other way.
        """
        outcome = Program.of(self._spec, None, self.logs, own_session=True).evaluate(trial, params)
        if outcome.error is not None:
            raise (Retry if outcome.retry else RuntimeError)(outcome.error)
        return outcome.value

    def to_dict(self) -> dict[str, Any]:
        """What a store keeps, to compare the objectives of two runs."""
        return {"args": list(self.args), "result": self.result, "key": self.key}

    def program(self, space: Space, store: Any, executor: Any) -> Program:
        """The program as the objective of a run, checked before the first trial.

        Args:
            space: The space of the run.
            store: Path of the store; None without one.
            executor: The executor that will run it; None for processes of this machine.
        """
        self._check(space)
        if executor is None:
            self._check_executable()
        logs = self.logs if self.logs is not None or store is None else logs_of(store)
        return Program.of(self._spec, space, logs, own_session=executor is not None)

    @property
    def shares_result_file(self) -> bool:
        """Whether two evaluations at once would write to the same file."""
        if self.result is None:
            return False
        where = self.result if self.cwd is None else os.path.join(self.cwd, self.result)  # noqa: PTH118 (templates)
        return not any(True for _ in placeholders([where]))

    @property
    def _spec(self) -> ProgramSpec:
        return ProgramSpec(self.args, self.result, self.key, self.cwd)

    def _check(self, space: Space) -> None:
        """Check that the program receives every parameter of a space, and that all values can be written as text."""
        used = list(placeholders(self.args))
        self._check_names(space)
        examples = {n: [p.to_argument(value) for value in p.examples] for n, p in space.parameters.items()}
        for piece in used:
            for value in [1] if piece.name == TRIAL else examples.get(piece.name or "", []):
                _check_text(piece.name, value, piece.form)
        if any(piece.name == PARAMS for piece in used):
            for name, values in examples.items():
                for value in values:
                    _check_json(name, value)

    def _check_names(self, space: Space) -> None:
        reserved = [name for name in space.names if name in (TRIAL, DIRECTORY, PARAMS)]
        if reserved:
            raise ValueError(f"the parameter name {reserved[0]!r} is reserved for a placeholder; rename the parameter")
        used = list(placeholders(self.args))
        for piece in used:
            if piece.name in (DIRECTORY, PARAMS) and piece.form:
                raise ValueError(f"{{{piece.name}}} is a path and takes no format, got {{{piece.name}:{piece.form}}}")
            if piece.name not in (TRIAL, DIRECTORY, PARAMS, *space.names):
                raise ValueError(
                    f"the command contains {{{piece.name}}}; expected one of the parameters "
                    f"{', '.join(map(repr, space.names))}. Write {{{{ and }}}} for literal braces"
                )
            if piece.name in space.conditions:
                raise ValueError(
                    f"the command contains {{{piece.name}}}, a conditional parameter, which does not always have a "
                    "value; let the program read the JSON file {params}, which contains the active parameters"
                )
        names = {piece.name for piece in used}
        missing = [name for name in space.names if name not in names]
        if missing and PARAMS not in names:
            raise ValueError(
                f"the command does not contain {', '.join(f'parameter {name!r}' for name in missing)}; "
                f"add {{{missing[0]}}}, or {{params}} for the path of a JSON file with all parameters"
            )

    def _check_executable(self) -> None:
        """Check that the program exists and is executable, unless its path depends on the trial."""
        program, cwd = self.args[0], self.cwd or ""
        if any(True for _ in placeholders([program, cwd])):
            return
        plain = "".join(piece.text for piece in pieces(program))
        in_cwd = os.path.join(cwd, plain) if os.path.dirname(plain) else plain  # noqa: PTH118, PTH120 (as Popen does)
        found = shutil.which(in_cwd)
        if found is None:
            what = "is not executable" if Path(in_cwd).is_file() else "was not found"
            raise ValueError(f"the program {plain!r} {what}; give its path, or add its directory to PATH")
        if os.name == "nt" and Path(found).suffix.lower() in BATCH_FILES:
            raise ValueError(f"{found} runs in a shell, which arguments can escape into; give the program itself")


def logs_of(store: Any) -> str:
    """The log directory of a store: ``run.logs`` next to ``run.db``."""
    path = Path(store).resolve()
    logs = path.with_suffix(".logs")
    return str(logs if logs != path else path.with_name(f"{path.name}.logs"))


def _check_args(args: Any) -> tuple[str, ...]:
    if isinstance(args, str | bytes) or not isinstance(args, Sequence):
        raise TypeError(
            f'expected a list of arguments, such as ["python", "sim.py", "--a", "{{a}}"], got {args!r}; no shell '
            "splits a command line"
        )
    if not args:
        raise ValueError("expected a program and its arguments, got an empty command")
    checked = tuple(_text(arg, "an argument of a command") for arg in args)
    for _ in placeholders(checked):
        pass  # raises if a placeholder is invalid
    return checked


def _text(value: Any, what: str) -> str:
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str):
        raise TypeError(f"{what} must be text, got {value!r}; write {str(value)!r}")
    if "\0" in text:
        raise ValueError(f"{what} must not contain a null character, got {value!r}")
    return text


def _check_text(name: str | None, value: Any, form: str) -> None:
    try:
        as_text(value, form)
    except ValueError as error:
        raise ValueError(f"{{{name}}} in the command: {error}; use the JSON file {{params}} instead") from None


def _check_json(name: str, value: Any) -> None:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"option {value!r} of parameter {name!r} cannot be written to the JSON file {{params}}: {error}"
        ) from None
