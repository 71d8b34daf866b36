"""External programs: exit codes, logs, and no process left behind."""

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from evaluators import arguments, is_alive, wait_until_gone
from programs import LINE, errors, minimise

import dale
from dale.evaluate import program as running

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals"),
    pytest.mark.usefixtures("all_may_fail"),
]


class TestFailures:
    def test_the_error_has_command_output_and_reason(self, script, tmp_path):
        args = script("sys.exit('\\n'.join(map(str, range(99))))", "--a b", "{a}")
        result = minimise(args, {"a": dale.Int(3, 4)}, budget=1, store=tmp_path / "run.db")
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
            ("os.kill(os.getpid(), signal.SIGKILL)", "the program was killed by signal 9 (SIGKILL)", False),
            ("os.kill(os.getpid(), signal.SIGTERM)", "the program was killed by signal 15 (SIGTERM)", False),
        ],
    )
    def test_exit_codes(self, code, why, retry, script):
        result = minimise(script(code, "{a}"), budget=1)
        assert (errors(result), result.history[0].retry) == ([why], retry)

    def test_exit_code_75_retries_the_same_point(self, script, tmp_path):
        args = script(
            f"""
            before = {str(tmp_path / "before")!r}
            if not os.path.exists(before):
                open(before, "w").close()
                sys.exit(75)
            print(sys.argv[1])
            """,
            "{a}",
        )
        result = minimise(args, store=tmp_path / "run.db")
        assert [t.retry for t in result.history] == [True, False]
        assert result.history[0].params == result.history[1].params
        assert sorted(p.name for p in (tmp_path / "run.logs").iterdir()) == ["0", "1"]

    def test_arguments_that_are_too_long_fail_only_their_trial(self, script):
        args = script("print(1)", "{a}")
        result = minimise(args, {"a": dale.Choice(["x" * 2**22, "y"])})
        assert [t.value for t in result.history if t.params["a"] == "y"] == [1.0]
        assert (result.status, [t.retry for t in result.history]) == (0, [False, False])
        (why,) = errors(result)
        assert "could not be started: [Errno 7] Argument list too long" in why
        assert max(len(t.error or "") for t in result.history) < 10_000

    @pytest.mark.parametrize("where", [{}, {"logs": "logs"}], ids=["temporary", "logs"])
    @pytest.mark.parametrize(
        "harm",
        ["shutil.rmtree(here)", "[path.unlink() for path in here.iterdir()]", "here.rename(str(here) + '-moved')"],
    )
    def test_a_program_that_cleans_its_directory(self, script, harm, where):
        """The value that it printed is kept; where it failed, only its trial does, with the end of standard error."""
        code = f"""
            import pathlib, shutil
            here = pathlib.Path(os.environ["DALE_DIRECTORY"])
            print(2.5)
            print("gone", file=sys.stderr)
            {harm}
            sys.exit(int(os.environ["DALE_TRIAL"]))
            """
        result = minimise(script(code, "{a}"), cwd="{directory}", budget=3, **where)
        assert (result.status, result.nfev) == (0, 3)
        assert [t.value for t in result.history] == [2.5, None, None]
        assert [t.retry for t in result.history] == [False] * 3
        assert errors(result) == [f"the program ended with exit code {i}: gone" for i in (1, 2)]

    def test_a_result_file_that_the_program_removes_fails_its_trial(self, script):
        code = "import shutil; open('out.json', 'w').write('1'); shutil.rmtree(os.environ['DALE_DIRECTORY'])"
        result = minimise(script(code, "{a}"), cwd="{directory}", result="out.json")
        assert [error.split("dale-trial")[0].split()[:5] for error in errors(result)] == [
            ["the", "program", "did", "not", "write"]
        ] * 2

    def test_a_log_directory_that_cannot_be_written_ends_the_run(self, script, tmp_path):
        (tmp_path / "run.logs").touch()
        with pytest.raises(RuntimeError, match="the directory of trial 0 cannot be written"):
            minimise(script("print(1)", "{a}"), budget=60, store=tmp_path / "run.db")


