"""External programs: arguments, environment, store, and one execution per trial."""

import dataclasses
import doctest
import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from evaluators import Random, arguments
from programs import LINE, errors, minimise

import dale

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals"),
    pytest.mark.usefixtures("all_may_fail"),
]

HOSTILE = [
    "; rm -rf *",
    "$(touch x)",
    "`touch x`",
    "{a}",
    "{{a}}",
    "{a.__class__}",
    "%s%n%(a)s",
    "--flag",
    "-",
    "",
    " spaced  out ",
    "two\nlines\r\n",
    "tab\tbell\x07escape\x1b[31m",
    "'single' \"double\" \\back\\",
    "*?[a-z]~ $HOME ${HOME} > out < in | cat & !! #",
    "ünïcödé 漢字 🦆 \u202e",
    os.fsdecode(b"bytes \xff\xfe"),
]


class TestArguments:
    def test_hostile_values_stay_one_unchanged_argument(self, script, tmp_path):
        (tmp_path / "got").mkdir()
        args = script(
            f"""
            with open({str(tmp_path / "got")!r} + "/" + os.environ["DALE_TRIAL"], "w") as file:
                json.dump([os.fsencode(word).hex() for word in sys.argv[1:]], file)
            print(1)
            """,
            "{a}", "--a={a}", "{{{a}}}", "{a}{a}",
        )  # fmt: skip
        result = minimise(args, {"a": dale.Choice(HOSTILE)}, budget=99, n_parallel=2)
        assert result.nfev == len(HOSTILE) + 1  # all values are equal, so one replicate tests for noise
        assert {t.params["a"] for t in result.history} == set(HOSTILE)
        for trial in result.history:
            a = os.fsencode(trial.params["a"])
            got = [bytes.fromhex(word) for word in json.loads((tmp_path / "got" / str(trial.id)).read_text())]
            assert got == [a, b"--a=" + a, b"{" + a + b"}", a + a]
        assert list(Path.cwd().iterdir()) == []

    def test_numbers_are_exact(self, script):
        args = script("print(sys.argv[1])", "{a}")
        result = minimise(args, {"a": (1e-300, 1e300)}, budget=5)
        assert [t.value for t in result.history] == [t.params["a"] for t in result.history]

    def test_other_types(self, script, tmp_path):
        args = script(
            f"""
            open({str(tmp_path / "said")!r}, "a").write(" ".join(sys.argv[1:]) + "\\n")
            print(1)
            """,
            "{n}", "{c}", "{x:.3f}", "{n:03d}", "{trial:02d}",
        )  # fmt: skip
        space = {"n": dale.Int(7, 8), "c": dale.Choice([True, None, 1, 1.0, "1"]), "x": dale.Float(0.5, 0.5)}
        minimise(args, space, budget=10)
        said = sorted(line.rpartition(" ")[0] for line in (tmp_path / "said").read_text().splitlines())
        assert said == sorted(f"{n} {c} 0.500 {n:03d}" for n in (7, 8) for c in ("True", "None", "1", "1.0", "1"))

    def test_without_names(self, script):
        args = script("print(float(sys.argv[1]) + int(sys.argv[2]))", "{x0}", "{x1}")
        result = minimise(args, [(0, 1), dale.Int(2, 9)], budget=3)
        assert [t.value for t in result.history] == [sum(t.x) for t in result.history]

    def test_params_is_a_file_with_the_active_parameters(self, script):
        args = script(
            """
            params = json.load(open(sys.argv[1]))
            assert os.path.dirname(sys.argv[1]) == os.environ["DALE_DIRECTORY"] == sys.argv[2]
            print(1 if set(params) == ({"k", "d", "l"} if params["k"] == "poly" else {"k", "l"}) else "wrong")
            """,
            "{params}", "{directory}",
        )  # fmt: skip
        k, d, options = dale.Choice(["poly", "x"]), dale.Int(1, 2).when(k="poly"), dale.Choice([[1, "a"]])
        result = minimise(args, {"k": k, "d": d, "l": options}, budget=9)
        assert [t.value for t in result.history] == [1, 1, 1, 1]  # three points, one replicate to test for noise

    @pytest.mark.parametrize(
        ("args", "space", "said"),
        [
            (["{a.__class__}"], LINE, r"contains {a.__class__}; expected one of the parameters 'a'"),
            (["{a[0]}"], LINE, r"contains {a\[0\]}; expected"),
            (["{b}", "{a}"], LINE, "contains {b}; expected one of the parameters 'a'"),
            (["{a!r}"], LINE, "invalid placeholder; expected the name"),
            (["{}"], LINE, "invalid placeholder; expected the name"),
            (["{a:{b}}"], LINE, "invalid placeholder; expected the name"),
            (["{a"], LINE, "unbalanced braces"),
            (["a}"], LINE, "unbalanced braces"),
            (["x"], LINE, "does not contain parameter 'a'; add {a}, or {params}"),
            (["{a:x}"], LINE, "Unknown format code 'x'"),
            (["{params:s}"], LINE, "is a path and takes no format"),
            (["{a}"], {"a": dale.Choice([[1], 2])}, r"expected text or a number, got \[1\].* {params} instead"),
            (["{a:.3f}"], {"a": dale.Choice(["x", 2])}, "the format '.3f' expects a number, got 'x'"),
            (["{a}"], {"a": dale.Choice(["x\0", "y"])}, "null character"),
            (["{a}"], {"a": dale.Choice(["\ud800", "y"])}, "surrogates not allowed"),
            (["{params}"], {"a": dale.Choice([{1}, 2])}, "cannot be written to the JSON file"),
            (["{directory}"], {"directory": (0, 1)}, "the parameter name 'directory' is reserved"),
            (["{k}", "{d}"], {"k": dale.Choice([1, 2]), "d": dale.Int(1, 2).when(k=1)}, "{d}, a conditional.*{params}"),
        ],
    )  # fmt: skip
    def test_invalid_arguments_are_rejected_before_the_run(self, args, space, said, tmp_path):
        with pytest.raises(ValueError, match=said):
            minimise([sys.executable, *args], space, store=tmp_path / "run.db")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("args", "more", "error", "said"),
        [
            ("python sim.py {a}", {}, TypeError, "expected a list of arguments.*; no shell splits a command line"),
            ([], {}, ValueError, "empty"),
            (["sim", 3], {}, TypeError, "must be text, got 3; write '3'"),
            (["sim", "\0"], {}, ValueError, "null character"),
            (["sim"], {"key": "a"}, ValueError, "needs result"),
            (["sim"], {"result": "{a}.json"}, ValueError, "may contain {directory} and {trial}, got {a}"),
            (["sim"], {"cwd": "{params}"}, ValueError, "may contain {directory} and {trial}"),
        ],
    )
    def test_invalid_commands(self, args, more, error, said):
        with pytest.raises(error, match=said):
            dale.Command(args, **more)

    def test_it_is_an_immutable_value(self):
        command = dale.Command(["sim", Path("x"), "{a}"], result="out.json", key="loss")
        assert (
            pickle.loads(pickle.dumps(command))
            == command
            == dale.Command(("sim", "x", "{a}"), result="out.json", key="loss")
        )
        assert len({command, pickle.loads(pickle.dumps(command))}) == 1
        with pytest.raises(dataclasses.FrozenInstanceError):
            command.args = ()
        assert repr(command).startswith("Command(args=('sim', 'x', '{a}'), result='out.json', key='loss'")


