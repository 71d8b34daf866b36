"""An objective that is a program: what it gets, what is read from it, and that nothing of it is left."""

import dataclasses
import json
import os
import pickle
import subprocess
import sys
import textwrap
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from ways import Random, arguments, is_alive, wait_until_gone

import dale
from dale.evaluate import program as running
from dale.evaluate.value import last_number, tail

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

LINE = {"a": (0.0, 1.0)}
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


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Write a program of Python's, and return the words that start it; the current folder is an empty one."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("PYTHONPATH", str(Path(dale.__file__).parents[1]))  # which may have been said from elsewhere

    def write(code, *arguments):
        path = tmp_path / "program.py"
        path.write_text("import json, os, signal, subprocess, sys, time\n" + textwrap.dedent(code))
        return [sys.executable, "-S", "-E", str(path), *arguments]

    return write


def minimise(words, space=LINE, **more):
    command = dale.Command(words, **{k: more.pop(k) for k in ("result", "key", "logs", "cwd") if k in more})
    return dale.minimize(command, space, **{"budget": 2, "seed": 0, "method": Random(), **more})


def errors(result):
    return [t.error.splitlines()[-1] for t in result.history if t.error]


class TestWords:
    def test_hostile_values_are_one_argument_bit_for_bit(self, script, tmp_path):
        (tmp_path / "got").mkdir()
        words = script(
            f"""
            with open({str(tmp_path / "got")!r} + "/" + os.environ["DALE_TRIAL"], "w") as file:
                json.dump([os.fsencode(word).hex() for word in sys.argv[1:]], file)
            print(1)
            """,
            "{a}", "--a={a}", "{{{a}}}", "{a}{a}",
        )  # fmt: skip
        result = minimise(words, {"a": dale.Choice(HOSTILE)}, budget=99, n_parallel=2)
        assert result.nfev == len(HOSTILE)
        assert {t.params["a"] for t in result.history} == set(HOSTILE)
        for trial in result.history:
            a = os.fsencode(trial.params["a"])
            got = [bytes.fromhex(word) for word in json.loads((tmp_path / "got" / str(trial.id)).read_text())]
            assert got == [a, b"--a=" + a, b"{" + a + b"}", a + a]
        assert list(Path.cwd().iterdir()) == []

    def test_numbers_to_the_last_bit(self, script):
        words = script("print(sys.argv[1])", "{a}")
        result = minimise(words, {"a": (1e-300, 1e300)}, budget=5)
        assert [t.value for t in result.history] == [t.params["a"] for t in result.history]

    def test_of_other_kinds(self, script, tmp_path):
        words = script(
            f"""
            open({str(tmp_path / "said")!r}, "a").write(" ".join(sys.argv[1:]) + "\\n")
            print(1)
            """,
            "{n}", "{c}", "{x:.3f}", "{n:03d}", "{trial:02d}",
        )  # fmt: skip
        space = {"n": dale.Int(7, 8), "c": dale.Choice([True, None, 1, 1.0, "1"]), "x": dale.Float(0.5, 0.5)}
        minimise(words, space, budget=10)
        said = sorted(line.rpartition(" ")[0] for line in (tmp_path / "said").read_text().splitlines())
        assert said == sorted(f"{n} {c} 0.500 {n:03d}" for n in (7, 8) for c in ("True", "None", "1", "1.0", "1"))

    def test_without_names(self, script):
        words = script("print(float(sys.argv[1]) + int(sys.argv[2]))", "{x0}", "{x1}")
        result = minimise(words, [(0, 1), dale.Int(2, 9)], budget=3)
        assert [t.value for t in result.history] == [sum(t.x) for t in result.history]

    def test_params_is_a_file_with_all_that_are_there(self, script):
        words = script(
            """
            params = json.load(open(sys.argv[1]))
            assert os.path.dirname(sys.argv[1]) == os.environ["DALE_FOLDER"] == sys.argv[2]
            print(1 if set(params) == ({"k", "d", "l"} if params["k"] == "poly" else {"k", "l"}) else "wrong")
            """,
            "{params}", "{folder}",
        )  # fmt: skip
        k, d, options = dale.Choice(["poly", "x"]), dale.Int(1, 2).when(k="poly"), dale.Choice([[1, "a"]])
        result = minimise(words, {"k": k, "d": d, "l": options}, budget=9)
        assert [t.value for t in result.history] == [1, 1, 1]

    @pytest.mark.parametrize(
        ("words", "space", "said"),
        [
            (["{a.__class__}"], LINE, r"has {a.__class__}, and there is no parameter 'a.__class__'; the space"),
            (["{a[0]}"], LINE, r"there is no parameter 'a\[0\]'"),
            (["{b}", "{a}"], LINE, "there is no parameter 'b'; the space has 'a'"),
            (["{a!r}"], LINE, "is not plain"),
            (["{}"], LINE, "is not plain"),
            (["{a:{b}}"], LINE, "is not plain"),
            (["{a"], LINE, "braces that do not match"),
            (["a}"], LINE, "braces that do not match"),
            (["x"], LINE, "does not give the program parameter 'a'; write {a} where it belongs, or {params}"),
            (["{a:x}"], LINE, "Unknown format code 'x'"),
            (["{params:s}"], LINE, "is a path and takes no format"),
            (["{a}"], {"a": dale.Choice([[1], 2])}, r"\[1\] is neither text nor a number.* {params} may do"),
            (["{a:.3f}"], {"a": dale.Choice(["x", 2])}, "the format '.3f' is for numbers, got 'x'"),
            (["{a}"], {"a": dale.Choice(["x\0", "y"])}, "null character"),
            (["{a}"], {"a": dale.Choice(["\ud800", "y"])}, "surrogates not allowed"),
            (["{params}"], {"a": dale.Choice([{1}, 2])}, "cannot stand in the JSON file"),
            (["{folder}"], {"folder": (0, 1)}, "a parameter is called 'folder'"),
            (["{k}", "{d}"], {"k": dale.Choice([1, 2]), "d": dale.Int(1, 2).when(k=1)}, "{d}.*not always.*{params}"),
        ],
    )  # fmt: skip
    def test_what_makes_no_sense_is_refused_before_the_run(self, words, space, said, tmp_path):
        with pytest.raises(ValueError, match=said):
            minimise([sys.executable, *words], space, store=tmp_path / "run.db")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("words", "more", "error", "said"),
        [
            ("python sim.py {a}", {}, TypeError, "list of words.* there is no shell to take it apart"),
            ([], {}, ValueError, "empty"),
            (["sim", 3], {}, TypeError, "must be text, got 3; write '3'"),
            (["sim", "\0"], {}, ValueError, "null character"),
            (["sim"], {"key": "a"}, ValueError, "needs a result"),
            (["sim"], {"result": "{a}.json"}, ValueError, "may have {folder} and {trial} in them, got {a}"),
            (["sim"], {"cwd": "{params}"}, ValueError, "may have {folder} and {trial} in them"),
        ],
    )
    def test_what_is_no_command(self, words, more, error, said):
        with pytest.raises(error, match=said):
            dale.Command(words, **more)

    def test_it_is_data(self):
        command = dale.Command(["sim", Path("x"), "{a}"], result="out.json", key="loss")
        assert (
            pickle.loads(pickle.dumps(command))
            == command
            == dale.Command(("sim", "x", "{a}"), result="out.json", key="loss")
        )
        assert len({command, pickle.loads(pickle.dumps(command))}) == 1
        with pytest.raises(dataclasses.FrozenInstanceError):
            command.words = ()
        assert repr(command).startswith("Command(words=('sim', 'x', '{a}'), result='out.json', key='loss'")


