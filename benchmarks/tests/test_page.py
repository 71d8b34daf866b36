"""``dale bench page``: the blocks of the pages, from the published rows and from made-up ones."""

from pathlib import Path

import pytest

from dale.cli.main import main
from dale_bench import jsonl
from dale_bench.coco import reference
from dale_bench.coco.runs import TARGETS
from dale_bench.coco.runs import Run as CocoRun
from dale_bench.cutest.runs import Run as CutestRun
from dale_bench.page import coco, commands, cutest, marks, problems, real, summary
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


def coco_runs(method, instances, hits, *, suite="bbob", d=2, functions=(1, 2, 3), recommended=None, budget=200):
    """Made-up runs: a method reaches `hits` targets, the first at evaluation 10, one with each evaluation."""
    evaluations, after = list(range(10, 10 + hits)), recommended or {}
    jobs = [(suite, f, i, d, method, 0, budget) for f in functions for i in instances]
    return [CocoRun(*job, evaluations, 0.2, recommended=after) for job in jobs]


def on_one_line(text):
    return " ".join(text.split())


def coco_rows(path, *args, **options):
    """A file with made-up runs."""
    for run in coco_runs(*args, **options):
        jsonl.append(path, run)


@needs_cocopp
class TestCoco:
    def test_methods_are_compared_on_common_problems(self, tmp_path):
        coco_rows(tmp_path / "coco/bbob.jsonl", "default", (1, 2, 3), 20)
        coco_rows(tmp_path / "coco/bbob-peers.jsonl", "cobyqa", (1, 2), 30)
        coco_rows(tmp_path / "coco/bbob-peers.jsonl", "bads", (1,), 40, functions=(1,))
        published = Published(tmp_path)
        text = on_one_line(coco.bbob(published))
        assert f"| COBYQA | {'/'.join([f'{30 / len(TARGETS):.3f}'[1:]] * 3)} |" in text
        assert "evaluations; 6 problems" in text  # three functions, two instances
        assert "missing: BADS in d = 2" in text
        assert "± standard error: -.196 ± .000 (COBYQA)" in text  # dale minus COBYQA
        assert "1-5 separable in d = 2 (COBYQA .588, dale .392)" in text
        first = next(summary.lines(published))
        assert (first.ours, first.best, first.ahead) == (".392", ".588 (COBYQA)", "COBYQA")

    def test_without_peers_there_are_references(self, tmp_path):
        coco_rows(tmp_path / "coco/bbob.jsonl", "default", (1,), len(TARGETS), functions=range(15, 20))
        published = Published(tmp_path)
        assert "best 2009-16" in coco.bbob(published)
        assert "best peer" not in coco.bbob(published)
        assert [line.ahead for line in summary.lines(published)] == ["dale"]  # than the reference
        assert FIGURES["bbob"](published).axes[0].get_xlabel() == "evaluations / dimension"

    def test_noisy_functions_have_two_scores(self, tmp_path):
        rows = tmp_path / "coco/noisy.jsonl"
        options = {"suite": "bbob-noisy", "functions": (101, 107)}
        coco_rows(rows, "default", (1,), 10, recommended={"50": 1.0, "100": 0.1, "200": 1e-8}, **options)
        coco_rows(rows, "bads", (1,), 10, recommended={"50": 1.0, "100": 0.1, "200": 1e-2}, **options)
        published = Published(tmp_path)
        assert "/1.000 |" in coco.noisy(published)  # of the recommended points
        assert "best2009" not in coco.noisy(published)
        assert [line.ahead for line in summary.lines(published)] == ["dale"]
        dots = [line for line in FIGURES["noisy"](published).axes[0].lines if line.get_marker() == "o"]
        assert dots[0].get_ydata()[-1] == 1
        assert dots[1].get_ydata()[-1] < 1

    def test_longer_runs_are_scored_after_multiples_of_the_dimension(self, tmp_path):
        rows = tmp_path / "coco/bbob-long.jsonl"
        for d in (3, 10):
            coco_rows(rows, "default", (1,), 40, d=d, budget=100 * d)
        coco_rows(rows, "bads", (1,), 20, d=3, budget=300)
        coco_rows(rows, "cma", (1,), 10, d=10, budget=500)
        published = Published(tmp_path)
        text = on_one_line(coco.bbob_long(published))
        assert text.startswith("### Longer runs")
        assert "| BADS | .392/.392/.392 | - |" in text
        assert "after 20 d/50 d/100 d (d = 3) or 10 d/20 d/50 d (d = 10) evaluations" in text
        assert "+.392 ± .000 (BADS), +.588 ± .000 (CMA-ES (pycma))" in text
        assert "--dimensions 3 --functions 1-3 --instances 1 --budget 300 --methods default,bads" in text
        lines = {line.problems: (line.measure, line.best) for line in summary.lines(published)}
        assert lines == {
            "BBOB, longer, d = 3": ("targets reached after 100 d evaluations", ".392 (BADS)"),
            "BBOB, longer, d = 10": ("targets reached after 50 d evaluations", ".196 (CMA-ES (pycma))"),
        }
        figure = FIGURES["bbob-long"](published)
        assert [ax.get_title() for ax in figure.axes] == [f"BBOB, longer, d = {d}" for d in (3, 10)]

    def test_slow_peers_are_compared_on_their_problems(self, tmp_path):
        coco_rows(tmp_path / "coco/bbob.jsonl", "default", (1, 2), 40)
        coco_rows(tmp_path / "coco/bbob-peers.jsonl", "cobyqa", (1, 2), 30)
        slow = tmp_path / "coco/bbob-slow-peers.jsonl"
        coco_rows(slow, "optuna_gp", (1,), 51, functions=(1, 2), budget=100)
        coco_rows(slow, "botorch", (1,), 20, functions=(2, 3), budget=100)
        text = on_one_line(coco.bbob_slow(Published(tmp_path)))
        assert text.startswith("### Slow peers")
        assert "evaluations; 1 problems" in text  # function 2, instance 1
        assert "after 10 d/20 d/50 d evaluations" in text
        for name in ("dale", "COBYQA", "Optuna GP", "BoTorch log EI"):
            assert f"| {name} | " in text
        assert "(Optuna GP" in text
        assert "--rows benchmarks/results/coco/bbob-slow-peers.jsonl" in text
        assert "bbob.jsonl" not in text