class TestEnvironment:
    def test_directory_variables_and_standard_input(self, script, monkeypatch):
        """Those of the run, also if the fork server started before they were set."""
        dale.minimize(dale.Command([sys.executable, "-c", "print({a})"]), LINE, budget=1)
        monkeypatch.setenv("NEWS", "today")
        args = script(
            "print(os.environ['NEWS'], repr(sys.stdin.read()), os.getcwd(), file=sys.stderr); sys.exit(1)", "{a}"
        )
        result = minimise(args, budget=1)
        assert errors(result) == [f"the program ended with exit code 1: today '' {Path.cwd()}"]

    def test_a_working_directory_per_evaluation(self, script, tmp_path):
        args = script(
            "open('out.json', 'w').write(sys.argv[1]); assert os.getcwd() == os.environ['DALE_DIRECTORY']", "{a}"
        )
        result = minimise(args, cwd="{directory}", result="out.json", n_parallel=2, budget=4, store=tmp_path / "run.db")
        assert [t.value for t in result.history] == [t.params["a"] for t in result.history]
        assert sorted(p.parent.name for p in tmp_path.glob("run.logs/*/out.json")) == list("0123")

    def test_a_missing_program_is_an_error_before_the_run(self, tmp_path):
        (tmp_path / "data.txt").touch()
        for program, said in {
            "no-such-program": "'no-such-program' was not found; give its path, or add its directory to PATH",
            "./no-such": "'./no-such' was not found",
            str(tmp_path / "data.txt"): "data.txt' is not executable",
        }.items():
            with pytest.raises(ValueError, match=said):
                minimise([program, "{a}"], store=tmp_path / "run.db")
        assert [p.name for p in tmp_path.iterdir()] == ["data.txt"]

    def test_a_program_that_the_executor_cannot_start_ends_the_run(self, tmp_path):
        with (
            ThreadPoolExecutor(1) as executor,
            pytest.raises(RuntimeError, match=r"^No further evaluation was possible: the program 'no-such' could not"),
        ):
            minimise(["no-such", "{a}"], budget=60, executor=executor, store=tmp_path / "run.db")
        assert len(dale.open(tmp_path / "run.db").history) == 1

    def test_a_program_that_disappears_ends_the_run(self, script, tmp_path):
        path = tmp_path / "sim"
        path.write_text("#!/bin/sh\nrm $0\necho 1\n")
        path.chmod(0o755)
        result = minimise([str(path), "{a}"], budget=60)
        assert (result.status, result.nfev, len(result.func_vals)) == (8, 2, 1)
        assert [t.retry for t in result.history] == [False, True]

    def test_a_script_needs_no_main_guard(self, script):
        path = Path("script.py")
        path.write_text(
            "import dale, sys\n"
            "command = dale.Command([sys.executable, '-c', 'print({a})'])\n"
            "print(dale.minimize(command, {'a': (0, 1)}, budget=3, n_parallel=2).nfev, __file__[-9:], __spec__)\n"
        )
        done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=300)
        assert (done.returncode, done.stdout, done.stderr) == (0, "3 script.py None\n", "")


