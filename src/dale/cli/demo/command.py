"""``dale demo``: solve a realistic problem and a textbook problem.

``dale demo --out docs/images`` regenerates the plots of the documentation.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dale.cli.demo import blood, branin
from dale.cli.main import EXIT_SIGNALS
from dale.history.result import Result
from dale.minimize import minimize
from dale.view.style import MatplotlibMissing, save
from dale.view.summary import summary

PROBLEMS = (blood.PROBLEM, branin.PROBLEM)
WIDTH = 105  # characters per line of text
N_REPORTS = 4  # progress lines per problem if standard error is not a terminal


def add_parser(subparsers: Any) -> None:
    """Add the options of ``dale demo``."""
    parser = subparsers.add_parser(
        "demo",
        help="solve two example problems, print the results, write plots and pages",
        description="Fit a pharmacokinetic model to noisy blood samples, then find the minima of Branin's function. "
        "Print the results, write plots and HTML pages. Takes less than a minute.",
    )
    default = " and ".join(str(p.budget) for p in PROBLEMS)
    parser.add_argument("--out", type=Path, default=Path("demo-output"), help="directory to write to (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers (%(default)s)")
    parser.add_argument("--budget", type=int, metavar="N", help=f"number of evaluations per problem ({default})")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Solve the problems one after the other."""
    args.out.mkdir(parents=True, exist_ok=True)  # first, so that an invalid directory fails at once
    plots: list[Path] = []
    pages: list[Path] = []
    missing = None
    for problem in PROBLEMS:
        budget = problem.budget if args.budget is None else args.budget
        print(f"{problem.description}\n", flush=True)
        result = minimize(problem.objective, problem.space, budget=budget, seed=args.seed, callback=reporter(budget))
        print(f"\n{textwrap.indent(summary(result), '   ')}\n", flush=True)
        if result.status in EXIT_SIGNALS:
            return EXIT_SIGNALS[result.status]
        print(f"{_paragraph(problem.comparison(result))}\n", flush=True)
        pages.append(result.report(args.out / f"{problem.name}.html", title=f"{problem.name}: the demo of dale"))
        try:
            plots += [save(figure, args.out / name) for name, figure in problem.figures(result).items()]
        except MatplotlibMissing as error:
            missing = error
    print(f"No plots were written: {missing}" if missing else "Plots\n" + "\n".join(f"   {p}" for p in plots))
    print("Pages, to be opened in a browser\n" + "\n".join(f"   {p}" for p in pages))
    return 0


def reporter(budget: int) -> Callable[[Result], None] | None:
    """A callback that prints a few progress lines; None if standard error is a terminal, which shows a progress bar."""
    if sys.stderr.isatty():
        return None
    steps = {max(1, round(budget * k / N_REPORTS)) for k in range(1, N_REPORTS + 1)}

    def report(result: Result) -> None:
        if result.nfev in steps:
            best = "none yet" if result.fun is None else f"{result.fun:.6g}"
            print(f"   {result.nfev:>3} of {budget} evaluations, best value {best}", flush=True)

    return report


def _paragraph(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent="   ", subsequent_indent="   ")
