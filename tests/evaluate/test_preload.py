"""The fork server imports once what every evaluation needs; each evaluation still has its own process."""

import functools
import json
import subprocess
import sys
import textwrap

import pytest

import dale
from dale.evaluate import preload
from dale.evaluate.outcome import WithArguments

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="fork server")

SCRIPT = """
import os, sys
from pathlib import Path

import dale
import model

(Path(__file__).parent / f"script-{os.getpid()}").touch()

def fun(x):
    (Path(__file__).parent / f"evaluation-{os.getpid()}").touch()
    return float(x[0] ** 2) + float(sys.argv[1])

if __name__ == "__main__":
    objective = model.fun if sys.argv[2] == "module" else fun
    result = dale.minimize(objective, [(-1, 1)], budget=6, seed=0, n_parallel=2)
    print(result.nfev, result.n_failed)
"""
MODULE = """
import os
from pathlib import Path

(Path(__file__).parent / f"module-{os.getpid()}").touch()

def fun(x):
    (Path(__file__).parent / f"evaluation-{os.getpid()}").touch()
    return float(x[0] ** 2)
"""


def n_of(folder, kind):
    return len(list(folder.glob(f"{kind}-*")))


@pytest.mark.parametrize("where", ["script", "module"])
def test_imports_are_made_twice_and_not_for_each_evaluation(where, tmp_path):
    """By the process of the run, and by the server."""
    (tmp_path / "run.py").write_text(SCRIPT)
    (tmp_path / "model.py").write_text(MODULE)
    args = [sys.executable, str(tmp_path / "run.py"), "0.5", where]
    done = subprocess.run(args, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "6 0\n", "")
    assert (n_of(tmp_path, "script"), n_of(tmp_path, "module")) == (2, 2)
    assert n_of(tmp_path, "evaluation") == 6  # processes


def test_an_import_that_fails_in_the_server_only(tmp_path):
    """The evaluations make it themselves, and the run goes on."""
    (tmp_path / "model.py").write_text(
        textwrap.dedent("""
        import os
        mark = os.environ.get("FAILS_ONCE")  # set after the import in the process of the run
        if mark and not os.path.exists(mark):
            open(mark, "w").close()
            raise SystemExit("not here")
        def fun(x):
            return float(x[0] ** 2)
        """)
    )
    code = (
        "import dale, model, os; os.environ['FAILS_ONCE'] = 'failed'\n"
        "if __name__ == '__main__':\n    print(dale.minimize(model.fun, [(-1, 1)], budget=3, seed=0, timeout=60).nfev)"
    )
    (tmp_path / "run.py").write_text(code)
    done = subprocess.run([sys.executable, "run.py"], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr
    assert (tmp_path / "failed").exists()


class Objective:
    def __call__(self, x):
        return 1.0

    def method(self, x):
        return 1.0


def function(x, a=0):
    return 1.0


@pytest.mark.parametrize(
    "fun",
    [function, functools.partial(function, a=1), WithArguments(function, (1,)), Objective(), Objective().method],
    ids=["function", "partial", "arguments", "object", "method"],
)
def test_the_module_of_an_objective(fun):
    assert __name__ in preload._modules(fun)


def test_the_main_module_is_left_alone_for_programs():
    """A script that minimises a program needs no main guard, so it must not be imported again."""
    program = dale.Command(["true", "{x0}"]).program(dale.Optimizer([(0, 1)]).space, None, None)
    assert set(preload._imports(program, imports_main=False)["prepare"]) == {"sys_path", "sys_argv", "dir"}
    json.dumps(preload._imports(program, imports_main=True))
