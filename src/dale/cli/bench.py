"""``dale bench``: run methods on test functions, compare them, and draw the paper's figures again."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from dale.bench.contenders import CONTENDERS, is_ours
from dale.bench.functions import DEVELOPMENT, PAPER, get, names

DEFAULT_METHODS = "default,ei_ml,cobyqa,random"
QUICK = {"functions": "quad2,rosen2,branin,hart3,hart6,exp5", "seeds": "4"}  # some minutes on two cores
ROWS = Path("bench-output/rows.jsonl")


def add_parser(commands: Any) -> None:
    """Describe the command's arguments."""
    parser = commands.add_parser("bench", help="compare methods on test functions", description=__doc__)
    parser.set_defaults(run=lambda _: quick_look(ROWS))
    kinds = parser.add_subparsers(title="what to do (without one: a quick look at the paper's functions)", metavar="")

    kind = kinds.add_parser("list", help="known functions, methods and peers")
    kind.set_defaults(run=show_list)

    kind = kinds.add_parser("run", help="run what is missing; stopped and started again it goes on")
    kind.add_argument("--functions", default="paper", help="names with commas, or: paper, development, all")
    kind.add_argument("--variant", default="", help="moved, rotated or moved:rotated, for all functions")
    kind.add_argument("--methods", default=DEFAULT_METHODS, help="names with commas, or: ours, peers, all")
    kind.add_argument("--seeds", type=int, default=16, help="how many runs of each, with seeds 0, 1, ... (default 16)")
    kind.add_argument("--budget", type=int, help="evaluations of each run (default: the function's own)")
    kind.add_argument("--rows", type=Path, default=ROWS, help=f"where runs are kept (default {ROWS})")
    kind.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    kind.set_defaults(run=run_missing)

    kind = kinds.add_parser("compare", help="tables and figures of runs")
    kind.add_argument("rows", type=Path, nargs="*", default=[ROWS], help="files that `dale bench run` wrote")
    kind.add_argument("--curves", type=Path, help="a folder of ready curves of others, one JSON file a function")
    kind.add_argument("--methods", default="all", help="names with commas")
    kind.add_argument("--functions", default="all", help="names with commas")
    kind.add_argument("--method", default="default", help="the one that is held against the others")
    kind.add_argument("--format", choices=["text", "markdown", "csv"], default="text")
    kind.add_argument("--out", type=Path, help="a folder for figures")
    kind.set_defaults(run=compare)

    kind = kinds.add_parser("paper", help="the figures of the paper's Section 4 from fresh runs, with verdicts")
    kind.add_argument("--quick", action="store_true", help="few runs: minutes instead of hours")
    kind.add_argument("--out", type=Path, default=Path("bench-output/paper"), help="where figures and page go")
    kind.add_argument("--rows", type=Path, help="where runs are kept (default: in the same folder)")
    kind.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    kind.add_argument("--only-draw", action="store_true", help="draw what there is, run nothing")
    kind.set_defaults(run=paper)


def show_list(_: argparse.Namespace) -> int:
    """Print what is known."""
    print("functions (append :moved, :rotated or :moved:rotated)")
    for name in names():
        function = get(name)
        print(f"  {name:18s} d={function.dimension:<3d} budget {function.budget:<4d} {function.formula}")
    print("methods and peers")
    for contender in CONTENDERS.values():
        missing = f"  (not installed: {', '.join(contender.missing)})" if contender.missing else ""
        print(f"  {contender.name:18s} {contender.label}{missing}")
    return 0


