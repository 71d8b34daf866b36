"""An objective that is a program: what to start, and where to find the value that it computes."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dale.errors import Retry
from dale.evaluate.placeholders import pieces, placeholders, written
from dale.space.choice import Choice
from dale.space.float import Float
from dale.space.parameter import Parameter
from dale.space.space import Space

if TYPE_CHECKING:
    from dale.evaluate.program import Program

TRIAL, FOLDER, PARAMS = "trial", "folder", "params"  # placeholders beside the parameters
SHELLS = (".bat", ".cmd")  # files that Windows hands to a shell, whatever their arguments hold


@dataclass(frozen=True)
class Command:
    """A program to minimise: ``dale.Command(["python", "sim.py", "--a", "{a}"])``, in place of a function.

    The words go to the program as they are, without a shell, so no value of a parameter can become anything but
    an argument. In a word, ``{a}`` stands for parameter a (``{x0}``, ``{x1}``, ... in a space without names), with all
    digits, or with those of a format (``{a:.3f}``); ``{params}`` for the path of a JSON file with all parameters,
    ``{trial}`` for the number of the trial and ``{folder}`` for a folder of its own; ``{{`` and ``}}`` for braces.

    The value is the last number that the program writes to standard output, unless ``result`` names a file. Exit code
    75 (``EX_TEMPFAIL``) says that the machine is to blame and not the point, as ``dale.Retry`` does; any other than 0
    fails the trial.

    Args:
        words: The program and its arguments.
        result: Path of a JSON file that the program writes: a number, or an object with ``value`` and perhaps ``noise``
            and ``constraints``, as in ``dale.Evaluation``. ``{folder}`` and ``{trial}`` may be in it.
        key: Where in that file, if elsewhere: ``"metrics.loss"``.
        logs: Folder for the evaluations' folders; None for one beside the store, and where there is no store, for
            temporary ones that are deleted.
        cwd: Folder to run the program in; None for the current one. ``"{folder}"`` gives each evaluation its own.
    """

    words: tuple[str, ...]
    result: str | None = None
    key: str | None = None
    logs: str | None = None
    cwd: str | None = None

    def __init__(
        self,
        words: Sequence[str | os.PathLike[str]],
        *,
        result: str | os.PathLike[str] | None = None,
        key: str | None = None,
        logs: str | os.PathLike[str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
    ) -> None:
        object.__setattr__(self, "words", _checked_words(words))
        for name, path in {"result": result, "logs": logs, "cwd": cwd}.items():
            object.__setattr__(self, name, None if path is None else _text(path, name))
        if key is not None and (not isinstance(key, str) or result is None):
            raise ValueError(f"key must be text, and needs a result, the JSON file that it is in; got key={key!r}")
        object.__setattr__(self, "key", key)
        for piece in placeholders([path for path in (self.result, self.cwd) if path is not None]):
            if piece.name not in (FOLDER, TRIAL) or piece.form:
                raise ValueError(f"result and cwd may have {{folder}} and {{trial}} in them, got {{{piece.name}}}")

    def __call__(self, params: Any, trial: int = 0) -> Any:
        """Run the program once, here, and return its value: what ``minimize`` does for each trial, and ``tell`` takes.

        Args:
            params: A point: ``trial.params``.
            trial: What ``{trial}`` stands for: ``trial.id``.
        """
        from dale.evaluate.program import Program

        outcome = Program.of(self, None, self.logs, alone=True).evaluate(trial, params)
        if outcome.error is not None:
            raise (Retry if outcome.retry else RuntimeError)(outcome.error)
        return outcome.value

    def described(self) -> dict[str, Any]:
        """What a store keeps of it, to tell whether another run is about the same."""
        return {"words": list(self.words), "result": self.result, "key": self.key}

    def program(self, space: Space, store: Any, executor: Any) -> Program:
        """What evaluates it in a run, once it is clear that it can: an error now and not in each of the trials.

        Args:
            space: That of the run.
            store: Path of the store; None if there is none.
            executor: Where it is to run; None for processes of this one.
        """
        from dale.evaluate.program import Program

        self._check(space)
        if executor is None:
            self._find()
        logs = self.logs if self.logs is not None or store is None else beside(store)
        return Program.of(self, space, logs, alone=executor is not None)

    @property
    def shares_its_result(self) -> bool:
        """Whether two evaluations at once would write to one file."""
        if self.result is None:
            return False
        where = self.result if self.cwd is None else os.path.join(self.cwd, self.result)  # noqa: PTH118 (templates)
        return not any(True for _ in placeholders([where]))

    def _check(self, space: Space) -> None:
        """Whether the program gets every parameter of a space, and gets it as text."""
        used = list(placeholders(self.words))
        taken = [name for name in space.names if name in (TRIAL, FOLDER, PARAMS)]
        if taken:
            raise ValueError(f"a parameter is called {taken[0]!r}, which {{{taken[0]}}} has a meaning for; rename it")
        for piece in used:
            if piece.name in (FOLDER, PARAMS) and piece.form:
                raise ValueError(f"{{{piece.name}}} is a path and takes no format, got {{{piece.name}:{piece.form}}}")
            if piece.name not in (TRIAL, FOLDER, PARAMS, *space.names):
                raise ValueError(
                    f"the command has {{{piece.name}}}, and there is no parameter {piece.name!r}; the space has "
                    f"{', '.join(map(repr, space.names))}. Write {{{{ and }}}} for braces"
                )
            if piece.name in space.conditions:
                raise ValueError(
                    f"the command has {{{piece.name}}}, a parameter that is not always there; let the program read its "
                    "parameters from the JSON file {params}, which has those that are"
                )
        names = {piece.name for piece in used}
        if PARAMS not in names:
            missing = [name for name in space.names if name not in names]
            if missing:
                raise ValueError(
                    f"the command does not give the program {', '.join(f'parameter {name!r}' for name in missing)}; "
                    f"write {{{missing[0]}}} where it belongs, or {{params}} for the path of a JSON file with all"
                )
        for piece in used:
            for value in _examples(1 if piece.name == TRIAL else space.parameters.get(piece.name or "")):
                _check_text(piece.name, value, piece.form)
        if PARAMS in names:
            for name, parameter in space.parameters.items():
                for value in _examples(parameter):
                    _check_json(name, value)

    def _find(self) -> None:
        """Whether the program is there and can be started, as far as it is known which it is."""
        program, cwd = self.words[0], self.cwd or ""
        if any(True for _ in placeholders([program, cwd])):
            return
        plain = "".join(piece.text for piece in pieces(program))
        in_cwd = os.path.join(cwd, plain) if os.path.dirname(plain) else plain  # noqa: PTH118, PTH120 (as Popen does)
        found = shutil.which(in_cwd)
        if found is None:
            what = "is not executable" if Path(in_cwd).is_file() else "was not found"
            raise ValueError(f"the program {plain!r} {what}; give its path, or see that it is on PATH")
        if os.name == "nt" and Path(found).suffix.lower() in SHELLS:
            raise ValueError(f"{found} is run by a shell, which arguments can escape into; give the program itself")


def beside(store: Any) -> str:
    """The folder with the logs of a store: ``run.logs`` beside ``run.db``."""
    path = Path(store).resolve()
    logs = path.with_suffix(".logs")
    return str(logs if logs != path else path.with_name(f"{path.name}.logs"))


def _checked_words(words: Any) -> tuple[str, ...]:
    if isinstance(words, str | bytes) or not isinstance(words, Sequence):
        raise TypeError(
            f'a command is a list of words, such as ["python", "sim.py", "--a", "{{a}}"], got {words!r}; there is no '
            "shell to take it apart"
        )
    if not words:
        raise ValueError("the command is empty; wanted a program and its arguments")
    checked = tuple(_text(word, "a word of a command") for word in words)
    for _ in placeholders(checked):
        pass  # which raises where one makes no sense
    return checked


def _text(value: Any, what: str) -> str:
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str):
        raise TypeError(f"{what} must be text, got {value!r}; write {str(value)!r}")
    if "\0" in text:
        raise ValueError(f"{what} cannot have a null character, got {value!r}")
    return text


def _examples(parameter: Parameter | int | None) -> Sequence[Any]:
    """Values to try how they are written: every option, or one number of the kind."""
    if isinstance(parameter, Choice):
        return parameter.options
    if parameter is None:
        return ()
    return (0.5,) if isinstance(parameter, Float) else (1,)


def _check_text(name: str | None, value: Any, form: str) -> None:
    try:
        written(value, form)
    except ValueError as error:
        raise ValueError(f"{{{name}}} in the command: {error}; the JSON file {{params}} may do") from None


def _check_json(name: str, value: Any) -> None:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"option {value!r} of parameter {name!r} cannot stand in the JSON file {{params}}: {error}"
        ) from None


def named(params: Any) -> dict[str, Any]:
    """A point by name, also one of a space without names."""
    if isinstance(params, Mapping):
        return dict(params)
    return {f"x{i}": value for i, value in enumerate(params)}
