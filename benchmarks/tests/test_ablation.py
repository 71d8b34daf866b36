"""What the parts of the default are worth: the table on made-up runs, and the command on tiny real ones."""

import numpy as np
import pytest

from dale import methods
from dale.cli import main
from dale_bench import ablation, runner, tables
from dale_bench.ablation import ABLATION_FUNCTIONS, VARIANTS, compared_with_default, contender_name
from dale_bench.contenders import CONTENDERS, contender, is_ours, label
from dale_bench.functions import get
from dale_bench.rows import Row, append, read

SEEDS = 8


def row(function, method, seed, decades, error=None):
    """A run that falls from 10 (its seed's own) by a third of the decades every evaluation, to 10^-decades of it."""
    regret = 10 * (1 + seed / 10) * 10.0 ** -np.linspace(0, decades, 4)
    return Row(function, method, seed, 4, 2, regret.tolist(), 0.1, error=error)


def made_up(*variants, functions=6):
    """The default falls by 2 decades everywhere, a variant by the given amount."""
    return [
        row(f"f{i}", method, seed, decades)
        for i in range(functions)
        for seed in range(SEEDS)
        for method, decades in [("default", 2.0), *((contender_name(v), fall) for v, fall in variants)]
    ]


class TestNames:
    def test_a_variant_is_a_contender_that_only_its_name_finds(self):
        for variant in VARIANTS:
            name = contender_name(variant)
            assert contender(name).name == label(name) == name
            assert is_ours(name)
            assert name not in CONTENDERS
        assert is_ours("ablation:of_old_rows")  # in no envelope
        with pytest.raises(ValueError, match="unknown method or peer 'ablation:nothing'"):
            contender("ablation:nothing")

    def test_a_variant_added_to_the_dictionary_runs(self, monkeypatch):
        monkeypatch.setitem(VARIANTS, "optimistic", methods.lcb)
        made = runner.run(runner.Job("quad2", "ablation:optimistic", 0, 6))
        assert made.error is None
        assert made.regret == runner.run(runner.Job("quad2", "lcb", 0, 6)).regret

    def test_the_functions_exist_and_neither_center_nor_axes_help(self):
        assert len(set(ABLATION_FUNCTIONS)) == len(ABLATION_FUNCTIONS) >= 12
        assert not any(get(name).centered for name in ABLATION_FUNCTIONS)
        assert {get(name).smooth for name in ABLATION_FUNCTIONS} == {True, False}


class TestTable:
    def test_differences_of_known_size(self):
        rows = made_up(("worse", 1.0), ("same", 2.0), ("better", 2.5))
        header, lines = tables.ablation_table({v: compared_with_default(rows, v) for v in ("worse", "same", "better")})
        assert header[:6] == ["variant", "functions", "25%", "50%", "75%", "100%"]
        table = {line[0]: dict(zip(header, line, strict=True)) for line in lines}
        assert [table["worse"][c] for c in ("25%", "50%", "75%", "100%")] == [
            "+0.00 ± 0.00",
            "+0.33 ± 0.00",
            "+0.67 ± 0.00",
            "+1.00 ± 0.00",
        ]
        assert table["better"]["100%"] == "-0.50 ± 0.00"
        assert table["same"]["100%"] == "+0.00 ± 0.00"
        assert {v: t["p at 100 %"] for v, t in table.items()} == {"worse": "0.031", "same": "1", "better": "0.031"}
        assert table["worse"]["better / worse"] == table["worse"]["significant"] == "0 / 6"
        assert table["better"]["better / worse"] == table["better"]["significant"] == "6 / 0"
        assert table["same"]["better / worse"] == table["same"]["significant"] == "0 / 0"
        assert {t["functions"] for t in table.values()} == {"6"}

    def test_eight_decades_count_and_the_unit_of_a_function_does_not(self):
        rows = made_up(("v", 12.0), functions=1)
        comparison = compared_with_default(rows, "v")
        assert comparison.paired_test("ablation:v", "default", 1.0)[0] == pytest.approx(-6, abs=0.1)
        scaled = [Row(**{**vars(r), "regret": [1e5 * x for x in r.regret]}) for r in rows]
        for method in ("default", "ablation:v"):
            again = compared_with_default(scaled, "v").curves["f0"][method]
            np.testing.assert_allclose(again, comparison.curves["f0"][method], rtol=1e-12)

    def test_only_seeds_that_both_have_run_are_compared(self):
        rows = [*made_up(("v", 1.0), functions=2), row("f2", "default", 0, 2.0)]
        rows = [r if r.seed or r.method == "default" else row(r.function, r.method, 0, 9.0, "boom") for r in rows]
        comparison = compared_with_default(rows, "v")
        assert comparison.functions == ("f0", "f1")
        assert {len(runs) for by in comparison.curves.values() for runs in by.values()} == {SEEDS - 1}
        assert tables.ablation_table({"absent": compared_with_default(rows, "absent")})[1] == []

    def test_the_error_is_that_of_functions_and_seeds(self):
        rng = np.random.default_rng(0)
        rows = []
        for i in range(50):
            gap = rng.standard_normal()
            for seed in range(SEEDS):
                common = rng.standard_normal()
                rows.append(row(f"f{i}", "default", seed, 4 + common))
                rows.append(row(f"f{i}", "ablation:v", seed, 4 + common + gap))
        error = compared_with_default(rows, "v").paired_error("ablation:v", "default", 1.0)
        assert error == pytest.approx(1 / np.sqrt(50), rel=0.3)  # what the seeds have in common is not in it


