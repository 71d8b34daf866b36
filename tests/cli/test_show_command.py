"""``dale show``: the content of a store, printed and as files."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dale
from dale.cli import main
from dale.history.result import with_std
from dale.view.run_view import view_of

SPACE = {"a": (0.0, 1.0), "k": dale.Choice(["x", "esc \x1b[31m\nred"])}


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A run with completed, failed, retried and pending trials."""
    monkeypatch.chdir(tmp_path)
    with dale.Optimizer(SPACE, seed=7, store="run.db", objective={"args": ["sim", "{a} b"], "key": "m.loss"}) as run:
        for i in range(7):
            run.tell(run.ask(at={"a": i / 10, "k": "x"}), float(10 - i))
        run.fail(run.ask(at={"a": 0.9, "k": SPACE["k"].options[1]}), "Traceback\n  more\nValueError: \x1b[31mbad")
        run.fail(run.ask(), "the node died", retry=True)
        run.ask()
    return tmp_path / "run.db"


def test_the_output(store, capsys):
    assert main(["show", "run.db"]) == 0
    said = capsys.readouterr().out
    lines = said.splitlines()
    assert lines[:6] == [
        str(store),
        "  trials      7 complete, 2 failed, 1 pending",
        "  command     sim '{a} b'",
        "  key         m.loss",
        "  seed        7",
        "  parameters  a: Float(low=0.0, high=1.0, log=False, step=None)",
    ]
    assert "Best so far after 9 evaluations" in lines
    assert "best value  4" in lines
    best = lines.index("best trials")
    assert [line.split()[:3] for line in lines[best + 1 : best + 6]] == [
        [str(i), str(10 - i), f"a={i / 10:g},"] for i in (6, 5, 4, 3, 2)
    ]
    failed = lines.index("2 failed")
    assert lines[failed + 1 : failed + 3] == ["  7  ValueError: \\x1b[31mbad", "  8  the node died (retried)"]
    assert "\x1b" not in said
    assert any(line.startswith("started     20") for line in lines)


def test_best_and_trials(store, capsys):
    assert main(["show", "run.db", "--best", "1", "--trials"]) == 0
    lines = capsys.readouterr().out.splitlines()
    best = lines.index("best trials")
    assert lines[best + 1].startswith("  6  4")
    assert lines[best + 2] == ""
    every = lines.index("all trials")
    assert [line.split()[:2] for line in lines[every + 1 : every + 11]] == [
        *([str(i), str(10 - i)] for i in range(7)), ["7", "failed"], ["8", "failed"], ["9", "pending"]
    ]  # fmt: skip


def test_constraints_and_extra_values(tmp_path, capsys):
    def fun(p):
        return dale.Evaluation(p["a"], constraints=[0.25 - p["a"]], extra={"rmse": 0.125, "name": "fit"})

    store = tmp_path / "more.db"
    dale.minimize(fun, dale.Space(a=(0.0, 1.0)), budget=4, seed=0, store=store)
    assert main(["show", str(store), "--trials", "--best", "1"]) == 0
    out = capsys.readouterr().out
    best = dale.open(store).best
    expected = f"constraints {best.constraints[0]:.4g}  rmse=0.125, name='fit'"
    assert out.count(expected) == 2  # among the best, and among all
    page = tmp_path / "more.html"
    assert main(["report", str(store), "-o", str(page)]) == 0
    assert '"extra":[[["rmse","0.125"],["name","fit"]]' in page.read_text()


