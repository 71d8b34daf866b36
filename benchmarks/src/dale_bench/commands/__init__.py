"""``dale bench``: run methods on test functions, compare them, reproduce the paper's figures, time proposals."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dale_bench.ablation import ABLATION_FUNCTIONS, DEFAULT, VARIANTS, compared_with_default, contender_name, is_variant
from dale_bench.commands.calibration import add_parser as add_calibration_parser
from dale_bench.commands.coco import add_parser as add_coco_parser
from dale_bench.commands.contexts import add_parser as add_contexts_parser
from dale_bench.commands.cutest import add_parser as add_cutest_parser
from dale_bench.commands.forecasts import add_parser as add_forecasts_parser
from dale_bench.commands.golden import add_parser as add_golden_parser
from dale_bench.commands.mine import add_parser as add_mine_parser
from dale_bench.commands.options import add_format, add_jobs, add_run_options, check_positive
from dale_bench.commands.output import print_contenders, print_failures, show, split_names
from dale_bench.commands.page import add_parser as add_page_parser
from dale_bench.commands.problems import add_parser as add_problems_parser
from dale_bench.commands.real import add_parser as add_real_parser
from dale_bench.commands.scale import add_parser as add_scale_parser
from dale_bench.commands.speed import add_parser as add_speed_parser
from dale_bench.commands.workers import add_parser as add_workers_parser
from dale_bench.contenders import CONTENDERS, is_ours
from dale_bench.functions import GROUPS, get, names
from dale_bench.rows import Row

DEFAULT_METHODS = "default,ei_ml,cobyqa,random"
QUICK = {"functions": "quad2,rosen2,branin,hart3,hart6,exp5", "seeds": "4"}  # a few minutes on two cores
ROWS = Path("bench-output/rows.jsonl")
NAMES_OR_GROUPS = f"names or groups, separated by commas; groups: {', '.join(GROUPS)}"


def add_parser(commands: Any) -> None:
    """Describe the command's arguments."""
    parser = commands.add_parser(
        "bench",
        help="compare methods on test functions",
        description="Run methods on test functions, compare them, reproduce the paper's figures, and time proposals.",
    )
    parser.set_defaults(run=lambda _: quick_look(ROWS))
    kinds = parser.add_subparsers(
        title="commands (default: a quick comparison on some of the paper's functions)", metavar=""
    )

    for add in (_add_list_parser, _add_run_parser, _add_compare_parser, _add_ablation_parser, _add_paper_parser):
        add(kinds)
    add_speed_parser(kinds)
    add_scale_parser(kinds)
    add_workers_parser(kinds)
    add_problems_parser(kinds)
    add_mine_parser(kinds)
    add_coco_parser(kinds)
    add_cutest_parser(kinds)
    add_real_parser(kinds)
    add_calibration_parser(kinds)
    add_forecasts_parser(kinds)
    add_contexts_parser(kinds)
    add_golden_parser(kinds)
    add_page_parser(kinds)


def show_list(_: argparse.Namespace) -> int:
    """Print all functions, groups and contenders."""
    print("functions (append :moved, :rotated or :moved:rotated)")
    for name in names():
        function = get(name)
        print(f"  {name:18s} d={function.dimension:<3d} budget {function.budget:<4d} {function.formula}")
    print("groups of functions")
    for group, members in GROUPS.items():
        print(f"  {group:18s} {', '.join(members)}")
    print("methods and peers")
    print_contenders(CONTENDERS.values())
    return 0


def run_missing(args: argparse.Namespace) -> int:
    """Make the missing runs."""
    functions = _functions(args.functions)
    if args.variant:
        functions = [f"{name}:{args.variant}" for name in functions]
    _rows(args, functions, _methods(args.methods))
    print(f"to compare them: dale bench compare {args.rows}")
    return 0


