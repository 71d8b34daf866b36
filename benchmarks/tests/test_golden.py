from dataclasses import replace

import numpy as np
import pytest

from dale.cli.main import main
from dale_bench.golden import KINDS, digest, golden

QUICK = "imgpo"


def test_the_same_runs_have_the_same_hash():
    assert golden(QUICK) == golden(QUICK)


def test_the_last_bit_of_one_proposal_changes_the_hash():
    runs = [tuple(run) for run in KINDS[QUICK]()]
    trial = runs[-1][-1]
    moved = replace(trial, unit_x=np.nextafter(trial.unit_x, 2.0))
    assert digest([*runs[:-1], (*runs[-1][:-1], moved)]) != digest(runs)


def test_a_missing_proposal_changes_the_hash():
    (*others, last) = (tuple(run) for run in KINDS[QUICK]())
    assert digest([*others, last[:-1]]) != digest([*others, last])


def test_another_order_of_proposals_changes_the_hash():
    first, *others = (tuple(run) for run in KINDS[QUICK]())
    assert digest([first[::-1], *others]) != digest([first, *others])


def test_the_command_prints_a_line_for_each_kind(capsys):
    assert main(["bench", "golden", QUICK]) == 0
    found = golden(QUICK)
    assert capsys.readouterr().out == f"imgpo        {found.digest} 90 trials\n"


def test_the_command_refuses_an_unknown_kind(capsys):
    assert main(["bench", "golden", "silver"]) != 0
    assert "expected kinds of runs (plain, constrained, " in capsys.readouterr().err


@pytest.mark.slow
def test_every_kind_makes_runs():
    hashes = [golden(kind) for kind in KINDS]
    assert len({found.digest for found in hashes}) == len(KINDS)
    n_trials = {found.kind: found.n_trials for found in hashes}
    assert 0 < n_trials.pop("tolerance") < 140  # it stops by itself
    assert n_trials == {
        "plain": 360,
        "constrained": 150,
        "mixed": 141,
        "noisy": 200,
        "pending": 89,
        "paper": 164,
        "imgpo": 90,
        "resumed": 80,
    }
