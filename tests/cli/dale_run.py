"""Helpers of the tests of ``dale run``: programs to run, command lines, processes."""

import subprocess
import sys
import textwrap
import time
from pathlib import Path

PYTHON = [sys.executable, "-S", "-E"]


def program(name, code):
    Path(name).write_text("import json, os, sys, time\n" + textwrap.dedent(code))


def line(*options, name="sim.py", args=("{a}", "{b}")):
    return ["run", "--space", "space.toml", *options, "--", *PYTHON, name, *args]


def names(folder):
    return [path.name for path in Path(folder).iterdir()]


def start(argv):
    return subprocess.Popen(
        [sys.executable, "-m", "dale", *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_for(condition):
    for _ in range(1200):
        if condition():
            return True
        time.sleep(0.05)
    return False
