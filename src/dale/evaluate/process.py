"""One fresh process for each evaluation: what crashes or hangs there fails its trial and nothing else.

A process begins as a session of its own, so that what it starts ends with it, and Ctrl-C does not reach it; it says
when it begins and what came of it through a pipe; and it ends when this process does, however that comes about.

How it is made: by ``forkserver``, or ``spawn`` where there is none, which are safe among threads, if the objective can
be found by a fresh interpreter. If not, as of a lambda, a function inside a function or one typed into a notebook, by
``fork`` where the platform has it.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from time import monotonic
from typing import Any

from dale.evaluate.evaluator import POLL
from dale.evaluate.outcome import Numbered, Objective, Outcome, call, copied
from dale.history.trial import Trial
from dale.space.point import short_repr

GRACE = 5.0  # seconds for a process to go by itself, after its value was read or after SIGTERM; then it is killed
START = 60.0  # seconds for a process to begin, where evaluations have a time limit
BEGUN = "begun"  # a process sends this, then its outcome
GUARD = (
    "the process of an evaluation imports your script afresh, so what is to be done once, such as to call "
    'dale.minimize, must stand under: if __name__ == "__main__"'
)
_hiding = threading.Lock()


@dataclass
class Running:
    """A process that evaluates a trial, and the moment at which it will be ended."""

    trial: Trial
    process: BaseProcess
    connection: Connection
    deadline: float
    begun: bool = False


class InProcesses:
    """Runs the objective in up to ``n_parallel`` processes, each evaluation in one of its own.

    Args:
        fun: The objective.
        n_parallel: How many at once.
        timeout: Seconds for each evaluation.
    """

    def __init__(self, fun: Objective, n_parallel: int, timeout: float) -> None:
        if multiprocessing.current_process().daemon:
            raise RuntimeError(
                "n_parallel and timeout need processes, which a daemonic process (a worker of multiprocessing.Pool, "
                "say) may not have; use executor=concurrent.futures.ThreadPoolExecutor() there, or "
                "concurrent.futures.ProcessPoolExecutor in place of the Pool"
            )
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise RuntimeError(GUARD)
        self.n_parallel = n_parallel
        self.broken: str | None = None
        self._fun = fun
        self._timeout = timeout
        self._method = _start_method(fun)
        if self._method == "forkserver":
            _preload_dale()
        self._running: list[Running] = []
        self._leaving: list[tuple[BaseProcess, float]] = []
        self._unstarted: list[tuple[Trial, Outcome]] = []
        self._ever_begun = False
        self._closed = False

    @property
    def n_out(self) -> int:
        """How many processes run."""
        return len(self._running) + len(self._unstarted)

    def submit(self, trial: Trial) -> None:
        """Start a process for the trial."""
        if self._closed:
            raise RuntimeError("this interpreter is about to exit; no more evaluations are begun")
        params = copied(trial.params)
        why = why_it_cannot_be_sent(params)
        context: Any = multiprocessing.get_context(self._method if why is None else _fork(f"the point {params!r}", why))
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(
            target=_evaluate, args=(self._fun, trial.id, params, sender), name=f"dale-trial-{trial.id}"
        )
        try:
            with _script_left_out() if isinstance(self._fun, Numbered) else nullcontext():
                process.start()
        except (OSError, EOFError) as error:  # no memory, no more processes allowed; or the fork server died
            receiver.close()
            self.broken = f"no process could be started: {error!r}"
            self._unstarted.append((trial, Outcome(error=self.broken, retry=True)))
        else:
            limit = max(self._timeout, START) if self._timeout < float("inf") else self._timeout
            self._running.append(Running(trial, process, receiver, monotonic() + limit))
        finally:
            sender.close()

    def wait(self, seconds: float) -> None:
        """Wait until a process says something, dies or is out of time, not longer than this."""
        if not self._unstarted:
            now = monotonic()
            left = min([seconds, POLL, *(r.deadline - now for r in self._running)])
            wait([h for r in self._running for h in (r.connection, r.process.sentinel)], max(left, 0.0))

    def ended(self) -> list[tuple[Trial, Outcome]]:
        """What came of the processes that have sent it, died or used up their time."""
        self._reap()
        ended, self._unstarted = self._unstarted, []
        for running in list(self._running):
            outcome = self._look(running)
            if outcome is not None:
                self._running.remove(running)
                ended.append((running.trial, outcome))
        return ended

    def cancel(self) -> int:
        """Nothing is out that has not begun."""
        return 0

    def __enter__(self) -> InProcesses:
        atexit.register(self._close)  # a daemon thread is not told of the end of the interpreter
        return self

    def __exit__(self, *_: object) -> None:
        """End every process."""
        self._close()

    def _look(self, running: Running) -> Outcome | None:
        """What came of a process; None while it runs."""
        process, connection = running.process, running.connection
        dead = process.exitcode is not None  # before the pipe is read: what is in it then is all there is
        try:
            while connection.poll():
                message = connection.recv()
                if message == BEGUN:
                    running.begun = self._ever_begun = True
                    running.deadline = monotonic() + self._timeout
                else:
                    self._leave(running)
                    return message
        except (EOFError, OSError):
            dead = True
            process.join(GRACE)
        except Exception as error:
            self._end(running)
            return Outcome(error=f"what the objective returned cannot be read from its process: {error!r}")
        if dead:
            return self._died(running)
        if monotonic() >= running.deadline:
            self._end(running)
            if running.begun:
                return Outcome(error=f"timed out after {self._timeout:g} s")
            return Outcome(error=f"the process of the evaluation has not begun within {START:g} s", retry=True)
        return None

    def _died(self, running: Running) -> Outcome:
        how = how_it_ended(running.process.exitcode)
        self._end(running)
        if running.begun:
            return Outcome(error=f"the process of the evaluation {how} before the objective returned")
        why = f"the process of the evaluation {how} before it began; it may have said why on standard error"
        if not self._ever_begun:  # nor will the next one
            imports = self._method != "fork" and not isinstance(self._fun, Numbered)
            self.broken = f"{why}. Note that {GUARD}" if imports else why
        return Outcome(error=why, retry=True)

    def _leave(self, running: Running) -> None:
        """Let a process go by itself."""
        running.connection.close()
        self._leaving.append((running.process, monotonic() + GRACE))

    def _end(self, running: Running) -> None:
        """Make it go."""
        _signal(running.process, "SIGTERM")
        self._leave(running)

    def _reap(self) -> None:
        """Take leave of those that have gone, and kill those that would not."""
        staying = []
        for process, deadline in self._leaving:
            if process.exitcode is not None:
                _bury(process)
            else:
                if monotonic() >= deadline:
                    _signal(process, "SIGKILL")
                staying.append((process, deadline))
        self._leaving = staying

    def _close(self) -> None:
        self._closed = True
        atexit.unregister(self._close)
        for running in self._running:
            self._end(running)
        self._running = []
        until = monotonic() + GRACE
        try:
            for process, _ in self._leaving:
                process.join(max(until - monotonic(), 0.0))
        finally:  # also if Ctrl-C is pressed once more
            for process, _ in self._leaving:
                _signal(process, "SIGKILL")
            for process, _ in self._leaving:
                process.join(GRACE)
                _bury(process)
            self._leaving = []


def why_it_cannot_be_sent(thing: Any) -> str | None:
    """Why something cannot be sent to another process; None if it can."""
    try:
        ForkingPickler.dumps(thing)
    except Exception as error:  # whatever its own methods raise
        return f"{type(error).__name__}: {error}"
    return None


def _start_method(fun: Objective) -> str:
    why = why_it_cannot_be_sent(fun)
    if why is None and b"__main__" in bytes(ForkingPickler.dumps(fun)) and not _main_is_a_file():
        why = "it was defined in a session that a fresh interpreter cannot import"
    if why is not None:
        return _fork(f"the objective {fun!r}", why)
    return "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"


def _preload_dale() -> None:
    """Let the fork server import dale once and for all, if it is not running yet, with what else it is to import."""
    from multiprocessing import forkserver  # there is none on every platform

    wanted = getattr(getattr(forkserver, "_forkserver", None), "_preload_modules", ["__main__"])
    if "dale" not in wanted:
        multiprocessing.set_forkserver_preload([*wanted, "dale"])


@contextmanager
def _script_left_out() -> Iterator[None]:
    """Let processes that are started meanwhile not import the script, of which an objective of dale's needs nothing.

    So a script that minimises a program needs no guard. Multiprocessing asks the main module where it came from.
    """
    main = sys.modules["__main__"]
    with _hiding:
        where = {name: getattr(main, name) for name in ("__file__", "__spec__") if hasattr(main, name)}
        for name in where:
            setattr(main, name, None)
        try:
            yield
        finally:
            for name, value in where.items():
                setattr(main, name, value)


def _fork(what: str, why: str) -> str:
    if "fork" in multiprocessing.get_all_start_methods():
        return "fork"
    raise TypeError(
        f"{what} cannot be sent to another process: {why}; define it at the top level of a module, or use "
        "executor=concurrent.futures.ThreadPoolExecutor()"
    )


def _main_is_a_file() -> bool:
    """Whether a fresh process can import what was started: a script or ``python -m``, not a notebook or a prompt."""
    main = sys.modules["__main__"]
    path = getattr(main, "__file__", None)
    return main.__spec__ is not None or (path is not None and Path(path).is_file())


def _evaluate(fun: Objective, trial: int, params: Any, connection: Connection) -> None:
    """In the new process: evaluate, and send the outcome."""
    if sys.platform == "win32":
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of a console
    else:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a fork has the handlers of the run
    threading.Thread(target=_end_with_the_run, daemon=True).start()
    connection.send(BEGUN)
    outcome = call(fun, trial, params)
    try:
        connection.send(outcome)
    except Exception as error:
        what = f"the objective returned {short_repr(outcome.value)}, which cannot be sent from its process"
        connection.send(Outcome(error=f"{what}: {type(error).__name__}: {error}"))


def _end_with_the_run() -> None:
    """Wait for the end of the process that began this one, if only a kill -9 ended it, and end too."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        if sys.platform != "win32":
            os.killpg(0, signal.SIGKILL)
        os._exit(1)


def _signal(process: BaseProcess, name: str) -> None:
    """Send a signal to a process and to all that it has started."""
    if sys.platform == "win32":
        process.kill()
    elif process.pid is not None:
        number = signal.Signals[name]
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        if process.exitcode is None:
            with suppress(ProcessLookupError):
                os.kill(process.pid, number)  # it may not have begun its session


def _bury(process: BaseProcess) -> None:
    """Nothing is left of a process that has ended, nor of what it has started."""
    _signal(process, "SIGKILL")
    with suppress(ValueError):  # not even that has ended it: it hangs in the kernel
        process.close()


def how_it_ended(code: int | None) -> str:
    """An exit code, or minus the number of a signal, in words."""
    if code is None:
        return "went away"
    if code >= 0:
        return f"ended with exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else "unknown"
    return f"was ended by signal {-code} ({name})"
