"""``dale bench coco``: runs on COCO's suites, tables of the targets reached, differences, profiles, archives."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dale_bench.coco.experiment import jobs_for, run_missing
from dale_bench.coco.report import comparison_table, fraction_tables
from dale_bench.coco.scores import Results, Runs, results_of
from dale_bench.coco.selection import Selection, read_selected
from dale_bench.coco.suites import SUITES, check_installed
from dale_bench.commands.options import (
    add_format,
    add_jobs,
    add_listed_methods,
    add_rows,
    add_seeds,
    check_positive,
)
from dale_bench.commands.output import print_contenders, print_failures, show, split_integers, split_names, split_ranges

ROWS = Path("bench-output/coco.jsonl")
FIGURES = Path("bench-output/coco")
ARCHIVES = Path("bench-output/coco-archive")
DEFAULT_INSTANCES, DEFAULT_METHODS, DEFAULT_BUDGET = "1-3", "default", 200
CHECKPOINTS = "50,100,200"
NUMBERS = "numbers and ranges, separated by commas"


def add_parser(kinds: Any) -> None:
    """Describe the command's arguments."""
    kind = kinds.add_parser(
        "coco",
        help="run COCO's suites and score the runs by the targets that they reach",
        description="Run dale and its peers on COCO's suites and score the runs by the targets that they reach.",
    )
    commands = kind.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_run_parser(commands)
    _add_table_parser(commands)
    _add_compare_parser(commands)
    _add_profiles_parser(commands)
    _add_archive_parser(commands)
    commands.add_parser("list", help="list the suites and the methods that support them").set_defaults(run=show_list)


def run(args: argparse.Namespace) -> int:
    """Make the missing runs."""
    check_installed()
    check_positive(args, "seeds", "budget", "jobs")
    chosen, suite, methods = _selection(args), SUITES[args.suite], split_names(args.methods)
    if not methods:
        raise ValueError(f"--methods: expected names, separated by commas, got {args.methods!r}")
    jobs = jobs_for(
        suite,
        chosen.dimensions or suite.usual_dimensions,
        chosen.functions or suite.functions,
        split_ranges(args.instances, "--instances"),
        methods,
        range(args.seeds),
        args.budget,
    )
    runs = run_missing(jobs, args.rows, args.jobs, args.logger)
    print_failures(runs)
    print(f"{len(runs)} of {len(jobs)} runs are in {args.rows}")
    print(f"to see the scores: dale bench coco table {args.rows}")
    return 0


def table(args: argparse.Namespace) -> int:
    """Print the fraction of targets reached."""
    checkpoints = split_integers(args.at, "--at")
    for part in fraction_tables(_results(args), checkpoints):
        show(args, part.title, part.table, part.remarks)
    return 0


def compare(args: argparse.Namespace) -> int:
    """Print the paired differences."""
    checkpoints, methods = split_integers(args.at, "--at"), split_names(args.methods)
    if len(methods) != 2 and (len(methods) != 1 or args.second is None):
        files = "one file" if args.second is None else "two files"
        raise ValueError(
            f"expected two files, or two methods with --methods, got {files} and --methods {args.methods!r}; for "
            f"example: dale bench coco compare {args.first} --methods default,cobyqa"
        )
    paths, methods = (args.first, args.second or args.first), [methods[0], methods[-1]]
    first, second = (_of_method(args, path, method) for path, method in zip(paths, methods, strict=True))
    common = [key for key in first if key in second and first[key].hits.keys() & second[key].hits.keys()]
    if not common:
        raise ValueError(
            f"expected problems on which {methods[0]} in {paths[0]} and {methods[1]} in {paths[1]} both have runs, got "
            "none; run the same suite, dimensions, functions and instances for both"
        )
    names = f"{methods[0]} in {paths[0]}", f"{methods[1]} in {paths[1]}"
    for where in common:
        part = comparison_table(where, (first[where], second[where]), names, checkpoints)
        show(args, part.title, part.table, part.remarks)
    return 0


def profiles(args: argparse.Namespace) -> int:
    """Write the figures."""
    from dale_bench.coco.profiles import write_profiles

    for path in write_profiles(_results(args), args.out):
        print(f"wrote {path}")
    return 0


def archive(args: argparse.Namespace) -> int:
    """Write the archives."""
    from dale_bench.coco.archive import archives_of

    archives, interrupted = archives_of(args.logs)
    for run in interrupted:
        print(f"left out: {run.directory}, which was interrupted; resume it")
    for one in archives:
        path = one.write(args.out)
        print(f"wrote {path}: {len(one.runs)} runs, {path.stat().st_size / 1e3:.0f} kB")
    print(f"to see one: python -m cocopp {path}")
    return 0


def show_list(_: argparse.Namespace) -> int:
    """Print the suites with their groups of functions and methods."""
    for suite in SUITES.values():
        print(f"{suite.name}: {len(suite.functions)} functions, dimensions {', '.join(map(str, suite.dimensions))}")
        for group, functions in suite.groups.items():
            print(f"  {f'f{functions[0]}-f{functions[-1]}':18s} {group}")
        print_contenders(suite.contenders)
    return 0