class TestLogs:
    def test_files_of_an_evaluation(self, script, tmp_path):
        args = script(
            "print('out'); print('err', file=sys.stderr); open(sys.argv[1] + '/mine', 'w'); print(2)",
            "{directory}",
            "{a}",
        )
        minimise(args, store=tmp_path / "run.v2.db", n_parallel=2)
        folders = [tmp_path / "run.v2.logs" / name for name in "01"]
        for number, folder in enumerate(folders):
            assert sorted(p.name for p in folder.iterdir()) == ["command.json", "mine", "stderr.txt", "stdout.txt"]
            assert (folder / "stdout.txt").read_text() == "out\n2\n"
            assert (folder / "stderr.txt").read_text() == "err\n"
            record = json.loads((folder / "command.json").read_text())
            assert record["args"][:-1] == [*args[:-2], str(folder)]
            assert (record["trial"], record["exit_code"], record["cwd"]) == (number, 0, str(Path.cwd()))
            assert record["seconds"] > 0

    def test_output_is_written_while_the_program_runs(self, script, tmp_path):
        args = script(
            f"""
            print("early", flush=True)
            while not os.path.exists({str(tmp_path / "go")!r}):
                time.sleep(0.01)
            print(1)
            """,
            "{a}",
        )
        with ThreadPoolExecutor(1) as executor:
            run = executor.submit(minimise, args, budget=1, logs=tmp_path / "logs")
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

    def test_existing_logs_are_kept(self, script, tmp_path):
        args = script("print(1)", "{a}")
        (tmp_path / "logs" / "0").mkdir(parents=True)
        (tmp_path / "logs" / "0" / "stdout.txt").write_text("before")
        for _ in range(2):
            minimise(args, budget=1, logs=tmp_path / "logs")
        assert sorted(p.name for p in (tmp_path / "logs").iterdir()) == ["0", "0-2", "0-3"]
        assert (tmp_path / "logs" / "0" / "stdout.txt").read_text() == "before"

    def test_without_a_store_logs_are_deleted(self, script, tmp_path, monkeypatch):
        (tmp_path / "tmp").mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
        args = script("print(1) if float(sys.argv[1]) > 0.5 else sys.exit(1)", "{a}")
        with ThreadPoolExecutor(1) as executor:  # in this process, whose temporary directory is changed
            minimise(args, budget=4, executor=executor)
        assert list((tmp_path / "tmp").iterdir()) == []
        assert list(Path.cwd().iterdir()) == []

    def test_a_store_with_the_name_of_its_logs(self, script):
        minimise(script("print(1)", "{a}"), budget=1, store="run.logs")
        assert sorted(p.name for p in Path.cwd().iterdir()) == ["run.logs", "run.logs.logs"]


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


@pytest.mark.parametrize("kind", ["processes", "threads"])
class TestNoProcessIsLeft:
    def test_after_a_timeout(self, kind, script, tmp_path):
        args = script(STARTS, str(tmp_path), "hangs", "{a}")
        with arguments(kind, 2) as more:
            result = minimise(args, timeout=2, store=tmp_path / "run.db", **more)
        assert [why.startswith("timed out after 2 s") for why in errors(result)] == [True, True]
        assert len(pids(tmp_path)) == 4
        assert wait_until_gone(pids(tmp_path))

    def test_after_the_program_ended(self, kind, script, tmp_path):
        with arguments(kind, 2) as more:
            result = minimise(script(STARTS, str(tmp_path), "", "{a}"), **more)
        assert [t.value for t in result.history] == [1.0, 1.0]
        assert len(pids(tmp_path)) == 4
        assert wait_until_gone(pids(tmp_path))

    def test_the_program_can_clean_up_after_sigterm(self, kind, script, tmp_path):
        args = script(
            """
            def tidy(*_):
                time.sleep(0.3)
                open(os.environ["DALE_DIRECTORY"] + "/tidied", "w").close()
                sys.exit(7)
            signal.signal(signal.SIGTERM, tidy)
            while True:
                time.sleep(3600)
            """,
            "{a}",
        )
        with arguments(kind, 2) as more:
            minimise(args, timeout=2, budget=1, logs=tmp_path / "logs", **more)
        assert (tmp_path / "logs" / "0" / "tidied").exists()
        assert json.loads((tmp_path / "logs" / "0" / "command.json").read_text())["exit_code"] == 7

    def test_after_a_program_that_ignores_sigterm(self, kind, script, tmp_path, monkeypatch):
        monkeypatch.setattr("dale.evaluate.process.GRACE", 0.3)
        monkeypatch.setattr(running, "GRACE", 0.3)
        args = script("signal.signal(15, signal.SIG_IGN)\n" + STARTS, str(tmp_path), "hangs", "{a}")
        with arguments(kind, 2) as more:
            minimise(args, timeout=2, budget=1, **more)
        assert len(pids(tmp_path)) == 2
        assert wait_until_gone(pids(tmp_path))


@pytest.mark.parametrize("tidies_up", [True, False])
def test_in_an_executor_no_program_outlives_a_worker_that_is_killed(tidies_up, script, tmp_path):
    """Also if it ignores SIGTERM; otherwise it can clean up."""
    handler = "lambda *_: (open(sys.argv[1] + '/tidied', 'w').close(), os._exit(0))" if tidies_up else "signal.SIG_IGN"
    args = script(f"signal.signal(15, {handler})\n" + STARTS, str(tmp_path), "hangs", "{a}")
    code = f"""
from concurrent.futures import ThreadPoolExecutor
import dale
dale.minimize(dale.Command({args!r}), {LINE!r}, budget=2, executor=ThreadPoolExecutor(2))
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
