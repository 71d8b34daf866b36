"""Several processes with the same seed share a study, and some of them are killed on the way.

Run on SQLite, on a journal file, and on a PostgreSQL server that the test starts for itself.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState
from optuna_worker import STUDY, storage_of

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
LONG = {"n_workers": 4, "n_trials": 50, "kill_after": (50, 90)}  # trials of each worker, and of all
SHORT = {"n_workers": 2, "n_trials": 8, "kill_after": (6,)}


def server_program(name):
    """The path of a program of a PostgreSQL server; the newest of Debian's, which are not on the search path."""
    found = Path("/usr/lib/postgresql").glob(f"*/bin/{name}")
    newest = max(found, key=lambda path: int(path.parts[-3]), default=None)
    return shutil.which(name) or newest


@contextmanager
def postgresql():
    """The address of a database of a new server, which listens on a socket in its own folder."""
    initdb, pg_ctl = server_program("initdb"), server_program("pg_ctl")
    if initdb is None or pg_ctl is None:
        pytest.skip("no PostgreSQL server is installed here; Debian's package is called postgresql")
    folder = Path(tempfile.mkdtemp(prefix="dale-pg-"))
    who = {}
    if os.geteuid() == 0:  # the server refuses to run as root
        shutil.chown(folder, "postgres")
        who = {"user": "postgres", "group": "postgres", "extra_groups": ()}

    def call(*args):
        subprocess.run(args, check=True, capture_output=True, cwd=folder, timeout=120, **who)

    try:
        call(initdb, "-D", folder / "data", "-U", "dale", "-A", "trust", "-E", "UTF8")
        options = f"-c listen_addresses='' -c unix_socket_directories={folder}"
        call(pg_ctl, "-D", folder / "data", "-l", folder / "log", "-o", options, "-w", "start")
        try:
            yield f"postgresql+psycopg://dale@/postgres?host={folder}"
        finally:
            call(pg_ctl, "-D", folder / "data", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder)


@contextmanager
def storage_address(kind, folder):
    if kind == "postgresql":
        with postgresql() as address:
            yield address
    else:
        yield {"sqlite": f"sqlite:///{folder}/study.db", "journal": f"{folder}/study.log"}[kind]


class Workers:
    """The processes, and what each has acknowledged in its log."""

    def __init__(self, address, folder):
        self.address, self.folder, self.started = address, folder, []

    def start(self, n_trials):
        number = len(self.started)
        log, errors = self.folder / f"acknowledged-{number}", self.folder / f"errors-{number}"
        log.touch()
        command = [sys.executable, HERE / "optuna_worker.py", self.address, log, str(n_trials)]
        with errors.open("w") as file:
            self.started.append((subprocess.Popen(command, stdout=file, stderr=file), log, errors))

    def acknowledged(self, *numbers):
        lines = [line for i in numbers for line in self.started[i][1].read_text().splitlines(keepends=True)]
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def all_acknowledged(self):
        return self.acknowledged(*range(len(self.started)))

    def kill(self, number, after):
        while len(self.all_acknowledged()) < after:
            assert all(process.poll() in (None, -signal.SIGKILL) for process, _, _ in self.started), self.errors()
            time.sleep(0.05)
        self.started[number][0].kill()
        self.started[number][0].wait()

    def errors(self):
        return "".join(errors.read_text() for _, _, errors in self.started)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "journal", "postgresql"])
def test_no_trial_is_lost_and_no_point_is_evaluated_twice(kind, tmp_path):
    assert shared_study(kind, tmp_path, **LONG) < 0.3979


def test_no_trial_of_two_short_workers_is_lost(tmp_path):
    shared_study("sqlite", tmp_path, **SHORT)


def shared_study(kind, tmp_path, n_workers, n_trials, kill_after):
    """Let workers share a study, and check its trials; its best value."""
    with storage_address(kind, tmp_path) as address:
        storage = storage_of(address)
        study = optuna.create_study(study_name=STUDY, storage=storage)
        workers = Workers(address, tmp_path)
        for _ in range(n_workers):
            workers.start(n_trials)
        for number, after in enumerate(kill_after):
            workers.kill(number, after)
            workers.start(n_trials - len(workers.acknowledged(number)))
        codes = [process.wait(timeout=600) for process, _, _ in workers.started]
        trials, best = study.trials, study.best_value
        if kind != "journal":
            storage.remove_session()
            storage.engine.dispose()
    assert codes == [-signal.SIGKILL] * len(kill_after) + [0] * n_workers
    assert workers.errors() == ""
    acknowledged = {number: (params, value) for number, params, value in workers.all_acknowledged()}
    assert len(acknowledged) == n_workers * n_trials
    assert all((trials[n].params, trials[n].value) == outcome for n, outcome in acknowledged.items())
    assert [t.number for t in trials] == list(range(len(trials)))
    complete = [t for t in trials if t.state is TrialState.COMPLETE]
    assert len(complete) <= len(acknowledged) + len(kill_after)  # the killed may have died between the two
    assert len(trials) <= len(acknowledged) + len(kill_after)
    points = [tuple(sorted(t.params.items())) for t in trials if len(t.params) == 2]
    assert len(set(points)) == len(points)
    return best
