"""``dale bench coco`` as a user types it."""

import numpy as np
import pytest

from dale.cli import main
from dale_bench import jsonl
from dale_bench.coco import profiles, reference, report, runs, suites
from dale_bench.coco.runs import Run
from dale_bench.coco.scores import results_of


def bench(*words):
    return main(["bench", "coco", *map(str, words)])


@pytest.fixture
def rows(tmp_path):
    """A file of runs of two methods on three functions, with 10 to 30 targets reached."""
    path = tmp_path / "rows.jsonl"
    for i, f in enumerate((1, 2, 8), 1):
        jsonl.append(path, Run("bbob", f, 1, 2, "default", 0, 200, [1] * 10 * i))
        jsonl.append(path, Run("bbob", f, 1, 2, "cobyqa", 0, 200, [1] * 10 * i + [120]))
    return path


@pytest.fixture
def peers(tmp_path):
    """A file of curves of another solver."""
    path = tmp_path / "peers.npz"
    curve = np.array([150.0, 300.0, 50.0, 70.0, 1e-9])
    np.savez(path, solver__f1_i1_d2_N5=curve, old_solver__f8_i12_d10_N5=curve[::-1])
    return path


def test_run_and_table(tmp_path, capsys):
    pytest.importorskip("cocoex", reason="COCO's suites need cocoex (extra 'coco')")
    path = tmp_path / "rows.jsonl"
    words = ["run", "--dimensions", "2", "--functions", "1,6-7", "--instances", "1-2", "--budget", "20"]
    words += ["--methods", "random,cobyqa", "--seeds", "2", "--processes", "1", "--rows", path]
    assert bench(*words) == 0
    assert "24 of 24 runs are in" in capsys.readouterr().out
    before = path.read_bytes()
    assert bench(*words) == 0
    assert path.read_bytes() == before
    capsys.readouterr()
    assert bench("table", path, "--at", "10,20,50", "--format", "csv") == 0
    out = capsys.readouterr().out
    assert "# bbob, d = 2: fraction of the 51 targets reached\n" in out
    assert "method,all,1-5 separable,6-9 moderate,problems,runs\n" in out
    [line] = [line for line in out.splitlines() if line.startswith("COBYQA,")]
    assert line.endswith(",6 of 6,12")
    assert "/1.000/-," in line  # the sphere; 50 evaluations were not made


def test_the_table_by_hand(rows, capsys):
    assert bench("table", rows, "--format", "csv") == 0
    out = capsys.readouterr().out
    assert "dale,.392/.392/.392,.294/.294/.294,.588/.588/.588,3 of 3,3\n" in out
    assert "COBYQA,.392/.392/.412," in out
    assert (("best2009," in out) and ("best 2009-16," in out)) == (reference.data_directory() is not None)
    assert bench("table", rows, "--methods", "dale", "--functions", "8") == 0
    out = capsys.readouterr().out
    assert "COBYQA" not in out
    assert "1 of 1" in out


def test_the_reference_has_the_functions_of_the_runs(rows, monkeypatch, capsys):
    found = results_of([Run("bbob", f, 1, 2, "best2009", 0, 200, [1] * (f == 3)) for f in range(1, 25)])
    monkeypatch.setattr(reference, "reference_runs", lambda suite, dimension: found[suite, dimension])
    assert bench("table", rows, "--format", "csv") == 0
    assert "best2009,.000/.000/.000,.000/.000/.000,.000/.000/.000,-,-\n" in capsys.readouterr().out  # f3 was not run


def test_a_missing_reference_is_reported(rows, monkeypatch, capsys):
    monkeypatch.setattr(reference, "find_spec", lambda name: None)
    assert bench("table", rows) == 0
    assert "best2009 and best 2009-16 are not shown: cocopp is not installed" in capsys.readouterr().out


