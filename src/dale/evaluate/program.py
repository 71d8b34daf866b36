"""A command at work: each evaluation in a folder of its own, which has what the program was given and what it wrote.

    stdout.txt, stderr.txt   straight from the program, while it runs
    command.json             its arguments, when and where it began, and how it ended
    params.json              the parameters, if the command has {params}

In the process that ``InProcesses`` makes for an evaluation, the program stays in the group of that process: whatever
ends the evaluation ends the program and all that it has started. In an executor nobody else can end it, so there it
gets a session of its own, its time is watched here, and a guard ends it if this process, a worker, is killed.
"""

from __future__ import annotations

import errno
import json
import math
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

from dale.evaluate import watchdog as guard
from dale.evaluate.command import FOLDER, PARAMS, TRIAL, Command, named
from dale.evaluate.outcome import Numbered, Outcome
from dale.evaluate.output import TAIL, from_json, last_number, stamp, tail
from dale.evaluate.placeholders import filled, placeholders
from dale.evaluate.process import GRACE, how_it_ended
from dale.space.int import Int
from dale.space.space import Space

TRY_AGAIN = 75  # EX_TEMPFAIL of sysexits.h
LAST_WORDS = 4096  # bytes of standard error that an error shows
LINES = 20  # of them
LONGEST = 2000  # characters of a command that an error shows
OF_THIS_POINT = (errno.E2BIG, errno.ENAMETOOLONG)  # what cannot be started for its arguments' sake
STDOUT, STDERR, RECORD, POINT = "stdout.txt", "stderr.txt", "command.json", "params.json"


@dataclass(frozen=True)
class Program(Numbered):
    """A command that is ready to be evaluated.

    Attributes:
        command: What to start.
        whole: Names of the parameters that are whole numbers, which a space without names gives as floats.
        logs: Folder for the folders of evaluations; None for temporary ones.
        base: Folder that paths of the command begin at.
        environment: Of the program; None for that of the process.
        alone: Whether it gets a session of its own.
        timeout: Seconds for each evaluation; only where it is alone.
    """

    command: Command
    whole: frozenset[str]
    logs: str | None
    base: str
    environment: Mapping[str, str] | None
    alone: bool
    timeout: float = math.inf

    @classmethod
    def of(cls, command: Command, space: Space | None, logs: str | None, *, alone: bool) -> Program:
        """A command made ready: paths are taken from here, and so is the environment where it runs on this machine.

        A fork server has the folder and the environment that there were when it was started.
        """
        parameters = {} if space is None else space.parameters
        return cls(
            command,
            frozenset(name for name, parameter in parameters.items() if isinstance(parameter, Int)),
            None if logs is None else str(Path(logs).absolute()),
            str(Path.cwd()),
            None if alone else dict(os.environ),
            alone,
        )

    def evaluate(self, trial: int, params: Any) -> Outcome:
        """Run the program on a trial."""
        try:
            with self._folder(trial) as folder:
                return self._evaluate(trial, params, folder)
        except OSError as error:
            return Outcome(error=f"the folder of trial {trial} could not be written: {error}", retry=True, broken=True)

    def _evaluate(self, trial: int, params: Any, folder: Path) -> Outcome:
        values = {name: int(v) if name in self.whole else v for name, v in named(params).items()}
        own = {TRIAL: trial, FOLDER: str(folder), PARAMS: str(folder / POINT)}
        if any(piece.name == PARAMS for piece in placeholders(self.command.words)):
            (folder / POINT).write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
        try:
            words = [filled(word, {**values, **own}) for word in self.command.words]
        except KeyError as error:
            return Outcome(error=f"the command has {{{error.args[0]}}}, and the point has no such parameter: {values}")
        cwd = Path(self.base, filled(self.command.cwd or "", own))
        result = None if self.command.result is None else cwd / filled(self.command.result, own)
        before = None if result is None else stamp(result)
        record = {
            "words": words,
            "trial": trial,
            "cwd": str(cwd),
            "host": socket.gethostname(),
            "begun": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        _write(folder, record)
        begun = time.monotonic()
        with _outlasting_sigterm(self.alone) as terminated:
            try:
                code, late = self._run(words, cwd, folder, self._surroundings(trial, folder))
            except OSError as error:
                why = f"the program {words[0]!r} could not be started: {error}"
                here = error.errno not in OF_THIS_POINT
                return Outcome(error=_explained(words, None, "", why), retry=here, broken=here)
            _write(folder, {**record, "exit_code": code, "seconds": round(time.monotonic() - begun, 3)})
        if terminated:
            sys.exit(128 + terminated[0])  # the outcome has no receiver any more
        kept = folder if self.logs is not None else None
        if late:
            return self._failed(words, folder, kept, f"timed out after {self.timeout:g} s")
        if code != 0:
            return self._failed(words, folder, kept, f"the program {how_it_ended(code)}", retry=code == TRY_AGAIN)
        try:
            return Outcome(_printed(folder / STDOUT) if result is None else from_json(result, self.command.key, before))
        except (ValueError, OSError) as error:
            return self._failed(words, folder, kept, str(error))

    def _run(self, words: list[str], cwd: Path, folder: Path, step_bounds: dict[str, str]) -> tuple[int, bool]:
        """Start the program and wait for it: its exit code, or minus a signal; and whether it was out of time."""
        with _guard(self.alone) as watch:
            with (folder / STDOUT).open("wb") as stdout, (folder / STDERR).open("wb") as stderr:
                process = subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=stdout,
                    stderr=stderr,
                    cwd=cwd,
                    env=step_bounds,
                    start_new_session=self.alone,
                )
            if not self.alone:
                return process.wait(), False
            try:
                watch(process.pid)
                process.wait(None if self.timeout == math.inf else self.timeout)
                late = False
            except subprocess.TimeoutExpired:
                late = True
            finally:  # also after Ctrl-C; and what it has started ends with it
                code = _ended(process)
            return code, late

    def _surroundings(self, trial: int, folder: Path) -> dict[str, str]:
        inherited = os.environ if self.environment is None else self.environment
        return {**inherited, "DALE_TRIAL": str(trial), "DALE_FOLDER": str(folder)}

    def _failed(self, words: list[str], folder: Path, kept: Path | None, why: str, *, retry: bool = False) -> Outcome:
        return Outcome(error=_explained(words, kept, tail(folder / STDERR, LAST_WORDS), why), retry=retry)

    @contextmanager
    def _folder(self, trial: int) -> Iterator[Path]:
        """A folder that nothing was in before; of a trial that is evaluated again, one more."""
        if self.logs is None:
            with TemporaryDirectory(prefix=f"dale-trial-{trial}-", ignore_cleanup_errors=True) as name:
                yield Path(name).resolve()
            return
        Path(self.logs).mkdir(parents=True, exist_ok=True)
        attempt = 1
        while True:
            folder = Path(self.logs, f"{trial}" if attempt == 1 else f"{trial}-{attempt}")
            try:
                folder.mkdir()
            except FileExistsError:
                attempt += 1
            else:
                break
        yield folder


