"""The processes of ``dale run``: the sockets that they open, and what signals and kills do to them."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from dale_run import line, names, program, start, wait_for
from evaluators import wait_until_gone

import dale
from dale.cli import main

FULL = os.environ.get("DALE_FULL") == "1"
KILLS = 20 if FULL else 2

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals"), pytest.mark.usefixtures("folder")]


# Every Python process creates a file, and writes a line to it for each network address that it binds.
EARS = """
import os, sys
path = os.path.join({folder!r}, str(os.getpid()))
def hear(event, arguments):
    if event == "socket.bind" and isinstance(arguments[1], tuple):  # else it is a socket of this machine's only
        with open(path, "a") as file:
            print(arguments[1], file=file)
open(path, "a").close()
sys.addaudithook(hear)
"""


class TestNoNetworkSockets:
    """No process binds a network address, and the test would notice."""

    @pytest.fixture(autouse=True)
    def _ears(self, folder, monkeypatch):
        (folder / "heard").mkdir()
        (folder / "ears").mkdir()
        (folder / "ears" / "sitecustomize.py").write_text(EARS.format(folder=str(folder / "heard")))
        paths = [folder / "ears", folder, Path(dale.__file__).parents[1]]
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, paths)))
        Path("fun.py").write_text(
            "def fun(p): return p['a']\ndef listens(p):\n    import socket\n"
            "    with socket.create_server(('127.0.0.1', 0)): return p['a']\n"
        )

    def heard(self, *options, args=()):
        """Number of processes, and the addresses that they bound."""
        run = start(["run", "--space", "space.toml", "--budget", "3", *options, *args])
        _, err = run.communicate(timeout=300)
        assert run.returncode == 0, err
        texts = [path.read_text() for path in Path("heard").iterdir()]
        return len(texts), "".join(texts).splitlines()

    def test_in_one_process(self):
        assert self.heard("--function", "fun:fun") == (1, [])

    def test_with_a_process_for_each_evaluation(self):
        n, bound = self.heard("--function", "fun:fun", "--n-parallel", "2")
        assert (n >= 2, bound) == (True, [])  # the fork server is a new interpreter

    def test_with_programs(self):
        n, bound = self.heard("--n-parallel", "2", args=["--", sys.executable, "sim.py", "{a}", "{b}"])
        assert (n >= 5, bound) == (True, [])

    def test_a_socket_of_the_objective_is_noticed(self):
        assert len(self.heard("--function", "fun:listens")[1]) == 3


class TestSignals:
    """The programs write their process id, and wait while a file exists."""

    @pytest.fixture(autouse=True)
    def _waiting(self, folder):
        (folder / "wait").touch()
        (folder / "pids").mkdir()
        program(
            "waits.py",
            """
            open(f"pids/{os.environ['DALE_TRIAL']}-{os.getpid()}", "w").close()
            while os.path.exists("wait") and int(os.environ["DALE_TRIAL"]) > 1:
                time.sleep(0.02)
            print(sys.argv[1])
            """,
        )

    def pids(self):
        return [int(name.partition("-")[2]) for name in names("pids")]

    def begin(self, *options):
        run = start(line("--budget", "6", "--seed", "0", "--n-parallel", "2", *options, name="waits.py"))
        began = wait_for(lambda: len(self.pids()) >= 4 or run.poll() is not None)  # two completed, two that wait
        assert began
        assert run.poll() is None, run.communicate()
        return run

    @pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_a_signal(self, number, status):
        run = self.begin()
        run.send_signal(number)
        out, err = run.communicate(timeout=120)
        assert run.returncode == status, err
        assert out.splitlines()[0] == {130: "Interrupted", 143: "Terminated"}[status] + " after 2 evaluations"
        assert out.splitlines()[1].startswith("best value  ")
        assert wait_until_gone(self.pids())

    @pytest.mark.parametrize(
        ("status", "code"),
        [
            (dale.Status.TERMINATED, 143),
            (dale.Status.INTERRUPTED, 130),
            (dale.Status.EXECUTOR_BROKEN, 1),
            (dale.Status.BUDGET_SPENT, 0),
        ],
    )
    def test_the_exit_code_depends_on_the_status_and_not_on_the_message(self, status, code, monkeypatch):
        def ended(*args, **options):
            result = dale.minimize(lambda p: p["a"], {"a": (0, 1)}, budget=1)
            result.update(status=status, message="Terminated")
            return result

        monkeypatch.setattr("dale.cli.run.minimize", ended)
        assert main(line("--budget", "1", "--no-progress")) == code

    def test_kill_9_and_resume(self):
        for kill in range(KILLS):
            wanted = 4 + 2 * kill
            run = start(line("--budget", "6", "--seed", "0", "--n-parallel", "2", name="waits.py"))
            assert wait_for(lambda n=wanted: len(self.pids()) >= n)
            run.kill()
            run.communicate(timeout=120)
            assert wait_until_gone(self.pids())
        Path("wait").unlink()
        run = start(line("--budget", "6", "--n-parallel", "2", name="waits.py"))
        out, err = run.communicate(timeout=300)
        assert run.returncode == 0, err
        assert out.startswith("The budget is spent after 6 evaluations")
        assert "dale: run.db has 2 of 6 evaluations: resuming" in err
        history = dale.open("run.db").history
        assert [t.value for t in history] == [t.params["a"] for t in history]
        # Running evaluations were repeated after each kill; the logs of every attempt are kept.
        executed = sorted(int(name.partition("-")[0]) for name in names("pids"))
        assert executed == sorted([*range(6), *[2, 3] * KILLS])
        attempts = ["", *(f"-{n}" for n in range(2, KILLS + 2))]
        assert sorted(names("run.logs")) == sorted(["0", "1", "4", "5", *(f"{i}{n}" for i in (2, 3) for n in attempts)])
        assert "exit_code" not in json.loads(Path("run.logs/2/command.json").read_text())

    def test_two_runs_on_one_store(self):
        Path("wait").unlink()
        runs = [start(line("--budget", "8", "--seed", "0", name="waits.py")) for _ in range(2)]
        for run in runs:
            _, err = run.communicate(timeout=300)
            assert run.returncode == 0, err
        history = dale.open("run.db").history
        assert 8 <= len(history) <= 9
        assert [t.value for t in history] == [t.params["a"] for t in history]
        assert sorted(int(name.partition("-")[0]) for name in names("pids")) == [t.id for t in history]
        assert sorted(names("run.logs"), key=int) == [str(t.id) for t in history]
