"""Where ``dale run`` is tested."""

import signal
from pathlib import Path

import pytest
from dale_run import program

import dale


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A current directory with a space and programs, and the signal handlers of a foreground process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(dale.__file__).parents[1]))
    before = signal.signal(signal.SIGINT, signal.default_int_handler), signal.signal(signal.SIGTERM, signal.SIG_DFL)
    Path("space.toml").write_text('a = [0.0, 1.0]\nb = {type = "int", low = 1, high = 4}\n')
    program("sim.py", "print('loss', (float(sys.argv[1]) - 0.3) ** 2 + abs(int(sys.argv[2]) - 2))")
    yield tmp_path
    signal.signal(signal.SIGINT, before[0])
    signal.signal(signal.SIGTERM, before[1])
