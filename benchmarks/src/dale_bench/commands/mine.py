"""``dale bench mine``: dale and its peers on a function of the user."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dale.space.constraints import as_constraints
from dale.space.space import Space
from dale_bench.commands.options import add_format, check_positive
from dale_bench.commands.output import show, split_names
from dale_bench.mine.contenders import own_contender, why_not
from dale_bench.mine.objective import fingerprint
from dale_bench.mine.runs import Job, n_outdated, run_missing
from dale_bench.peers import OURS

DIRECTORY = Path("bench-output/mine")
METHODS = "default,tpe,cobyqa,random"


def add_parser(kinds: Any) -> None:
    """Describe the command's arguments."""
    kind = kinds.add_parser(
        "mine",
        help="compare dale with its peers on your own function",
        description="Run dale and its peers on your own function with several seeds: a table and a figure of the best "
        "value so far. Re-run the same command to resume.",
    )
    kind.add_argument("function", metavar="MODULE:NAME", help="what dale.minimize would get, such as simulation:cost")
    kind.add_argument("--space", required=True, metavar="FILE", help="TOML file with the parameters, as for dale run")
    kind.add_argument("--budget", type=int, required=True, metavar="N", help="evaluations of each run")
    kind.add_argument("--maximize", action="store_true", help="maximise instead")
    kind.add_argument(
        "--methods",
        default=METHODS,
        help="names, separated by commas: those of `dale bench list`, cma_margin, smac, and tpe and gp for Optuna's "
        "(default: %(default)s)",
    )
    kind.add_argument("--seeds", type=int, default=5, metavar="N", help="runs of each, with seeds 0, 1, ... (5)")
    kind.add_argument("--jobs", type=int, default=1, metavar="N", help="number of processes (%(default)s)")
    kind.add_argument("--out", type=Path, default=DIRECTORY, help="directory for the figure (%(default)s)")
    kind.add_argument("--rows", type=Path, metavar="FILE", help="file of the runs (rows.jsonl in that directory)")
    add_format(kind)
    kind.set_defaults(run=mine)


def mine(args: argparse.Namespace) -> int:
    """Make the missing runs, print the table and write the figure."""
    check_positive(args, "budget", "seeds", "jobs")
    space = Space.from_toml(args.space)
    mark = fingerprint(args.function, args.space)
    methods = _supported(split_names(args.methods), space)
    jobs = [
        Job(args.function, args.space, mark, args.maximize, method, seed, args.budget)
        for seed in range(args.seeds)
        for method in methods
    ]
    path = args.rows or args.out / "rows.jsonl"
    outdated = n_outdated(jobs, path)
    if outdated:
        _say(f"{outdated} runs in {path} are not used: the function's module or the space was different")
    runs = run_missing(jobs, path, args.jobs)
    for run in runs:
        if run.error:
            _say(f"failed: {run}: {run.error.splitlines()[0]}")
    print(f"{len(runs)} of {len(jobs)} runs are in {path}")
    if all(run.error for run in runs):
        return 1
    return _report(args, runs)


def _report(args: argparse.Namespace, runs: Sequence[Any]) -> int:
    from dale.view.style import save
    from dale_bench.mine.report import best_values, figure

    part = best_values(runs)
    show(args, part.title, part.table, part.remarks)
    drawn = figure(runs)
    for kind in ("png", "svg"):
        _say(f"wrote {save(drawn, args.out / f'curves.{kind}')}")
    return 0


def _supported(names: Sequence[str], space: Space) -> list[str]:
    """The requested methods that support the space and are installed; a message says why others are left out."""
    constraints = as_constraints(None, space)
    equalities = constraints is not None and constraints.space.equalities is not None
    kept = []
    for contender in [own_contender(name) for name in names]:
        why = why_not(contender.name, space, equalities=equalities)
        if why is None and contender.missing:
            packages = " ".join(name for name in contender.distributions if name not in OURS)
            why = f"not installed: {', '.join(contender.missing)}; run: pip install {packages}"
        if why is None:
            kept.append(contender.name)
        else:
            _say(f"left out: {contender.name}: {why}")
    if not kept:
        raise ValueError(
            f"--methods: expected methods that support the space and are installed, got {','.join(names)!r}"
        )
    return list(dict.fromkeys(kept))


def _say(text: str) -> None:
    print(text, file=sys.stderr)