def test_curves_of_other_solvers(peers, rows, capsys):
    first, second = runs.read(peers)
    assert first == Run("bbob", 1, 1, 2, "solver", 0, 5, [3, 3, *[5] * 49])
    assert second == Run("bbob", 8, 12, 10, "old_solver", 0, 5, [1] * 51)
    assert bench("table", rows, peers, "--dimensions", "2", "--at", "3,5", "--format", "csv") == 0
    out = capsys.readouterr().out
    assert "solver,.039/1.000,.039/1.000,-/-,1 of 3,1\n" in out
    assert "methods with different problems are not comparable" in out


def test_a_method_in_several_files_is_named_after_them(rows, tmp_path, capsys):
    other = tmp_path / "other.jsonl"
    jsonl.append(other, Run("bbob", 1, 1, 2, "default", 0, 200, [1]))
    assert bench("table", rows, other, "--format", "csv") == 0
    out = capsys.readouterr().out
    assert f"dale ({rows}),.392" in out
    assert f"dale ({other}),.020" in out
    assert "\nCOBYQA,.392" in out


def test_compare_two_methods(rows, capsys):
    assert bench("compare", rows, "--methods", "default,cobyqa", "--format", "csv") == 0
    out = capsys.readouterr().out
    assert "functions,problems,first,second,difference at 50,difference at 100,difference at 200\n" in out
    assert "all,3,.392/.392/.392,.392/.392/.412,+.000 (.000),+.000 (.000),+.020 (.000)\n" in out
    assert f"# first: default in {rows}, 3 runs; second: cobyqa in {rows}, 3 runs\n" in out


def test_compare_two_files_on_the_problems_that_both_have(rows, tmp_path, capsys):
    after = tmp_path / "after.jsonl"
    for function, hits in ((1, 13), (2, 20), (3, 51)):
        jsonl.append(after, Run("bbob", function, 1, 2, "default", 0, 200, [1] * hits))
    assert bench("compare", rows, after, "--at", "200", "--format", "csv") == 0
    assert "all,2,.294,.324,+.029 (.029)\n" in capsys.readouterr().out  # of 3 and 0 targets


def test_failed_runs_are_reported_and_left_out(rows, capsys):
    jsonl.append(rows, Run("bbob", 9, 1, 2, "default", 0, 200, [], error="RuntimeError: broken\nline 2"))
    assert bench("table", rows, "--format", "csv") == 0
    out = capsys.readouterr().out
    assert "failed: default on bbob_f009_i01_d02, seed 0: RuntimeError: broken\n" in out
    assert ",3 of 3,3\n" in out


def test_profiles(rows, peers, tmp_path, capsys):
    assert bench("profiles", rows, peers, "--out", tmp_path / "figures") == 0
    expected = {f"bbob{part}.{kind}" for part in ("", "-d2", "-d10") for kind in ("png", "svg")}
    assert {path.name for path in (tmp_path / "figures").iterdir()} == expected


def test_a_method_keeps_its_colour_where_another_one_is_missing(rows):
    found = results_of([*runs.read(rows), Run("bbob", 1, 1, 2, "bads", 0, 50, [1, 2, 40])])["bbob", 2]
    colours = []
    for methods in (found, {name: found[name] for name in found if name != "default"}):
        [ax, *_] = profiles.profile_figure([profiles.Panel("", methods, {}, {1, 2, 8})], styled=found).axes
        colours.append({line.get_label(): line.get_color() for line in ax.get_lines()})
    assert len(set(colours[0].values())) == 3
    assert colours[1].items() < colours[0].items()


def test_a_profile_ends_with_the_budget_and_references_with_the_longest(rows):
    found = results_of([*runs.read(rows), Run("bbob", 1, 1, 2, "short", 0, 50, [1, 2, 40])])["bbob", 2]
    ideal = results_of([Run("bbob", 1, 0, 2, "best2009", 0, 10**6, [1] * 51)])["bbob", 2]
    panel = profiles.Panel("d = 2", found, ideal, {1, 2, 8})
    [ax, *_] = profiles.profile_figure([panel]).axes
    lines = {line.get_label(): line.get_xydata() for line in ax.get_lines()}
    assert {name: int(xy[-1, 0]) for name, xy in lines.items()} == {
        "dale": 200,
        "COBYQA": 200,
        "short": 50,
        "best2009": 200,
    }
    np.testing.assert_allclose(lines["short"][[0, 1, 38, 39], 1], np.array([1, 2, 2, 3]) / 51)
    assert ax.get_xscale() == "log"


