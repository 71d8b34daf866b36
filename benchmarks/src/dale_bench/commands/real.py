"""``dale bench real``: real problems, exact and noisy."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dale_bench import jsonl
from dale_bench.commands.options import add_format, add_run_options, check_positive
from dale_bench.commands.output import not_installed, print_failures, show, split_names

ROWS = Path("bench-output/real.jsonl")
KINDS = "exact,noisy"


def add_parser(kinds: Any) -> None:
    """Describe the command's arguments."""
    kind = kinds.add_parser(
        "real",
        help="real problems, exact and noisy",
        description="Run dale and peers on real problems: hyperparameters, fits, designs, programs, simulations.",
    )
    commands = kind.add_subparsers(title="commands", metavar="", required=True)
    _add_run_parser(commands)
    _add_table_parser(commands)
    parser = commands.add_parser("list", help="list problems and contenders")
    _add_selection(parser)
    parser.set_defaults(run=show_list)


def run(args: argparse.Namespace) -> int:
    """Make the missing runs."""
    from dale_bench.real.runs import jobs_for, run_missing

    check_positive(args, "seeds", "jobs")
    if args.budget is not None and args.budget < 2:
        raise ValueError(f"--budget: expected at least 2, got {args.budget}")
    names, methods = split_names(args.only), split_names(args.methods)
    jobs = jobs_for(_kinds(args), names, methods, range(args.seeds), args.budget)
    runs = run_missing(jobs, args.rows, args.jobs)
    print_failures(runs)
    print(f"{len(runs)} of {len(jobs)} runs are in {args.rows}")
    print(f"to see the tables: dale bench real table {args.rows}")
    return 0


def table(args: argparse.Namespace) -> int:
    """Print the tables."""
    from dale_bench.real.report import tables
    from dale_bench.real.runs import Run, contender, find

    names = [find(name).name for name in split_names(args.only)]
    methods = [contender(name).name for name in split_names(args.methods)]
    runs: dict[Any, Run] = {}
    for path in args.rows:
        jsonl.check_exists(path, "dale bench real run")
        runs |= {row.key: row for row in jsonl.read(path, Run)}
    chosen = [
        row
        for row in runs.values()
        if row.kind in _kinds(args)
        and row.problem in (names or [row.problem])
        and row.method in (methods or [row.method])
    ]
    print_failures(chosen)
    if not any(row.error is None for row in chosen):
        raise ValueError("expected at least one run without an error, got none")
    for part in tables(chosen):
        show(args, part.title, part.table, part.remarks)
    return 0


def show_list(args: argparse.Namespace) -> int:
    """Print the problems and the contenders."""
    from dale_bench.real import PROBLEMS
    from dale_bench.real.contenders import ENTRIES

    for kind in _kinds(args):
        print(kind)
        for real in (p for p in PROBLEMS.values() if p.kind == kind):
            size = f"{len(real.space.names)} parameters, budget {real.budget}"
            print(f"  {real.name:16s} {size:26s} {real.description}{not_installed(real.missing)}")
    print("contenders")
    for entry in ENTRIES.values():
        c = entry.contender
        count = sum(not entry.obstacle(real) for real in PROBLEMS.values())
        print(f"  {c.name:16s} {c.label}, on {count} of {len(PROBLEMS)} problems{not_installed(c.missing)}")
    return 0


def _add_run_parser(commands: Any) -> None:
    kind = commands.add_parser("run", help="make the runs that are missing; re-run the same command to resume")
    _add_selection(kind)
    kind.add_argument("--budget", type=int, help="evaluations of each run (default: depends on the problem)")
    add_run_options(kind, 8, ROWS)
    kind.set_defaults(run=run)


def _add_table_parser(commands: Any) -> None:
    kind = commands.add_parser("table", help="print tables of runs: values, ranks, comparisons with dale, costs")
    kind.add_argument("rows", type=Path, nargs="*", default=[ROWS], help=f"files of runs (default: {ROWS})")
    _add_selection(kind)
    add_format(kind)
    kind.set_defaults(run=table)


def _add_selection(kind: argparse.ArgumentParser) -> None:
    kind.add_argument("--kind", default=KINDS, help="exact, noisy or both, separated by commas (default: %(default)s)")
    kind.add_argument("--only", default="", help="problems, separated by commas (default: all)")
    kind.add_argument("--methods", default="", help="contenders, separated by commas (default: all that apply)")


def _kinds(args: argparse.Namespace) -> list[str]:
    chosen, known = split_names(args.kind), split_names(KINDS)
    if not chosen or any(kind not in known for kind in chosen):
        raise ValueError(f"--kind: expected {' or '.join(known)}, separated by commas, got {args.kind!r}")
    return chosen
