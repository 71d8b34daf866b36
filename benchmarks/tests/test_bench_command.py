"""``dale bench`` as a user types it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dale.cli import main
from dale_bench import commands as bench
from dale_bench.functions import GROUPS, names
from dale_bench.paper import page, reproduce
from dale_bench.paper.plan import CLAIMS
from dale_bench.problems import KINDS
from dale_bench.rows import Row, append, curves_of, read


def test_list_names_everything(capsys):
    assert main(["bench", "list"]) == 0
    out = capsys.readouterr().out
    for name in ("branin", "hart6", "ackley5", "paper", "cobyqa", "random"):
        assert f"  {name} " in out
    assert "  guard              step, plateau2, ridge2, ridge5, noisy20\n" in out
    assert "ablation:" not in out


def test_the_help_names_every_kind(capsys):
    with pytest.raises(SystemExit):
        main(["bench", "--help"])
    out = capsys.readouterr().out
    for kind in (
        "list",
        "run",
        "compare",
        "ablation",
        "paper",
        "speed",
        "scale",
        "workers",
        "problems",
        "coco",
        "golden",
    ):
        assert f"\n    {kind} " in out


def test_groups_of_functions(tmp_path, capsys):
    rows = tmp_path / "rows.jsonl"
    words = ["bench", "run", "--functions", "guard, ridge2,branin", "--methods", "random", "--seeds", "1"]
    assert main([*words, "--budget", "3", "--jobs", "1", "--rows", str(rows)]) == 0
    assert [r.function for r in read(rows)] == [*GROUPS["guard"], "branin"]
    assert main(["bench", "compare", str(rows), "--functions", "guard"]) == 0
    assert "branin" not in capsys.readouterr().out.split("compare them")[1]
    with pytest.raises(SystemExit):
        main(["bench", "run", "--help"])
    helped = " ".join(capsys.readouterr().out.split())
    assert f"groups: {', '.join(GROUPS)}, all" in helped


def test_all_functions_are_those_listed():
    assert bench._functions("all") == list(names())


def test_run_and_compare(tmp_path, capsys):
    rows = tmp_path / "rows.jsonl"
    words = ["bench", "run", "--functions", "quad2,branin", "--methods", "ei_ml,random,cobyqa", "--seeds", "2"]
    words += ["--budget", "8", "--jobs", "1", "--rows", str(rows)]
    assert main(words) == 0
    assert "12 of 12 runs" in capsys.readouterr().out
    before = rows.read_bytes()
    assert main(words) == 0  # no run is missing, so none is made
    assert rows.read_bytes() == before
    for kind, mark in (
        ("text", "function  method"),
        ("markdown", "| function | method |"),
        ("csv", "function,method,"),
    ):
        assert main(["bench", "compare", str(rows), "--format", kind, "--method", "ei_ml"]) == 0
        out = capsys.readouterr().out
        assert mark in out
        assert "COBYQA" in out
        start = {"text": "\n", "markdown": "\n- ", "csv": "\n# "}[kind]
        assert f"{start}at or below the envelope in " in out
        assert f"{start}worst run at 100 %: no worse than the best peer's worst run on " in out
    assert main(["bench", "compare", str(rows), "--out", str(tmp_path / "figures"), "--functions", "branin"]) == 0
    assert {p.name for p in (tmp_path / "figures").iterdir()} == {
        "regret.png",
        "regret.svg",
        "targets.png",
        "targets.svg",
    }


def test_variants(tmp_path):
    rows = tmp_path / "rows.jsonl"
    words = ["bench", "run", "--functions", "quad2", "--variant", "moved:rotated", "--methods", "random"]
    assert main([*words, "--seeds", "1", "--budget", "3", "--jobs", "1", "--rows", str(rows)]) == 0
    assert [r.function for r in read(rows)] == ["quad2:moved:rotated"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--functions", "brannin"], "branin"),
        (["run", "--methods", "papr"], "did you mean 'paper'"),
        (["run", "--variant", "twisted"], "moved"),
        (["run", "--seeds", "0"], "--seeds: expected at least 1"),
        (["compare", "nowhere.jsonl"], "got nowhere.jsonl, which does not exist"),
        (["problems", "mixed", "--only", "basin"], "did you mean 'basins'"),
        (["problems", "noise", "--methods", "cobyqa"], "unknown contender in 'noise': 'cobyqa'"),
        (["problems", "parallel", "--seeds", "0"], "--seeds: expected at least 1"),
        (["problems", "parallel", "--only-show"], "got bench-output/parallel.jsonl, which does not exist"),
    ],
)
def test_wrong_use(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["bench", *words]) == 2
    error = capsys.readouterr().err
    assert "dale: error:" in error
    assert message in error


def test_the_list_of_problems_names_every_one_and_who_takes_part(capsys):
    assert main(["bench", "problems", "list"]) == 0
    out = capsys.readouterr().out
    for kind in KINDS.values():
        assert f"{kind.name}: {kind.description}\n" in out
        for name in (*kind.problems, *(c.name for c in kind.contenders)):
            assert f"  {name} " in out


@pytest.mark.parametrize(
    ("kind", "only", "methods", "titles"),
    [
        ("mixed", "basins", "default,random", ["Median log10 regret ± bootstrap error"]),
        ("noise", "branin_noise5", "default,random", ["recommended point", "point with the lowest observed value"]),
        ("constraints", "gramacy", "cobyqa,random", ["Median log10 regret ± bootstrap error"]),
        ("failures", "half_plane", "default,told", ["Median log10 regret ± bootstrap error", "Evaluations until"]),
        ("equalities", "hs28", "default,by_hand", ["Median log10 regret ± bootstrap error"]),
        ("parallel", "branin", "sequential,batch8", ["Evaluations until the regret", "Speed-up: time"]),
    ],
)
def test_problems_of_each_kind(kind, only, methods, titles, tmp_path, capsys, monkeypatch):
    build = KINDS[kind].problems[only]
    monkeypatch.setitem(KINDS[kind].problems, only, lambda seed: replace(build(seed), budget=14))
    rows = tmp_path / "rows.jsonl"
    words = ["bench", "problems", kind, "--only", only, "--methods", methods, "--seeds", "2", "--jobs", "1"]
    assert main([*words, "--rows", str(rows)]) == 0
    assert f"4 of 4 runs are in {rows}" in capsys.readouterr().out
    before = rows.read_bytes()
    assert main([*words, "--rows", str(rows)]) == 0  # no run is missing, so none is made
    assert rows.read_bytes() == before
    capsys.readouterr()
    assert main(["bench", "problems", kind, "--only-show", "--rows", str(rows), "--format", "markdown"]) == 0
    assert rows.read_bytes() == before  # though the other problems are missing
    out = capsys.readouterr().out
    assert all(title in out for title in titles)
    assert out.count("\n### ") == len(titles)
    assert "| function | " in out


def test_no_runs_on_a_function(tmp_path, capsys):
    rows = tmp_path / "rows.jsonl"
    append(rows, Row("branin", "paper", 0, 2, 2, [1.0, 0.5], 0.1))
    assert main(["bench", "compare", str(rows), "--functions", "hart6"]) == 2
    assert "expected functions with runs (branin), got hart6" in capsys.readouterr().err


def test_the_page_of_the_results_is_up_to_date():
    """benchmarks/results/paper/README.md is what the code writes from the rows beside it."""
    results = Path(__file__).parents[1] / "results/paper"
    keys = {job.key for job in page.plan(quick=False)}
    curves = curves_of(row for row in read(results / "rows.jsonl") if row.key in keys)
    assert page.page_text(curves, quick=False) == (results / "README.md").read_text()


@pytest.mark.slow
def test_the_papers_figures_and_page(tmp_path, monkeypatch):
    """All nine figures and a verdict on every claim, from made-up runs."""
    rng = np.random.default_rng(0)
    jobs = page.plan(quick=True)
    assert {j.method for j in jobs} >= {"paper", "imgpo", "ei_optimal300", "ei_loo", "ar"}
    for job in jobs:
        regret = np.minimum.accumulate(10.0 ** rng.uniform(-4, 1, job.budget))
        append(
            tmp_path / "rows-quick.jsonl", Row(job.function, job.method, job.seed, job.budget, 2, regret.tolist(), 1.0)
        )
    monkeypatch.setattr(page.drawings, "alpha_ratio", lambda name: page.drawings.surface(name))  # a run of its own
    written = reproduce(tmp_path, quick=True, only_draw=True)
    text = written.read_text()
    names = {"1a", "1b", "2a", "2b", "2c", "2d", "2e", "2f", "3"}
    assert {p.name for p in tmp_path.glob("fig-*.png")} == {f"fig-{n}.png" for n in names}
    assert {p.name for p in tmp_path.glob("fig-*.svg")} == {f"fig-{n}.svg" for n in names}
    assert all(f"](fig-{n}.png)" in text for n in names)
    assert all(claim.statement in text for claim in CLAIMS)
    assert "Quick look" in text
    assert "without runs: PES" in text


def test_fig_2d_is_a_run_of_the_cool_down():
    top, bottom = page.drawings.alpha_ratio("quad2").axes
    (ratio,) = [line for line in top.lines if line.get_label() == "alpha ratio (eq. 8)"]
    assert len(ratio.get_xdata()) == 12  # half of quad2's 30 evaluations, without the design
    assert len(top.patches) >= 1  # votes
    assert bottom.get_ylabel() == "length-scale"
