"""``dale bench cutest``: runs on CUTEst problems, tables of the problems solved, performance and data profiles."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dale_bench.commands.options import add_format, add_listed_methods, add_run_options, check_positive
from dale_bench.commands.output import print_contenders, print_failures, show, split_integers, split_names
from dale_bench.cutest.collection import CONSTRAINED_KIND, KINDS, MAX_DIMENSION, entries, selected
from dale_bench.cutest.experiment import contenders_of, jobs_for, run_missing
from dale_bench.cutest.objectives import check_installed
from dale_bench.cutest.profiles import Study, problems_of, study_of
from dale_bench.cutest.report import difference_table, solved_table
from dale_bench.cutest.runs import read

ROWS = Path("bench-output/cutest.jsonl")
FIGURES = Path("bench-output/cutest")
DEFAULT_KINDS, DEFAULT_METHODS, DEFAULT_FACTOR = "unconstrained,bounds", "default", 50
CHECKPOINTS = "10,25,50"
TOLERANCES = "1e-1,1e-3,1e-5,1e-7"
GROUPS = {"box": KINDS[:2], CONSTRAINED_KIND: KINDS[2:]}  # separate tables and figures
TITLES = {"box": "unconstrained problems and bounds", CONSTRAINED_KIND: "inequality constraints"}


def add_parser(kinds: Any) -> None:
    """Describe the command's arguments."""
    kind = kinds.add_parser(
        "cutest",
        help="run CUTEst problems and draw performance and data profiles",
        description="Run dale and its peers on CUTEst problems; performance and data profiles of the runs.",
    )
    commands = kind.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_run_parser(commands)
    table_parser = commands.add_parser("table", help="print the fraction of problems solved, and paired differences")
    _add_study_options(table_parser)
    table_parser.add_argument(
        "--at", default=CHECKPOINTS, help="evaluations, in multiples of d + 1 (default: %(default)s)"
    )
    table_parser.add_argument(
        "--against", default=DEFAULT_METHODS, metavar="METHOD", help="of the paired differences (default: %(default)s)"
    )
    add_format(table_parser)
    table_parser.set_defaults(run=table)
    profiles_parser = commands.add_parser("profiles", help="draw data profiles and performance profiles")
    _add_study_options(profiles_parser)
    profiles_parser.add_argument("--out", type=Path, default=FIGURES, help="directory (default: %(default)s)")
    profiles_parser.set_defaults(run=profiles)
    commands.add_parser("list", help="list the problems and the methods").set_defaults(run=show_list)


def run(args: argparse.Namespace) -> int:
    """Make the missing runs."""
    check_installed()
    check_positive(args, "seeds", "budget", "jobs", "max-dimension")
    methods = split_names(args.methods)
    if not methods:
        raise ValueError(f"--methods: expected names, separated by commas, got {args.methods!r}")
    chosen = selected(split_names(args.kind), split_names(args.problems), args.max_dimension)
    jobs = jobs_for(chosen, methods, range(args.seeds), args.budget)
    runs = run_missing(jobs, args.rows, args.jobs)
    print_failures(runs)
    print(f"{len(runs)} of {len(jobs)} runs are in {args.rows}")
    print(f"to see the scores: dale bench cutest table {args.rows}")
    return 0


def table(args: argparse.Namespace) -> int:
    """Print the fraction of problems solved, and paired differences."""
    tolerances, checkpoints = _tolerances(args.tolerances), split_integers(args.at, "--at")
    for group, study in _studies(args):
        parts = [solved_table(study, TITLES[group], tolerances, checkpoints)]
        if args.against in study.methods:
            parts.append(difference_table(study, TITLES[group], args.against, tolerances, checkpoints))
        for part in parts:
            show(args, part.title, part.table, part.remarks)
    return 0


def profiles(args: argparse.Namespace) -> int:
    """Write the figures."""
    from dale_bench.cutest.drawings import write_profiles

    tolerances = _tolerances(args.tolerances)
    for group, study in _studies(args):
        for path in write_profiles(study, group, tolerances, args.out):
            print(f"wrote {path}")
    return 0


def show_list(_: argparse.Namespace) -> int:
    """Print the problems of each kind and the methods."""
    for kind in KINDS:
        chosen = [entry for entry in entries() if entry.kind == kind]
        print(f"{kind}: {len(chosen)} problems")
        for d in sorted({entry.dimension for entry in chosen}):
            print(f"  d = {d:<2d} {', '.join(entry.name for entry in chosen if entry.dimension == d)}")
    for title, kind in (("methods", KINDS[0]), ("methods with constraints", CONSTRAINED_KIND)):
        print(title)
        print_contenders(contenders_of(kind))
    return 0


def _add_run_parser(commands: Any) -> None:
    kind = commands.add_parser("run", help="make the runs that are missing; re-run the same command to resume")
    kind.add_argument("--kind", default=DEFAULT_KINDS, help=f"some of {','.join(KINDS)} (default: %(default)s)")
    kind.add_argument("--problems", default="", help="names, separated by commas (default: all of these kinds)")
    kind.add_argument("--max-dimension", type=int, default=MAX_DIMENSION, help="(default: %(default)s)")
    add_listed_methods(kind, "cutest", DEFAULT_METHODS)
    kind.add_argument(
        "--budget",
        type=int,
        default=DEFAULT_FACTOR,
        metavar="K",
        help="evaluations of each run, in multiples of d + 1 (default: %(default)s)",
    )
    add_run_options(kind, 1, ROWS)
    kind.set_defaults(run=run)


def _add_study_options(kind: argparse.ArgumentParser) -> None:
    kind.add_argument(
        "files",
        type=Path,
        nargs="*",
        default=[ROWS],
        help=f"files written by `dale bench cutest run` (default: {ROWS})",
    )
    kind.add_argument("--methods", default="", help="names, separated by commas (default: all)")
    kind.add_argument("--min-dimension", type=int, default=1, help="leave out smaller problems (default: %(default)s)")
    kind.add_argument(
        "--max-dimension", type=int, default=MAX_DIMENSION, help="leave out larger problems (default: %(default)s)"
    )
    kind.add_argument("--tolerances", default=TOLERANCES, metavar="TAU", help="(default: %(default)s)")


def _studies(args: argparse.Namespace) -> Iterator[tuple[str, Study]]:
    """The study of each group of kinds that has runs. The least values are those of all methods in the files."""
    runs = [r for r in read(args.files) if args.min_dimension <= r.dimension <= args.max_dimension]
    if not runs:
        raise ValueError(f"expected runs that match the options, got none in {', '.join(map(str, args.files))}")
    print_failures(runs)
    for group, kinds in GROUPS.items():
        of_group = [r for r in runs if r.kind in kinds]
        if of_group:
            yield group, study_of(problems_of(of_group), split_names(args.methods))


def _tolerances(text: str) -> list[float]:
    try:
        found = [float(word) for word in split_names(text)]
    except ValueError:
        found = []
    if not found or not all(0 < tau < 1 for tau in found):
        raise ValueError(f"--tolerances: expected numbers between 0 and 1, separated by commas, got {text!r}")
    return found
