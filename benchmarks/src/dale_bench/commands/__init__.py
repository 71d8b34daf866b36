"""``dale bench``: run methods on test functions, compare them, draw the paper's figures again, and time proposals."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dale_bench.ablation import ABLATION_FUNCTIONS, DEFAULT, VARIANTS, beside_the_default, contender_name, is_variant
from dale_bench.commands.output import listed, say_what_failed, show
from dale_bench.commands.problems import add_parser as add_problems_parser
from dale_bench.commands.scale import add_parser as add_scale_parser
from dale_bench.commands.speed import add_parser as add_speed_parser
from dale_bench.commands.workers import add_parser as add_workers_parser
from dale_bench.contenders import CONTENDERS, is_ours
from dale_bench.functions import GROUPS, get, names

if TYPE_CHECKING:
    from dale_bench.rows import Row

DEFAULT_METHODS = "default,ei_ml,cobyqa,random"
QUICK = {"functions": "quad2,rosen2,branin,hart3,hart6,exp5", "seeds": "4"}  # some minutes on two cores
ROWS = Path("bench-output/rows.jsonl")
NAMES_OR_GROUPS = f"names or groups with commas; groups: {', '.join(GROUPS)}"


def add_parser(commands: Any) -> None:
    """Describe the command's arguments."""
    parser = commands.add_parser("bench", help="compare methods on test functions", description=__doc__)
    parser.set_defaults(run=lambda _: quick_look(ROWS))
    kinds = parser.add_subparsers(title="what to do (without one: a quick look at the paper's functions)", metavar="")

    kind = kinds.add_parser("list", help="known functions, methods and peers")
    kind.set_defaults(run=show_list)

    kind = kinds.add_parser("run", help="run what is missing; stopped and started again it goes on")
    _add_runs(kind, functions="paper", default="paper")
    kind.add_argument("--variant", default="", help="moved, rotated or moved:rotated, for all functions")
    kind.add_argument("--methods", default=DEFAULT_METHODS, help="names with commas, or: ours, peers, all")
    kind.set_defaults(run=run_missing)

    kind = kinds.add_parser("compare", help="tables and figures of runs")
    kind.add_argument("rows", type=Path, nargs="*", default=[ROWS], help="files that `dale bench run` wrote")
    kind.add_argument("--curves", type=Path, help="a folder of ready curves of others, one JSON file a function")
    kind.add_argument("--methods", default="all", help="names with commas")
    kind.add_argument("--functions", default="all", help=f"{NAMES_OR_GROUPS} (default: all with runs)")
    kind.add_argument("--method", default="default", help="the one that is held against the others")
    kind.add_argument("--format", choices=["text", "markdown", "csv"], default="text")
    kind.add_argument("--out", type=Path, help="a folder for figures")
    kind.set_defaults(run=compare)

    kind = kinds.add_parser("ablation", help="what each part of the default method is worth; runs what is missing")
    _add_runs(kind, functions=",".join(ABLATION_FUNCTIONS), default=f"{len(ABLATION_FUNCTIONS)} of all kinds")
    kind.add_argument("--only", default=",".join(VARIANTS), help="variants, with commas (default: %(default)s)")
    kind.add_argument("--format", choices=["text", "markdown"], default="text")
    kind.set_defaults(run=ablation)

    kind = kinds.add_parser("paper", help="the figures of the paper's Section 4 from fresh runs, with verdicts")
    kind.add_argument("--quick", action="store_true", help="few runs: minutes instead of hours")
    kind.add_argument("--out", type=Path, default=Path("bench-output/paper"), help="where figures and page go")
    kind.add_argument("--rows", type=Path, help="where runs are kept (default: in the same folder)")
    kind.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    kind.add_argument("--only-draw", action="store_true", help="draw what there is, run nothing")
    kind.set_defaults(run=paper)

    add_speed_parser(kinds)
    add_scale_parser(kinds)
    add_workers_parser(kinds)
    add_problems_parser(kinds)


def show_list(_: argparse.Namespace) -> int:
    """Print what is known."""
    print("functions (append :moved, :rotated or :moved:rotated)")
    for name in names():
        function = get(name)
        print(f"  {name:18s} d={function.dimension:<3d} budget {function.budget:<4d} {function.formula}")
    print("groups of functions")
    for group, members in GROUPS.items():
        print(f"  {group:18s} {', '.join(members)}")
    print("methods and peers")
    for contender in CONTENDERS.values():
        missing = f"  (not installed: {', '.join(contender.missing)})" if contender.missing else ""
        print(f"  {contender.name:18s} {contender.label}{missing}")
    return 0


def run_missing(args: argparse.Namespace) -> int:
    """Run, and say where the rows are."""
    functions = _functions(args.functions)
    if args.variant:
        functions = [f"{name}:{args.variant}" for name in functions]
    _rows(args, functions, _methods(args.methods))
    print(f"compare them with: dale bench compare {args.rows}")
    return 0