class TestSurroundings:
    def test_folder_environment_and_no_input(self, script, monkeypatch):
        """Of the run as it is now: the server that makes processes may be older."""
        dale.minimize(dale.Command([sys.executable, "-c", "print({a})"]), LINE, budget=1)
        monkeypatch.setenv("NEWS", "today")
        words = script(
            "print(os.environ['NEWS'], repr(sys.stdin.read()), os.getcwd(), file=sys.stderr); sys.exit(1)", "{a}"
        )
        result = minimise(words, budget=1)
        assert errors(result) == [f"the program ended with exit code 1: today '' {Path.cwd()}"]

    def test_a_folder_of_its_own_to_run_in(self, script, tmp_path):
        words = script(
            "open('out.json', 'w').write(sys.argv[1]); assert os.getcwd() == os.environ['DALE_FOLDER']", "{a}"
        )
        result = minimise(words, cwd="{folder}", result="out.json", n_parallel=2, budget=4, store=tmp_path / "run.db")
        assert [t.value for t in result.history] == [t.params["a"] for t in result.history]
        assert sorted(p.parent.name for p in tmp_path.glob("run.logs/*/out.json")) == list("0123")

    def test_a_program_that_is_not_there_is_an_error_before_the_run(self, tmp_path):
        (tmp_path / "data.txt").touch()
        for program, said in {
            "no-such-program": "'no-such-program' was not found; give its path, or see that it is on PATH",
            "./no-such": "'./no-such' was not found",
            str(tmp_path / "data.txt"): "data.txt' is not executable",
        }.items():
            with pytest.raises(ValueError, match=said):
                minimise([program, "{a}"], store=tmp_path / "run.db")
        assert [p.name for p in tmp_path.iterdir()] == ["data.txt"]

    def test_where_it_cannot_be_known_before_the_run_ends_at_once(self, tmp_path):
        with (
            ThreadPoolExecutor(1) as executor,
            pytest.raises(RuntimeError, match=r"^No more could be evaluated: the program 'no-such' could not"),
        ):
            minimise(["no-such", "{a}"], budget=60, executor=executor, store=tmp_path / "run.db")
        assert len(dale.open(tmp_path / "run.db").history) == 1

    def test_one_that_vanishes_ends_the_run(self, script, tmp_path):
        path = tmp_path / "sim"
        path.write_text("#!/bin/sh\nrm $0\necho 1\n")
        path.chmod(0o755)
        result = minimise([str(path), "{a}"], budget=60)
        assert (result.status, result.nfev, len(result.func_vals)) == (8, 2, 1)
        assert [t.retry for t in result.history] == [False, True]

    def test_a_script_needs_no_guard(self, script):
        path = Path("script.py")
        path.write_text(
            "import dale, sys\n"
            "command = dale.Command([sys.executable, '-c', 'print({a})'])\n"
            "print(dale.minimize(command, {'a': (0, 1)}, budget=3, n_parallel=2).nfev, __file__[-9:], __spec__)\n"
        )
        done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=300)
        assert (done.returncode, done.stdout, done.stderr) == (0, "3 script.py None\n", "")


