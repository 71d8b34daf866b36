"""The page as one HTML file: data, styles and scripts inside, nothing from anywhere else.

All data are in one ``<script type="application/json">``, as ASCII without ``<``, ``>`` and ``&``, so that no text of a
run can end the script. The scripts of the page build the document with ``textContent`` only. The policy of the page
permits its own two scripts and its style by their hashes and forbids everything else: other scripts, inline handlers,
every request, and (Trusted Types) every conversion of text to HTML.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
import time
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from dale.view.report.content import content_of
from dale.view.run_view import RunView, view_of

STYLES = ("page.css", "charts.css")
SCRIPTS = (  # one scope, in this order
    "core.js", "state.js", "chart.js", "points.js", "convergence.js", "plane.js", "lines.js", "parallel.js",
    "predictions.js", "course.js", "importance.js", "minima.js", "summary.js", "table.js", "main.js",
)  # fmt: skip
SQLITE = b"SQLite format 3\x00"  # what every store begins with
ESCAPES = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}
TITLE, OBJECTIVE = "Run of dale", "objective"


def report(
    run: Any, path: str | os.PathLike[str], space: Any = None, *, title: str | None = None, objective: str = OBJECTIVE
) -> Path:
    """Write one self-contained HTML page of a run: a summary, interactive charts and a table of all trials.

    The page needs no network and no server. An existing file is replaced atomically.

    Args:
        run: A result, an optimizer, a stored run or the path of a store, also during the run.
        path: The file to write; its directory is created.
        space: Search space; needed only for a result that does not know it.
        title: Title of the page.
        objective: Label of the objective, with its unit.

    Returns:
        The path of the file.

    Examples:
        >>> import dale
        >>> result = dale.minimize(lambda x: (x[0] - 1) ** 2, [(-2, 2)], budget=8, seed=0)
        >>> dale.report(result, "parabola.html").name
        'parabola.html'
    """
    view = view_of(run, space)
    target = check_path(path, None if view.run is None else view.run.path)
    write(html_of(view, title=title, objective=objective), target)
    return Path(path)


def html_of(
    view: RunView,
    *,
    title: str | None = None,
    objective: str = OBJECTIVE,
    live: bool = False,
    budget: int | None = None,
    message: str | None = None,
) -> bytes:
    """The page.

    Args:
        view: The run.
        title: Title of the page.
        objective: Label of the objective.
        live: Whether the run is in progress and the file is written again: the page then reloads itself.
        budget: Number of evaluations of the run, if known.
        message: How the run ended, if its result does not say so.
    """
    name = title or (TITLE if view.run is None else view.run.path.name)
    content = content_of(view, title=name, objective=objective, live=live, budget=budget, message=message)
    content["written"] = round(1000 * time.time())
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":")).translate(ESCAPES)
    before, after = _frame()
    return before + text.encode("ascii") + after


def check_path(path: str | os.PathLike[str], store: str | os.PathLike[str] | None = None) -> Path:
    """The file that a path means, links followed.

    Raises:
        TypeError: If it is no path.
        ValueError: If it is a directory or a device, or a store, which a page must not replace.
    """
    if not isinstance(path, str | os.PathLike) or isinstance(os.fspath(path), bytes):
        raise TypeError(f'report: expected the path of a file, such as "run.html", got {path!r}')
    target = Path(os.path.realpath(path))
    if not os.fspath(path) or (target.exists() and not target.is_file()):
        raise ValueError(f'report: expected the path of a file, such as "run.html", got {os.fspath(path)!r}')
    if (store is not None and target == Path(os.path.realpath(store))) or _is_store(target):
        raise ValueError(f"report: expected a path other than that of a store, got {os.fspath(path)!r}")
    return target


def _is_store(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(SQLITE)) == SQLITE


def write(page: bytes, target: Path) -> None:
    """Write a file so that a reader sees the old content or the new one, never a part."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".dale-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(page)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


@cache
def _frame() -> tuple[bytes, bytes]:
    """The page before and after its data."""
    assets = files("dale.view.report") / "assets"

    def text(name: str) -> str:
        return (assets / name).read_text(encoding="utf-8")

    style = "\n".join(text(name) for name in STYLES)
    library = f"/*\n{text('vendor/d3.LICENSE')}*/\n{text('vendor/d3.min.js')}"
    program = '"use strict";\n{\n' + "\n".join(text(f"js/{name}") for name in SCRIPTS) + "\n}\n"
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hash(library)} {_hash(program)}",
            f"style-src {_hash(style)}",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )
    parts = {"POLICY": policy, "STYLE": style, "LIBRARY": library, "PROGRAM": program}
    page = text("page.html")
    for name, part in parts.items():
        page = page.replace(f"%{name}%", part, 1)
    before, after = page.split("%DATA%")
    return before.encode(), after.encode()


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
