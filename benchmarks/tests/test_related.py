"""``dale bench paper --related``: its plan, its tables on made-up runs, and the page of the results."""

from pathlib import Path

import pytest

from dale.cli import main
from dale_bench.comparison import Comparison
from dale_bench.contenders import contender, label
from dale_bench.paper import related
from dale_bench.rows import Row, append, curves_of, read
from dale_bench.runner import Job, run

RESULTS = Path(__file__).parents[1] / "results/paper"


def made_up(path, regret):
    """Rows of constant runs: regret(function, method, seed)."""
    for job in related.plan(quick=True):
        value = regret(job.function, job.method, job.seed)
        append(path, Row(job.function, job.method, job.seed, job.budget, 2, [value] * job.budget, 1.0))


def test_the_plan():
    jobs = related.plan(quick=False)
    assert {j.method for j in jobs} >= {"default", "paper", "ei_ml", "ei_loo", "one_stage", "upper_bounded", "ensemble"}
    assert {j.method for j in jobs} >= {"spartan", "treed", "lcb_schedule", "ar_lcb", "ar_pi", "ar_mes", "paper_lcb"}
    assert {j.method for j in jobs} >= {"ar", "ml_pi", "ml_mes"}  # which effect is the cool down's
    assert {j.seed for j in jobs} == set(range(16))
    assert max(j.budget for j in jobs) == related.MAX_BUDGET
    assert [j.seed for j in jobs] == sorted(j.seed for j in jobs)


@pytest.mark.parametrize("method", [c.name for c in related.RELATED])
def test_every_contender_runs(method):
    assert run(Job("quad2", method, 0, 6)).error is None
    assert contender(method).label


def test_ranks_and_medians(tmp_path, capsys):
    """Of known answers: a method is the worse, the later it stands in the list."""
    made_up(tmp_path / "related-quick.jsonl", lambda f, m, s: 10.0 ** (related.METHODS.index(m) - 8 + s))
    assert main(["bench", "paper", "--related", "--quick", "--only-draw", "--out", str(tmp_path)]) == 0
    assert "related.md" in capsys.readouterr().out
    curves = curves_of(read(tmp_path / "related-quick.jsonl"))
    header, rows = related.related_table(Comparison(curves), list(related.METHODS))
    assert [row[0] for row in rows] == [label(m) for m in related.METHODS]
    assert [row[1] for row in rows] == [f"{i:.1f}" for i in range(1, len(rows) + 1)]
    assert rows[0][2].startswith("-7.50 ± 0.")  # the median of -8 and -7
    assert header[2:] == list(related.FUNCTIONS)
    assert "| dale | 1.0 |" in (tmp_path / "related.md").read_text()


def test_differences(tmp_path):
    """Of known answers: methods after EI ML in the list are one decade worse each, those before it better."""
    made_up(tmp_path / "rows.jsonl", lambda f, m, s: 10.0 ** (related.METHODS.index(m) - 8))
    comparison = Comparison(curves_of(read(tmp_path / "rows.jsonl")))
    header, rows = related.against(comparison, list(related.METHODS), "ei_ml")
    assert len(header) == len(rows[0])
    base = related.METHODS.index("ei_ml")
    others = [m for m in related.METHODS if m != "ei_ml"]
    assert [row[0] for row in rows] == [label(m) for m in others]
    assert [row[1] for row in rows] == [f"{related.METHODS.index(m) - base:+.2f} ± 0.00" for m in others]
    assert {row[2] for row in rows} == {"0.016"}  # 2^-6: all seven functions on one side
    assert [row[3] for row in rows] == ["7 / 0" if related.METHODS.index(m) < base else "0 / 7" for m in others]
    assert {row[4] for row in rows} == {"0 / 0"}  # two equal runs of each are one run


def test_without_runs(tmp_path, capsys):
    assert main(["bench", "paper", "--related", "--only-draw", "--out", str(tmp_path)]) == 2
    assert "got none" in capsys.readouterr().err


def test_the_page_of_the_results_is_up_to_date():
    """And so is the table in the documentation."""
    keys = {job.key for job in related.plan(quick=False)}
    curves = curves_of(row for row in read(RESULTS / "related.jsonl") if row.key in keys)
    text = related.page_text(curves)
    assert text == (RESULTS / "related.md").read_text(encoding="utf-8")
    tables = [block for block in text.split("\n\n") if block.startswith("| method |")]
    assert len(tables) == 3
    documentation = (RESULTS.parents[2] / "docs/related.md").read_text(encoding="utf-8")
    assert all(table in documentation for table in tables)
