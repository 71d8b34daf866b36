"""``dale bench problems``: dale and its peers on what real problems look like."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dale_bench.commands.output import listed, say_what_failed, show

if TYPE_CHECKING:
    from dale_bench.problems import Kind

KINDS = ("mixed", "noise", "constraints", "parallel")
FOLDER = Path("bench-output")


def add_parser(kinds: Any) -> None:
    """Describe the command's arguments."""
    kind = kinds.add_parser(
        "problems", help="mixed, noisy, constrained and parallel problems, beside peers", description=__doc__
    )
    kind.add_argument("kind", choices=[*KINDS, "list"], help="the benchmark; list: what each is made of")
    kind.add_argument("--only", default="", help="problems, with commas (default: all of the benchmark)")
    kind.add_argument("--methods", default="", help="contenders, with commas (default: all of the benchmark)")
    kind.add_argument("--seeds", type=int, default=16, help="how many runs of each, with seeds 0, 1, ... (default 16)")
    kind.add_argument("--rows", type=Path, help=f"where runs are kept (default: {FOLDER}/KIND.jsonl)")
    kind.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    kind.add_argument("--only-show", action="store_true", help="tables of what there is, run nothing")
    kind.add_argument("--format", choices=["text", "markdown", "csv"], default="text")
    kind.set_defaults(run=problems)


def problems(args: argparse.Namespace) -> int:
    """Run what is missing and print the tables."""
    from dale_bench import problems as bench

    if args.kind == "list":
        for kind in bench.KINDS.values():
            show_kind(kind)
        return 0
    if args.seeds < 1:
        raise ValueError(f"--seeds must be at least 1, got {args.seeds}")
    kind = bench.KINDS[args.kind]
    path = args.rows or FOLDER / f"{kind.name}.jsonl"
    jobs = kind.jobs(listed(args.only), listed(args.methods), range(args.seeds))
    if args.only_show:
        if not path.exists():
            raise ValueError(f"there is no file {path}; make runs first, without --only-show")
        rows = bench.rows_of(jobs, path)
    else:
        rows = bench.run_missing(kind, jobs, path, args.jobs)
    say_what_failed(rows)
    print(f"{len(rows)} of {len(jobs)} runs in {path}")
    for part in kind.tables(rows, lambda name: kind.contender(name).label):
        show(args, part.title, part.table, part.remarks)
    return 0


def show_kind(kind: Kind) -> None:
    """Print what a benchmark is made of."""
    print(f"{kind.name}: {kind.words}")
    for name in kind.problems:
        problem = kind.problem(name, 0)
        print(f"  {name:18s} {len(problem.space.names)} parameters, budget {problem.budget:<4d} {problem.words}")
    for contender in kind.contenders:
        missing = f"  (not installed: {', '.join(contender.missing)})" if contender.missing else ""
        print(f"  {contender.name:18s} {contender.label}{missing}")