def _printed(path: Path) -> float:
    """The last number of what was written to standard output."""
    number = last_number(tail(path))
    if number is None:
        where = f"the last {TAIL} bytes of" if path.stat().st_size > TAIL else "all of"
        raise ValueError(f"there is no number in {where} the program's standard output")
    return number


def _explained(words: list[str], kept: Path | None, said: str, why: str) -> str:
    """An error in words: the command, where its output is, the end of standard error, and last what it was."""
    command = shlex.join(words)
    lines = said.strip().splitlines()[-LINES:]
    parts = [f"command: {command if len(command) <= LONGEST else command[:LONGEST] + '...'}"]
    parts += [f"output: {kept}"] if kept is not None else []
    parts += ["standard error:", *(f"  {line}" for line in lines)] if lines else []
    parts.append(f"{why}: {lines[-1].strip()}" if lines else why)
    return "\n".join(parts).encode("utf-8", errors="backslashreplace").decode()


def _write(folder: Path, record: Mapping[str, Any]) -> None:
    (folder / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


@contextmanager
def _outlasting_sigterm(alone: bool) -> Iterator[list[int]]:
    """Let the process of an evaluation outlast SIGTERM, which its whole group gets, so that the program has its time.

    Whoever sent it kills the group when the time is over. Gives the signals that have arrived.
    """
    seen: list[int] = []
    if alone or sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield seen
        return

    def note(number: int, _: FrameType | None) -> None:
        seen.append(number)

    before = signal.signal(signal.SIGTERM, note)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _guard(wanted: bool) -> Iterator[Callable[[int], None]]:
    """Gives a function that has a process group ended if this process dies before the end of the block."""
    if not wanted or sys.platform == "win32":
        yield lambda group: None
        return
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", guard.__file__, str(GRACE)],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    pipe = process.stdin
    assert pipe is not None

    def watch(group: int) -> None:
        with suppress(BrokenPipeError):  # somebody has killed the guard, which is no reason not to evaluate
            pipe.write(b"%d" % group)

    try:
        yield watch
    finally:
        process.kill()  # before it sees the end of the pipe
        process.wait()
        pipe.close()


def _ended(process: subprocess.Popen[bytes]) -> int:
    """End a program that has a session of its own, and all that it has started: first by word, then by force."""
    if sys.platform == "win32":
        process.kill()
    else:
        if process.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(GRACE)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.wait()
