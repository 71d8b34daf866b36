"""Runs a program for each evaluation, in a directory that holds its input and its output.

    stdout.txt, stderr.txt   the output of the program, written while it runs
    command.json             arguments, host, working directory and start time; after the end also the exit code
    params.json              the parameters, if the command contains {params}

Inside the process that ``ProcessEvaluator`` starts for an evaluation, the program stays in the process group of that
process: whatever terminates the evaluation terminates the program and its children. In an executor nothing else could
terminate it. There it runs in its own session, with its own timeout, and a watchdog terminates it if the worker is
killed.
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
from typing import Any, BinaryIO

from dale.evaluate import watchdog
from dale.evaluate.outcome import Outcome, TrialObjective
from dale.evaluate.output import TAIL, file_stamp, last_number, tail, value_from_json
from dale.evaluate.placeholders import DIRECTORY, PARAMS, TRIAL, fill, placeholders
from dale.evaluate.termination import GRACE, describe_exit
from dale.space.parameter import Parameter
from dale.space.space import Space

EX_TEMPFAIL = 75  # of sysexits.h: a transient failure
STDERR_BYTES, STDERR_LINES = 4096, 20  # of standard error in an error message
MAX_COMMAND_LENGTH = 2000  # characters of the command in an error message
ARGUMENT_ERRORS = (errno.E2BIG, errno.ENAMETOOLONG)  # the program cannot be started with these arguments only
STDOUT, STDERR, RECORD, PARAMS_FILE = "stdout.txt", "stderr.txt", "command.json", "params.json"


@dataclass(frozen=True)
class ProgramSpec:
    """What to run and where its value is.

    Attributes:
        args: The program and its arguments, with placeholders.
        result: JSON file with the value; None for standard output.
        key: Place of the value in that file.
        cwd: Working directory.
    """

    args: tuple[str, ...]
    result: str | None
    key: str | None
    cwd: str | None


@dataclass(frozen=True)
class Program(TrialObjective):
    """A program as an objective.

    Attributes:
        spec: What to run.
        parameters: The parameters by name, which convert values to arguments; empty if the space is not known.
        logs: Directory for the directories of the evaluations; None for temporary ones.
        base: Directory that relative paths start at.
        environment: Environment variables of the program; None for those of the process.
        own_session: Whether the program runs in its own session.
        timeout: Seconds for each evaluation; applies only in its own session.
    """

    spec: ProgramSpec
    parameters: Mapping[str, Parameter]
    logs: str | None
    base: str
    environment: Mapping[str, str] | None
    own_session: bool
    timeout: float = math.inf

    @classmethod
    def of(cls, spec: ProgramSpec, space: Space | None, logs: str | None, *, own_session: bool) -> Program:
        """Bind a program to the current directory and, unless it has its own session, to the current environment.

        A fork server keeps the directory and the environment from when it was started.
        """
        return cls(
            spec,
            {} if space is None else space.parameters,
            None if logs is None else str(Path(logs).absolute()),
            str(Path.cwd()),
            None if own_session else dict(os.environ),
            own_session,
        )

    def evaluate(self, trial: int, params: Any) -> Outcome:
        """Run the program for a trial."""
        try:
            with self._directory(trial) as directory:
                return self._evaluate(trial, params, directory)
        except OSError as error:
            return Outcome(error=f"the directory of trial {trial} cannot be written: {error}", retry=True, broken=True)

    def _evaluate(self, trial: int, params: Any, directory: Path) -> Outcome:
        spec = self.spec
        values = _by_name(params)
        values |= {name: p.to_argument(values[name]) for name, p in self.parameters.items() if name in values}
        own = {TRIAL: trial, DIRECTORY: str(directory), PARAMS: str(directory / PARAMS_FILE)}
        if any(piece.name == PARAMS for piece in placeholders(spec.args)):
            (directory / PARAMS_FILE).write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
        try:
            args = [fill(arg, {**values, **own}) for arg in spec.args]
        except KeyError as error:
            return Outcome(error=f"the command contains {{{error.args[0]}}}, which is not a parameter of {values}")
        cwd = Path(self.base, fill(spec.cwd or "", own))
        result = None if spec.result is None else cwd / fill(spec.result, own)
        before = None if result is None else file_stamp(result)
        record = {
            "args": args,
            "trial": trial,
            "cwd": str(cwd),
            "host": socket.gethostname(),
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        _write(directory, record)
        started = time.monotonic()
        with _created(directory / STDOUT) as stdout, _created(directory / STDERR) as stderr:
            with _sigterm_deferred(self.own_session) as terminated:
                try:
                    code, timed_out = self._run(args, cwd, directory, self._environment(trial, directory))
                except OSError as error:
                    why = f"the program {args[0]!r} could not be started: {error}"
                    broken = error.errno not in ARGUMENT_ERRORS
                    return Outcome(error=_error_text(args, None, "", why), retry=broken, broken=broken)
                with suppress(FileNotFoundError, NotADirectoryError, PermissionError):  # the program changed them
                    _write(directory, {**record, "exit_code": code, "seconds": round(time.monotonic() - started, 3)})
            failure = "the evaluation was terminated" if terminated else self._failure(code, timed_out)
            if failure is None:
                try:
                    return Outcome(_printed(stdout) if result is None else value_from_json(result, spec.key, before))
                except (ValueError, OSError) as error:
                    failure = str(error)
            logs = None if self.logs is None else directory
            retry = code == EX_TEMPFAIL and not timed_out
            return Outcome(error=_error_text(args, logs, tail(stderr, STDERR_BYTES), failure), retry=retry)

    def _run(self, args: list[str], cwd: Path, directory: Path, environment: dict[str, str]) -> tuple[int, bool]:
        """Run the program; return its exit code, or minus the number of a signal, and whether it timed out."""
        with _watchdog(self.own_session) as watch:
            with (directory / STDOUT).open("wb") as stdout, (directory / STDERR).open("wb") as stderr:
                process = subprocess.Popen(
                    args,
                    stdin=subprocess.DEVNULL,
                    stdout=stdout,
                    stderr=stderr,
                    cwd=cwd,
                    env=environment,
                    start_new_session=self.own_session,
                )
            if not self.own_session:
                return process.wait(), False
            try:
                watch(process.pid)
                process.wait(None if self.timeout == math.inf else self.timeout)
                timed_out = False
            except subprocess.TimeoutExpired:
                timed_out = True
            finally:  # also after Ctrl-C; also terminates the children of a program that has ended
                code = _terminate(process)
            return code, timed_out

    def _environment(self, trial: int, directory: Path) -> dict[str, str]:
        inherited = os.environ if self.environment is None else self.environment
        return {**inherited, "DALE_TRIAL": str(trial), "DALE_DIRECTORY": str(directory)}

    def _failure(self, code: int, timed_out: bool) -> str | None:
        if timed_out:
            return f"timed out after {self.timeout:g} s"
        return None if code == 0 else f"the program {describe_exit(code)}"

    @contextmanager
    def _directory(self, trial: int) -> Iterator[Path]:
        """A new, empty directory; if the trial was evaluated before, with the number of the attempt in its name."""
        if self.logs is None:
            with TemporaryDirectory(prefix=f"dale-trial-{trial}-", ignore_cleanup_errors=True) as name:
                yield Path(name).resolve()
            return
        Path(self.logs).mkdir(parents=True, exist_ok=True)
        attempt = 1
        while True:
            directory = Path(self.logs, f"{trial}" if attempt == 1 else f"{trial}-{attempt}")
            try:
                directory.mkdir()
            except FileExistsError:
                attempt += 1
            else:
                break
        yield directory


def _by_name(params: Any) -> dict[str, Any]:
    """A point as a mapping; ``x0``, ``x1``, ... are the names in a space without names."""
    if isinstance(params, Mapping):
        return dict(params)
    return {f"x{i}": value for i, value in enumerate(params)}


@contextmanager
def _created(path: Path) -> Iterator[BinaryIO]:
    """A new file, open for reading: it can be read also if the program deletes it."""
    path.touch()
    with path.open("rb") as file:
        yield file


def _printed(stdout: BinaryIO) -> float:
    """The last number on standard output."""
    number = last_number(tail(stdout))
    if number is None:
        where = f"the last {TAIL} bytes of the" if stdout.seek(0, os.SEEK_END) > TAIL else "the"
        raise ValueError(f"expected a number in {where} standard output of the program, got none")
    return number


def _error_text(args: list[str], logs: Path | None, stderr: str, why: str) -> str:
    """The error of a trial: the command, the location of its output, the end of standard error, and the reason."""
    command = shlex.join(args)
    lines = stderr.strip().splitlines()[-STDERR_LINES:]
    parts = [f"command: {command if len(command) <= MAX_COMMAND_LENGTH else command[:MAX_COMMAND_LENGTH] + '...'}"]
    parts += [f"output: {logs}"] if logs is not None else []
    parts += ["standard error:", *(f"  {line}" for line in lines)] if lines else []
    parts.append(f"{why}: {lines[-1].strip()}" if lines else why)
    return "\n".join(parts).encode("utf-8", errors="backslashreplace").decode()


def _write(directory: Path, record: Mapping[str, Any]) -> None:
    (directory / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


@contextmanager
def _sigterm_deferred(own_session: bool) -> Iterator[list[int]]:
    """Keep the process of an evaluation alive after SIGTERM, which its whole group receives, while the program exits.

    The sender kills the group when the grace period is over. Yields the signals that have arrived.
    """
    seen: list[int] = []
    if own_session or sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield seen
        return

    def remember(number: int, _: FrameType | None) -> None:
        seen.append(number)

    before = signal.signal(signal.SIGTERM, remember)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _watchdog(enabled: bool) -> Iterator[Callable[[int], None]]:
    """Yield a function that makes a watchdog terminate a process group if this process dies inside the block."""
    if not enabled or sys.platform == "win32":
        yield lambda group: None
        return
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", watchdog.__file__, str(GRACE)],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    pipe = process.stdin
    assert pipe is not None

    def watch(group: int) -> None:
        with suppress(BrokenPipeError):  # somebody killed the watchdog; the evaluation continues without it
            pipe.write(b"%d" % group)

    try:
        yield watch
    finally:
        process.kill()  # before it sees the end of the pipe
        process.wait()
        pipe.close()


def _terminate(process: subprocess.Popen[bytes]) -> int:
    """Terminate a program in its own session with all its children: by SIGTERM, after the grace period by SIGKILL."""
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
