"""Links from pages to other files of the repository, such as ``../src/dale/minimize.py``.

On a code host these links show the file. Here each file gets a page with its highlighted text, so that the site is
complete without a host. A link to a Markdown file leads to the page that includes it, and a link to a directory becomes
plain text. The entries of the API reference link to the line of their definition.
"""

import inspect
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments.lexers import get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

PREFIX = "repository/"  # of the names of these pages
INCLUDED = {"benchmarks/results/paper/README.md": "paper_results.md"}
LINK = re.compile(r"\[([^\[\]]+)\]\(([^():#\s]+)(#[^()\s]*)?\)")


def rewrite_links(app: Sphinx, docname: str, source: list[str]) -> None:
    """Adapt the links of a page: to directories, to Markdown files that another page includes, and with file names."""
    root, folder = Path(app.srcdir).parent, (Path(app.srcdir) / docname).parent

    def rewritten(match: re.Match[str]) -> str:
        text, target, anchor = match.groups(default="")
        path = _path(folder, target)
        if path.is_dir():
            return text
        if text == target:
            return f"[]({target}{anchor})"  # the title of the page instead of its file
        page = INCLUDED.get(path.relative_to(root).as_posix()) if path.is_relative_to(root) else None
        return match[0] if page is None else f"[{text}](/{page}{anchor})"

    source[0] = LINK.sub(rewritten, source[0])


def link_files(app: Sphinx, doctree: nodes.document) -> None:
    """Turn what MyST makes of a link to a file, a download, into a link to the page of the file."""
    root, docname = Path(app.srcdir).parent, app.env.docname
    for node in list(doctree.findall(addnodes.download_reference)):
        target = node["reftarget"]
        folder = Path(app.srcdir) if target.startswith("/") else (Path(app.srcdir) / docname).parent
        path = _path(folder, target.lstrip("/"))
        if not path.is_relative_to(root) or path.is_relative_to(app.srcdir):
            continue
        name = path.relative_to(root).as_posix()
        _files(app.env).setdefault(docname, set()).add(name)
        uri = app.builder.get_relative_uri(docname, PREFIX + name)
        node.replace_self(nodes.reference("", "", *node.children, refuri=uri, internal=True))


def link_definitions(app: Sphinx, doctree: nodes.document) -> None:
    """Add links to the source to the functions and classes of the API reference."""
    root, docname = Path(app.srcdir).parent, app.env.docname
    for signature in doctree.findall(addnodes.desc_signature):
        found = _definition(signature.get("module"), signature.get("fullname"))
        if found is None or not (root / found[0]).is_file():
            continue
        name, line = found
        _files(app.env).setdefault(docname, set()).add(name)
        uri = f"{app.builder.get_relative_uri(docname, PREFIX + name)}#L-{line}"
        label = nodes.inline("", "[source]", classes=["viewcode-link"])  # the theme's name for it
        signature += nodes.reference("", "", label, refuri=uri, internal=True)


def pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the page of each file that another page links to."""
    root = Path(app.srcdir).parent
    for name in sorted(set().union(*_files(app.env).values())):
        text = (root / name).read_text(encoding="utf-8")
        try:
            language = get_lexer_for_filename(name).aliases[0]
        except ClassNotFound:
            language = "text"
        html = app.builder.highlighter.highlight_block(text, language, lineanchors="L")  # type: ignore[attr-defined]
        yield PREFIX + name, {"title": name, "body": f"<h1><code>{name}</code></h1>\n{html}"}, "page.html"


def forget(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """Forget the links of a page that is read again."""
    _files(env).pop(docname, None)


def _definition(module: str | None, fullname: str | None) -> tuple[str, int] | None:
    """The file of a public name, from the root of the repository, and its line."""
    thing: Any = sys.modules.get(module or "")
    for part in (fullname or "").split("."):
        thing = getattr(thing, part, None)
    thing = getattr(thing, "fget", getattr(thing, "func", thing))  # of a property
    try:
        source = inspect.getsourcefile(thing)
        line = inspect.getsourcelines(thing)[1]
    except (TypeError, OSError):
        return None
    head, _, tail = Path(source or "").as_posix().rpartition("/src/dale/")
    return (f"src/dale/{tail}", line) if head else None


def _path(folder: Path, target: str) -> Path:
    return Path(os.path.normpath(folder / target))  # a symbolic link is not followed


def _files(env: BuildEnvironment) -> dict[str, set[str]]:
    if not hasattr(env, "repository_files"):
        env.repository_files = {}  # type: ignore[attr-defined]
    return env.repository_files  # type: ignore[attr-defined, no-any-return]


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to the events of a build."""
    app.connect("source-read", rewrite_links)
    app.connect("env-purge-doc", forget)
    app.connect("doctree-read", link_definitions)
    app.connect("doctree-read", link_files, priority=400)  # before Sphinx collects downloads
    app.connect("html-collect-pages", pages)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
