"""``dale run`` and its errors."""

import re
import shlex
import sys
from pathlib import Path

import pytest
from dale_run import PYTHON, line, names, program, start

import dale
from dale.cli import main
from dale.history.trial import TrialState
from dale.store import sqlite

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals"), pytest.mark.usefixtures("folder")]


class TestRun:
    def test_the_result_and_the_paths(self, capsys):
        assert main(line("--budget", "8", "--seed", "0", "--n-parallel", "2")) == 0
        said = capsys.readouterr()
        run = dale.open("run.db")
        lines = said.out.splitlines()
        assert lines[0] == "The budget is spent after 8 evaluations"
        assert lines[1] == f"best value  {run.best_value:.10g}"
        assert lines[-2:] == [
            f"logs        {Path.cwd() / 'run.logs'}",
            "store       run.db (print it with: dale show run.db)",
        ]
        assert len(said.err.splitlines()) == 8  # not a terminal: one line per evaluation
        assert sorted(names("run.logs"), key=int) == list(map(str, range(8)))
        assert all(t.value == (t.params["a"] - 0.3) ** 2 + abs(t.params["b"] - 2) for t in run.history)

    def test_the_same_command_resumes(self, capsys):
        for budget, said in (("3", ""), ("5", "dale: run.db has 3 of 5 evaluations: resuming")):
            assert main(line("--budget", budget, "--no-progress")) == 0
            assert capsys.readouterr().err.strip() == said
        assert main(line("--budget", "5")) == 0
        said = "dale: run.db has 5 of 5 evaluations: pass a larger --budget to continue\n"
        assert capsys.readouterr().err == said
        assert len(dale.open("run.db").history) == 5

    def test_maximize(self, capsys):
        assert main(line("--budget", "8", "--seed", "0", "--maximize", "--target", "3.5")) == 0
        said, run = capsys.readouterr(), dale.open("run.db")
        assert run.direction == "maximize"
        assert run.best_value == max(t.value for t in run.history)
        assert f"best value  {run.best_value:.10g}" in said.out
        assert f", best {run.best_value:.6g}" in said.err.splitlines()[-1]
        assert main(["show", "run.db", "--best", "2"]) == 0
        shown = capsys.readouterr().out
        assert "direction   maximize" in shown
        values = sorted((t.value for t in run.history), reverse=True)
        at = [shown.index(f"{value:.10g}", shown.index("best trials")) for value in values[:2]]
        assert at == sorted(at)
        assert main(line("--budget", "9", "--seed", "0")) == 2
        assert "direction is 'maximize' in the store and 'minimize' here" in capsys.readouterr().err
        assert main(["report", "run.db"]) == 0
        assert "--maximize" in Path("run.html").read_text()

    def test_held_parameters(self, capsys):
        assert main(line("--budget", "6", "--seed", "0", "--fixed", "b=3", "--no-progress")) == 0
        run = dale.open("run.db")
        assert {t.params["b"] for t in run.history} == {3}
        assert "held        b=3" in capsys.readouterr().out
        for text, message in (("b", "--fixed: expected NAME=VALUE, got 'b'"), ("c=1", "fixed: expected names out of")):
            assert main(line("--budget", "6", "--fixed", text)) == 2
            assert message in capsys.readouterr().err

    def test_a_store_is_read_and_verified_once(self, monkeypatch, capsys):
        assert main(line("--budget", "3", "--no-progress")) == 0
        verified = []
        verify = sqlite._read_verified
        monkeypatch.setattr(sqlite, "_read_verified", lambda *args: verified.append(args) or verify(*args))
        assert main(line("--budget", "5", "--no-progress")) == 0
        assert "3 of 5 evaluations" in capsys.readouterr().err
        assert len(verified) == 1

    def test_known_values_are_not_reported_as_evaluations(self, capsys):
        Path("data.csv").write_text("a,b,y\n0.5,1,1.04\n0.2,4,2.01\n")
        assert main(line("--budget", "2", "--x0", "data.csv", "--y0", "y")) == 0
        assert [said.split()[1:6] for said in capsys.readouterr().err.splitlines()] == [
            ["1", "of", "2:", "trial", "2"],
            ["2", "of", "2:", "trial", "3"],
        ]

    def test_every_option(self, capsys):
        Path("data.csv").write_text("a,b,y\n0.5,1,1.04\n0.2,4,2.01\n")
        program("loss.py", "json.dump({'m': {'loss': float(sys.argv[1])}}, open('out.json', 'w'))")
        options = shlex.split(
            "--budget 9 --seed 3 --store other.db --n-parallel 2 --timeout 60 --time-limit 600 --target -1 "
            "--tolerance 1e-9 --noise 0.01 --x0 data.csv --y0 y --result out.json --key m.loss --logs here "
            "--cwd {directory} --method default --no-progress"
        )
        argv = line(*options, name=str(Path("loss.py").absolute()))
        assert main(argv) == 0
        run = dale.open("other.db")
        assert (run.seed, run.noise, run.problem["objective"]["key"]) == (3, 0.01, "m.loss")
        assert [t.value for t in run.history[:2]] == [1.04, 2.01]
        assert all(t.value == t.params["a"] for t in run.history[2:] if t.state is not TrialState.PENDING)
        assert sorted(names("here"), key=int) == [str(t.id) for t in run.history[2:]]
        assert capsys.readouterr().err == ""

    def test_constraints_in_the_file_of_the_space(self, capsys):
        Path("space.toml").write_text(
            'constraints = ["lc + lp <= 1.2", "a + b + c == 1"]\n'
            + "".join(f"{name} = [0, 1]\n" for name in ("a", "b", "c", "lc", "lp"))
        )
        program("sim.py", "a, b, c, lc, lp = map(float, sys.argv[1:]); print((a - b) ** 2 - lc * lp + c)")
        for budget in ("4", "8"):
            args = ("{a}", "{b}", "{c}", "{lc}", "{lp}")
            assert main(line("--budget", budget, "--seed", "0", "--no-progress", args=args)) == 0
        run = dale.open("run.db")
        assert len(run.history) == 8
        assert run.space.dimension == 4
        for p in (t.params for t in run.history):
            assert abs(p["a"] + p["b"] + p["c"] - 1) < 3e-16
            assert p["lc"] + p["lp"] <= 1.2
        Path("space.toml").write_text(Path("space.toml").read_text().replace("1.2", "1.3"))
        assert main(line("--budget", "9", "--no-progress", args=args)) == 2
        assert "constraints is ['lc + lp <= 1.2'" in capsys.readouterr().err

    def test_an_error_in_a_constraint_is_one_line(self, capsys):
        Path("space.toml").write_text('constraints = ["a + c <= 4"]\na = [0, 1]\nb = [0, 1]\n')
        assert main(line("--budget", "4")) == 2
        (error,) = capsys.readouterr().err.splitlines()
        assert "space.toml: constraint 'a + c <= 4', position 5: expected the name of a parameter, got 'c'" in error
        assert error.endswith("the parameters are a, b")

    def test_a_function(self, capsys):
        Path("package").mkdir()
        Path("package/model.py").write_text("class Loss:\n    @staticmethod\n    def of(p): return p['a'] + p['b']\n")
        options = ["run", "--space", "space.toml", "--budget", "3", "--function", "package.model:Loss.of"]
        before = list(sys.path)
        try:
            assert main(options) == 0
        finally:
            sys.path[:] = before
        assert all(t.value == t.params["a"] + t.params["b"] for t in dale.open("run.db").history)
        assert "logs" not in capsys.readouterr().out

    def test_all_evaluations_fail(self, capsys):
        """In the same way: the run ends after five of them, with the error once in full."""
        program("bad.py", "print('no'); sys.exit('it broke')")
        assert main(line("--budget", "40", name="bad.py")) == 1
        said = capsys.readouterr()
        why = "the program ended with exit code 1: it broke"
        lines = said.err.splitlines()
        assert lines[0] == f"dale: trial 0 failed, the run continues: {why}"
        assert f"  output: {Path.cwd() / 'run.logs' / '0'}" in lines
        assert said.err.count("the run continues") == 1
        assert lines[-1].startswith("dale: error: the first 5 evaluations all failed in the same way; ")
        assert lines[-1].endswith(f": {why}")
        assert "run.db keeps all evaluations" in lines[-1]
        assert len(dale.open("run.db").history) == 5

    def test_some_evaluations_fail(self, capsys):
        """In two ways: each is shown once, and counted in the result."""
        program("bad.py", "a = float(sys.argv[1]); print({}['x'] if a > 0.7 else int('x') if a < 0.3 else a)")
        Path("first.csv").write_text("a,b\n0.9,1\n0.1,1\n0.5,1\n")
        assert main(line("--budget", "12", "--x0", "first.csv", "--seed", "0", name="bad.py")) == 0
        said = capsys.readouterr()
        run = dale.open("run.db")
        kinds = [
            f"{sum(error in str(t.error) for t in run.history)} x the program ended with exit code 1: {error}"
            for error in ("KeyError: 'x'", "ValueError: invalid literal")
        ]
        assert said.err.count("the run continues") == 2
        assert all(kind in said.out for kind in kinds)
        assert said.out.count("(bad.py, line ") == 2
        assert f"last error  of trial {max(t.id for t in run.history if t.error)}, one of " in said.out

    def test_on_error_raise(self, capsys):
        program("bad.py", "a = float(sys.argv[1]); print({}['x'] if a > 0.5 else a)")
        assert main(line("--budget", "12", "--seed", "0", "--on-error", "raise", name="bad.py")) == 1
        said = capsys.readouterr()
        last = dale.open("run.db").history[-1]
        assert said.out == ""
        assert said.err.splitlines()[-1].startswith(f"dale: error: trial {last.id} at a=")
        assert said.err.splitlines()[-1].endswith("the program ended with exit code 1: KeyError: 'x'")
        assert "the run continues" not in said.err
        assert last.retry

    def test_a_function_that_fails(self, capsys):
        Path("wrong.py").write_text("def f(p):\n    return p['c']\n")
        options = ["run", "--space", "space.toml", "--budget", "9", "--function", "wrong:f"]
        before = list(sys.path)
        try:
            assert main(options) == 1
        finally:
            sys.path[:] = before
        said = capsys.readouterr()
        assert "line 2, in f" in said.err
        assert said.err.splitlines()[-1].endswith("return NaN instead: KeyError: 'c'")
        assert said.out == ""

    @pytest.mark.usefixtures("all_may_fail")
    def test_control_characters_in_the_output_of_a_program_are_escaped(self, capsys):
        """Escape sequences can set titles, clear the screen, and write to the clipboard of some terminals."""
        program("evil.py", r"sys.stderr.write('\x1b]0;title\x07\x1b[2J\rlast \x9b5m words\n'); sys.exit(3)")
        assert main(line("--budget", "2", name="evil.py")) == 1
        said = capsys.readouterr()
        for text in (said.out, said.err):
            assert "last \\x9b5m words" in text
            assert all(c.isprintable() or c == "\n" for c in text)

    def test_a_terminal_that_cannot_encode_a_character(self, monkeypatch):
        monkeypatch.setenv("PYTHONIOENCODING", "ascii")
        Path("space.toml").write_text("a = [0.0, 1.0]\n")
        program("bowl.py", "print((float(sys.argv[1]) - 0.3) ** 2)")
        for argv in (line("--budget", "6", "--seed", "0", name="bowl.py", args=["{a}"]), ["show", "run.db"]):
            run = start(argv)
            out, err = run.communicate(timeout=120)
            assert run.returncode == 0, err
            assert "\\xb1" in out

    def test_no_feasible_point(self):
        program("infeasible.py", "json.dump({'value': 1, 'constraints': [1]}, open(sys.argv[1] + '/o', 'w'))")
        args = ("{directory}", "{params}")
        assert main(line("--budget", "2", "--result", "{directory}/o", name="infeasible.py", args=args)) == 1

    def test_arguments_after_the_first_two_dashes_belong_to_the_program(self):
        program("dashes.py", "assert sys.argv[1:3] == ['--', '--seed']; print(1)")
        assert main(line("--budget", "1", name="dashes.py", args=("--", "--seed", "{a}", "{b}"))) == 0


