"""The documentation is correct: names and link targets exist, examples run, all public names are described."""

import ast
import contextlib
import importlib
import io
import re
from pathlib import Path

import pytest

import dale
from dale.cli.main import ENTRY_POINTS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("**/*.md"))]
PAPER = ROOT / "docs" / "paper.md"
README = ROOT / "README.md"
EVALUATIONS, REPETITIONS = 10, 2  # in an example that is run as a test

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


def named_tests(page):
    """Return (path, names) of everything of the form tests/some/test_file.py::Class::test."""
    found = re.findall(r"((?:benchmarks/)?tests/[\w/]+\.py)((?:::\w+)*)", page.read_text(encoding="utf-8"))
    return [(path, tuple(names.split("::")[1:])) for path, names in found]


def defined_in(path):
    """Return all functions and classes of a file, methods as (class, function)."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add((node.name,))
        if isinstance(node, ast.ClassDef):
            names |= {(node.name, inner.name) for inner in node.body if isinstance(inner, ast.FunctionDef)}
    return names


def resolve(dotted):
    """Return the module, function, class or attribute with a dotted name."""
    first, *rest = dotted.split(".")
    thing, path = importlib.import_module(first), first
    for name in rest:
        path = f"{path}.{name}"
        thing = getattr(thing, name) if hasattr(thing, name) else importlib.import_module(path)
    return thing


@each_page
def test_the_tests_it_names_exist(page):
    missing = [
        "::".join([path, *names])
        for path, names in named_tests(page)
        if not (ROOT / path).is_file() or (names and names not in defined_in(ROOT / path))
    ]
    assert missing == []


@each_page
def test_the_code_it_names_exists(page):
    missing = []
    for dotted in re.findall(r"`(dale(?:\.\w+)+)(?:\([^`]*\))?`", page.read_text(encoding="utf-8")):
        if dotted == ENTRY_POINTS:
            continue
        try:
            resolve(dotted)
        except (AttributeError, ImportError) as error:
            if "pip install 'dale[" not in str(error):  # an extra that is not installed
                missing.append(dotted)
    assert missing == []


def test_the_guards_see_what_they_guard():
    named = named_tests(PAPER)
    assert len(named) > 80
    assert ("tests/methods/test_region_identification.py", ("TestStatus", "test_region")) in named
    assert ("test_the_guards_see_what_they_guard",) in defined_in(Path(__file__))
    assert resolve("dale.models.gaussian_process.GaussianProcess.predict") is dale.models.GaussianProcess.predict
    with pytest.raises(ImportError):
        resolve("dale.nothing")


def test_every_departure_that_is_tested_is_described():
    path = "tests/methods/test_departures.py"
    described = {names for named, names in named_tests(PAPER) if named == path}
    tested = {names for names in defined_in(ROOT / path) if names[-1].startswith("test_")}
    assert tested - described == set()


def public_names():
    return [
        *(f"dale.{name}" for name in dale.__all__ if name != "__version__"),
        *(f"dale.methods.{name}" for name in dale.methods.__all__),
        *(f"dale.plot.{name}" for name in dale.plot.__all__),
    ]


def test_every_public_name_is_described():
    described = set()
    for page in [README, *(ROOT / "docs").glob("*.md")]:
        text = page.read_text(encoding="utf-8")
        described |= set(re.findall(r"\bdale(?:\.\w+)+", text))
        if page.name == "usage.md":
            table = re.findall(r"^\| `(\w+)\(.*?\)` \|", text, re.MULTILINE)  # of the methods
            described |= {f"dale.methods.{name}" for name in table}
    assert [name for name in public_names() if name not in described] == []


def anchors(page):
    """Return the anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_page
def test_its_link_targets_exist(page):
    broken = []
    for link, anchor in re.findall(r"\]\(([^)\s#]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8")):
        if link.startswith(("http://", "https://")):
            continue
        target = page.parent / link if link else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(f"{link}#{anchor}")
    assert broken == []


def examples():
    for page in PAGES:
        for match in re.finditer(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            line = page.read_text(encoding="utf-8")[: match.start()].count("\n") + 1
            yield pytest.param(match.group(1), id=f"{page.relative_to(ROOT).as_posix()}:{line}")


def shortened(code):
    """Return the code with budgets and repetitions that suit a test."""
    code = re.sub(r"budget=(\d+)", lambda m: f"budget={min(int(m[1]), EVALUATIONS)}", code)
    return re.sub(r"in range\((\d+)\)", lambda m: f"in range({min(int(m[1]), REPETITIONS)})", code)


def quoted_outputs(code):
    """Return what the code says that it prints, after an arrow in a comment."""
    return re.findall(r"#.*?-> (.*)$", code, re.MULTILINE)


def missing_outputs(quoted, printed):
    """Return the outputs that no line has; in an output, ``...`` stands for anything."""
    lines = printed.splitlines()
    patterns = {text: ".*".join(map(re.escape, text.split("..."))) for text in quoted}
    return [text for text, pattern in patterns.items() if not any(re.fullmatch(pattern, line) for line in lines)]


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")  # pytest-xdist has a thread
@pytest.mark.parametrize("code", list(examples()))
def test_the_example_runs(code, tmp_path, monkeypatch):
    """And prints what it says. An example that says nothing about its output is run with small budgets."""
    monkeypatch.chdir(tmp_path)
    quoted, printed = quoted_outputs(code), io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code if quoted else shortened(code), "<example>", "exec"), {"__name__": "__main__"})
    assert missing_outputs(quoted, printed.getvalue()) == []
    assert [
        path.name for path in tmp_path.iterdir() if f'"{path.name}"' not in code
    ] == []  # except files that it names


def test_the_check_of_outputs_sees_stale_ones():
    code = "print(1)  # -> 1\nprint(2)  # the next one -> 2.1...\nprint(3)  # a comment"
    assert quoted_outputs(code) == ["1", "2.1..."]
    assert missing_outputs(["1", "2.1..."], "1\n2.134\n") == []
    assert missing_outputs(["1", "2.1..."], "1\n2.2\n12.1\n") == ["2.1..."]


def test_the_first_example_of_the_readme_prints_what_it_quotes():
    code, quoted = re.search(
        r"```python\n(.*?)```\n\n```text\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL
    ).groups()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "<example>", "exec"), {"__name__": "__main__"})
    assert printed.getvalue().splitlines()[:3] == quoted.splitlines()[:3]  # minima depend on rounding errors


def test_the_readme_explains_how_to_start():
    readme = README.read_text(encoding="utf-8")
    for words in ("make demo", "make test", "pip install .", "dale.minimize(", "dale.Optimizer(", "arXiv:1612.03117"):
        assert words in readme


def test_contributing_is_short():
    assert len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()) < 80


def test_versions_agree():
    changes = re.search(r"^## \[([\d.]+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    citation = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert changes is not None
    assert citation is not None
    assert changes[1] == citation[1] == dale.__version__


def test_the_citation_names_the_paper():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    for words in ("family-names: Wabersich", "given-names: Kim Peter", "family-names: Toussaint", "1612.03117"):
        assert words in citation
