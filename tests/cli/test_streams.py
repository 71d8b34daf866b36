"""Standard output and standard error that are closed, full or not read end neither ``minimize`` nor ``dale run``."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dale

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/dev/full")

CLOSED, FULL, UNREAD = "closed", "full", "unread"
HARM = [CLOSED, FULL, UNREAD]
MINIMIZE = """
import sys, dale
{harm}
for progress in (True, None):
    result = dale.minimize(lambda x: x[0] ** 2, [(-1, 2)], budget=5, seed=0, progress=progress)
    open("done", "a").write(str(result.nfev))
"""
PROGRAM = [sys.executable, "-S", "-E", "-c", "print({a} ** 2)"]


def run(folder, argv, **harms):
    """Run a program whose streams are harmed; its exit status, and what it wrote to the streams that are not."""
    closed = [number for number, name in ((1, "stdout"), (2, "stderr")) if harms.get(name) == CLOSED]
    files = {}
    for name in ("stdout", "stderr"):
        if harms.get(name) == UNREAD:
            reader, files[name] = os.pipe()
            os.close(reader)
        else:
            files[name] = os.open("/dev/full" if harms.get(name) == FULL else folder / name, os.O_WRONLY | os.O_CREAT)
    try:
        code = subprocess.run(
            ["/bin/sh", "-c", '"$@"' + "".join(f" {number}>&-" for number in closed), "sh", *argv],
            stdin=subprocess.DEVNULL,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(Path(dale.__file__).parents[1])},
            timeout=120,
            check=False,
            **files,
        ).returncode
    finally:
        for file in files.values():
            os.close(file)
    return code, *((folder / name).read_text() if (folder / name).exists() else "" for name in ("stdout", "stderr"))


@pytest.mark.parametrize("harm", HARM)
def test_minimize_without_standard_error(harm, tmp_path):
    code, out, _ = run(tmp_path, [sys.executable, "-c", MINIMIZE.format(harm="")], stderr=harm)
    assert out == ""
    assert (tmp_path / "done").read_text() == "55"
    assert code in (0, 120)  # Python's own status if it cannot flush at its end


@pytest.mark.parametrize("harm", ["sys.stderr.close()", "sys.stderr = None"])
def test_minimize_with_a_stream_that_the_program_closed(harm, tmp_path):
    run(tmp_path, [sys.executable, "-c", MINIMIZE.format(harm=harm)])
    assert (tmp_path / "done").read_text() == "55"


def dale_run(folder, **harms):
    (folder / "space.toml").write_text("a = [0.5, 1.0]\n")
    options = ["--space", "space.toml", "--budget", "4", "--seed", "0"]
    code, out, err = run(folder, [sys.executable, "-m", "dale", "run", *options, "--", *PROGRAM], **harms)
    assert dale.open(folder / "run.db").n_evaluated == 4
    return code, out, err


@pytest.mark.parametrize("harm", HARM)
def test_dale_run_without_standard_error(harm, tmp_path):
    """The progress is dropped, and the result is printed."""
    code, out, err = dale_run(tmp_path, stderr=harm)
    assert (code, err) == (0, "")
    assert "best value  0." in out
    assert "run.db" in out


@pytest.mark.parametrize("harm", HARM)
def test_dale_run_without_standard_output(harm, tmp_path):
    """The result is printed to standard error, after the progress. Only a write that fails is an error."""
    code, out, err = dale_run(tmp_path, stdout=harm)
    assert (code, out) == (1 if harm == FULL else 0, "")
    assert "4 of 4: trial 3" in err
    assert "best value  0." in err
    assert "Exception" not in err
    said = "dale: error: standard output could not be written: [Errno 28] No space left on device"
    assert (f"{said}; the result is above and in run.db" in err) == (harm == FULL)


@pytest.mark.parametrize("harm", [CLOSED, FULL])
def test_dale_run_without_both(harm, tmp_path):
    assert dale_run(tmp_path, stdout=harm, stderr=harm) == (1 if harm == FULL else 0, "", "")


@pytest.mark.parametrize("harm", HARM)
def test_dale_show_without_standard_output(harm, tmp_path):
    """As of any program, a script can rely on the exit status: 0 means that all is written, or nobody wants it."""
    dale.minimize(lambda x: x[0] ** 2, [(-1, 2)], budget=5, seed=0, store=tmp_path / "run.db")
    code, out, err = run(tmp_path, [sys.executable, "-m", "dale", "show", "run.db"], stdout=harm)
    assert (code, out) == (2 if harm == FULL else 0, "")
    assert err == ("dale: error: [Errno 28] No space left on device\n" if harm == FULL else "")
