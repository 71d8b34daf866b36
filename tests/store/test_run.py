"""Inspecting a stored run, and exporting it as CSV and JSON."""

import csv
import json

import numpy as np
import pytest

import dale

SPACE = dale.Space(
    {
        "value": dale.Float(-1, 1),
        "=cmd": dale.Choice(["=1+1", "-x", "+49", "@a", "'=q", "plain", None, 2]),
        "n": dale.Int(1, 9).when(value_kind="b"),
        "value_kind": dale.Choice(["a", "b"]),
    }
)


@pytest.fixture
def store(tmp_path):
    """A run with failures, a transient failure, a pending trial, and options that look like formulas."""
    path = tmp_path / "run.db"
    with dale.Optimizer(SPACE, seed=0, store=path) as optimizer:
        for k, option in enumerate(SPACE.parameters["=cmd"].options):
            inactive = {} if k % 2 else {"n": k + 1}
            optimizer.add(
                {"value": -0.1 * k - 1e-17, "=cmd": option, "value_kind": "a" if k % 2 else "b", **inactive}, -1.5 * k
            )
        optimizer.fail(optimizer.ask(), "=HYPERLINK()\nsecond line")
        optimizer.fail(optimizer.ask(), "the node died", retry=True)
        optimizer.ask()
    return path


def complete_and_failed(history):
    return [t for t in history if t.state != "pending" and not t.retry]


def test_a_run_shows_what_the_optimizer_shows(store):
    run, optimizer = dale.open(store), dale.Optimizer(SPACE, seed=0, store=store)
    assert run.seed == 0
    assert run.space == SPACE
    assert run.best.id == optimizer.best.id
    assert run.best_value == optimizer.best_value
    assert str(run.result()) == str(optimizer.result())
    assert "11 trials" in repr(run)


def test_a_csv_file_can_be_read_back(store, tmp_path):
    run = dale.open(store)
    run.to_csv(tmp_path / "run.csv")
    optimizer = dale.Optimizer(SPACE, seed=0)
    optimizer.add_all(tmp_path / "run.csv", value="value_")  # value is a parameter's name
    expected = complete_and_failed(run.history)
    assert len(optimizer.history) == len(expected) == 9
    for a, b in zip(optimizer.history, expected, strict=True):
        assert a.params == b.params
        assert a.unit_x.tobytes() == b.unit_x.tobytes()
        assert (a.value, a.state) == (b.value, b.state)


def test_a_csv_file_of_a_space_without_names(tmp_path):
    result = dale.minimize(lambda x: x[0] - x[1], [(-1, 1), (-2, 2)], budget=6, seed=0, store=tmp_path / "run.db")
    dale.open(tmp_path / "run.db").to_csv(tmp_path / "run.csv")
    again = dale.minimize(lambda x: x[0], [(-1, 1), (-2, 2)], budget=1, seed=0, x0=tmp_path / "run.csv", y0="value")
    assert np.array_equal(again.x_iters[:6], result.x_iters)
    assert np.array_equal(again.func_vals[:6], result.func_vals)


def test_no_cell_is_a_formula(store, tmp_path):
    dale.open(store).to_csv(tmp_path / "run.csv")
    with (tmp_path / "run.csv").open(newline="", encoding="utf-8") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert any(cell == "'=1+1" for cell in cells)
    assert "'=cmd" in cells
    for cell in cells:
        if cell[:1] in ("=", "+", "-", "@", "\t", "\r"):
            float(cell)  # a number is not changed


def test_text_that_is_not_utf8_is_escaped(tmp_path):
    with dale.Optimizer([(0, 1)], seed=0, store=tmp_path / "run.db") as optimizer:
        optimizer.fail(
            optimizer.ask(), "no such file: caf\udce9.dat"
        )  # as Python decodes file names that are not UTF-8
        optimizer.tell(optimizer.ask(), 1.0)
    run = dale.open(tmp_path / "run.db")
    run.to_csv(tmp_path / "run.csv")
    assert r"caf\udce9.dat" in (tmp_path / "run.csv").read_text(encoding="utf-8")
    assert len(dale.Optimizer([(0, 1)]).add_all(tmp_path / "run.csv")) == 2
    run.to_json(tmp_path / "run.json")
    assert json.loads((tmp_path / "run.json").read_text())["trials"][0]["error"] == "no such file: caf\udce9.dat"


def test_a_long_error_is_kept_without_its_middle(tmp_path):
    """A program that prints its memory must not make the store as large; what a run keeps, it keeps everywhere."""
    text = "head " + "x" * 10**6 + " tail"
    with dale.Optimizer([(0, 1)], seed=0, store=tmp_path / "run.db") as optimizer:
        told = optimizer.fail(optimizer.ask(), text).error
    head, note, tail = told.split("\n")
    assert head.startswith("head x")
    assert tail.endswith("x tail")
    assert note == f"... {len(text) - len(head) - len(tail)} characters were left out ..."
    assert len(head) == len(tail) == 8000
    assert dale.open(tmp_path / "run.db").history[0].error == told
    assert (tmp_path / "run.db").stat().st_size < 100_000
    short = "x" * 16_000
    optimizer = dale.Optimizer([(0, 1)], seed=0)
    assert optimizer.fail(optimizer.ask(), short).error == short


def test_a_csv_file_with_long_cells_can_be_read_back(tmp_path):
    """Python's csv module refuses cells above 131,072 characters; its limit is the same afterwards."""
    option, before = "x" * 200_000, csv.field_size_limit()
    space = dale.Space(kind=dale.Choice([option, "b"]))
    with dale.Optimizer(space, seed=0, store=tmp_path / "run.db") as optimizer:
        optimizer.add({"kind": option}, 1.0)
    dale.open(tmp_path / "run.db").to_csv(tmp_path / "run.csv")
    assert dale.Optimizer(space).add_all(tmp_path / "run.csv")[0].params == {"kind": option}
    assert csv.field_size_limit() == before


def test_a_json_file_holds_the_whole_run(store, tmp_path):
    run = dale.open(store)
    run.to_json(tmp_path / "run.json")
    whole = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert whole["problem"]["seed"] == 0
    assert [t["state"] for t in whole["trials"]] == [str(t.state) for t in run.history]
    assert [t["value"] for t in whole["trials"]] == [t.value for t in run.history]
    assert all(np.array_equal(t["unit_x"], s.unit_x) for t, s in zip(whole["trials"], run.history, strict=True))
    assert whole["trials"][8]["error"] == "=HYPERLINK()\nsecond line"
    assert [e["kind"] for e in whole["events"]] == [str(e.kind) for e in run.events]


def test_the_run_itself_is_not_overwritten(store):
    before = store.read_bytes()
    for write in (dale.open(store).to_csv, dale.open(store).to_json):
        with pytest.raises(ValueError, match="the run itself"):
            write(store)
    assert store.read_bytes() == before


def test_opening_needs_no_write_permission(store):
    store.chmod(0o444)
    store.parent.chmod(0o555)
    try:
        assert len(dale.open(store).history) == 11
    finally:
        store.parent.chmod(0o755)