class TestTheStore:
    def test_a_different_command_is_an_error_with_the_difference(self, script, tmp_path):
        args = script("print(1)", "{a}")
        minimise(args, store=tmp_path / "run.db")
        with pytest.raises(
            dale.StoreError, match=r"objective.args is \[.*'{a}'\] in the store and \[.*'--a={a}'\] here"
        ):
            minimise([*args[:-1], "--a={a}"], store=tmp_path / "run.db")
        with pytest.raises(dale.StoreError, match=r"objective.result is None in the store and 'out.json' here"):
            minimise(args, result="out.json", store=tmp_path / "run.db")
        assert minimise(args, budget=3, store=tmp_path / "run.db").nfev == 3
        assert dale.open(tmp_path / "run.db").problem["objective"]["args"] == args

    def test_a_store_without_an_objective_accepts_any_command(self, script, tmp_path):
        dale.minimize(lambda p: p["a"], LINE, budget=1, seed=0, method=Random(), store=tmp_path / "run.db")
        assert "objective" not in dale.open(tmp_path / "run.db").problem
        assert minimise(script("print(1)", "{a}"), store=tmp_path / "run.db").nfev == 2

    def test_its_store_can_be_used_with_ask_and_tell(self, script, tmp_path):
        minimise(script("print(1)", "{a}"), store=tmp_path / "run.db")
        with dale.Optimizer(LINE, method=Random(), store=tmp_path / "run.db") as optimizer:
            assert optimizer.tell(optimizer.ask(), 0.5).id == 2

    def test_a_parameter_named_objective_is_compared(self, tmp_path):
        dale.Optimizer({"objective": (0, 1), "a": (0, 1)}, seed=0, store=tmp_path / "run.db").close()
        with pytest.raises(
            dale.StoreError, match=r"space.parameters.objective is Float\(.*\) in the store and absent here"
        ):
            dale.Optimizer(LINE, seed=0, store=tmp_path / "run.db")


def test_the_example_of_its_documentation():
    results = doctest.testmod(sys.modules["dale.evaluate.command"])
    assert (results.attempted, results.failed) == (5, 0)


@pytest.mark.parametrize("kind", ["processes", "threads", "pool"])
def test_each_trial_is_executed_once(kind, script, tmp_path):
    args = script(
        f"open({str(tmp_path)!r} + '/' + sys.argv[2] + '.ran', 'a').write('x'); print(sys.argv[1])", "{a}", "{trial}"
    )
    with arguments(kind) as more:
        result = minimise(args, budget=8, store=tmp_path / "run.db", **more)
    assert [t.value for t in result.history] == [t.params["a"] for t in result.history]
    assert {p.stem: p.read_text() for p in tmp_path.glob("*.ran")} == {str(i): "x" for i in range(8)}


def test_a_direct_call(script):
    args = script("print(json.dumps([sys.argv[1], os.environ['DALE_TRIAL']])) ; print(float(sys.argv[1]) * 2)", "{x0}")
    command = dale.Command(args)
    optimizer = dale.Optimizer([(0, 1)], seed=0)
    trial = optimizer.ask()
    assert optimizer.tell(trial, command(trial.params, trial.id)).value == 2 * trial.x[0]
    with pytest.raises(RuntimeError, match=r"the command contains {x0}, which is not a parameter of {'a': 1}"):
        command({"a": 1})
    with pytest.raises(dale.Retry, match="exit code 75"):
        dale.Command(script("sys.exit(75)"))([])
