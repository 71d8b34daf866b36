"""``dale plot``: draw a plot of a store into a file, also during a run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dale.view.plot.kinds import KINDS, plot_of_kind
from dale.view.style import THEMES, save

NAMES = [kind.replace("_", "-") for kind in KINDS]
WITH_PARAMS = ("slice", "contour", "corner", "parallel")


def add_parser(subparsers: Any) -> None:
    """Add the options of ``dale plot``."""
    parser = subparsers.add_parser(
        "plot",
        help="draw a plot of a store into a file",
        description="Draw a plot of a store into a file, also during a run. Needs pip install 'dale[plot]'.",
    )
    parser.add_argument("store", help="file that the run is stored in")
    parser.add_argument("kind", nargs="?", default="convergence", metavar="KIND", help=f"one of {', '.join(NAMES)}")
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write: .png, .svg or .pdf (KIND.png)")
    parser.add_argument("--params", metavar="A,B", help=f"parameters to show; for {', '.join(WITH_PARAMS)}")
    parser.add_argument("--style", choices=list(THEMES), default="light", help="colours (%(default)s)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Draw the plot."""
    options: dict[str, Any] = {"style": args.style}
    kind = args.kind.replace("_", "-")
    if kind not in NAMES:
        raise ValueError(f"KIND: expected one of {', '.join(NAMES)}, got {args.kind}")
    if args.params is not None:
        if kind not in WITH_PARAMS:
            raise ValueError(f"--params: expected with one of {', '.join(WITH_PARAMS)}, got {kind}")
        options["params"] = args.params.split(",")
    output = Path(args.output or f"{kind}.png")
    save(plot_of_kind(args.store, kind, **options), output)
    print(f"wrote {output}")
    return 0
