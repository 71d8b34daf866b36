"""``dale report``, and ``dale run --report``."""

import sys

import pytest

import dale
from dale.cli.main import main


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "run.db"
    dale.minimize(lambda p: p["a"] ** 2, dale.Space(a=(-2.0, 2.0)), budget=6, seed=0, store=path)
    return path


def test_report_writes_a_page(store, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(store), "-o", "new/page.html", "--title", "my run", "--objective", "cost (EUR)"]) == 0
    assert capsys.readouterr().out == "wrote new/page.html\n"
    text = (tmp_path / "new" / "page.html").read_text(encoding="utf-8")
    assert '"title":"my run"' in text
    assert '"objective":"cost (EUR)"' in text


def test_the_default_is_next_to_the_store(store, capsys):
    assert main(["report", str(store)]) == 0
    assert store.with_suffix(".html").stat().st_size > 100_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.db"], "missing.db does not exist"),
        (["{store}", "-o", "{store}"], "expected a path other than that of a store"),
        (["{store}", "-o", "."], "expected the path of a file"),
    ],
)
def test_mistakes_are_one_line(arguments, message, store, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report", *(a.format(store=store) for a in arguments)]) == 2
    assert message in capsys.readouterr().err


def test_run_writes_and_names_its_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "space.toml").write_text("a = [0, 2]\n")
    program = [sys.executable, "-c", "print(({a} - 1) ** 2)"]
    options = ["--space", "space.toml", "--budget", "4", "--seed", "0", "--report", "run.html", "--no-progress"]
    assert main(["run", *options, "--", *program]) == 0
    assert "report      run.html" in capsys.readouterr().out
    assert "dale run --space space.toml --budget 4 --seed 0" in (tmp_path / "run.html").read_text(encoding="utf-8")