def compare(args: argparse.Namespace) -> int:
    """Print tables, write figures."""
    from dale_bench import tables
    from dale_bench.rows import curves_of, merged, read, ready_curves

    for path in args.rows:
        if not path.exists():
            raise ValueError(f"there is no file {path}; make runs first: dale bench run --rows {path}")
    curves = merged(*(curves_of(read(path)) for path in args.rows))
    if args.curves:
        ready = ready_curves(args.curves)
        curves = merged(curves, {f: by for f, by in ready.items() if f in curves})
    comparison = _comparison(curves, args.functions, args.methods)
    methods = comparison.methods
    show(args, "Median log10 regret ± bootstrap error", tables.cells_table(comparison, methods))
    show(args, "All functions together", tables.summary_table(comparison, methods))
    if args.method in methods:
        table = tables.envelope_table(comparison, args.method)
        remarks = tables.envelope_remarks(comparison, args.method)
        show(args, f"{args.method} beside the best peer of each cell", table, remarks)
        table = tables.significance_table(comparison, args.method, [m for m in methods if m != args.method])
        show(args, f"{args.method} against each: Wilcoxon over functions", table)
    if any(not comparison.takes_part(f, m) for f in comparison.functions for m in comparison.curves[f]):
        print("\n* evaluates the box center early, where this function has its minimum: in no rank and no envelope")
    if args.out:
        from dale_bench.figures import write_comparison

        for path in write_comparison(comparison, args.out):
            print(f"wrote {path}")
    return 0


def ablation(args: argparse.Namespace) -> int:
    """Run the default and its variants, and print what the changes cost."""
    from dale_bench import tables

    variants = listed(args.only)
    unknown = [v for v in variants if v not in VARIANTS]
    if unknown or not variants:
        raise ValueError(f"--only takes variants of the default, got {args.only!r}; there are: {', '.join(VARIANTS)}")
    rows = _rows(args, _functions(args.functions), [DEFAULT, *(contender_name(v) for v in variants)])
    table = tables.ablation_table({v: beside_the_default(rows, v) for v in variants})
    if not table[1]:
        raise ValueError("there is nothing to compare: no function has runs of the default and a variant")
    show(args, "Variants against the default: mean difference of the medians, decades", table, tables.ABLATION_REMARKS)
    return 0


def paper(args: argparse.Namespace) -> int:
    """Draw the paper's figures again."""
    from dale_bench.paper import reproduce

    page = reproduce(args.out, rows=args.rows, quick=args.quick, processes=args.jobs, only_draw=args.only_draw)
    print(f"wrote {page}")
    return 0


def quick_look(rows: Path) -> int:
    """Some functions, few seeds."""
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    arguments = ["bench", "run", "--functions", QUICK["functions"], "--seeds", QUICK["seeds"], "--rows", str(rows)]
    for words in (arguments, ["bench", "compare", str(rows)]):
        args = parser.parse_args(words)
        args.run(args)
    return 0


def _add_runs(kind: argparse.ArgumentParser, *, functions: str, default: str) -> None:
    """Describe the arguments that say what to run; `default` is how the help calls the functions."""
    kind.add_argument("--functions", default=functions, help=f"{NAMES_OR_GROUPS}, all (default: {default})")
    kind.add_argument("--seeds", type=int, default=16, help="how many runs of each, with seeds 0, 1, ... (default 16)")
    kind.add_argument("--budget", type=int, help="evaluations of each run (default: the function's own)")
    kind.add_argument("--rows", type=Path, default=ROWS, help=f"where runs are kept (default {ROWS})")
    kind.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")


def _rows(args: argparse.Namespace, functions: Sequence[str], methods: Sequence[str]) -> list[Row]:
    """Run what is missing, say what failed and where the rows are, and return them."""
    from dale_bench.runner import jobs_for, run_all

    if args.seeds < 1:
        raise ValueError(f"--seeds must be at least 1, got {args.seeds}")
    jobs = jobs_for(functions, methods, range(args.seeds), args.budget)
    rows = run_all(jobs, args.rows, processes=args.jobs)
    say_what_failed(rows)
    print(f"{len(rows)} of {len(jobs)} runs in {args.rows}")
    return rows


def _comparison(curves: Any, functions: str, methods: str) -> Any:
    from dale_bench.comparison import Comparison

    if functions != "all":
        wanted = _functions(functions)
        absent = [f for f in wanted if f not in curves]
        if absent:
            raise ValueError(f"no runs on {', '.join(absent)}; there are runs on {', '.join(curves)}")
        curves = {f: curves[f] for f in wanted}
    everyone = dict.fromkeys(m for by in curves.values() for m in by)
    present = [m for m in everyone if not is_variant(m)] if methods == "all" else listed(methods)
    curves = {f: {m: by[m] for m in present if m in by} for f, by in curves.items()}
    curves = {f: by for f, by in curves.items() if by}
    if not curves:
        raise ValueError("there is nothing to compare: no run without an error")
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
    return list(dict.fromkeys(name for word in listed(text) for name in groups.get(word, (word,))))


def _methods(text: str) -> list[str]:
    groups = {
        "ours": [c for c in CONTENDERS if is_ours(c)],
        "peers": [c for c in CONTENDERS if not is_ours(c)],
        "all": list(CONTENDERS),
    }
    return groups.get(text) or listed(text)
