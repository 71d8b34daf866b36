"""``dale run``: minimise what a program, or a function that is named on the command line, computes."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dale
from dale import methods
from dale.cli.main import INTERRUPTED, printable
from dale.evaluate.command import logs_of
from dale.history.result import Result
from dale.history.trial import TrialState
from dale.minimize import BROKEN, STOPPED, minimize
from dale.space.space import Space
from dale.view.summary import short_error

STORE = "run.db"
NOTHING = 1  # exit status: there is no result, or no more could be evaluated
TERMINATED = 143  # as shells have it: 128 + SIGTERM
METHODS: dict[str, Callable[[], Any]] = {
    "default": methods.default,
    "paper": methods.paper,
    "ei": methods.ei,
    "lcb": methods.lcb,
    "imgpo": methods.imgpo,
}
OF_A_PROGRAM = ("result", "key", "logs", "cwd")  # options that a function has no use for
ABOUT = """\
Minimise the last number that a program prints. {a} stands for parameter a of the space, as an argument of the program
or a part of one; {params} for the path of a JSON file with all of them, {folder} for a folder of the evaluation's own,
{trial} for its number. There is no shell between dale and the program. The same line again goes on where it ended."""


def add_parser(subparsers: Any) -> None:
    """The options of ``dale run``."""
    parser = subparsers.add_parser(
        "run",
        help="minimise what a program computes",
        usage="dale run --space FILE --budget N [options] -- program argument ...",
        description=ABOUT,
    )
    add = parser.add_argument
    add("--space", required=True, metavar="FILE", help="TOML file with the parameters")
    add("--budget", type=int, required=True, metavar="N", help="number of evaluations, those of the store included")
    add("--function", metavar="MODULE:NAME", help="a Python function to minimise in place of a program")
    add("--store", default=STORE, metavar="FILE", help="file that keeps the run (%(default)s)")
    add("--seed", type=int, metavar="N", help="same seed, same run")
    add("--n-parallel", type=int, metavar="N", help="evaluations at once")
    add("--timeout", type=float, metavar="SECONDS", help="limit for each evaluation, which is then ended")
    add("--time-limit", type=float, metavar="SECONDS", help="limit for the run: then no more evaluations are begun")
    add("--target", type=float, metavar="VALUE", help="stop when a value is as low as this")
    add("--tolerance", type=float, metavar="VALUE", help="stop when nothing left promises more than this")
    add(
        "--noise",
        type=number_or_auto,
        default="auto",
        metavar="SD",
        help="standard deviation of the values' errors (auto)",
    )
    add("--x0", metavar="FILE", help="CSV file with points to begin with")
    add("--y0", metavar="COLUMN", help="its column with their values, where they are known")
    add("--result", metavar="FILE", help="JSON file that the program writes its value to, such as {folder}/out.json")
    add("--key", metavar="PLACE", help="where in that file the value is, such as metrics.loss")
    add("--logs", metavar="FOLDER", help="where the program's output goes (beside the store)")
    add("--cwd", metavar="FOLDER", help="where the program runs; {folder} for a folder of its own (here)")
    add("--method", choices=METHODS, default="default", help="how points are chosen (%(default)s)")
    add("--dask", metavar="ADDRESS", help="of a Dask scheduler, whose workers evaluate")
    add("--no-progress", action="store_true", help="say nothing on the way")
    parser.set_defaults(run=run, words=None)


def run(args: argparse.Namespace) -> int:
    """The whole run; the exit status says whether there is a result."""
    objective = _objective(args)
    space = Space.from_toml(args.space)
    report = Report(args)
    report.begin()
    try:
        with _executor(args.dask) as executor:
            result = minimize(
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
                n_parallel=args.n_parallel,
                executor=executor,
                timeout=args.timeout,
                store=args.store,
            )
    except RuntimeError as error:  # nothing could be evaluated, or processes cannot be had
        if args.traceback or isinstance(error, dale.StoreError):
            raise
        print(f"dale: error: {printable(str(error))}", file=sys.stderr)
        return NOTHING
    report.end(result)
    if result.status == STOPPED:
        return TERMINATED if result.message == "Terminated" else INTERRUPTED
    return NOTHING if result.x is None or result.status == BROKEN else 0


class Report:
    """What is said on the way, on standard error, and at the end."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.budget: int = args.budget
        self.store: str = args.store
        self.logs: str | None = (args.logs or logs_of(args.store)) if args.function is None else None
        self.live = sys.stderr.isatty() and not args.no_progress  # then minimize shows a line
        self.quiet: bool = args.no_progress
        self._seen: set[int] = set()
        self._warned = False

    def begin(self) -> None:
        """Say whether a run goes on."""
        if not Path(self.store).exists():
            return
        before = dale.open(self.store)
        self._seen = {trial.id for trial in before.history if trial.state is not TrialState.PENDING}
        n = before.n_evaluated
        then = "give a larger --budget for more" if n >= self.budget else "going on from there"
        self._say(f"found {self.store} with {n} of {self.budget} evaluations: {then}")

    def __call__(self, result: Result) -> None:
        """A line for each evaluation where there is no live one; the first failure is told in any case."""
        for trial in result.history:
            if trial.state is TrialState.PENDING or trial.id in self._seen:
                continue
            self._seen.add(trial.id)
            if trial.error is not None and not self._warned:
                self._warned = True
                where = f"; output is in {self.logs}" if self.logs is not None else ""
                self._say(f"evaluation {trial.id} failed, the run goes on: {short_error(trial.error)}{where}")
            if not self.live and not self.quiet:
                value = "failed" if trial.value is None else f"{trial.value:.6g}"
                best = "none yet" if result.fun is None else f"{result.fun:.6g}"
                self._say(f"{result.nfev} of {self.budget}: {value}, best {best}")

    def end(self, result: Result) -> None:
        """The result, and where everything is."""
        print(printable(str(result)))
        failed = [trial for trial in result.history if trial.error is not None]
        if failed:
            print(f"failed      {len(failed)} of {result.nfev}, the last was evaluation {failed[-1].id}:")
            print("\n".join(f"            {printable(line)}" for line in str(failed[-1].error).splitlines()))
        if self.logs is not None:
            print(f"logs        {self.logs}")
        print(f"store       {self.store}, to look at with: dale show {shlex.quote(self.store)}", flush=True)

    def _say(self, text: str) -> None:
        with contextlib.suppress(BrokenPipeError):  # nobody reads it, which is no reason to end a run
            print(f"{chr(10) if self.live else ''}dale: {printable(text)}", file=sys.stderr, flush=True)


def _objective(args: argparse.Namespace) -> Any:
    """What to minimise, as it is named on the command line and nowhere else."""
    if (args.function is None) == (not args.words):
        raise ValueError(
            "wanted a program after --, as in: dale run --space space.toml --budget 60 -- python sim.py {a}; or a "
            f"--function, and not both; got {'both' if args.words else 'neither'}"
        )
    if args.function is None:
        return dale.Command(args.words, result=args.result, key=args.key, logs=args.logs, cwd=args.cwd)
    for name in OF_A_PROGRAM:
        if getattr(args, name) is not None:
            raise ValueError(f"--{name} is for programs; leave it out with --function")
    return _function(args.function)


def _function(named: str) -> Callable[[Any], Any]:
    module, _, name = named.partition(":")
    if not module or not name:
        raise ValueError(f"--function must be like package.module:name, got {named!r}")
    sys.path.insert(0, str(Path.cwd()))
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        if not hasattr(found, part):
            raise ValueError(f"--function {named}: {found.__name__} has no {part!r}")
        found = getattr(found, part)
    return found


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
    """What ``--noise`` takes."""
    return text if text == "auto" else float(text)
