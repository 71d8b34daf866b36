"""The documentation site builds without warnings, is complete, and needs no other host."""

import ast
import importlib
import os
import re
import shutil
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import dale

ROOT = Path(__file__).parents[1]
NEEDED = ("sphinx", "myst_nb", "pydata_sphinx_theme", "sphinx_copybutton", "sphinx_design", "sphinx_gallery")
MADE = ("_build", "auto_gallery", "generated", "backreferences", "__pycache__", "*-output", "*.jsonl")
MODULES = (
    "dale",
    "dale.methods",
    "dale.methods.length_scale",
    "dale.acquisition",
    "dale.models",
    "dale.models.kernels",
    "dale.plot",
    "dale.view",
)
LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "link": "href"}

missing = [name for name in NEEDED if find_spec(name) is None]
needs_sphinx = pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)}: pip install '.[docs]'")


class Page(HTMLParser):
    """What a page links to, what it loads, and its anchors."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.anchors, self.images = [], [], set(), []
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag, attrs):
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if LOADING.get(tag) in values:
            self.loaded.append(values[LOADING[tag]])
        if tag == "img":
            self.images.append(values.get("src", ""))


def read(site):
    """All pages of a site by their path; the theme's own files are no pages."""
    return {path: Page(path) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts}


def broken_links(pages):
    """Links and files on the same host that do not exist."""
    broken = []
    for path, page in pages.items():
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path.parent / unquote(parts.path) if parts.path else path
            target = Path(os.path.normpath(target))
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].anchors):
                broken.append(f"{path.name}: {link}")
    return broken


def other_hosts(site, pages):
    """What pages and style sheets load from other hosts."""
    found = [f"{path.name}: {url}" for path, page in pages.items() for url in page.loaded if urlsplit(url).netloc]
    for path in site.rglob("*.css"):
        urls = re.findall(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s]+)", path.read_text(encoding="utf-8"))
        found += [f"{path.name}: {url}" for url in urls]
    return found


def documented(site):
    """The names in the inventory of a site."""
    data = (site / "objects.inv").read_bytes()
    lines = zlib.decompress(data.split(b"\n", 4)[4]).decode("utf-8").splitlines()
    return {line.split(" py:")[0] for line in lines if " py:" in line}


def public_names():
    """All names in the lists of public names, and those of the integrations, most of which have no list."""
    for name in MODULES:
        module = dale.plot if name == "dale.plot" else importlib.import_module(name)
        yield from (f"{name}.{member}" for member in module.__all__ if member != "__version__")
    for path in sorted((ROOT / "src" / "dale" / "integrations").glob("[a-z]*.py")):
        nodes = ast.parse(path.read_text(encoding="utf-8")).body
        names = [node.name for node in nodes if isinstance(node, ast.ClassDef | ast.FunctionDef)]
        yield from (f"dale.integrations.{path.stem}.{name}" for name in names if not name.startswith("_"))
    yield "dale.integrations.optuna.DaleSampler"


def undocumented(names):
    """Public names that are not among the given ones, neither there nor, as the same object, in ``dale`` itself."""
    short = {f"dale.{name}" for name in dale.__all__} & names
    return [name for name in public_names() if name not in names and f"dale.{name.split('.')[-1]}" not in short]


def built(directory, examples):
    """Build the site from a copy of the repository, so that nothing is left over from earlier builds."""
    shutil.copytree(ROOT, directory, ignore=shutil.ignore_patterns(".*", *MADE), dirs_exist_ok=True)
    site = directory / "docs" / "_build" / "html"
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", directory / "docs", site]
    settings = () if examples else ("plot_gallery=0", "nb_execution_mode=off", "suppress_warnings=myst-nb.lexer")
    command += [word for setting in settings for word in ("-D", setting)]
    environment = {**os.environ, "PYTHONPATH": str(directory / "src")}  # lines of the copy, not of an edited original
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert result.returncode == 0, result.stderr
    return site


@needs_sphinx
@pytest.mark.parametrize("examples", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_site(tmp_path, examples):
    """With and without its examples run. One test: each worker of pytest-xdist would build a site of its own."""
    site = built(tmp_path, examples)
    pages = read(site)
    assert len(pages) > 150
    assert broken_links(pages) == []
    assert other_hosts(site, pages) == []

    assert undocumented(documented(site)) == []
    if examples:
        every_example_has_run(site, pages)


def every_example_has_run(site, pages):
    """Each has a picture on its page and in the gallery; each tutorial has outputs."""
    examples = sorted((ROOT / "docs" / "gallery").glob("*/plot_*.py"))
    assert len(examples) >= 10
    for path in examples:
        page = pages[site / "auto_gallery" / path.parent.name / f"{path.stem}.html"]
        assert any(f"sphx_glr_{path.stem}_0" in image for image in page.images), f"{path.stem} has no picture"
        assert "Traceback" not in page.text
    shown = pages[site / "auto_gallery" / "index.html"].images
    assert [p.stem for p in examples if not any(f"sphx_glr_{p.stem}_thumb" in image for image in shown)] == []

    notebooks = sorted(path.stem for path in (ROOT / "docs" / "tutorials").glob("*.md") if path.stem != "index")
    assert len(notebooks) >= 2
    for name in notebooks:
        assert pages[site / "tutorials" / f"{name}.html"].text.count("cell_output") >= 5


def test_the_checks_see_what_they_check(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#here">x</a><a href="#gone">x</a><a href="c.html">x</a>')
    (tmp_path / "b.html").write_text(
        '<p id="here"></p><script src="https://example.org/x.js"></script><img src="no.png">'
    )
    (tmp_path / "c.css").write_text('@import "//example.org/font.css"; a { background: url(local.png) }')
    pages = read(tmp_path)
    assert broken_links(pages) == ["a.html: #gone", "a.html: c.html", "b.html: no.png"]
    assert other_hosts(tmp_path, pages) == ["b.html: https://example.org/x.js", "c.css: //example.org/font.css"]
    assert {"dale.minimize", "dale.plot.slice", "dale.integrations.ray.DaleSearch"} <= set(public_names())
    assert undocumented(set(public_names()) - {"dale.minimize", "dale.integrations.scipy.scipy_method"}) == [
        "dale.minimize"
    ]