class TestValues:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("0.5", 0.5),
            ("a\nloss: -1.5e-3\n", -1.5e-3),
            ("f=.5", 0.5),
            ("f(x) = 5.", 5.0),
            ("The loss is 0.25.", 0.25),
            ('{"loss": 0.125}', 0.125),
            ("np.float64(0.5)", 0.5),
            ("1, 2, 3\n\n", 3.0),
            ("1.0D-03", 1e-3),
            ("0.1234E+02", 12.34),
            ("  0.25-103", 0.25e-103),
            ("+7", 7.0),
            ("1e400", float("inf")),
            ("-Infinity", float("-inf")),
            ("best \x1b[32m0.5\x1b[0m", 0.5),
            ("\N{MINUS SIGN}0.5", -0.5),
            ("50%\r100%\rloss 3\r", 3.0),
            ("0.5 (in 12s, 3/4 of it at 12:30:45 on 2024-01-02 with v1.2.3)", 0.5),
            ("0.5 banana info 1_000 0x10", 0.5),
            ("", None),
            ("no number", None),
        ],
    )
    def test_the_last_number(self, text, value):
        assert last_number(text) == value

    @pytest.mark.parametrize("text", ["nan", "loss NaN", "1 -nan", "1 -1.#IND"])
    def test_no_number(self, text):
        assert last_number(text) != last_number(text)

    @pytest.mark.parametrize("said", ["nan", "-inf"])
    def test_one_that_is_not_finite_fails_the_trial(self, said, script):
        assert errors(minimise(script(f"print({said!r})", "{a}"), budget=1)) == [f"the objective returned {said}"]

    def test_no_number_at_all(self, script):
        words = script("print('no', end=' ' * int(sys.argv[2])); print('oh', file=sys.stderr)", "{a}", "9")
        why = "there is no number in all of the program's standard output"
        assert errors(minimise(words, budget=1)) == [f"{why}: oh"]
        words[-1] = "99999"
        why = "there is no number in the last 65536 bytes of the program's standard output"
        assert errors(minimise(words, budget=1)) == [f"{why}: oh"]

    def test_a_word_is_never_cut(self, tmp_path):
        path = tmp_path / "out"
        for n in range(8):
            path.write_text(f"1 {'12345'}{' ' * n}")
            assert last_number(tail(path, 7)) in ((12345, None) if n > 2 else (12345,))
        path.write_text("1 12345")
        assert last_number(tail(path, 4)) is None

    def test_much_output_on_both_sides(self, script):
        """More than any pipe holds, and more than anybody wants to read."""
        words = script(
            """
            for _ in range(25):
                os.write(1, b"123456789\\n" * 100_000)
                os.write(2, b"123456789\\n" * 100_000)
            print(sys.argv[1])
            """,
            "{a}",
        )
        result = minimise(words, budget=1)
        assert result.fun == result.params["a"]

    def test_of_much_output_only_the_end_is_read(self, tmp_path):
        with (tmp_path / "out").open("wb") as file:
            file.seek(10**9)
            file.write(b" 0.5\n")
        tracemalloc.start()
        try:
            assert last_number(tail(tmp_path / "out")) == 0.5
            assert tracemalloc.get_traced_memory()[1] < 2**22
        finally:
            tracemalloc.stop()