def test_groups_without_functions_are_left_out():
    assert report.groups_of("bbob", {4, 5, 21}) == {
        "all": [4, 5, 21],
        "1-5 separable": [4, 5],
        "20-24 weak structure": [21],
    }


def test_list(capsys):
    assert bench("list") == 0
    out = capsys.readouterr().out
    assert "bbob-constrained: 54 functions, dimensions 2, 3, 5, 10, 20, 40\n" in out
    assert "  f49-f54            rotated Rastrigin\n" in out
    assert "  optuna_tpe         Optuna TPE" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--methods", "dal"], "unknown method 'dal' for the suite 'bbob'; did you mean 'default'?"),
        (
            ["run", "--dimensions", "4"],
            "--dimensions: expected some of 2, 3, 5, 10, 20, 40 for the suite 'bbob', got 4",
        ),
        (["run", "--suite", "bbob-mixint", "--dimensions", "2"], "expected some of 5, 10, 20, 40, 80, 160"),
        (["run", "--functions", "20-25"], "--functions: expected some of 1-24 for the suite 'bbob', got 25"),
        (["run", "--instances", "3-1"], "--instances: expected positive integers or ranges, such as 1-3,7, got '3-1'"),
        (["run", "--instances", ","], "--instances: expected positive integers or ranges, such as 1-3,7, got ','"),
        (["run", "--methods", ","], "--methods: expected names, separated by commas, got ','"),
        (["run", "--seeds", "0"], "--seeds: expected at least 1, got 0"),
        (["run", "--budget", "0"], "--budget: expected at least 1, got 0"),
        (["run", "--logger", "/a b"], "--logger: expected a path without spaces, where COCO would cut it, got '/a b'"),
        (["table", "absent.jsonl"], "which does not exist; run: dale bench coco run --rows absent.jsonl"),
        (
            ["table", "ROWS", "--methods", "bads"],
            "got none in ROWS; available: suites bbob; dimensions 2; instances 1; ",
        ),
        (["table", "ROWS", "--at", "x"], "--at: expected integers of at least 1, separated by commas, got 'x'"),
        (
            ["compare", "ROWS"],
            "expected two files, or two methods with --methods, got one file and --methods 'default'",
        ),
        (
            ["compare", "ROWS", "PEERS", "--methods", "default,old_solver"],
            "both have runs, got none; run the same suite",
        ),
    ],
)
def test_errors_tell_what_to_do(words, message, rows, peers, capsys, monkeypatch):
    monkeypatch.setattr(suites, "find_spec", lambda name: "installed")
    names = {"ROWS": str(rows), "PEERS": str(peers)}
    assert bench(*(names.get(word, word) for word in words)) != 0
    assert message.replace("ROWS", str(rows)) in capsys.readouterr().err


def test_coco_must_be_installed_for_runs(capsys, monkeypatch):
    monkeypatch.setattr(suites, "find_spec", lambda name: None)
    assert bench("run") != 0
    assert "cocoex, which is not installed; run: pip install './benchmarks[coco]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"cobyqa_f1": np.ones(3)}, r"expected keys such as NAME__f1_i1_d2_N200 .* got 'cobyqa_f1'"),
        ({"a__f1_i1_d2_N3": np.ones((2, 3))}, r"expected one value for each evaluation, got shape \(2, 3\)"),
        (None, "expected an npz file of numpy, got .* which is not one"),
    ],
)
def test_bad_files_of_other_solvers(content, message, tmp_path):
    path = tmp_path / "peers.npz"
    if content is None:
        path.write_text("no archive")
    else:
        np.savez(path, **content)
    with pytest.raises(ValueError, match=message):
        runs.read(path)
