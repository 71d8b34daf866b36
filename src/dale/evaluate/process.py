"""Evaluation in a new process for each trial: a crash or a hang fails that trial only.

Each process starts its own session, so that its children end with it and Ctrl-C does not reach it. It reports its start
and its outcome through a pipe, in parts that the operating system writes at once: a part that can be read is complete,
so the run never waits for the rest of it. The process ends when the process of the run ends, for whatever reason.

If a new interpreter can import the objective, processes come from ``forkserver``, which has done the imports once
(``preload.py``), or from ``spawn`` where there is no fork server; both are safe with threads. Otherwise, as for a
lambda, a nested function or a function defined in a notebook, they come from ``fork`` if the platform supports it.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from time import monotonic
from typing import Any

from dale.evaluate.evaluator import POLL_INTERVAL
from dale.evaluate.outcome import Objective, Outcome, TrialObjective, call, copied
from dale.evaluate.preload import start_server
from dale.evaluate.termination import GRACE, describe_exit
from dale.history.trial import Trial

START_TIMEOUT = 60.0  # seconds for a process to start; applies only if evaluations have a timeout
STARTED = b"started"  # the first message of a process; the others are the parts of its outcome
PARTS_AT_ONCE = 256  # more than a pipe holds; then other processes have their turn, and the timeout is checked
MORE, LAST = b"+", b"."  # the first byte of a part
PART = getattr(select, "PIPE_BUF", 4096) - 8  # bytes of a part, without its first byte and the length that precedes it
MAIN_GUARD_HINT = (
    "each evaluation runs in a process that imports your script, so code that must run only once, such as the call of "
    'dale.minimize, must be under: if __name__ == "__main__"'
)
_main_module_lock = threading.Lock()


@dataclass
class RunningProcess:
    """A process that evaluates a trial, and the time at which it will be terminated."""

    trial: Trial
    process: BaseProcess
    connection: Connection
    deadline: float
    started: bool = False
    received: bytearray = field(default_factory=bytearray)


class ProcessEvaluator:
    """Evaluates each trial in its own process.

    Args:
        fun: The objective.
        max_running: Number of processes at once.
        timeout: Seconds for each evaluation.
    """

    stalled: str | None = None

    def __init__(self, fun: Objective, max_running: int, timeout: float) -> None:
        if multiprocessing.current_process().daemon:
            raise RuntimeError(
                "n_parallel and timeout start processes, which a daemonic process (such as a worker of "
                "multiprocessing.Pool) cannot do; use executor=concurrent.futures.ThreadPoolExecutor() there, or "
                "concurrent.futures.ProcessPoolExecutor instead of the Pool"
            )
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise RuntimeError(MAIN_GUARD_HINT)
        self.max_running = max_running
        self.broken: str | None = None
        self._fun = fun
        self._timeout = timeout
        self._method = _start_method(fun)
        self._running: list[RunningProcess] = []
        self._exiting: list[tuple[BaseProcess, float]] = []  # each with the time at which it will be killed
        self._not_started: list[tuple[Trial, Outcome]] = []
        self._any_started = False
        self._closed = False
        self._lock = threading.RLock()  # at exit, the interpreter closes this in its main thread, whoever runs it

    @property
    def n_running(self) -> int:
        """Number of trials whose outcome has not been returned."""
        return len(self._running) + len(self._not_started)

    def submit(self, trial: Trial) -> None:
        """Start a process for the trial."""
        with self._lock:
            self._submit(trial)

    def _submit(self, trial: Trial) -> None:
        if self._closed:
            raise RuntimeError("the interpreter is exiting; no more evaluations can start")
        params = copied(trial.params)
        why = pickling_error(params)
        method = self._method if why is None else _require_fork(f"the point {params!r}", why)
        context: Any = multiprocessing.get_context(method)
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(
            target=_evaluate, args=(self._fun, trial.id, params, sender), name=f"dale-trial-{trial.id}"
        )
        try:
            with _main_module_hidden() if isinstance(self._fun, TrialObjective) else nullcontext():
                process.start()
        except (OSError, EOFError) as error:  # out of memory or of processes, or the fork server died
            receiver.close()
            self.broken = f"no process could be started: {error!r}"
            self._not_started.append((trial, Outcome(error=self.broken, retry=True)))
        else:
            limit = max(self._timeout, START_TIMEOUT) if self._timeout < float("inf") else self._timeout
            self._running.append(RunningProcess(trial, process, receiver, monotonic() + limit))
        finally:
            sender.close()

    def wait(self, seconds: float) -> None:
        """Wait until a process sends a message, dies or times out, at most this long."""
        if not self._not_started:
            now = monotonic()
            with self._lock:
                left = min([seconds, POLL_INTERVAL, *(r.deadline - now for r in self._running)])
                handles = [h for r in self._running for h in (r.connection, r.process.sentinel)]
            try:
                wait(handles, max(left, 0.0))
            except OSError:
                if not self._closed:  # else at exit, by the main thread
                    raise

    def completed(self) -> list[tuple[Trial, Outcome]]:
        """Outcomes of the processes that have sent theirs, died or timed out."""
        with self._lock:
            self._reap()
            completed, self._not_started = self._not_started, []
            for running in list(self._running):
                outcome = self._poll(running)
                if outcome is not None:
                    self._running.remove(running)
                    completed.append((running.trial, outcome))
            return completed

    def cancel(self) -> int:
        """Return 0: every submitted trial has started."""
        return 0

    def __enter__(self) -> ProcessEvaluator:
        atexit.register(self._close)  # a daemon thread is not notified when the interpreter exits
        if self._method == "forkserver":
            start_server(self._fun, imports_main=not isinstance(self._fun, TrialObjective))
        return self

    def __exit__(self, *_: object) -> None:
        """Terminate all processes."""
        self._close()

    def _poll(self, running: RunningProcess) -> Outcome | None:
        """The outcome of a process; None while it runs."""
        process, connection = running.process, running.connection
        dead = process.exitcode is not None  # checked before the pipe is read, which is then complete
        try:
            for _ in range(PARTS_AT_ONCE):
                if not connection.poll():
                    break
                if self._receive(running, connection.recv_bytes()):
                    self._let_exit(running)
                    return Outcome.from_bytes(running.received)
            else:
                dead = False  # there may be more
        except (EOFError, OSError):
            dead = True
            process.join(GRACE)
        if dead:
            return self._died(running)
        if monotonic() >= running.deadline:
            self._terminate(running)
            if running.started:
                return Outcome(error=f"timed out after {self._timeout:g} s")
            return Outcome(error=f"the process of the evaluation did not start within {START_TIMEOUT:g} s", retry=True)
        return None

    def _receive(self, running: RunningProcess, message: bytes) -> bool:
        """Keep a message of a process; return whether its outcome is complete."""
        if message == STARTED:
            running.started = self._any_started = True
            running.deadline = monotonic() + self._timeout
            return False
        running.received += message[1:]
        return message[:1] == LAST

    def _died(self, running: RunningProcess) -> Outcome:
        how = describe_exit(running.process.exitcode)
        self._terminate(running)
        if running.started:
            return Outcome(error=f"the process of the evaluation {how} before the objective returned")
        why = f"the process of the evaluation {how} before it started; see standard error for the reason"
        if not self._any_started:  # then the next one will not start either
            imports_script = self._method != "fork" and not isinstance(self._fun, TrialObjective)
            self.broken = f"{why}. Note that {MAIN_GUARD_HINT}" if imports_script else why
        return Outcome(error=why, retry=True)

    def _let_exit(self, running: RunningProcess) -> None:
        """Let a process exit by itself; it is killed after the grace period."""
        running.connection.close()
        self._exiting.append((running.process, monotonic() + GRACE))

    def _terminate(self, running: RunningProcess) -> None:
        _signal(running.process, "SIGTERM")
        self._let_exit(running)

    def _reap(self) -> None:
        """Clean up after the processes that have exited, and kill those whose grace period is over."""
        exiting = []
        for process, deadline in self._exiting:
            if process.exitcode is not None:
                _clean_up(process)
            else:
                if monotonic() >= deadline:
                    _signal(process, "SIGKILL")
                exiting.append((process, deadline))
        self._exiting = exiting

    def _close(self) -> None:
        with self._lock:
            self._end_all()

    def _end_all(self) -> None:
        self._closed = True
        atexit.unregister(self._close)
        for running in self._running:
            self._terminate(running)
        self._running = []
        until = monotonic() + GRACE
        try:
            for process, _ in self._exiting:
                process.join(max(until - monotonic(), 0.0))
        finally:  # also after another Ctrl-C
            for process, _ in self._exiting:
                _signal(process, "SIGKILL")
            for process, _ in self._exiting:
                process.join(GRACE)
                _clean_up(process)
            self._exiting = []


def pickling_error(value: Any) -> str | None:
    """Why a value cannot be sent to another process; None if it can."""
    try:
        ForkingPickler.dumps(value)
    except Exception as error:  # the methods of the value may raise anything
        return f"{type(error).__name__}: {error}"
    return None


def _start_method(fun: Objective) -> str:
    why = pickling_error(fun)
    if why is None and b"__main__" in bytes(ForkingPickler.dumps(fun)) and not _main_is_a_file():
        why = "it was defined in a session that a new interpreter cannot import"
    if why is not None:
        return _require_fork(f"the objective {fun!r}", why)
    return "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"


@contextmanager
def _main_module_hidden() -> Iterator[None]:
    """Processes that start inside this block do not import the user's script, which a ``TrialObjective`` does not need.

    So a script that minimises a program needs no main guard. multiprocessing reads the path of the script from these
    attributes of the main module.
    """
    main = sys.modules["__main__"]
    with _main_module_lock:
        hidden = {name: getattr(main, name) for name in ("__file__", "__spec__") if hasattr(main, name)}
        for name in hidden:
            setattr(main, name, None)
        try:
            yield
        finally:
            for name, value in hidden.items():
                setattr(main, name, value)


def _require_fork(what: str, why: str) -> str:
    if "fork" in multiprocessing.get_all_start_methods():
        return "fork"
    raise TypeError(
        f"{what} cannot be sent to another process: {why}; define it at the top level of a module, or use "
        "executor=concurrent.futures.ThreadPoolExecutor()"
    )


def _main_is_a_file() -> bool:
    """Whether a new process can import the main module: a script or ``python -m``, but not a notebook or a prompt."""
    main = sys.modules["__main__"]
    path = getattr(main, "__file__", None)
    return main.__spec__ is not None or (path is not None and Path(path).is_file())


def _evaluate(fun: Objective, trial: int, params: Any, connection: Connection) -> None:
    """In the new process: evaluate the trial, and send the outcome."""
    if sys.platform == "win32":
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of a console
    else:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a fork inherits the handlers of the run
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    connection.send_bytes(STARTED)
    process = os.getpid()
    outcome = call(fun, trial, params).to_bytes()
    if os.getpid() != process:
        return  # the objective has forked, and the fork returned too
    with suppress(BrokenPipeError):  # the evaluation was cut off
        for i in range(0, len(outcome), PART):
            connection.send_bytes((MORE if i + PART < len(outcome) else LAST) + outcome[i : i + PART])


def _exit_with_parent() -> None:
    """Wait until the process of the run ends, even by ``kill -9``, and then kill this process and its children."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        if sys.platform != "win32":
            os.killpg(0, signal.SIGKILL)
        os._exit(1)


def _signal(process: BaseProcess, name: str) -> None:
    """Send a signal to a process and its children."""
    if sys.platform == "win32":
        process.kill()
    elif process.pid is not None:
        number = signal.Signals[name]
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        if process.exitcode is None:
            with suppress(ProcessLookupError):
                os.kill(process.pid, number)  # it may not have started its session yet


def _clean_up(process: BaseProcess) -> None:
    """Kill the remaining children of a process that has exited, and release its resources."""
    _signal(process, "SIGKILL")
    with suppress(ValueError):  # it still runs, in spite of SIGKILL: it hangs in the kernel
        process.close()