class TestResultFiles:
    @pytest.mark.parametrize(
        ("text", "key", "value"),
        [
            ("0.5", None, 0.5),
            ('{"value": 2}', None, 2.0),
            ('{"metrics": {"loss": 0.25}}', "metrics.loss", 0.25),
            ('{"runs": [1, {"value": 3, "other": "x"}]}', "runs.1", 3.0),
        ],
    )
    def test_a_number_in_it(self, text, key, value, script):
        words = script(f"open(sys.argv[1] + '/out.json', 'w').write({text!r}); print(99)", "{folder}", "{a}")
        result = minimise(words, budget=1, result="{folder}/out.json", key=key)
        assert (result.fun, errors(result)) == (value, [])

    def test_noise_and_constraints(self, script):
        words = script(
            "json.dump({'value': 1, 'noise': 0.5, 'constraints': [-1, 2]}, open(sys.argv[1] + '/o', 'w'))",
            "{folder}", "{a}",
        )  # fmt: skip
        result = minimise(words, budget=1, result="{folder}/o", method=None)
        (trial,) = result.history
        assert (trial.value, trial.noise, trial.constraints) == (1.0, 0.5, (-1.0, 2.0))

    @pytest.mark.parametrize(
        ("text", "key", "said"),
        [
            ("{", None, "out.json is not JSON"),
            ("true", None, "out.json is 'True'; wanted a number"),
            ('{"value": "0.5"}', None, "out.json: value is '0.5'; wanted a number"),
            ('{"loss": 1}', None, "out.json has no 'value'; it has ['loss']"),
            ('{"a": {"loss": 1}}', "a.lossy", "out.json: a has no 'lossy'; it has ['loss']"),
            ("[1]", "1", "out.json has no '1'; it is '[1]'"),
            ('{"value": 1, "constraints": ["x"]}', None, "out.json: constraints is 'x'; wanted a number"),
            ('{"value": 1, "noise": []}', None, "out.json: noise is '[]'; wanted a number"),
            ("NaN", None, "the objective returned nan"),
            ("[" * 100_000, None, "out.json is not JSON"),
        ],
        ids=lambda value: value[:20] if isinstance(value, str) else None,
    )
    def test_something_else_in_it(self, text, key, said, script):
        path = Path("text")
        path.write_text(text)
        words = script("open(sys.argv[1] + '/out.json', 'w').write(open('text').read())", "{folder}", "{a}")
        (why,) = errors(minimise(words, budget=1, result="{folder}/out.json", key=key))
        assert said in why

    def test_none(self, script):
        (why,) = errors(minimise(script("print(1)", "{a}"), budget=1, result="out.json"))
        assert why == f"the program has not written {Path.cwd() / 'out.json'}"

    def test_one_of_before_is_not_taken_and_not_deleted(self, script):
        Path("out.json").write_text("1.0")
        words = script("if float(sys.argv[1]) > 0.5: open('out.json', 'w').write('2.0')", "{a}")
        result = minimise(words, {"a": dale.Choice([0, 1])}, result="out.json")
        assert {t.params["a"]: t.value for t in result.history} == {0: None, 1: 2.0}
        (why,) = errors(result)
        assert why == f"{Path.cwd() / 'out.json'} was there before and the program has not written it; it was not read"
        assert Path("out.json").read_text() == "2.0"

    @pytest.mark.parametrize("more", [{"n_parallel": 2}, {"executor": ThreadPoolExecutor(1)}], ids=["n", "executor"])
    def test_one_for_several_at_once_is_refused(self, more):
        with pytest.raises(ValueError, match=r"write to one file, got result='out.json'; put {folder} or {trial} into"):
            minimise([sys.executable, "{a}"], result="out.json", **more)