class TestErrors:
    @pytest.mark.parametrize(
        ("argv", "said"),
        [
            (["run"], "dale run: error: the following arguments are required: --space, --budget"),
            (
                ["run", "--space", "space.toml", "--budget", "x"],
                "dale run: error: argument --budget: invalid float value",
            ),
            (["run", "--space", "space.toml", "--budget", "1", "--nosie", "1"], "unrecognized arguments: --nosie 1"),
            (
                ["run", "--space", "space.toml", "--budget", "1", "sim", "{a}"],
                "sim {a}; write the program after --; see",
            ),
            (
                ["run", "--space", "space.toml", "--budget", "1", "--method", "x"],
                "argument --method: invalid choice: 'x'",
            ),
            (["demo", "--", "x"], "dale: error: dale demo expects nothing after --, got x"),
        ],
    )
    def test_invalid_options_are_one_line(self, argv, said, capsys):
        with pytest.raises(SystemExit) as stop:
            main(argv)
        assert stop.value.code == 2
        (error,) = capsys.readouterr().err.splitlines()
        assert said in error

    @pytest.mark.parametrize(
        ("options", "args", "said"),
        [
            (["--budget", "0"], ["x", "{a}", "{b}"], "budget must be at least 1, got 0"),
            (["--budget", "1"], [], "expected either a program after --, as in: dale run .* got neither"),
            (["--budget", "1", "--function", "m:f"], ["x"], "got both"),
            (["--budget", "1", "--function", "m"], [], "expected package.module:name, got 'm'"),
            (["--budget", "1", "--function", "no_such_module:f"], [], "No module named 'no_such_module'"),
            (["--budget", "1", "--function", "json:f"], [], "json has no attribute 'f'"),
            (
                ["--budget", "1", "--function", "no_number:f"],
                [],
                r"no_number:f: the import failed: ValueError: could not convert .*no_number.py, line 2",
            ),
            (
                ["--budget", "1", "--function", "needs_more:f"],
                [],
                r"the import failed: ModuleNotFoundError: No module named 'absent' .*line 1",
            ),
            (["--budget", "1", "--function", "half:f"], [], r"the import failed: SyntaxError: .*half.py, line 1"),
            (["--budget", "1.5", "--function", "json:dumps"], [], "budget must be a positive integer"),
            (["--budget", "1", "--function", "m:f", "--key", "x"], [], "--key applies to programs only"),
            (["--budget", "1"], ["no-such-program", "{a}", "{b}"], "program 'no-such-program' was not found"),
            (["--budget", "1"], [*PYTHON, "{a}"], "does not contain parameter 'b'"),
            (["--budget", "1"], [*PYTHON, "{a}", "{b}", "{c}"], "contains {c}; expected one of"),
            (["--budget", "1", "--x0", "no.csv"], [*PYTHON, "{params}"], "no.csv cannot be read: No such file .*; exp"),
        ],
    )
    def test_other_errors_are_one_line(self, options, args, said, capsys):
        Path("no_number.py").write_text("LOW = '0,5'\nlow = float(LOW)\n")
        Path("needs_more.py").write_text("import absent\n")
        Path("half.py").write_text("def f(x:\n")
        before = list(sys.path)
        try:
            assert main(["run", "--space", "space.toml", "--store", "new.db", *options, "--", *args]) == 2
        finally:
            sys.path[:] = before
        (error,) = capsys.readouterr().err.splitlines()
        assert error.startswith("dale: error: ")
        assert re.search(said, error)

    @pytest.mark.parametrize(("path", "why"), [("no.toml", "No such file or directory"), (".", "Is a directory")])
    def test_a_space_that_cannot_be_read(self, path, why, capsys):
        assert main(["run", "--space", path, "--budget", "1", "--", "true"]) == 2
        (error,) = capsys.readouterr().err.splitlines()
        assert error.startswith(f"dale: error: {path} cannot be read: {why}; expected the path of a TOML file")

    def test_a_different_command_in_the_same_store(self, capsys):
        assert main(line("--budget", "1", "--no-progress")) == 0
        assert main(line("--budget", "1", "--no-progress", args=("{b}", "{a}"))) == 2
        error = capsys.readouterr().err.splitlines()[-1]
        assert error.startswith(f"dale: error: {Path.cwd() / 'run.db'} holds another problem: objective.args is [")

    def test_nothing_in_a_store_is_run_or_imported(self, monkeypatch):
        """Only the command line determines what is run."""
        monkeypatch.syspath_prepend(Path.cwd())
        Path("theirs.py").write_text("open('was-run', 'w').close()\ndef fun(p): return 0.0\n")
        Path("ours.py").write_text("def fun(p): return 1.0\n")
        theirs = {"function": "theirs:fun", "args": [sys.executable, "theirs.py"]}
        dale.Optimizer(dale.Space.from_toml("space.toml"), seed=0, store="run.db", objective=theirs).close()
        again = ["run", "--space", "space.toml", "--budget", "2"]
        assert main(again) == 2
        assert main(["show", "run.db", "--trials", "--csv", "run.csv", "--json", "run.json"]) == 0
        assert main([*again, "--function", "ours:fun"]) == 0
        assert [t.value for t in dale.open("run.db").history] == [1.0, 1.0]
        assert not Path("was-run").exists()
