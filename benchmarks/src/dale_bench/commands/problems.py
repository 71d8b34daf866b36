"""``dale bench problems``: mixed, noisy, constrained and failing problems, equalities, and parallel runs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dale_bench import problems as bench
from dale_bench.commands.options import add_format, add_jobs, add_seeds, check_positive
from dale_bench.commands.output import print_contenders, print_failures, show, split_names

DIRECTORY = Path("bench-output")


def add_parser(kinds: Any) -> None:
    """Describe the command's arguments."""
    kind = kinds.add_parser(
        "problems",
        help="run mixed, noisy, constrained, failing and parallel problems, and equalities",
        description="Run dale and peers on mixed, noisy, constrained, failing and parallel problems, or equalities.",
    )
    kind.add_argument(
        "kind", choices=[*bench.KINDS, "list"], help="the benchmark; list: print the problems and contenders of each"
    )
    kind.add_argument("--only", default="", help="problems, separated by commas (default: all of the benchmark)")
    kind.add_argument("--methods", default="", help="contenders, separated by commas (default: all of the benchmark)")
    add_seeds(kind, 16)
    kind.add_argument("--rows", type=Path, help=f"file of the runs (default: {DIRECTORY}/KIND.jsonl)")
    add_jobs(kind)
    kind.add_argument("--only-show", action="store_true", help="print tables of the existing runs, make no new ones")
    add_format(kind)
    kind.set_defaults(run=problems)


def problems(args: argparse.Namespace) -> int:
    """Make the missing runs and print the tables."""
    if args.kind == "list":
        for kind in bench.KINDS.values():
            show_kind(kind)
        return 0
    check_positive(args, "seeds", "jobs")
    kind = bench.KINDS[args.kind]
    path = args.rows or DIRECTORY / f"{kind.name}.jsonl"
    jobs = kind.jobs(split_names(args.only), split_names(args.methods), range(args.seeds))
    if args.only_show:
        if not path.exists():
            raise ValueError(f"expected a file of runs, got {path}, which does not exist; run without --only-show")
        rows = bench.rows_of(jobs, path)
    else:
        rows = bench.run_missing(kind, jobs, path, args.jobs)
    print_failures(rows)
    print(f"{len(rows)} of {len(jobs)} runs are in {path}")
    for part in kind.tables(rows, lambda name: kind.contender(name).label):
        show(args, part.title, part.table, part.remarks)
    return 0


def show_kind(kind: bench.Kind) -> None:
    """Print the problems and contenders of a benchmark."""
    print(f"{kind.name}: {kind.description}")
    for name in kind.problems:
        problem = kind.problem(name, 0)
        print(f"  {name:18s} {len(problem.space.names)} parameters, budget {problem.budget:<4d} {problem.description}")
    print_contenders(kind.contenders)