class TestCommand:
    def words(self, rows, *more):
        words = ["bench", "ablation", "--functions", "quad2,plateau2", "--seeds", "2", "--budget", "6", "--jobs", "1"]
        return [*words, "--rows", str(rows), *more]

    def test_makes_only_the_missing_runs(self, tmp_path, capsys, monkeypatch):
        made = []
        monkeypatch.setattr(runner, "run", lambda job, run=runner.run: made.append(job.key) or run(job))
        rows = tmp_path / "rows.jsonl"
        variants = ["plain", "bold"]
        monkeypatch.setitem(VARIANTS, "plain", methods.ei)
        monkeypatch.setitem(VARIANTS, "bold", methods.lcb)
        assert main(self.words(rows, "--only", "plain")) == 0
        assert len(made) == 2 * 2 * 2
        assert main(self.words(rows, "--only", ",".join(variants))) == 0
        assert len(made) == len(set(made)) == 2 * 2 * 3
        before = rows.read_bytes()
        capsys.readouterr()
        for kind, mark in (("text", "variant  functions  25%"), ("markdown", "| variant | functions | 25% |")):
            assert main(self.words(rows, "--only", ",".join(variants), "--format", kind)) == 0
            out = capsys.readouterr().out
            assert mark in out
            assert all(f"{v} " in out for v in variants)
            assert "12 of 12 runs" in out
        assert rows.read_bytes() == before
        assert {r.method for r in read(rows)} == {"default", *map(contender_name, variants)}

    def test_processes_know_the_variants(self, tmp_path):
        jobs = runner.jobs_for(["quad2"], [contender_name(next(iter(VARIANTS)))], range(2), 3)
        rows = runner.run_all(jobs, tmp_path / "rows.jsonl", processes=2)
        assert [r.error for r in rows] == [None, None]

    def test_unknown_variants_are_refused(self, tmp_path, capsys):
        for only in ("papr", ""):
            assert main(self.words(tmp_path / "rows.jsonl", "--only", only)) == 2
            assert f"expected variants of the default ({', '.join(VARIANTS)}), got {only!r}" in capsys.readouterr().err

    def test_an_error_if_no_run_succeeded(self, tmp_path, capsys, monkeypatch):
        def broken():
            raise RuntimeError("no part today")

        monkeypatch.setitem(VARIANTS, "broken", broken)
        assert main(self.words(tmp_path / "rows.jsonl", "--only", "broken")) == 2
        said = capsys.readouterr()
        assert "failed: ablation:broken on quad2, seed 0: RuntimeError: no part today" in said.out
        assert "expected runs of the default and a variant" in said.err

    def test_ordinary_comparisons_leave_variants_out_unless_named(self, tmp_path, capsys):
        rows = tmp_path / "rows.jsonl"
        for r in [*made_up(("v", 1.0), functions=2), row("f2", "ablation:v", 0, 1.0), row("f0", "random", 0, 0.5)]:
            append(rows, r)
        assert main(["bench", "compare", str(rows)]) == 0
        out = capsys.readouterr().out
        assert ablation.PREFIX not in out
        assert "f2" not in out
        assert main(["bench", "compare", str(rows), "--methods", "default,ablation:v,random"]) == 0
        out = capsys.readouterr().out
        assert ablation.PREFIX in out
        assert f"({ablation.PREFIX}" not in out  # in no envelope
