"""Writes the files of docs/programs.md, and runs its commands."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import dale

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "programs.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(text, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def files():
    return {re.match(r"# (\S+)\n", text)[1]: text for kind in ("py", "toml") for text in blocks(PAGE, kind)}


def lines():
    found = [line for text in blocks(PAGE, "console") for line in text.splitlines()]
    return found, [line for text in blocks(README, "console") for line in text.splitlines() if line.startswith("dale ")]


@pytest.fixture
def run(tmp_path):
    """Run a command with dale and python on PATH."""
    for name, text in files().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    directory = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(dale.__file__).parents[1]),
        "PATH": os.pathsep.join([str(directory), os.environ["PATH"]]),
    }

    def run(line):
        command, *args = shlex.split(line)
        assert command == "dale"
        argv = [sys.executable, "-m", "dale", *args]
        return subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)

    return run


def test_the_commands_of_the_page(run, tmp_path):
    (first, *others), _ = lines()
    done = run(first)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The budget is spent after 20 evaluations")
    for line in others:
        done = run(line)
        assert done.returncode == 0, done.stderr
    assert "command     python sim.py '{a}' '--b={b}'" in done.stdout
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        [*files(), "run.db", "run.logs", "trials.csv", "run.json"]
    )


def test_the_command_of_the_readme_runs_the_same_program(run, tmp_path):
    _, (line,) = lines()
    done = run(line.replace("--budget 60", "--budget 6"))
    assert done.returncode == 0, done.stderr
    history = dale.open(tmp_path / "run.db").history
    assert all(t.value == pytest.approx((t.params["a"] - 0.3) ** 2 + (t.params["b"] - 2) ** 2) for t in history)


def test_the_space_in_docs_problems(tmp_path):
    text, _ = blocks((ROOT / "docs" / "problems.md").read_text(encoding="utf-8"), "toml")
    (tmp_path / "parameters.toml").write_text(text)
    assert dale.Space.from_toml(tmp_path / "parameters.toml") == dale.Space(
        momentum=(0.0, 0.99),
        rate=dale.Float(1e-5, 1e-1, log=True),
        layers=dale.Int(1, 12),
        kernel=dale.Choice(["linear", "rbf", "poly"]),
        degree=dale.Int(2, 6).when(kernel="poly"),
    )


def test_the_constraints_in_docs_problems(tmp_path):
    page = (ROOT / "docs" / "problems.md").read_text(encoding="utf-8")
    _, text = blocks(page, "toml")
    (tmp_path / "space.toml").write_text(text)
    for p in (t.params for t in dale.Optimizer(dale.Space.from_toml(tmp_path / "space.toml"), seed=0).ask(4)):
        assert p["lc"] + p["lp"] <= 4
        assert abs(p["a"] + p["b"] + p["c"] - 1) < 3e-16
        assert 0.1 <= p["a"] * p["lc"] <= 2
    (tmp_path / "space.toml").write_text(text.replace("lc + lp <= 4", "a + d <= 1"))
    with pytest.raises(dale.SpaceError) as error:
        dale.Space.from_toml(tmp_path / "space.toml")
    assert str(error.value).removeprefix(f"{tmp_path}/") in page
