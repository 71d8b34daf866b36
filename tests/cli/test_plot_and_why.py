"""``dale plot`` and ``dale why``."""

import pytest

import dale
from dale.cli.main import main


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("plot") / "run.db"
    space = dale.Space({"a": (-2.0, 2.0), "b\x1b[31m": (0.0, 1.0)})
    dale.minimize(lambda p: p["a"] ** 2 + p["b\x1b[31m"], space, budget=9, seed=0, store=path)
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "name", "head"),
    [
        ([], "convergence.png", b"\x89PNG"),
        (["length-scale"], "length-scale.png", b"\x89PNG"),
        (["length_scale"], "length-scale.png", b"\x89PNG"),  # the name of the function
        (["slice", "--params", "a", "--style", "dark", "-o", "new/a.svg"], "new/a.svg", b"<?xml"),
        (["timeline", "-o", "lanes.pdf"], "lanes.pdf", b"%PDF"),
    ],
)
def test_plot_writes_a_file(arguments, name, head, store, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["plot", store, *arguments]) == 0
    assert (tmp_path / name).read_bytes().startswith(head)
    assert capsys.readouterr().out == f"wrote {name}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bars"], "importance, directions, length-scale, calibration, timeline, got bars"),
        (["contour", "--params", "a,c"], "params: expected 2 different names out of 'a'"),
        (["importance", "--params", "a"], "--params: expected with one of slice, contour, corner, parallel"),
    ],
)
def test_plot_says_what_is_wrong(arguments, message, store, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["plot", store, *arguments]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_why_explains_a_trial(store, capsys):
    assert main(["why", store, "5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("trial 5 at a=")
    assert lines[1].split()[:2] == ["proposed", "by"]
    assert "\x1b" not in "".join(lines)
    assert any(line.strip().startswith("record") for line in lines)


def test_why_says_what_is_wrong(store, capsys):
    assert main(["why", store, "77"]) == 2
    assert "trial 77 is unknown here; number of trials in this run: 9" in capsys.readouterr().err
    assert main(["why", "no.db", "1"]) == 2
    assert "does not exist" in capsys.readouterr().err
