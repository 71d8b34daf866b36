"""``dale bench page``: the blocks of the pages, from the published rows and from made-up ones."""

from dataclasses import replace
from pathlib import Path

import pytest

from dale.cli.main import main
from dale_bench import jsonl
from dale_bench.coco import reference
from dale_bench.coco.runs import TARGETS
from dale_bench.coco.runs import Run as CocoRun
from dale_bench.cutest.runs import Run as CutestRun
from dale_bench.page import coco, cutest, marks, problems, real, summary
from dale_bench.page.contents import BLOCKS, FIGURES, IMAGES, PAGES, read_pages, stale_blocks, write_pages
from dale_bench.page.published import Published
from dale_bench.real.runs import Run as RealRun
from dale_bench.rows import Row

ROOT = Path(__file__).parents[2]
PAGE = (
    "# A page\n\n<!-- dale bench page: first -->\nold\n<!-- end -->\n\n"
    "text\n\n<!-- dale bench page: second -->\n<!-- end -->\n"
)

needs_cocopp = pytest.mark.skipif(reference.data_directory() is None, reason="cocopp, which has best2009")


class TestMarks:
    def test_blocks_are_rewritten_and_the_rest_is_kept(self):
        page = marks.rewritten(PAGE, {"first": "| a |\n| --- |", "second": ""})
        assert page == PAGE.replace("old\n", "| a |\n| --- |\n")
        assert marks.blocks_of(page) == {"first": "| a |\n| --- |", "second": ""}
        assert marks.rewritten(page, marks.blocks_of(page)) == page

    def test_stale_blocks(self):
        assert marks.stale(PAGE, {"first": "old", "second": ""}) == []
        assert marks.stale(PAGE, {"first": "old", "second": "new"}) == ["second"]
        assert marks.stale(PAGE, {"first": "", "second": ""}) == ["first"]

    def test_errors(self):
        with pytest.raises(ValueError, match="expected blocks named first, got second"):
            marks.rewritten(PAGE, {"first": ""})
        for wrong in (PAGE.replace("second", "first"), "<!-- dale bench page: first -->\nno end"):
            with pytest.raises(ValueError, match="different names"):
                marks.blocks_of(wrong)


def coco_rows(path, method, instances, hits, *, suite="bbob", d=2, functions=(1, 2, 3), recommended=None):
    """Made-up runs: a method reaches `hits` targets, the first at evaluation 10, one with each evaluation."""
    for function in functions:
        for instance in instances:
            run = CocoRun(suite, function, instance, d, method, 0, 200, range(10, 10 + hits), 0.2)
            jsonl.append(path, replace(run, hits=list(run.hits), recommended=recommended or {}))


@needs_cocopp
class TestCoco:
    def test_methods_are_compared_on_common_problems(self, tmp_path):
        coco_rows(tmp_path / "coco/bbob.jsonl", "default", (1, 2, 3), 20)
        coco_rows(tmp_path / "coco/bbob-peers.jsonl", "cobyqa", (1, 2), 30)
        coco_rows(tmp_path / "coco/bbob-peers.jsonl", "bads", (1,), 40, functions=(1,))
        published = Published(tmp_path)
        text = coco.bbob(published)
        assert f"| COBYQA | {'/'.join([f'{30 / len(TARGETS):.3f}'[1:]] * 3)} |" in text
        assert "have: 6 in d = 2" in text  # three functions, two instances
        assert "missing: BADS in d = 2" in text
        assert "| COBYQA | -.196/-.196/-.196 (.000) |" in text  # dale minus COBYQA
        assert "a peer is ahead of dale on 1-5 separable, d = 2 (COBYQA)" in coco.bbob_groups(published)
        first = next(summary.lines(published))
        assert (first.ours, first.best, first.ahead) == (".392", ".588 (COBYQA)", "COBYQA")

    def test_without_peers_there_are_references(self, tmp_path):
        coco_rows(tmp_path / "coco/bbob.jsonl", "default", (1,), len(TARGETS), functions=range(15, 20))
        published = Published(tmp_path)
        assert "best 2009-16" in coco.bbob(published)
        assert "Paired differences" not in coco.bbob(published)
        assert [line.ahead for line in summary.lines(published)] == ["dale"]  # than the reference
        assert FIGURES["bbob"](published).axes[0].get_xlabel() == "evaluations / dimension"

    def test_noisy_functions_have_two_scores(self, tmp_path):
        rows = tmp_path / "coco/noisy.jsonl"
        options = {"suite": "bbob-noisy", "functions": (101, 107)}
        coco_rows(rows, "default", (1,), 10, recommended={"50": 1.0, "100": 0.1, "200": 1e-8}, **options)
        coco_rows(rows, "bads", (1,), 10, recommended={"50": 1.0, "100": 0.1, "200": 1e-2}, **options)
        text = coco.noisy(Published(tmp_path))
        assert text.startswith("### Noisy functions")
        assert "/1.000 |" in text.split("The best point evaluated")[0]
        assert "/1.000 |" not in text.split("The best point evaluated")[1].split("best2009")[0]
        assert [line.ahead for line in summary.lines(Published(tmp_path))] == ["dale"]