def _add_run_parser(commands: Any) -> None:
    kind = commands.add_parser("run", help="make the runs that are missing; re-run the same command to resume")
    usual = "; ".join(f"{s.name} {','.join(map(str, s.usual_dimensions))}" for s in SUITES.values())
    kind.add_argument("--suite", choices=list(SUITES), default="bbob", help="the suite (default: %(default)s)")
    kind.add_argument("--dimensions", help=f"{NUMBERS} (default: {usual})")
    kind.add_argument("--functions", help=f"{NUMBERS} (default: all)")
    kind.add_argument("--instances", default=DEFAULT_INSTANCES, help=f"{NUMBERS} (default: %(default)s)")
    add_listed_methods(kind, "coco", DEFAULT_METHODS)
    kind.add_argument(
        "--budget", type=int, default=DEFAULT_BUDGET, help="evaluations of each run (default: %(default)s)"
    )
    add_seeds(kind, 1)
    add_rows(kind, ROWS)
    add_jobs(kind, "--processes")
    kind.add_argument("--logger", type=Path, metavar="DIRECTORY", help="where COCO's logger writes data for cocopp")
    kind.set_defaults(run=run)


def _add_table_parser(commands: Any) -> None:
    kind = commands.add_parser("table", help="print the fraction of targets reached, for all functions and by group")
    _add_files(kind)
    _add_selection(kind, methods="")
    _add_output(kind)
    kind.set_defaults(run=table)


def _add_compare_parser(commands: Any) -> None:
    kind = commands.add_parser("compare", help="print paired differences of two methods, or of a method in two files")
    kind.add_argument("first", type=Path, help="file of the first method, JSON lines or .npz")
    kind.add_argument("second", type=Path, nargs="?", help="file of the second method (default: the same file)")
    _add_selection(kind, methods=DEFAULT_METHODS)
    _add_output(kind)
    kind.set_defaults(run=compare)


def _add_profiles_parser(commands: Any) -> None:
    kind = commands.add_parser("profiles", help="draw the fraction of targets reached over the number of evaluations")
    _add_files(kind)
    _add_selection(kind, methods="")
    kind.add_argument("--out", type=Path, default=FIGURES, help="directory for figures (default: %(default)s)")
    kind.set_defaults(run=profiles)


def _add_archive_parser(commands: Any) -> None:
    kind = commands.add_parser("archive", help="merge logged runs into archives that COCO's own tools read")
    kind.add_argument("logs", type=Path, nargs="+", help="directories written by `dale bench coco run --logger`")
    kind.add_argument(
        "--out", type=Path, default=ARCHIVES, help="directory for SUITE/METHOD.tgz (default: %(default)s)"
    )
    kind.set_defaults(run=archive)


def _add_files(kind: argparse.ArgumentParser) -> None:
    kind.add_argument(
        "files",
        type=Path,
        nargs="*",
        default=[ROWS],
        help=f"files written by `dale bench coco run`, or curves of other solvers (.npz) (default: {ROWS})",
    )


def _add_selection(kind: argparse.ArgumentParser, methods: str) -> None:
    kind.add_argument("--suite", choices=list(SUITES), help="the suite (default: all)")
    for option in ("--dimensions", "--functions", "--instances"):
        kind.add_argument(option, help=f"{NUMBERS} (default: all)")
    kind.add_argument("--methods", default=methods, help=f"names, separated by commas (default: {methods or 'all'})")


def _add_output(kind: argparse.ArgumentParser) -> None:
    kind.add_argument("--at", default=CHECKPOINTS, help="numbers of evaluations (default: %(default)s)")
    kind.add_argument(
        "--recommended",
        action="store_true",
        help="with noise: score the recommended points (default: the best points evaluated)",
    )
    add_format(kind)


def _selection(args: argparse.Namespace, methods: Sequence[str] = ()) -> Selection:
    def numbers(option: str) -> list[int] | None:
        text = getattr(args, option)
        return None if text is None else split_ranges(text, f"--{option}")

    return Selection(
        args.suite, numbers("dimensions"), numbers("functions"), numbers("instances"), tuple(methods) or None
    )


def _results(args: argparse.Namespace) -> Results:
    return _read(args, args.files, split_names(args.methods))


def _of_method(args: argparse.Namespace, path: Path, method: str) -> dict[tuple[str, int], Runs]:
    """The runs of one method in a file, by suite and dimension."""
    results = _read(args, [path], [method])
    return {where: runs for where, by_method in results.items() for runs in by_method.values()}


def _read(args: argparse.Namespace, paths: Sequence[Path], methods: Sequence[str]) -> Results:
    runs = read_selected(paths, _selection(args, methods))
    print_failures(runs)
    return results_of(runs, recommended=getattr(args, "recommended", False))
