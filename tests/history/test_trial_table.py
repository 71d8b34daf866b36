"""Trials as data frames and CSV files."""

import csv
import math

import pytest

import dale

pandas = pytest.importorskip("pandas")
SPACE = dale.Space({"a": (0, 1), "kind": dale.Choice(["x", "=y"]), "n": dale.Int(1, 9).when(kind="x")})


@pytest.fixture
def optimizer():
    """A run with trials in every state."""
    optimizer = dale.Optimizer(SPACE, seed=0)
    optimizer.add({"a": 0.5, "kind": "x", "n": 3}, 0.25, noise=0.1, constraints=[-1], extra={"rmse": 0.5, "tag": "=t"})
    optimizer.add({"a": 0.25, "kind": "=y"}, 2.0, constraints=[1], extra={"rmse": 1.5, "path": [1, None], "ok": True})
    optimizer.fail(optimizer.ask(), "it\nbroke")
    optimizer.fail(optimizer.ask(), "the node died", retry=True)
    optimizer.discard(optimizer.tell(optimizer.ask(at={"a": 0.75, "kind": "=y"}), 9.0, constraints=[0]), "wrong sample")
    optimizer.ask()
    return optimizer


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class TestFrame:
    def test_the_columns(self, optimizer):
        frame = optimizer.to_frame()
        parameters, extra = ["a", "kind", "n"], ["extra_rmse", "extra_tag", "extra_path", "extra_ok"]
        outcome = ["value", "noise", "constraint_0", "feasible", "source"]
        assert list(frame.columns) == ["id", "state", *parameters, *outcome, *extra, "error"]
        assert frame["id"].tolist() == list(range(6))
        assert frame["state"].tolist() == ["complete", "complete", "failed", "failed", "discarded", "pending"]

    def test_the_cells(self, optimizer):
        first, second, third, *_ = optimizer.to_frame().to_dict("records")
        assert (first["a"], first["kind"], first["n"]) == (0.5, "x", 3)
        assert (first["value"], first["noise"], first["constraint_0"], first["feasible"]) == (0.25, 0.1, -1.0, True)
        assert (first["extra_rmse"], first["extra_tag"], first["source"]) == (0.5, "=t", "added")
        assert math.isnan(second["n"])
        assert (second["feasible"], second["extra_path"]) == (False, (1, None))
        assert math.isnan(third["value"])
        assert third["error"] == "it\nbroke"

    def test_numbers_are_floats_also_where_there_are_none(self):
        optimizer = dale.Optimizer([(0, 1)], seed=0)
        assert list(optimizer.to_frame().columns)[:3] == ["id", "state", "x0"]
        assert len(optimizer.to_frame()) == 0
        optimizer.ask()
        assert optimizer.to_frame().dtypes[["x0", "value", "noise"]].tolist() == [float] * 3

    def test_results_and_stored_runs_give_the_same(self, tmp_path):
        path = tmp_path / "run.db"
        result = dale.minimize(lambda x: dale.Evaluation(x[0], extra={"b": 1}), [(0, 1)], budget=3, seed=0, store=path)
        frame = result.to_frame()
        assert frame["value"].tolist() == result.func_vals.tolist()
        pandas.testing.assert_frame_equal(dale.open(path).to_frame(), frame)
        with dale.Optimizer([(0, 1)], store=path) as optimizer:
            pandas.testing.assert_frame_equal(optimizer.to_frame(), frame)
        assert {"to_frame", "to_csv"} <= set(dir(result))

    def test_no_column_has_the_name_of_a_parameter(self):
        optimizer = dale.Optimizer({"value": (0, 1), "extra_r": (0, 1), "id": (0, 1)}, seed=0)
        optimizer.add({"value": 0.1, "extra_r": 0.2, "id": 0.3}, 1.0, extra={"r": 5, "r_": 6})
        [row] = optimizer.to_frame().to_dict("records")
        assert (row["value"], row["extra_r"], row["id"]) == (0.1, 0.2, 0.3)
        assert (row["value_"], row["extra_r_"], row["extra_r__"], row["id_"]) == (1.0, 5, 6, 0)

    def test_without_pandas(self, optimizer, monkeypatch):
        def missing(name, *_):
            raise ModuleNotFoundError(f"No module named {name!r}")

        monkeypatch.setattr("dale.history.trial_table.import_module", missing)
        with pytest.raises(
            ImportError, match=r"to_frame needs pandas \(No module named 'pandas'\): pip install pandas"
        ):
            optimizer.to_frame()


class TestCsv:
    def test_complete_and_failed_trials(self, optimizer, tmp_path):
        optimizer.to_csv(tmp_path / "run.csv")
        rows = rows_of(tmp_path / "run.csv")
        assert [row["id"] for row in rows] == ["0", "1", "2"]
        assert [row["constraint_0"] for row in rows] == ["-1.0", "1.0", ""]
        assert [row["extra_rmse"] for row in rows] == ["0.5", "1.5", ""]
        assert (rows[0]["extra_tag"], rows[1]["extra_path"], rows[1]["extra_ok"]) == ("'=t", "[1, null]", "true")
        assert {row["asked"] for row in rows} == {""}

    def test_it_is_the_file_of_dale_export_but_for_the_times(self, tmp_path):
        path = tmp_path / "run.db"
        result = dale.minimize(lambda x: dale.Evaluation(x[0], extra={"b": "c"}), [(0, 1)], budget=4, store=path)
        result.to_csv(tmp_path / "result.csv")
        dale.open(path).to_csv(tmp_path / "run.csv")
        ours, theirs = rows_of(tmp_path / "result.csv"), rows_of(tmp_path / "run.csv")
        assert [list(row) for row in ours] == [list(row) for row in theirs]
        times = {"asked", "ended", "host", "pid"}
        for one, other in zip(ours, theirs, strict=True):
            assert {k: v for k, v in one.items() if k not in times} == {
                k: v for k, v in other.items() if k not in times
            }
            assert all(other[key] for key in times)

    def test_a_store_is_not_overwritten(self, tmp_path):
        path = tmp_path / "run.db"
        result = dale.minimize(lambda x: x[0], [(0, 1)], budget=2, store=path)
        before = path.read_bytes()
        with pytest.raises(ValueError, match="which is a database; choose another path"):
            result.to_csv(path)
        assert path.read_bytes() == before

    def test_it_can_be_read_back(self, optimizer, tmp_path):
        optimizer.to_csv(tmp_path / "run.csv")
        other = dale.Optimizer(SPACE, seed=1)
        other.add_all(tmp_path / "run.csv", noise="noise", constraints=["constraint_0"])
        for one, known in zip(other.history, optimizer.history, strict=False):
            assert (one.params, one.value, one.noise) == (known.params, known.value, known.noise)
            assert (one.constraints, one.state) == (known.constraints, known.state)
