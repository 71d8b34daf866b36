"""Runs the commands and the script of docs/cluster.md, on free ports."""

import re
import shlex
import subprocess
import sys

import pytest
from clusters import ROOT, commands, environment, free_port

import dale

PAGE = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def shown_file(name):
    """The content of a file in docs/programs.md."""
    page = (ROOT / "docs" / "programs.md").read_text(encoding="utf-8")
    return re.search(rf"^```\w+\n(# {re.escape(name)}\n.*?)^```$", page, re.MULTILINE | re.DOTALL)[1]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_two_hosts(tmp_path):
    port = str(free_port())
    (tmp_path / "fit.py").write_text(blocks("py")[0].replace("8786", port), encoding="utf-8")
    lines = [shlex.split(line) for line in "".join(blocks("console")).replace("8786", port).splitlines()]
    first_args = [["dask", "scheduler"], *[["dask", "worker"]] * 2, ["python", "fit.py"], ["dale", "run"]]
    assert [args[:2] for args in lines] == first_args
    for name in ("space.toml", "sim.py"):
        (tmp_path / name).write_text(shown_file(name), encoding="utf-8")
    with commands(tmp_path) as start:
        for args in lines[:3]:
            start(*args[1:])
        ran, program = (
            subprocess.run(
                [sys.executable, *args],
                cwd=tmp_path,
                env=environment(),
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            for args in (lines[3][1:], ["-m", *lines[4]])
        )
    assert (ran.returncode, program.returncode) == (0, 0), ran.stderr + program.stderr
    assert ran.stdout.startswith("The budget is spent after 40 evaluations\nbest value")
    run = dale.open(tmp_path / "fit.db")
    assert all(trial.value is not None for trial in run.history)
    printed = "".join(path.read_text() for path in tmp_path.glob("worker-*.log"))
    assert len(re.findall(r"^\[.*\] on ", printed, re.MULTILINE)) == len(run.history) == 40
    assert program.stdout.startswith("The budget is spent after 12 evaluations\nbest value")
    assert sorted(int(path.name) for path in (tmp_path / "sim.logs").iterdir()) == list(range(12))


def test_the_script_for_a_queue_compiles():
    code = blocks("py")[1]
    compile(code, "<example>", "exec")
    assert "from dale.integrations.dask import executor" in code
