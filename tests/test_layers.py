"""The source itself: layers import downwards only, the core needs numpy and scipy, and nothing runs foreign code."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import dale

ROOT = Path(dale.__file__).parent

# Each line may import from the lines above it. What stands on one line is independent of its neighbours.
LAYERS = [
    {"arrays", "errors", "threads"},
    {"trial", "beliefs", "descent", "constrained"},
    {"space", "regions", "values"},
    {"kernels"},
    {"gp"},
    {"acquisition", "search", "design", "seeding"},
    {"climb"},
    {"length_scale"},
    {"methods", "store"},
    {"minima", "untried"},
    {"optimizer", "progress"},
    {"evaluate"},
    {"minimize", "run"},
    {"__init__"},
    {"view", "integrations"},
    {"bench"},
    {"cli"},
    {"__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
BESIDE_THE_CORE = {"view", "bench", "cli", "integrations", "__main__"}


def layer_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def each(paths):
    return pytest.mark.parametrize("path", paths, ids=lambda path: path.relative_to(ROOT).as_posix())


SOURCES = sorted(ROOT.rglob("*.py"))
each_source = each(SOURCES)
each_of_the_core = each([path for path in SOURCES if layer_of(path) not in BESIDE_THE_CORE])


def imported(path):
    """(line, module) of every import in a file, those inside functions included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            if node.module == "dale":  # `from dale import x`: x may be a module or a public name
                for alias in node.names:
                    yield node.lineno, f"dale.{alias.name}" if alias.name in LEVEL else "dale"
            else:
                yield node.lineno, node.module


def layer_named(module):
    return module.split(".")[1] if "." in module else "__init__"


def upward_imports(layer, modules):
    """The imports that break the rule, among (line, module)."""
    return [
        (line, module)
        for line, module in modules
        if module.split(".")[0] == "dale"
        and layer_named(module) != layer
        and not LEVEL[layer_named(module)] < LEVEL[layer]
    ]


@each_source
def test_every_module_has_a_layer(path):
    assert layer_of(path) in LEVEL, f"{path.name} is in no layer: put it into LAYERS"


@each_source
def test_layers_import_downwards_only(path):
    assert upward_imports(layer_of(path), imported(path)) == []


@each_of_the_core
def test_the_core_needs_numpy_and_scipy_only(path):
    allowed = sys.stdlib_module_names | {"numpy", "scipy", "threadpoolctl", "tqdm", "dale"}
    foreign = [(line, module) for line, module in imported(path) if module.split(".")[0] not in allowed]
    assert foreign == []


FORBIDDEN_MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "code"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_ATTRIBUTES = {("os", "system"), ("os", "popen"), ("yaml", "load"), ("np", "load"), ("numpy", "load")}


def unsafe(tree):
    """Everything in a syntax tree that could run code from data."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = {alias.name.split(".")[0] for alias in node.names}
            yield from (f"line {node.lineno}: import {name}" for name in names & FORBIDDEN_MODULES)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in FORBIDDEN_MODULES:
            yield f"line {node.lineno}: from {node.module} import"
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_CALLS:
                yield f"line {node.lineno}: {node.func.id}()"
            for keyword in node.keywords:
                if keyword.arg in ("shell", "allow_pickle") and not (
                    isinstance(keyword.value, ast.Constant) and keyword.value.value is False
                ):
                    yield f"line {node.lineno}: {keyword.arg}="
        elif isinstance(node, ast.Attribute) and (ast.unparse(node.value), node.attr) in FORBIDDEN_ATTRIBUTES:
            yield f"line {node.lineno}: {ast.unparse(node)}"


@each_source
def test_nothing_runs_code_from_data(path):
    assert list(unsafe(ast.parse(path.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "def f():\n    from pickle import loads",
        "eval('1')",
        "exec(text)",
        "subprocess.run(line, shell=True)",
        "subprocess.run(line, shell=flag)",
        "yaml.load(text)",
        "os.system('ls')",
        "np.load(path, allow_pickle=True)",
    ],
)
def test_the_guard_sees_what_it_guards_against(text):
    assert list(unsafe(ast.parse(text)))


def test_the_guard_lets_the_harmless_pass():
    text = "re.compile('x')\nsubprocess.run(['ls'], shell=False)\nmodel.eval()\njson.load(f)"
    assert list(unsafe(ast.parse(text))) == []


def test_the_rule_sees_what_it_guards_against():
    assert upward_imports("kernels", [(1, "dale.gp.posterior")])
    assert upward_imports("search", [(1, "dale.design")])  # one line: independent
    assert upward_imports("gp", [(1, "dale")])
    assert not upward_imports("gp", [(1, "dale.kernels"), (2, "dale.gp.cholesky"), (3, "numpy")])


def test_importing_dale_imports_nothing_foreign():
    code = (
        "import sys; before = set(sys.modules); import dale; "
        "print(*{name.split('.')[0] for name in set(sys.modules) - before})"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    foreign = {
        name
        for name in printed.split()
        if name not in sys.stdlib_module_names | {"dale", "numpy", "scipy"}
        and not name.startswith(("_", "cython_runtime"))  # parts of the compiled modules of numpy and scipy
    }
    assert foreign == set()