def run_missing(args: argparse.Namespace) -> int:
    """Run, and say where the rows are."""
    from dale.bench.runner import jobs_for, run_all

    if args.seeds < 1:
        raise ValueError(f"--seeds must be at least 1, got {args.seeds}")
    functions = _functions(args.functions)
    if args.variant:
        functions = [f"{name}:{args.variant}" for name in functions]
    jobs = jobs_for(functions, _methods(args.methods), range(args.seeds), args.budget)
    rows = run_all(jobs, args.rows, processes=args.jobs)
    failed = [row for row in rows if row.error]
    for row in failed:
        print(f"failed: {row.method} on {row.function}, seed {row.seed}: {(row.error or '').splitlines()[0]}")
    print(f"{len(rows)} of {len(jobs)} runs in {args.rows}; compare them with: dale bench compare {args.rows}")
    return 0


def compare(args: argparse.Namespace) -> int:
    """Print tables, write figures."""
    from dale.bench import tables
    from dale.bench.rows import curves_of, merged, read, ready_curves

    for path in args.rows:
        if not path.exists():
            raise ValueError(f"there is no file {path}; make runs first: dale bench run --rows {path}")
    curves = merged(*(curves_of(read(path)) for path in args.rows))
    if args.curves:
        ready = ready_curves(args.curves)
        curves = merged(curves, {f: by for f, by in ready.items() if f in curves})
    comparison = _comparison(curves, args.functions, args.methods)
    render = {"text": tables.as_text, "markdown": tables.as_markdown, "csv": tables.as_csv}[args.format]
    parts = [
        ("Median log10 regret ± bootstrap error", tables.cells_table(comparison, comparison.methods)),
        ("All functions together", tables.summary_table(comparison, comparison.methods)),
    ]
    if args.method in comparison.methods:
        rivals = [m for m in comparison.methods if m != args.method]
        parts += [
            (f"{args.method} beside the best peer of each cell", tables.envelope_table(comparison, args.method)),
            (
                f"{args.method} against each: Wilcoxon over functions",
                tables.significance_table(comparison, args.method, rivals),
            ),
        ]
    for title, table in parts:
        if table[1]:
            print({"text": f"\n{title}\n", "markdown": f"\n### {title}\n", "csv": f"# {title}"}[args.format])
            print(render(table))
    if any(not comparison.takes_part(f, m) for f in comparison.functions for m in comparison.curves[f]):
        print("\n* evaluates the box centre early, where this function has its minimum: in no rank and no envelope")
    if args.out:
        from dale.bench.figures import write_comparison

        for path in write_comparison(comparison, args.out):
            print(f"wrote {path}")
    return 0


def paper(args: argparse.Namespace) -> int:
    """Draw the paper's figures again."""
    from dale.bench.paper import reproduce

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


def _comparison(curves: Any, functions: str, methods: str) -> Any:
    from dale.bench.comparison import Comparison

    if functions != "all":
        wanted = _listed(functions)
        absent = [f for f in wanted if f not in curves]
        if absent:
            raise ValueError(f"no runs on {', '.join(absent)}; there are runs on {', '.join(curves)}")
        curves = {f: curves[f] for f in wanted}
    if methods != "all":
        curves = {f: {m: by[m] for m in _listed(methods) if m in by} for f, by in curves.items()}
    if not any(curves.values()):
        raise ValueError("there is nothing to compare: no run without an error")
    present = dict.fromkeys(m for by in curves.values() for m in by)
    return Comparison(
        curves,
        envelope_of=tuple(m for m in present if not is_ours(m)),
        unfair=frozenset((f, m) for f, by in curves.items() for m in by if _unfair(f, m)),
    )


def _unfair(function: str, method: str) -> bool:
    contender = CONTENDERS.get(method)
    return contender is not None and contender.starts_at_centre and get(function, 0).centred


def _functions(text: str) -> list[str]:
    groups = {"paper": PAPER, "development": DEVELOPMENT, "all": (*PAPER, *DEVELOPMENT)}
    return list(groups.get(text) or _listed(text))


def _methods(text: str) -> list[str]:
    groups = {
        "ours": [c for c in CONTENDERS if is_ours(c)],
        "peers": [c for c in CONTENDERS if not is_ours(c)],
        "all": list(CONTENDERS),
    }
    return groups.get(text) or _listed(text)


def _listed(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
