"""``dale run``: minimise or maximise the output of a program, or a Python function."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import shlex
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, get_args

import dale
from dale import methods
from dale._progress import is_terminal
from dale.cli.assignments import read_assignments
from dale.cli.main import EXIT_SIGNALS, escape_control_characters, is_failed_write, say
from dale.evaluate.command import logs_of
from dale.evaluate.failures import MAX_SHOWN, OnError, describe_end
from dale.history.failures import FailureKind, exception_line, failure_kind
from dale.history.result import Result
from dale.history.snapshot import Snapshot
from dale.history.stopping import Clock, Status
from dale.history.trial import Trial, TrialState
from dale.minimize import maximize, minimize
from dale.space.space import Space

STORE = "run.db"
EXIT_NO_RESULT = 1  # no result, an error of evaluations, a broken executor, or standard output cannot be written
EXIT_CODES = {**EXIT_SIGNALS, Status.EXECUTOR_BROKEN: EXIT_NO_RESULT}
METHODS: dict[str, Callable[[], Any]] = {
    "default": methods.default,
    "paper": methods.paper,
    "ei": methods.ei,
    "lcb": methods.lcb,
    "imgpo": methods.imgpo,
    "spartan": methods.spartan,
    "treed": methods.treed,
}
PROGRAM_OPTIONS = ("result", "key", "logs", "cwd")  # not valid with --function
DESCRIPTION = """\
Minimise the last number that a program prints, or maximise it (--maximize). In the arguments of the program, {a} is
replaced by parameter a of the space, {params} by the path of a JSON file with all parameters, {directory} by the path
of a directory for the evaluation, and {trial} by the id of the trial. No shell is involved. Re-run the same command to
resume."""


def add_parser(subparsers: Any) -> None:
    """Add the options of ``dale run``."""
    parser = subparsers.add_parser(
        "run",
        help="minimise or maximise the output of a program",
        usage="dale run --space FILE --budget N [options] -- program argument ...",
        description=DESCRIPTION,
    )
    add = parser.add_argument
    add("--space", required=True, metavar="FILE", help="TOML file with the parameters")
    add("--budget", type=float, required=True, metavar="N", help="number of evaluations, including those in the store")
    add("--function", metavar="MODULE:NAME", help="minimise a Python function instead of a program")
    add("--maximize", action="store_true", help="maximise instead")
    add("--store", default=STORE, metavar="FILE", help="file that the run is stored in (%(default)s)")
    add("--report", metavar="FILE", help="HTML page of the run to write, and to write again as evaluations end")
    add("--seed", type=int, metavar="N", help="same seed, same run")
    add("--n-parallel", type=int, metavar="N", help="number of evaluations at once")
    add("--timeout", type=float, metavar="SECONDS", help="terminate an evaluation after this many seconds")
    add("--time-limit", type=float, metavar="SECONDS", help="start no evaluation after this many seconds")
    add("--target", type=float, metavar="VALUE", help="stop when the best value is as good as this")
    add("--tolerance", type=float, metavar="VALUE", help="stop when the expected improvement is below this")
    add(
        "--noise",
        type=number_or_auto,
        default="auto",
        metavar="STD",
        help="standard deviation of the noise in the values (auto)",
    )
    add(
        "--fixed",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="value of a parameter that you cannot choose in this run; for each such parameter",
    )
    add("--x0", metavar="FILE", help="CSV file with points to evaluate first")
    add("--y0", metavar="COLUMN", help="column of that file with their values, if known")
    add("--result", metavar="FILE", help="JSON file that the program writes its value to, such as {directory}/out.json")
    add("--key", metavar="KEY", help="place of the value in that file, such as metrics.loss")
    add("--logs", metavar="DIR", help="directory for the output of the program (next to the store)")
    add("--cwd", metavar="DIR", help="working directory of the program; {directory} gives each evaluation its own")
    add("--method", choices=METHODS, default="default", help="optimization method (%(default)s)")
    add("--dask", metavar="ADDRESS", help="evaluate on the workers of the Dask scheduler at this address")
    add("--on-error", choices=get_args(OnError), default="record", help="what to do about failures (%(default)s)")
    add("--no-progress", action="store_true", help="print only the result and the first failure")
    parser.set_defaults(run=run, program=None)


def run(args: argparse.Namespace) -> int:
    """Run the optimization, and return the exit status."""
    objective = _objective(args)
    space = Space.from_toml(args.space)
    fixed = read_assignments("--fixed", args.fixed, space)
    report = Report(args)
    try:
        with _executor(args.dask) as executor, warnings.catch_warnings():
            warnings.simplefilter("ignore", dale.EvaluationWarning)  # the report shows failures
            result = (maximize if args.maximize else minimize)(
                objective,
                space,
                budget=args.budget,
                seed=args.seed,
                method=METHODS[args.method](),
                x0=args.x0,
                y0=args.y0,
                callback=report,
                progress=False if args.no_progress else None,
                target=args.target,
                noise=args.noise,
                time_limit=args.time_limit,
                tolerance=args.tolerance,
                stopping=report,
                fixed=fixed or None,
                n_parallel=args.n_parallel,
                executor=executor,
                timeout=args.timeout,
                store=args.store,
                report=args.report,
                on_error=args.on_error,
            )
    except Exception as error:
        why = describe_end(error)
        if why is None and isinstance(error, RuntimeError) and not isinstance(error, dale.StoreError):
            why = str(error)  # nothing could be evaluated, or no process could be started
        if args.traceback or why is None:
            raise
        say(f"dale: error: {escape_control_characters(why)}", sys.stderr)
        return EXIT_NO_RESULT
    is_printed = report.end(result)
    if result.status in EXIT_CODES:
        return EXIT_CODES[result.status]
    return 0 if is_printed and result.x is not None else EXIT_NO_RESULT


class Report:
    """Prints the progress to standard error, and the result to standard output.

    It is a callback, and a stopping rule that never stops the run: ``minimize`` checks the rules before the first
    evaluation too, so the report sees what an earlier run has left in the store without reading the file again.
    """

    immediate: ClassVar[bool] = True

    def __init__(self, args: argparse.Namespace) -> None:
        self.budget = f"{args.budget:.10g}"
        self.store: str = args.store
        self.logs: str | None = (args.logs or logs_of(args.store)) if args.function is None else None
        self.shows_bar = is_terminal(sys.stderr) and not args.no_progress  # by minimize
        self.page: str | None = args.report
        self.quiet: bool = args.no_progress
        self._resumes = Path(args.store).exists()
        self._started = False
        self._seen: set[int] = set()  # ids of the trials that were finished before the run, or were reported
        self._then = ", the run continues" if args.on_error == "record" else ""
        self._shown: set[FailureKind] = set()

    def check(self, snapshot: Snapshot, clock: Clock) -> None:
        """Before the first evaluation, say whether the run resumes an earlier one."""
        if self._started:
            return
        self._started = True
        self._seen = {trial.id for trial in snapshot.history.trials if trial.state is not TrialState.PENDING}
        if self._resumes:
            n = snapshot.history.n_evaluated
            then = "pass a larger --budget to continue" if n >= float(self.budget) else "resuming"
            self._print(f"{self.store} has {n} of {self.budget} evaluations: {then}")

    def __call__(self, result: Result) -> None:
        """Print a line per evaluation if there is no progress bar, and the first failure of each kind in any case."""
        for trial in result.history:
            if trial.state is TrialState.PENDING or trial.id in self._seen:
                continue
            self._seen.add(trial.id)
            if trial.error is not None:
                self._show(trial, trial.error)
            if not self.shows_bar and not self.quiet:
                value = str(trial.state) if trial.value is None else f"{trial.value:.6g}"
                best = "none yet" if result.fun is None else f"{result.fun:.6g}"
                self._print(f"{result.nfev} of {self.budget}: trial {trial.id} {value}, best {best}")

    def end(self, result: Result) -> bool:
        """Print the result, failures, and the paths of logs and store; to standard error if nothing else is left.

        Returns:
            False if standard output should have had them and could not be written.
        """
        lines = [escape_control_characters(str(result))]
        failed = [trial for trial in result.history if trial.error is not None]
        if failed:
            lines.append(f"last error  of trial {failed[-1].id}, one of {len(failed)} that failed:")
            lines += [f"            {escape_control_characters(s)}" for s in str(failed[-1].error).splitlines()]
        if self.logs is not None:
            lines.append(f"logs        {self.logs}")
        if self.page is not None:
            lines.append(f"report      {self.page}")
        lines.append(f"store       {self.store} (print it with: dale show {shlex.quote(self.store)})")
        text = "\n".join(lines)
        unwritten = say(text, sys.stdout)
        if unwritten is not None:
            say(text, sys.stderr)
        if is_failed_write(unwritten):
            self._print(
                f"error: standard output could not be written: {unwritten}; the result is above and in {self.store}"
            )
        return not is_failed_write(unwritten)

    def _show(self, trial: Trial, error: str) -> None:
        kind = failure_kind(error)
        if kind not in self._shown and len(self._shown) < MAX_SHOWN:
            self._shown.add(kind)
            lines = error.strip().splitlines()
            text = f"trial {trial.id} failed{self._then}: {exception_line(error)}"
            self._print("\n".join([text, *(f"  {line}" for line in lines)] if len(lines) > 1 else [text]))

    def _print(self, text: str) -> None:
        newline = "\n" if self.shows_bar else ""
        say(f"{newline}dale: {escape_control_characters(text)}", sys.stderr)


def _objective(args: argparse.Namespace) -> Any:
    """The objective; only the command line determines it, never a store."""
    if (args.function is None) == (not args.program):
        raise ValueError(
            "expected either a program after --, as in: dale run --space space.toml --budget 60 -- python sim.py {a}; "
            f"or a --function; got {'both' if args.program else 'neither'}"
        )
    if args.function is None:
        return dale.Command(args.program, result=args.result, key=args.key, logs=args.logs, cwd=args.cwd)
    for name in PROGRAM_OPTIONS:
        if getattr(args, name) is not None:
            raise ValueError(f"--{name} applies to programs only; omit it with --function")
    return read_function(args.function)


def read_function(path: str, option: str = "--function") -> Callable[[Any], Any]:
    """The function at ``package.module:name``, which is searched for in the current directory first."""
    module, _, name = path.partition(":")
    if not module or not name:
        raise ValueError(f"{option}: expected package.module:name, got {path!r}")
    sys.path.insert(0, str(Path.cwd()))
    found = _imported(f"{option} {path}", module)
    for part in name.split("."):
        if not hasattr(found, part):
            raise ValueError(f"{option} {path}: {found.__name__} has no attribute {part!r}")
        found = getattr(found, part)
    return found


def _imported(what: str, module: str) -> Any:
    """The module of the function; whatever its import raises is an error of the module and not of an argument."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and (module == error.name or module.startswith(f"{error.name}.")):
            raise ValueError(f"{what}: {error}; it is searched for here and in PYTHONPATH") from None
        raise _not_imported(what, error) from error
    except (Exception, SystemExit) as error:
        raise _not_imported(what, error) from error


def _not_imported(what: str, error: BaseException) -> ImportError:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    at = (error.filename, error.lineno) if isinstance(error, SyntaxError) else (frame.filename, frame.lineno)
    why = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
    return ImportError(f"{what}: the import failed: {why} ({at[0]}, line {at[1]})")


@contextlib.contextmanager
def _executor(address: str | None) -> Iterator[Any]:
    """The workers of a Dask cluster; None without an address."""
    if address is None:
        yield None
        return
    from dale.integrations.dask import executor

    with executor(address) as workers:
        yield workers


def number_or_auto(text: str) -> float | str:
    """The type of ``--noise``."""
    return text if text == "auto" else float(text)
