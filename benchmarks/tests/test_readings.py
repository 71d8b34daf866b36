"""Readings of the paper's open points: as contenders, and their table on made-up runs of known answers."""

import numpy as np
import pytest

from dale import methods
from dale.methods.length_scale import AlphaRatio, Denominator
from dale.methods.region_identification import CandidateStatus, MarginFrom, RegionIdentification
from dale_bench import readings
from dale_bench.contenders import CONTENDERS, contender, is_ours
from dale_bench.paper import page
from dale_bench.paper.plan import READING_FUNCTIONS, READING_RUNS
from dale_bench.runner import Job, run


def test_our_reading_is_that_of_the_method():
    assert readings.method(readings.OURS) == methods.paper()
    assert readings.contender_name(readings.OURS) == "paper"


def test_a_reading_settles_three_points():
    first = readings.method("surface-break-computed")
    assert first.regions == RegionIdentification(margin_from=MarginFrom.SURFACE, continue_after=())
    assert first.length_scale == AlphaRatio(denominator=Denominator.COMPUTED)
    assert set(readings.method("center-always-stored").regions.continue_after) == set(CandidateStatus)
    assert len(readings.READINGS) == len(set(readings.READINGS)) == 12


def test_each_change_alone_is_compared():
    """Between the first and the last, every other differs from the first in one point."""
    first, *between, last = (reading.split("-") for reading in readings.COMPARED)
    assert "-".join(last) == readings.OURS
    changes = [[i for i in range(3) if words[i] != first[i]] for words in between]
    assert changes == [[0], [1], [2]]
    assert all(words[i] == last[i] for words, (i,) in zip(between, changes, strict=True))


def test_a_reading_is_a_contender_that_only_its_name_finds():
    for reading in readings.READINGS:
        name = readings.PREFIX + reading
        assert contender(name).name == name
        assert is_ours(name)
        assert name not in CONTENDERS
    with pytest.raises(ValueError, match="unknown method or peer 'reading:edge-break-stored'"):
        contender("reading:edge-break-stored")


def test_a_reading_runs():
    row = run(Job("quad2", "reading:surface-break-stored", 0, 9))
    assert (row.error, len(row.regret)) == (None, 9)


def test_the_table_has_medians_and_worst_runs():
    def runs(decades):
        return 10.0 ** np.array([[0.0, d] for d in decades])

    curves = {
        "branin": {
            "paper": runs([-6.0] * READING_RUNS + [5.0] * 9),
            "reading:surface-break-computed": runs([-1, -2, -3]),
        }
    }
    lines = page._about_the_readings(curves)
    (table,) = [line for line in lines if line.startswith("| margin")]
    header, _, *rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines()]
    column = header.index("branin")
    assert header[3:] == list(READING_FUNCTIONS)
    assert [row[:3] for row in rows] == [reading.split("-") for reading in readings.COMPARED]
    assert rows[0][column] == "-2.00 (-1.0, 3 runs)"
    assert rows[-1][column] == "-6.00 (-6.0)"  # of the first seeds only
    assert rows[1][column] == ""


def test_readings_are_in_no_verdict_and_no_figure():
    curves = {"branin": {"paper": np.ones((4, 2)), "reading:surface-break-computed": np.ones((4, 2))}}
    assert set(page.without_readings(curves)["branin"]) == {"paper"}


def test_the_plan_has_the_runs_of_the_table():
    planned = {job.key for job in page.plan(quick=False)}
    for function in READING_FUNCTIONS:
        for reading in readings.COMPARED:
            seeds = [k[2] for k in planned if k[:2] == (function, readings.contender_name(reading))]
            assert set(range(READING_RUNS)) <= set(seeds)
    assert not any(readings.is_reading(job.method) for job in page.plan(quick=True))