def test_files(store, capsys):
    before = store.read_bytes()
    assert main(["show", "run.db", "--csv", "out.csv", "--json", "out.json"]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == ["wrote out.csv", "wrote out.json"]
    with Path("out.csv").open(newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == list("01234567")
    assert len(json.loads(Path("out.json").read_text())["trials"]) == 10
    assert store.read_bytes() == before
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["out.csv", "out.json", "run.db"]


def test_the_store_is_never_overwritten(store, capsys):
    assert main(["show", "run.db", "--csv", "run.db"]) == 2
    assert "of the run itself" in capsys.readouterr().err
    assert dale.open("run.db").seed == 7


def test_during_a_run(store, capsys):
    with dale.Optimizer(SPACE, store="run.db") as run:
        trial = run.ask()
        assert main(["show", "run.db"]) == 0
        run.tell(trial, 0.125)
        assert main(["show", "run.db"]) == 0
    assert "best value  0.125" in capsys.readouterr().out


def test_an_empty_store(tmp_path, capsys):
    dale.Optimizer([(0, 1)], seed=0, store=tmp_path / "run.db").close()
    assert main(["show", str(tmp_path / "run.db")]) == 0
    said = capsys.readouterr().out
    assert "trials      none yet" in said
    assert "No evaluation has returned a finite value" in said


@pytest.mark.parametrize(
    ("objective", "said"),
    [
        ({}, []),
        ({"revision": "1f", "args": None}, ["  revision    1f"]),
        ({"args": 3}, ["  command     3"]),
        ({"args": ["sim", 3]}, ["  command     sim 3"]),
    ],
    ids=repr,
)
def test_an_objective_given_by_the_user(objective, said, tmp_path, capsys):
    dale.Optimizer([(0, 1)], seed=0, store=tmp_path / "run.db", objective=objective).close()
    assert main(["show", str(tmp_path / "run.db")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2 : lines.index("  seed        0")] == said


@pytest.mark.parametrize(("name", "said"), [("none.db", "does not exist"), ("text.db", "is not a store of dale")])
def test_not_a_store(name, said, tmp_path, capsys):
    (tmp_path / "text.db").write_text("hello " * 1000)
    assert main(["show", str(tmp_path / name)]) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert error.startswith("dale: error: ")
    assert said in error


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_noisy_trials_have_the_order_of_their_means(tmp_path, capsys, direction):
    """A single value may be the best one by luck. The recommended trial is the first."""
    rng, sign = np.random.default_rng(0), 1 if direction == "minimize" else -1
    with dale.Optimizer(
        [(0.0, 1.0)] * 2, seed=0, noise=0.1, direction=direction, store=tmp_path / "run.db"
    ) as optimizer:
        for x in rng.random((40, 2)):
            optimizer.add(x, sign * float(np.sum((x - 0.4) ** 2) + 0.1 * rng.standard_normal()))
        result, view = optimizer.result(), view_of(optimizer)
    assert main(["show", str(tmp_path / "run.db"), "--best", "40"]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("best trials, by posterior mean") + 1
    ids = [int(line.split()[0]) for line in lines[start : start + 40]]
    assert ids[0] == view.best.id != int(np.argmin(sign * result.func_vals))
    means = [sign * view.posterior_means[i] for i in ids]
    assert means == sorted(means)
    assert lines[start].split()[1:4] == with_std(result.fun, result.fun_std).split()
    assert lines[start].split()[4:6] == ["value", f"{result.func_vals[ids[0]]:.10g}"]
    std = view.posterior_std(view.trials[ids[9]])
    assert lines[start + 9].split()[1:4] == with_std(sign * means[9], std).split()


def test_noisy_points_are_listed_once(tmp_path, capsys):
    """All replicates of a point have one posterior mean."""
    rng, space = np.random.default_rng(0), {"kind": dale.Choice(["a", "b", "c"])}
    with dale.Optimizer(space, seed=0, noise=0.3, store=tmp_path / "run.db") as optimizer:
        for kind in "abc" * 6:
            optimizer.add({"kind": kind}, "abc".index(kind) + 0.3 * rng.standard_normal())
        result, view = optimizer.result(), view_of(optimizer)
    of_best = [view.posterior_means[t.id] for t in view.trials if t.params == result.params]
    assert of_best == [result.fun] * 6
    assert main(["show", str(tmp_path / "run.db"), "--best", "10"]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("best trials, by posterior mean") + 1
    assert [line.split()[-1] for line in lines[start : lines.index("", start)]] == ["kind=a", "kind=b", "kind=c"]


def test_long_lines_are_truncated(tmp_path, capsys):
    space = {"a": (0.0, 1.0), "k": dale.Choice(["a\tb\u202e" + "x" * 1000, ""])}
    with dale.Optimizer(space, seed=0, store=tmp_path / "run.db") as run:
        run.tell(run.ask(at={"a": 0.5, "k": space["k"].options[0]}), 1.0)
    assert main(["show", str(tmp_path / "run.db")]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("best point  ")]
    assert line == "best point  a=0.5, k=a\\tb\\u202e".ljust(157, "x") + "..."


def test_nothing_in_a_store_is_run(store):
    """The stored command is printed and never run: here it would create a file."""
    with dale.Optimizer([(0, 1)], seed=0, store="evil.db", objective={"args": ["touch", "run-it"]}):
        pass
    done = subprocess.run([sys.executable, "-m", "dale", "show", "evil.db"], capture_output=True, text=True, check=True)
    assert "command     touch run-it" in done.stdout
    assert not Path("run-it").exists()


def test_export(store, capsys):
    assert main(["export", "run.db", "--db", "copy.db", "--csv", "trials.csv"]) == 0
    assert capsys.readouterr().out == "wrote copy.db\nwrote trials.csv\n"
    assert len(dale.open("copy.db").history) == len(dale.open("run.db").history)
    assert main(["export", "run.db", "--db", "copy.db"]) == 2
    assert "copy.db exists" in capsys.readouterr().err
    assert main(["export", "run.db"]) == 2
    assert "--db, --csv and --json" in capsys.readouterr().err