class TestFailures:
    def test_the_error_has_all_that_one_wants_to_know(self, script, tmp_path):
        words = script("sys.exit('\\n'.join(map(str, range(99))))", "--a b", "{a}")
        result = minimise(words, {"a": dale.Int(3, 4)}, budget=1, store=tmp_path / "run.db")
        assert result.history[0].error.splitlines() == [
            f"command: {sys.executable} -S -E {tmp_path}/program.py '--a b' {result.history[0].params['a']}",
            f"output: {tmp_path}/run.logs/0",
            "standard error:",
            *(f"  {i}" for i in range(79, 99)),
            "the program ended with exit code 1: 98",
        ]

    @pytest.mark.parametrize(
        ("code", "why", "retry"),
        [
            ("sys.exit(3)", "the program ended with exit code 3", False),
            ("print(1); sys.exit(1)", "the program ended with exit code 1", False),
            ("sys.exit(75)", "the program ended with exit code 75", True),
            ("os.kill(os.getpid(), signal.SIGKILL)", "the program was ended by signal 9 (SIGKILL)", False),
            ("os.kill(os.getpid(), signal.SIGTERM)", "the program was ended by signal 15 (SIGTERM)", False),
        ],
    )
    def test_exit_codes(self, code, why, retry, script):
        result = minimise(script(code, "{a}"), budget=1)
        assert (errors(result), result.history[0].retry) == ([why], retry)

    def test_after_75_the_very_point_is_evaluated_again(self, script, tmp_path):
        words = script(
            f"""
            before = {str(tmp_path / "before")!r}
            if not os.path.exists(before):
                open(before, "w").close()
                sys.exit(75)
            print(sys.argv[1])
            """,
            "{a}",
        )
        result = minimise(words, store=tmp_path / "run.db")
        assert [t.retry for t in result.history] == [True, False]
        assert result.history[0].params == result.history[1].params
        assert sorted(p.name for p in (tmp_path / "run.logs").iterdir()) == ["0", "1"]

    def test_arguments_that_are_too_long_fail_their_trial_only(self, script):
        words = script("print(1)", "{a}")
        result = minimise(words, {"a": dale.Choice(["x" * 2**22, "y"])})
        assert [t.value for t in result.history if t.params["a"] == "y"] == [1.0]
        assert (result.status, [t.retry for t in result.history]) == (0, [False, False])
        (why,) = errors(result)
        assert "could not be started: [Errno 7] Argument list too long" in why
        assert max(len(t.error or "") for t in result.history) < 10_000

    def test_a_place_that_cannot_be_written_ends_the_run(self, script, tmp_path):
        (tmp_path / "run.logs").touch()
        with pytest.raises(RuntimeError, match="the folder of trial 0 could not be written"):
            minimise(script("print(1)", "{a}"), budget=60, store=tmp_path / "run.db")