def test_commands_of_coco():
    """One command for all dimensions and methods with the same functions, instances and budget."""
    options = {"suite": "bbob-mixint", "functions": range(1, 25)}
    runs = [run for d in (5, 10) for m in ("default", "random") for run in coco_runs(m, (1, 2, 3), 5, d=d, **options)]
    runs += coco_runs("optuna_tpe", (1, 3), 5, d=5, suite="bbob-mixint", functions=(1, 4), budget=50)
    assert commands.coco_commands(runs, "coco/mixint.jsonl") == [
        "dale bench coco run --suite bbob-mixint --dimensions 5,10 --instances 1-3 --methods default,random --rows "
        "benchmarks/results/coco/mixint.jsonl",
        "dale bench coco run --suite bbob-mixint --dimensions 5 --functions 1,4 --instances 1,3 --budget 50 --methods "
        "optuna_tpe --rows benchmarks/results/coco/mixint.jsonl",
    ]


def test_cutest(tmp_path):
    for name, last in (("A", 1.0), ("B", 1.0), ("C", 1.0)):
        for method, value in (("default", 0.0), ("cobyqa", last)):
            run = CutestRun(name, method, 0, 150, "bounds", 2, [(1, 2.0), (20, value)], 2.0)
            jsonl.append(tmp_path / "cutest/bounds.jsonl", run)
    assert "| 3, bounds or none | dale | 1.00/1.00/1.00 |" in cutest.solved(Published(tmp_path))
    assert {line.ahead for line in summary.lines(Published(tmp_path))} == {"dale"}


def test_real_problems(tmp_path):
    for seed in range(3):
        for method, value in (("default", 2.0), ("optuna_tpe", 1.0)):
            run = RealRun("svc", method, seed, 60, "exact", [30, 60], [3.0, value])
            jsonl.append(tmp_path / "real/exact.jsonl", run)
    jsonl.append(tmp_path / "real/exact.jsonl", RealRun("mlp", "default", 0, 60, "exact", [30, 60], [1.0, 1.0]))
    jsonl.append(tmp_path / "real/exact.jsonl", RealRun("mlp", "optuna_tpe", 0, 60, "exact", [30, 60], [1.0, 1.0]))
    published = Published(tmp_path)
    text = on_one_line(real.compared(published))
    assert "| 2 exact | Optuna TPE | 1.50 | 1.25 | 0 / 1 / 1 | 0 / 1 |" in text
    assert "exact: 3 seeds on svc, 1 seed on mlp; a peer has the lowest median on svc (Optuna TPE)" in text
    assert "dale bench real run --kind exact --only svc --seeds 3 --methods default,optuna_tpe --rows" in text
    assert "dale bench real run --kind exact --only mlp --seeds 1 --methods default,optuna_tpe --rows" in text
    (line,) = summary.lines(published)
    assert (line.ours, line.best, line.ahead) == ("1.75", "1.25 (Optuna TPE)", "level")
    (ax,) = FIGURES["real"](published).axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["svc", "mlp", "mean"]
    assert {line.get_label(): list(line.get_xdata()) for line in ax.lines[:2]} == {
        "dale": [2, 1.5, 1.75],
        "Optuna TPE": [1, 1.5, 1.25],
    }


def test_one_seed_of_a_real_problem_has_no_winner(tmp_path):
    for method, value in (("default", 1.0), ("optuna_tpe", 2.0)):
        jsonl.append(tmp_path / "real/exact.jsonl", RealRun("svc", method, 0, 60, "exact", [30, 60], [3.0, value]))
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
    assert {"bbob", "bbob-groups", "noisy", "integers-constraints", "cutest", "real", "speed"} <= drawn


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
