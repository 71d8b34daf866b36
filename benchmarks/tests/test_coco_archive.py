"""``dale bench coco archive``: cocopp reads the archives and finds the targets that the rows have."""

import json
import os
import subprocess
import sys
import tarfile

import numpy as np
import pytest

from dale.cli import main
from dale_bench.coco import archive, runs
from dale_bench.coco.runs import TARGETS

# cocopp looks for its online archives when it is imported: the proxy, which does not exist, keeps it from the network.
READ = """
import json, sys, warnings
warnings.simplefilter("ignore")
import cocopp
paths, targets = json.loads(sys.argv[1])
found = [
    [data.algId, data.funcId, data.dim, data.instancenumbers, [row.tolist() for row in data.detEvals(targets)]]
    for path in paths for data in cocopp.load(path)
]
print("\\n" + json.dumps(found))
"""
ROUNDING = 1e-9  # of a target
INFO = "suite = 'bbob', funcId = 1, DIM = 2, Precision = 1.000e-08, algId = 'random', settings = ''"


def bench(*words):
    return main(["bench", "coco", *map(str, words)])


def read_with_cocopp(paths, home):
    """Name, function, dimension, instances and evaluations until each target, (targets, runs), of each data set."""
    matplotlib = pytest.importorskip("matplotlib", reason="cocopp needs matplotlib")
    environment = {**os.environ, "HOME": str(home), "MPLCONFIGDIR": matplotlib.get_cachedir()}
    environment |= dict.fromkeys(("http_proxy", "https_proxy", "HTTPS_PROXY"), "http://127.0.0.1:9")
    request = json.dumps([[str(path) for path in paths], (TARGETS * (1 + ROUNDING)).tolist()])
    words = [sys.executable, "-c", READ, request]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment, cwd=home)
    return json.loads(done.stdout.splitlines()[-1])


def write_run(directory, entry="1:2|1.5e+00", header=INFO, values=(2.5, 1.5)):
    """The logged run of a method, with two evaluations."""
    data = directory / "data_f1"
    data.mkdir(parents=True)
    (directory / "bbobexp_f1.info").write_text(f"{header}\n% \ndata_f1/bbobexp_f1_DIM2.dat, {entry}")
    lines = ["% f evaluations | g evaluations | best | measured | best measured | x1 | x2..."]
    lines += [f"{n} 0 {value:+.9e} +8.0e+01 +8.0e+01 +1.3696e+00 -2.3021e+00" for n, value in enumerate(values, 1)]
    for suffix in ("dat", "tdat"):
        (data / f"bbobexp_f1_DIM2.{suffix}").write_text("\n".join(lines) + "\n")
    (data / "bbobexp_f1_DIM2.mdat").write_text(lines[0] + "\n")
    return directory


def test_cocopp_finds_what_the_rows_have(tmp_path, capsys):
    pytest.importorskip("cocoex", reason="COCO's logger needs cocoex (extra 'coco')")
    pytest.importorskip("cocopp", reason="the archive is read by cocopp (extra 'coco')")
    rows, logs, out = tmp_path / "rows.jsonl", tmp_path / "logs", tmp_path / "out"
    words = ["run", "--dimensions", "2", "--functions", "1,8", "--instances", "1-3", "--budget", "30", "--jobs", "2"]
    assert bench(*words, "--methods", "cobyqa,random", "--rows", rows, "--logger", logs) == 0
    assert bench("archive", logs, "--out", out) == 0
    assert f"wrote {out / 'bbob' / 'COBYQA.tgz'}: 6 runs, 2 kB" in capsys.readouterr().out
    methods = {"COBYQA": "cobyqa", "random": "random"}
    found = read_with_cocopp([out / "bbob" / f"{name}.tgz" for name in methods], tmp_path)
    assert [one[:3] for one in found] == [[name, function, 2] for name in methods for function in (1, 8)]
    for name, function, _, instances, evaluations in found:
        assert instances == [1, 2, 3]
        chosen = [run for run in runs.read(rows) if (run.method, run.function) == (methods[name], function)]
        hits = {run.instance: [*run.hits, *[np.nan] * (len(TARGETS) - len(run.hits))] for run in chosen}
        np.testing.assert_array_equal(evaluations, np.transpose([hits[i] for i in instances]))


def test_several_seeds_are_several_runs_on_an_instance(tmp_path):
    for seed in (1, 0):
        write_run(tmp_path / "logs" / f"bbob_f001_i01_d02_seed{seed}", f"1:2|{seed}.5e+00", values=(3, seed + 0.5))
    [found], interrupted = archive.archives_of([tmp_path / "logs"])
    files = found.files()
    assert interrupted == []
    assert files["random/bbobexp_f1.info"].splitlines()[2] == "data_f1/bbobexp_f1_DIM2.dat, 1:2|0.5e+00, 1:2|1.5e+00"
    assert list(files) == [
        f"random/{p}" for p in ("bbobexp_f1.info", "data_f1/bbobexp_f1_DIM2.dat", "data_f1/bbobexp_f1_DIM2.tdat")
    ]
    lines = files["random/data_f1/bbobexp_f1_DIM2.dat"].splitlines()
    header = "% f evaluations | g evaluations | best | measured | best measured"
    ends = ["2 0 +5.000000000e-01 +8.0e+01 +8.0e+01", "2 0 +1.500000000e+00 +8.0e+01 +8.0e+01"]
    first = "1 0 +3.000000000e+00 +8.0e+01 +8.0e+01"
    assert lines == [header, first, ends[0], header, first, ends[1]]


def test_the_same_runs_give_the_same_bytes_and_the_label_of_the_method(tmp_path):
    write_run(tmp_path / "logs" / "run", header=INFO.replace("random", "optuna_gp"))
    [found], _ = archive.archives_of([tmp_path / "logs"])
    paths = [found.write(tmp_path / name) for name in ("a", "b")]
    assert paths[0] == tmp_path / "a" / "bbob" / "Optuna-GP.tgz"
    assert paths[0].read_bytes() == paths[1].read_bytes()
    with tarfile.open(paths[0]) as tar:
        info = tar.extractfile("Optuna-GP/bbobexp_f1.info").read().decode()
    assert "algId = 'Optuna-GP'" in info


def test_interrupted_runs_are_left_out_with_a_message(tmp_path, capsys):
    write_run(tmp_path / "logs" / "bbob_f001_i01_d02_seed0")
    half = write_run(tmp_path / "logs" / "bbob_f001_i02_d02_seed0", entry="2")
    assert bench("archive", tmp_path / "logs", "--out", tmp_path / "out") == 0
    out = capsys.readouterr().out
    assert f"left out: {half}, which was interrupted" in out
    assert "random.tgz: 1 runs" in out


def test_errors(tmp_path, capsys):
    rows = tmp_path / "rows.jsonl"
    rows.touch()
    empty = tmp_path / "empty"
    empty.mkdir()
    logs = tmp_path / "logs"
    write_run(logs / "bbob_f001_i01_d02_seed0")
    copy = tmp_path / "copy"
    write_run(copy / "bbob_f001_i01_d02_seed0")
    strange = tmp_path / "strange"
    write_run(strange / "run", entry="1:2|1.5e+00, 2:2|1.5e+00")
    for words, message in (
        ([rows], "which is a file: rows have only the targets that were reached"),
        ([tmp_path / "nowhere"], "nowhere, which is missing; make the runs with"),
        ([empty], "expected runs of COCO's logger, got none in"),
        ([logs, copy], "expected each run once, got"),
        ([strange], "expected the description of one run"),
    ):
        assert bench("archive", *words, "--out", tmp_path / "out") == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
