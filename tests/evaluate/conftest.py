"""Fixtures for tests of evaluation."""

import sys
import textwrap
from pathlib import Path

import pytest

import dale


@pytest.fixture
def script(tmp_path, monkeypatch):
    """Write a Python program, and return the arguments that start it. The current directory is empty."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("PYTHONPATH", str(Path(dale.__file__).parents[1]))  # it may be a relative path

    def write(code, *arguments):
        path = tmp_path / "program.py"
        path.write_text("import json, os, signal, subprocess, sys, time\n" + textwrap.dedent(code))
        return [sys.executable, "-S", "-E", str(path), *arguments]

    return write
