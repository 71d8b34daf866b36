"""What tests of evaluations share."""

import sys
import textwrap
from pathlib import Path

import pytest

import dale


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