def compare(args: argparse.Namespace) -> int:
    """Print tables, write figures."""
    from dale_bench import jsonl, tables
    from dale_bench.rows import curves_of, imported_curves, merged, read

    for path in args.rows:
        jsonl.check_exists(path, "dale bench run")
    curves = merged(*(curves_of(read(path)) for path in args.rows))
    if args.curves:
        imported = imported_curves(args.curves)
        curves = merged(curves, {f: by for f, by in imported.items() if f in curves})
    comparison = _comparison(curves, args.functions, args.methods)
    methods = comparison.methods
    show(args, "Median log10 regret ± bootstrap error", tables.cells_table(comparison, methods))
    show(args, "All functions together", tables.summary_table(comparison, methods))
    if args.method in methods:
        table = tables.envelope_table(comparison, args.method)
        remarks = tables.envelope_remarks(comparison, args.method)
        show(args, f"{args.method} compared with the best peer of each cell", table, remarks)
        table = tables.significance_table(comparison, args.method, [m for m in methods if m != args.method])
        show(args, f"{args.method} against each other method: Wilcoxon over functions", table)
    if any(not comparison.takes_part(f, m) for f in comparison.functions for m in comparison.curves[f]):
        print(
            "\n* evaluates the center of the box early, where the function has its minimum: not in ranks and envelopes"
        )
    if args.out:
        from dale_bench.figures import write_comparison

        for path in write_comparison(comparison, args.out):
            print(f"wrote {path}")
    return 0


def ablation(args: argparse.Namespace) -> int:
    """Run the default and its variants, and print the effect of each change."""
    from dale_bench import tables

    variants = split_names(args.only)
    unknown = [v for v in variants if v not in VARIANTS]
    if unknown or not variants:
        raise ValueError(f"--only: expected variants of the default ({', '.join(VARIANTS)}), got {args.only!r}")
    rows = _rows(args, _functions(args.functions), [DEFAULT, *(contender_name(v) for v in variants)])
    table = tables.ablation_table({v: compared_with_default(rows, v) for v in variants})
    if not table[1]:
        raise ValueError("expected runs of the default and a variant on at least one function, got none")
    show(args, "Variants against the default: mean difference of the medians, decades", table, tables.ABLATION_REMARKS)
    return 0


def paper(args: argparse.Namespace) -> int:
    """Reproduce the paper's figures, or compare its method with its neighbours."""
    from dale_bench.paper import compare_related, reproduce

    make = compare_related if args.related else reproduce
    page = make(args.out, rows=args.rows, quick=args.quick, processes=args.jobs, only_draw=args.only_draw)
    print(f"wrote {page}")
    return 0


def quick_look(rows: Path) -> int:
    """Run and compare a few methods on some functions with few seeds."""
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    arguments = ["bench", "run", "--functions", QUICK["functions"], "--seeds", QUICK["seeds"], "--rows", str(rows)]
    for words in (arguments, ["bench", "compare", str(rows)]):
        args = parser.parse_args(words)
        args.run(args)
    return 0


def _add_list_parser(kinds: Any) -> None:
    kind = kinds.add_parser("list", help="list functions, methods and peers")
    kind.set_defaults(run=show_list)


def _add_run_parser(kinds: Any) -> None:
    kind = kinds.add_parser("run", help="make the runs that are missing; re-run the same command to resume")
    _add_runs(kind, functions="paper", default="paper")
    kind.add_argument("--variant", default="", help="moved, rotated or moved:rotated; applies to all functions")
    kind.add_argument("--methods", default=DEFAULT_METHODS, help="names, separated by commas; or ours, peers, all")
    kind.set_defaults(run=run_missing)


def _add_compare_parser(kinds: Any) -> None:
    kind = kinds.add_parser("compare", help="print tables and write figures of runs")
    kind.add_argument("rows", type=Path, nargs="*", default=[ROWS], help="files written by `dale bench run`")
    kind.add_argument(
        "--curves", type=Path, help="directory with curves of other benchmarks, one JSON file for each function"
    )
    kind.add_argument("--methods", default="all", help="names, separated by commas")
    kind.add_argument("--functions", default="all", help=f"{NAMES_OR_GROUPS} (default: all with runs)")
    kind.add_argument("--method", default="default", help="the method that is compared with all others")
    add_format(kind)
    kind.add_argument("--out", type=Path, help="directory for figures")
    kind.set_defaults(run=compare)


