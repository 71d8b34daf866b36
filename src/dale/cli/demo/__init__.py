"""``dale demo``: what dale does, on a real problem and on a textbook one.

``dale demo --out docs/images`` makes the pictures of the documentation again.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dale.cli.demo import blood, branin
from dale.cli.main import INTERRUPTED
from dale.history.result import Result
from dale.minimize import STOPPED, minimize
from dale.view.style import MatplotlibMissing, save
from dale.view.summary import summary

PROBLEMS = (blood.PROBLEM, branin.PROBLEM)
WIDTH = 105  # of a line of text
REPORTS = 4  # lines of progress where there is no terminal to show a bar on


def add_parser(subparsers: Any) -> None:
    """The options of ``dale demo``."""
    parser = subparsers.add_parser(
        "demo",
        help="minimise a real problem, print what was found, write pictures",
        description="Fit a model of a drug in the blood to noisy samples, then find the minima of Branin's function. "
        "Prints what was found and writes pictures; takes less than a minute.",
    )
    default = " and ".join(str(p.budget) for p in PROBLEMS)
    parser.add_argument("--out", type=Path, default=Path("demo-output"), help="folder for the pictures (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same run (%(default)s)")
    parser.add_argument("--budget", type=int, metavar="N", help=f"evaluations of each problem ({default})")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Both problems, one after the other."""
    args.out.mkdir(parents=True, exist_ok=True)  # before the work, so that a bad folder costs no time
    pictures: list[Path] = []
    missing = None
    for problem in PROBLEMS:
        budget = problem.budget if args.budget is None else args.budget
        print(f"{problem.about}\n", flush=True)
        result = minimize(problem.objective, problem.space, budget=budget, seed=args.seed, callback=reporter(budget))
        print(f"\n{textwrap.indent(summary(result), '   ')}\n", flush=True)
        if result.status == STOPPED or result.x is None:  # these objectives never fail: Ctrl-C came before a value
            return INTERRUPTED
        print(f"{_paragraph(problem.verdict(result))}\n", flush=True)
        try:
            pictures += [save(figure, args.out / name) for name, figure in problem.figures(result).items()]
        except MatplotlibMissing as error:
            missing = error
    print(f"No pictures were written: {missing}" if missing else "Pictures\n" + "\n".join(f"   {p}" for p in pictures))
    return 0


def reporter(budget: int) -> Callable[[Result], None] | None:
    """A callback that prints a few lines on the way; None where standard error is a terminal and shows a live one."""
    if sys.stderr.isatty():
        return None
    steps = {max(1, round(budget * k / REPORTS)) for k in range(1, REPORTS + 1)}

    def report(result: Result) -> None:
        if result.nfev in steps:
            best = "none yet" if result.fun is None else f"{result.fun:.6g}"
            print(f"   {result.nfev:>3} of {budget} evaluations, best value {best}", flush=True)

    return report


def _paragraph(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent="   ", subsequent_indent="   ")