def test_cutest(tmp_path):
    for name, last in (("A", 1.0), ("B", 1.0), ("C", 1.0)):
        for method, value in (("default", 0.0), ("cobyqa", last)):
            run = CutestRun(name, method, 0, 150, "bounds", 2, [(1, 2.0), (20, value)], 2.0)
            jsonl.append(tmp_path / "cutest/bounds.jsonl", run)
    text = cutest.section(Published(tmp_path))
    assert text.startswith("## CUTEst")
    assert "| dale | 1.00/1.00/1.00 |" in text
    assert "3 problems" in text
    assert {line.ahead for line in summary.lines(Published(tmp_path))} == {"dale"}


def test_real_problems(tmp_path):
    for seed in range(3):
        for method, value in (("default", 2.0), ("optuna_tpe", 1.0)):
            run = RealRun("svc", method, seed, 60, "exact", [30, 60], [3.0, value])
            jsonl.append(tmp_path / "real/exact.jsonl", run)
    text = real.section(Published(tmp_path))
    assert "### Exact values" in text
    assert "### Noisy values" not in text
    assert "| svc | 2 ± 0 | 1 ± 0 (Optuna TPE) | Optuna TPE |" in text
    (line,) = summary.lines(Published(tmp_path))
    assert (line.ours, line.best, line.ahead) == ("2.00", "1.00 (Optuna TPE)", "Optuna TPE")


def test_one_seed_of_a_real_problem_has_no_winner(tmp_path):
    for method, value in (("default", 1.0), ("optuna_tpe", 2.0)):
        jsonl.append(tmp_path / "real/exact.jsonl", RealRun("svc", method, 0, 60, "exact", [30, 60], [3.0, value]))
    assert "| svc | 1, one run | 2, one run (Optuna TPE) | dale |" in real.section(Published(tmp_path))
    assert [line.ahead for line in summary.lines(Published(tmp_path))] == ["level"]


def test_practical_problems(tmp_path):
    values = {"default": 0.1, "optuna_tpe": 0.5, "random": 1.0}
    for job in problems.KINDS["mixed"].jobs(["basins"], list(values), range(4)):
        regret = [1.0, values[job.method] + 0.01 * job.seed]
        jsonl.append(tmp_path / "problems/mixed.jsonl", Row(*job.key, 4, regret, 0.1))
    assert "| mixed | Optuna TPE | 1 of 1 | 1 of 1 | 1 / 0 | 4, 4 |" in problems.compared(Published(tmp_path))


@needs_cocopp
def test_blocks_without_rows_are_empty(tmp_path):
    published = Published(tmp_path)
    assert {name: block(published) for name, block in BLOCKS.items()} == dict.fromkeys(BLOCKS, "")
    assert all(draw(published) is None for draw in FIGURES.values())


@needs_cocopp
def test_the_pages_are_up_to_date():
    """The tables of docs/benchmarks.md and README.md are what the code writes from the rows."""
    assert stale_blocks(ROOT) == []


def test_the_pages_have_all_blocks_and_figures():
    pages = list(read_pages(ROOT).values())
    assert {name for page in pages for name in marks.blocks_of(page)} == set(BLOCKS)
    assert "docs/images/benchmarks/bbob.png" in pages[1]
    drawn = {path.stem for path in (ROOT / IMAGES).glob("*.png")}
    assert drawn <= set(FIGURES)
    assert {"bbob", "bbob-groups", "speed"} <= drawn


@needs_cocopp
def test_the_command(tmp_path, capsys):
    for page in PAGES:
        (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / page).write_text(PAGE.replace("first", "bbob").replace("second", "summary"))
    coco_rows(tmp_path / "benchmarks/results/coco/bbob.jsonl", "default", (1,), 20)
    words = ["bench", "page", "--root", str(tmp_path)]
    assert main([*words, "--check"]) == 1
    assert "differs from the rows: README.md: bbob; run: dale bench page" in capsys.readouterr().out
    assert main(words) == 0
    assert f"wrote {tmp_path / IMAGES / 'bbob.png'}" in capsys.readouterr().out
    assert (tmp_path / IMAGES / "bbob.png").exists()
    assert main([*words, "--check"]) == 0
    assert write_pages(tmp_path) == []
    assert main(["bench", "page", "--root", str(tmp_path / "docs")]) == 2
    assert "expected the root of the repository" in capsys.readouterr().err
