"""The progress bar: shown on terminals and in notebooks, silent otherwise, and always on standard error."""

import math
import os
import subprocess
import sys
import threading

import pytest
import tqdm

import dale
from dale._progress import Progress

QUICK = "dale.minimize(lambda x: x[0] ** 2, [(-1, 2)], budget=3, seed=0, progress={progress})"


def shown(capsys):
    """The text of each time that the bar was drawn; standard output must be empty."""
    out, err = capsys.readouterr()
    assert out == ""
    return [text.rstrip() for text in err.split("\r") if text.strip()]


def fresh(code):
    """Standard output and standard error of a new interpreter in which warnings are errors."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_silent_when_not_shown(capsys):
    with Progress(3, False) as line:
        line.write(1, "a note")
    assert capsys.readouterr() == ("", "")


def test_silent_without_a_terminal(capsys):
    with Progress(3, None) as line:  # the standard error of pytest is no terminal
        assert not line.show
        line.write(1, "a note")
    assert capsys.readouterr() == ("", "")


def test_shown_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with Progress(3, None) as line:
        line.write(3, "a note")
    assert "3/3" in shown(capsys)[-1]


def test_the_bar(capsys):
    with Progress(4, True) as line:
        line.write(1, "first")
        line.write(4, "last")
    drawn = shown(capsys)
    assert "0/4" in drawn[0]
    assert "100%" in drawn[-1]
    assert "4/4 [00:00<00:00, last]" in drawn[-1]


def test_a_note_without_progress_is_shown_at_once(capsys):
    with Progress(4, True) as line:
        line.write(0, "starts")
        assert "0/4 [00:00<?, starts]" in shown(capsys)[-1]


def test_best_value_and_failures_of_a_run(capsys):
    def fails_at_first(x):
        calls.append(x)
        return math.nan if len(calls) < 3 else 1.25

    calls = []
    dale.minimize(fails_at_first, [(0, 1)], budget=2, seed=0, progress=True)
    assert "2/2 [00:00<00:00, no value yet, 2 failed]" in shown(capsys)[-1]
    dale.minimize(fails_at_first, [(0, 1)], budget=2, seed=0, progress=True)
    assert "2/2 [00:00<00:00, best 1.25]" in shown(capsys)[-1]


def test_the_estimate_ignores_earlier_runs(capsys, monkeypatch):
    """A run resumed at 50 of 100: after one evaluation in 60 s, 49 minutes remain."""
    now = [0.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    with Progress(100, True, 50) as line:
        assert "50/100 [00:00<?" in shown(capsys)[-1]
        now[0] = 60.0
        line.write(51, "")
        assert "51/100 [01:00<49:00" in shown(capsys)[-1]


def test_a_resumed_run_starts_with_the_evaluations_made(tmp_path, monkeypatch, capsys):
    seen = []
    monkeypatch.setattr(
        sys.modules["dale.minimize"], "Progress", lambda *arguments: seen.append(arguments) or Progress(*arguments)
    )
    for budget in (3, 5, 4):  # the last budget is already spent
        dale.minimize(lambda x: x[0], [(0, 1)], budget=budget, seed=0, store=tmp_path / "run.db", progress=True)
    assert seen == [(3, True, 0), (5, True, 3), (4, True, 5)]
    assert "5/?" in shown(capsys)[-1]


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
def test_the_bar_fits_a_narrow_terminal():
    import pty
    import termios

    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (20, 40))
    code = f"import dale; {QUICK.format(progress=None)}"
    out = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=theirs, check=True, timeout=60)
    os.close(theirs)
    drawn = os.read(ours, 10_000).decode().split("\r")
    os.close(ours)
    assert out.stdout == b""
    assert any("3/3" in text for text in drawn), drawn
    assert max(len(text.strip("\n")) for text in drawn) <= 40, drawn


def test_the_line_ends_when_the_run_is_interrupted(capsys):
    def interrupted():
        with Progress(5, True) as line:
            line.write(1, "a note")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert capsys.readouterr().err.endswith("\n")


def test_inside_a_bar_of_the_user_it_takes_the_next_line(capsys):
    for _ in tqdm.trange(1):
        with Progress(1, True) as line:
            line.write(1, "a note")
    assert "\n\r" in capsys.readouterr().err


def test_two_runs_at_once(capsys):
    threads = [threading.Thread(target=lambda: Progress(1, True).__enter__().write(1, "a note")) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert any("1/1" in text for text in shown(capsys))


def test_tqdm_is_imported_only_to_show_a_bar():
    runs = [f"{QUICK.format(progress=progress)}; print('tqdm' in sys.modules)" for progress in (False, None, True)]
    out, _ = fresh("; ".join(["import sys, dale", *runs]))
    assert out.split() == ["False", "False", "True"]


def test_a_bar_starts_no_thread_and_makes_no_semaphore():
    """With either of them, forking a process for an evaluation would be unsafe."""
    show = "print(threading.active_count(), 'multiprocessing.synchronize' in sys.modules)"
    out, err = fresh(f"import sys, threading, dale; {QUICK.format(progress=True)}; {show}")
    assert out.split() == ["1", "False"]
    assert "3/3" in err


def test_a_notebook_without_widgets_has_the_text_bar():
    """As in a Jupyter kernel without ipywidgets, about which tqdm would warn."""
    notebook = """
import sys
from types import ModuleType, SimpleNamespace
sys.modules["ipykernel.zmqshell"] = ModuleType("ipykernel.zmqshell")
sys.modules["IPython"] = ModuleType("IPython")
sys.modules["IPython"].get_ipython = lambda: SimpleNamespace(kernel="a kernel")
sys.modules["ipywidgets"] = None
import dale
"""
    out, err = fresh(notebook + QUICK.format(progress=None))
    assert out == ""
    assert "3/3" in err
    assert "Warning" not in err
    default = notebook.replace("import sys\n", "import sys, warnings\nwarnings.simplefilter('default')\n")
    assert "Warning" not in fresh(default + QUICK.format(progress=None))[1]
