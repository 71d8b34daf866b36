"""The source text: it runs no code from data, the core has few dependencies, and functions and files stay short.

Which module may import which is checked by import-linter (``make lint``); the contracts are in pyproject.toml.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import dale
import dale_bench

DALE, BENCH = Path(dale.__file__).parent, Path(dale_bench.__file__).parent
NOT_CORE = {"view", "cli", "integrations", "__main__.py"}
CORE_DEPENDENCIES = {"numpy", "scipy", "threadpoolctl", "tqdm"}
MAX_LINES, MAX_ARGUMENTS, MAX_FILE_LINES = 50, 8, 400


def name_of(path):
    root = DALE if path.is_relative_to(DALE) else BENCH
    return path.relative_to(root.parent).as_posix()


def is_core(path):
    return path.is_relative_to(DALE) and path.relative_to(DALE).parts[0] not in NOT_CORE


FILES = [path for root in (DALE, BENCH) for path in sorted(root.rglob("*.py"))]
TREES = {name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
CORE = [name_of(path) for path in FILES if is_core(path)]


# --- dependencies ---


def imported(tree):
    """(line, module) of every import in a syntax tree, those inside functions included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, "." * node.level + (node.module or "")


def test_imports_are_absolute():
    assert [(f, m) for f, tree in TREES.items() for _, m in imported(tree) if m.startswith(".")] == []


def test_the_core_needs_few_packages():
    allowed = sys.stdlib_module_names | CORE_DEPENDENCIES | {"dale"}
    assert [(f, m) for f in CORE for _, m in imported(TREES[f]) if m.split(".")[0] not in allowed] == []


def test_importing_dale_imports_no_other_package():
    code = (
        "import sys, scipy.linalg, scipy.optimize; before = set(sys.modules); import dale; "  # numpy.f2py brings others
        "print(*{name.split('.')[0] for name in set(sys.modules) - before})"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    others = {
        name
        for name in printed.split()
        if name not in sys.stdlib_module_names | {"dale", "numpy", "scipy", "threadpoolctl"}
        and not name.startswith(("_", "cython_runtime"))  # parts of the compiled modules of numpy and scipy
    }
    assert others == set()


def type_checking_imports(tree):
    """Lines inside ``if TYPE_CHECKING:`` that import from dale or dale_bench: these hide import cycles."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            body = ast.Module(node.body, [])
            yield from (line for line, module in imported(body) if module.split(".")[0] in ("dale", "dale_bench"))


def test_no_import_is_for_types_only():
    assert {f for f, tree in TREES.items() if list(type_checking_imports(tree))} == set()


def test_the_check_of_imports_sees_what_it_must():
    assert list(imported(ast.parse("def f():\n    from .a import b\nimport c.d"))) == [(3, "c.d"), (2, ".a")]
    assert list(type_checking_imports(ast.parse("if TYPE_CHECKING:\n    from dale.space.space import Space"))) == [2]
    assert list(type_checking_imports(ast.parse("if TYPE_CHECKING:\n    from matplotlib.axes import Axes"))) == []


# --- security ---

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


def test_nothing_runs_code_from_data():
    assert [(f, problem) for f, tree in TREES.items() for problem in unsafe(tree)] == []


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
def test_the_security_check_sees_unsafe_code(text):
    assert list(unsafe(ast.parse(text)))


def test_the_security_check_accepts_harmless_code():
    text = "re.compile('x')\nsubprocess.run(['ls'], shell=False)\nmodel.eval()\njson.load(f)"
    assert list(unsafe(ast.parse(text))) == []


# --- sizes ---


def functions_of(tree):
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def n_lines(function):
    """Lines of the body of a function, without its docstring."""
    first, *others = function.body
    if ast.get_docstring(function) is None:
        return function.end_lineno - first.lineno + 1
    return function.end_lineno - others[0].lineno + 1 if others else 0


def n_arguments(function):
    """Arguments of a function without ``self`` and ``cls``."""
    a = function.args
    named = [argument.arg for argument in (*a.posonlyargs, *a.args, *a.kwonlyargs)]
    return len([name for name in named if name not in ("self", "cls")]) + bool(a.vararg) + bool(a.kwarg)


def functions_where(is_too_large):
    """Names of functions, as "file: function"."""
    return {f"{f}: {node.name}" for f, tree in TREES.items() for node in functions_of(tree) if is_too_large(node)}


def test_functions_are_short():
    assert functions_where(lambda function: n_lines(function) > MAX_LINES) == set()


def test_functions_have_few_arguments():
    minimize = "dale/minimize.py: _optimize"  # its options are keyword-only
    search = "dale/integrations/sklearn.py: __init__"  # scikit-learn's
    many = functions_where(lambda function: n_arguments(function) > MAX_ARGUMENTS)
    assert many - {minimize, search} == set()


def test_files_are_short():
    lines = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {name for name, n in lines.items() if n > MAX_FILE_LINES} == set()


def test_the_check_of_sizes_counts_right():
    text = """class A:
        def f(self, a, /, b, *c, d=1, **e):
            'A docstring \\
            of two lines.'
            return 1
    """
    (function,) = functions_of(ast.parse(text))
    assert (n_lines(function), n_arguments(function)) == (1, 5)