class TestLogs:
    def test_what_is_in_the_folder(self, script, tmp_path):
        words = script(
            "print('out'); print('err', file=sys.stderr); open(sys.argv[1] + '/mine', 'w'); print(2)", "{folder}", "{a}"
        )
        minimise(words, store=tmp_path / "run.v2.db", n_parallel=2)
        folders = [tmp_path / "run.v2.logs" / name for name in "01"]
        for number, folder in enumerate(folders):
            assert sorted(p.name for p in folder.iterdir()) == ["command.json", "mine", "stderr.txt", "stdout.txt"]
            assert (folder / "stdout.txt").read_text() == "out\n2\n"
            assert (folder / "stderr.txt").read_text() == "err\n"
            record = json.loads((folder / "command.json").read_text())
            assert record["words"][:-1] == [*words[:-2], str(folder)]
            assert (record["trial"], record["exit_code"], record["cwd"]) == (number, 0, str(Path.cwd()))
            assert record["seconds"] > 0

    def test_output_is_there_while_it_runs(self, script, tmp_path):
        words = script(
            f"""
            print("early", flush=True)
            while not os.path.exists({str(tmp_path / "go")!r}):
                time.sleep(0.01)
            print(1)
            """,
            "{a}",
        )
        with ThreadPoolExecutor(1) as executor:
            run = executor.submit(minimise, words, budget=1, logs=tmp_path / "logs")
            seen = tmp_path / "logs" / "0" / "stdout.txt"
            try:
                for _ in range(600):
                    if seen.exists() and seen.read_text() == "early\n":
                        break
                    time.sleep(0.1)
                assert seen.read_text() == "early\n"
                assert "exit_code" not in json.loads((tmp_path / "logs" / "0" / "command.json").read_text())
            finally:
                (tmp_path / "go").touch()
            assert run.result().fun == 1

    def test_earlier_ones_stay(self, script, tmp_path):
        words = script("print(1)", "{a}")
        (tmp_path / "logs" / "0").mkdir(parents=True)
        (tmp_path / "logs" / "0" / "stdout.txt").write_text("before")
        for _ in range(2):
            minimise(words, budget=1, logs=tmp_path / "logs")
        assert sorted(p.name for p in (tmp_path / "logs").iterdir()) == ["0", "0-2", "0-3"]
        assert (tmp_path / "logs" / "0" / "stdout.txt").read_text() == "before"

    def test_without_a_store_nothing_is_left(self, script, tmp_path, monkeypatch):
        (tmp_path / "tmp").mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
        words = script("print(1) if float(sys.argv[1]) > 0.5 else sys.exit(1)", "{a}")
        with ThreadPoolExecutor(1) as executor:  # in this process, which has the other folder
            minimise(words, budget=4, executor=executor)
        assert list((tmp_path / "tmp").iterdir()) == []
        assert list(Path.cwd().iterdir()) == []

    def test_a_store_with_the_name_of_its_logs(self, script):
        minimise(script("print(1)", "{a}"), budget=1, store="run.logs")
        assert sorted(p.name for p in Path.cwd().iterdir()) == ["run.logs", "run.logs.logs"]


class TestTheStore:
    def test_another_command_is_refused_with_the_difference(self, script, tmp_path):
        words = script("print(1)", "{a}")
        minimise(words, store=tmp_path / "run.db")
        with pytest.raises(
            dale.StoreError, match=r"objective.words is \[.*'{a}'\] in the store and \[.*'--a={a}'\] here"
        ):
            minimise([*words[:-1], "--a={a}"], store=tmp_path / "run.db")
        with pytest.raises(dale.StoreError, match=r"objective.result is None in the store and 'out.json' here"):
            minimise(words, result="out.json", store=tmp_path / "run.db")
        assert minimise(words, budget=3, store=tmp_path / "run.db").nfev == 3
        assert dale.open(tmp_path / "run.db").problem["objective"]["words"] == words

    def test_one_that_does_not_tell_its_objective_goes_on(self, script, tmp_path):
        dale.minimize(lambda p: p["a"], LINE, budget=1, seed=0, method=Random(), store=tmp_path / "run.db")
        assert "objective" not in dale.open(tmp_path / "run.db").problem
        assert minimise(script("print(1)", "{a}"), store=tmp_path / "run.db").nfev == 2

    def test_its_run_can_be_told_by_hand(self, script, tmp_path):
        minimise(script("print(1)", "{a}"), store=tmp_path / "run.db")
        with dale.Optimizer(LINE, method=Random(), store=tmp_path / "run.db") as optimizer:
            assert optimizer.tell(optimizer.ask(), 0.5).id == 2

    def test_a_parameter_that_is_called_objective_is_compared(self, tmp_path):
        dale.Optimizer({"objective": (0, 1), "a": (0, 1)}, seed=0, store=tmp_path / "run.db").close()
        with pytest.raises(
            dale.StoreError, match=r"space.parameters.objective is Float\(.*\) in the store and absent here"
        ):
            dale.Optimizer(LINE, seed=0, store=tmp_path / "run.db")


STARTS = """
child = subprocess.Popen([sys.executable, "-S", "-E", "-c", "import time; time.sleep(3600)"])
open(sys.argv[1] + f"/{os.getpid()}.pid", "w").close()
open(sys.argv[1] + f"/{child.pid}.pid", "w").close()
if sys.argv[2] == "hangs":
    time.sleep(3600)
print(1, flush=True)
os._exit(0)
"""


def pids(folder):
    return [int(path.stem) for path in folder.glob("*.pid")]