def _add_ablation_parser(kinds: Any) -> None:
    kind = kinds.add_parser("ablation", help="measure the contribution of each part of the default method")
    _add_runs(kind, functions=",".join(ABLATION_FUNCTIONS), default=f"{len(ABLATION_FUNCTIONS)} functions of all kinds")
    kind.add_argument("--only", default=",".join(VARIANTS), help="variants, separated by commas (default: %(default)s)")
    kind.add_argument("--format", choices=["text", "markdown"], default="text")
    kind.set_defaults(run=ablation)


def _add_paper_parser(kinds: Any) -> None:
    kind = kinds.add_parser("paper", help="reproduce the figures of the paper's Section 4, with verdicts")
    kind.add_argument("--quick", action="store_true", help="few runs: minutes instead of hours")
    kind.add_argument("--related", action="store_true", help="compare the methods that the paper discusses instead")
    kind.add_argument("--out", type=Path, default=Path("bench-output/paper"), help="directory for figures and page")
    kind.add_argument("--rows", type=Path, help="file of the runs (default: in the same directory)")
    add_jobs(kind)
    kind.add_argument("--only-draw", action="store_true", help="draw the existing runs, make no new ones")
    kind.set_defaults(run=paper)


def _add_runs(kind: argparse.ArgumentParser, *, functions: str, default: str) -> None:
    """Describe the arguments that select runs; `default` names the default functions in the help."""
    kind.add_argument("--functions", default=functions, help=f"{NAMES_OR_GROUPS}, all (default: {default})")
    kind.add_argument("--budget", type=int, help="evaluations of each run (default: depends on the function)")
    add_run_options(kind, 16, ROWS)


def _rows(args: argparse.Namespace, functions: Sequence[str], methods: Sequence[str]) -> list[Row]:
    """Make the missing runs, report failures, and return the rows of all."""
    from dale_bench.runner import jobs_for, run_all

    check_positive(args, "seeds", "jobs")
    jobs = jobs_for(functions, methods, range(args.seeds), args.budget)
    rows = run_all(jobs, args.rows, processes=args.jobs)
    print_failures(rows)
    print(f"{len(rows)} of {len(jobs)} runs are in {args.rows}")
    return rows


def _comparison(curves: Any, functions: str, methods: str) -> Any:
    from dale_bench.comparison import Comparison

    if functions != "all":
        requested = _functions(functions)
        absent = [f for f in requested if f not in curves]
        if absent:
            raise ValueError(f"expected functions with runs ({', '.join(curves)}), got {', '.join(absent)}")
        curves = {f: curves[f] for f in requested}
    everyone = dict.fromkeys(m for by in curves.values() for m in by)
    present = [m for m in everyone if not is_variant(m)] if methods == "all" else split_names(methods)
    curves = {f: {m: by[m] for m in present if m in by} for f, by in curves.items()}
    curves = {f: by for f, by in curves.items() if by}
    if not curves:
        raise ValueError("expected at least one run without an error, got none")
    return Comparison(
        curves,
        envelope_of=tuple(m for m in present if not is_ours(m)),
        unfair=frozenset((f, m) for f, by in curves.items() for m in by if _unfair(f, m)),
    )


def _unfair(function: str, method: str) -> bool:
    contender = CONTENDERS.get(method)
    return contender is not None and contender.starts_at_center and get(function, 0).centered


def _functions(text: str) -> list[str]:
    groups = GROUPS | {"all": names()}
    return list(dict.fromkeys(name for word in split_names(text) for name in groups.get(word, (word,))))


def _methods(text: str) -> list[str]:
    groups = {
        "ours": [c for c in CONTENDERS if is_ours(c)],
        "peers": [c for c in CONTENDERS if not is_ours(c)],
        "all": list(CONTENDERS),
    }
    return groups.get(text) or split_names(text)