@pytest.mark.parametrize("way", ["processes", "threads"])
class TestNothingIsLeft:
    def test_of_a_program_that_is_out_of_time(self, way, script, tmp_path):
        words = script(STARTS, str(tmp_path), "hangs", "{a}")
        with arguments(way, 2) as more:
            result = minimise(words, timeout=2, store=tmp_path / "run.db", **more)
        assert [why.startswith("timed out after 2 s") for why in errors(result)] == [True, True]
        assert len(pids(tmp_path)) == 4
        assert wait_until_gone(pids(tmp_path))

    def test_of_one_that_returns(self, way, script, tmp_path):
        with arguments(way, 2) as more:
            result = minimise(script(STARTS, str(tmp_path), "", "{a}"), **more)
        assert [t.value for t in result.history] == [1.0, 1.0]
        assert len(pids(tmp_path)) == 4
        assert wait_until_gone(pids(tmp_path))

    def test_it_is_given_time_to_end_by_itself(self, way, script, tmp_path):
        words = script(
            """
            def tidy(*_):
                time.sleep(0.3)
                open(os.environ["DALE_FOLDER"] + "/tidied", "w").close()
                sys.exit(7)
            signal.signal(signal.SIGTERM, tidy)
            while True:
                time.sleep(3600)
            """,
            "{a}",
        )
        with arguments(way, 2) as more:
            minimise(words, timeout=2, budget=1, logs=tmp_path / "logs", **more)
        assert (tmp_path / "logs" / "0" / "tidied").exists()
        assert json.loads((tmp_path / "logs" / "0" / "command.json").read_text())["exit_code"] == 7

    def test_of_one_that_would_not_end(self, way, script, tmp_path, monkeypatch):
        monkeypatch.setattr("dale.evaluate.process.GRACE", 0.3)
        monkeypatch.setattr(running, "GRACE", 0.3)
        words = script("signal.signal(15, signal.SIG_IGN)\n" + STARTS, str(tmp_path), "hangs", "{a}")
        with arguments(way, 2) as more:
            minimise(words, timeout=2, budget=1, **more)
        assert len(pids(tmp_path)) == 2
        assert wait_until_gone(pids(tmp_path))


@pytest.mark.parametrize("tidies_up", [True, False])
def test_in_an_executor_none_outlives_a_worker_that_is_killed(tidies_up, script, tmp_path):
    """Also those that pay no heed to SIGTERM; those that do are given time."""
    handler = "lambda *_: (open(sys.argv[1] + '/tidied', 'w').close(), os._exit(0))" if tidies_up else "signal.SIG_IGN"
    words = script(f"signal.signal(15, {handler})\n" + STARTS, str(tmp_path), "hangs", "{a}")
    code = f"""
from concurrent.futures import ThreadPoolExecutor
import dale
dale.minimize(dale.Command({words!r}), {LINE!r}, budget=2, executor=ThreadPoolExecutor(2))
"""
    worker = subprocess.Popen([sys.executable, "-c", code])
    while len(pids(tmp_path)) < 4 and worker.poll() is None:
        time.sleep(0.05)
    assert worker.poll() is None
    assert all(map(is_alive, pids(tmp_path)))
    worker.kill()
    worker.wait()
    assert wait_until_gone(pids(tmp_path))
    assert (tmp_path / "tidied").exists() == tidies_up


@pytest.mark.parametrize("way", ["processes", "threads", "pool"])
def test_each_trial_is_executed_once(way, script, tmp_path):
    words = script(
        f"open({str(tmp_path)!r} + '/' + sys.argv[2] + '.ran', 'a').write('x'); print(sys.argv[1])", "{a}", "{trial}"
    )
    with arguments(way) as more:
        result = minimise(words, budget=8, store=tmp_path / "run.db", **more)
    assert [t.value for t in result.history] == [t.params["a"] for t in result.history]
    assert {p.stem: p.read_text() for p in tmp_path.glob("*.ran")} == {str(i): "x" for i in range(8)}


def test_called_by_hand(script):
    words = script("print(json.dumps([sys.argv[1], os.environ['DALE_TRIAL']])) ; print(float(sys.argv[1]) * 2)", "{x0}")
    command = dale.Command(words)
    optimizer = dale.Optimizer([(0, 1)], seed=0)
    trial = optimizer.ask()
    assert optimizer.tell(trial, command(trial.params, trial.id)).value == 2 * trial.x[0]
    with pytest.raises(RuntimeError, match=r"has {x0}, and the point has no such parameter"):
        command({"a": 1})
    with pytest.raises(dale.Retry, match="exit code 75"):
        dale.Command(script("sys.exit(75)"))([])
