"""What a proposal costs: the table, the verdicts and the figure, on made-up measurements."""

import pytest

from dale_bench.speed import report
from dale_bench.speed.measure import FLOOR
from dale_bench.tables import as_csv
from made_up_timings import BOTORCH, DALE, GLOBAL, NOISY, OPTUNA, all_good, imports, said, timing


class TestTable:
    def test_ratios_memory_and_gaps(self):
        header, rows = report.speed_table(
            [
                timing(FLOOR, 25, 2, 0.0002),
                timing(DALE, 25, 2, 0.004, 0.5),
                timing(GLOBAL, 25, 2, 0.01, 0.4),
                timing(NOISY, 25, 2, 0.02),
                timing(OPTUNA, 25, 2, 0.1, 12.4),
                timing(BOTORCH, 25, 2, 1.5, 100.4),
                timing(FLOOR, 500, 2, 0.004),
                timing(DALE, 500, 2, 0.1),
                timing(GLOBAL, 500, 2, 0.08),
            ]
        )
        ours = ["d", "n", "floor, ms", "dale, ms", "global, ms", "with noise, ms", "/ floor", "MB"]
        assert header == [*ours, "Optuna GP, ms", "/ dale", "MB", "BoTorch log EI, ms", "/ dale", "MB"]
        ours = ["2", "25", "0.2", "4 (2-12)", "10 (5-30)", "20 (10-60)", "50", "0.5"]
        assert rows == [
            [*ours, "100 (50-300)", "10", "12.4", "1500 (750-4500)", "150", "100"],
            ["2", "500", "4", "100 (50-300)", "80 (40-240)", "-", "25", "-"] + ["-"] * 6,
        ]

    def test_without_peers_there_are_no_columns_of_theirs(self):
        header, rows = report.speed_table([timing(DALE, 25, 2, 0.01)])
        assert header[-1] == "MB"
        assert rows == [["2", "25", "-", "10 (5-30)", "-", "-", "-"]]
        assert as_csv((header, rows)).startswith('d,n,"floor, ms"')


class TestVerdicts:
    def test_all_hold_just_so(self):
        assert said(all_good(), imports(1.3, 1.0)) == [
            "holds: n = 100, d = 6: at most 1/40 of BoTorch log EI; it is 1/40",
            "holds: n = 100, d = 6: at most 1/8 of Optuna GP; it is 1/8",
            "holds: n = 200, d = 6: with noise at most 3 times; it is 3 times",
            "holds: n = 500 to 2000: at most 16 times; it is 16 times at most (d = 6)",
            "holds: n = 99 to 101: no jump above 3 times; it is 3 times at most (d = 6)",
            "holds: n = 2000, d = 6: within 20 times the floor; it is 20 times",
            "holds: n = 2000, d = 6: memory within 4 n^2 doubles and 100 MB, that is 228 MB; it is 228 MB",
            "holds: import dale: within 1.3 times that of numpy, scipy.optimize and scipy.linalg; "
            "it is 1.3 times (1.3 s, 1 s)",
        ]

    @pytest.mark.parametrize(
        ("number", "worse", "shown"),
        [
            (0, timing(BOTORCH, 101, 6, 1.0), "1/37.5"),
            (1, timing(OPTUNA, 99, 6, 0.06), "1/7"),
            (2, timing(NOISY, 200, 6, 0.08), "4 times"),
            (3, timing(DALE, 2000, 2, 20.0), "20 times at most (d = 2)"),
            (4, timing(DALE, 101, 2, 0.07), "3.5 times at most (d = 2)"),
            (5, timing(FLOOR, 2000, 6, 0.08), "25 times"),
            (6, timing(DALE, 2000, 6, 2.0, 229.0), "229 MB"),
            (4, timing(GLOBAL, 101, 2, 0.064), "3.2 times at most (d = 2)"),  # the slower kind of each cell
            (6, timing(GLOBAL, 2000, 6, 1.0, 230.0), "230 MB"),
        ],
    )
    def test_each_can_fail_and_by_itself(self, number, worse, shown):
        timings = [t for t in all_good() if t.key != worse.key] + [worse]
        verdicts = said(timings, imports(1.0, 1.0))
        assert [v.startswith("holds: ") for v in verdicts] == [i != number for i in range(8)]
        assert verdicts[number].startswith("does not hold: ")
        assert verdicts[number].endswith(f"; it is {shown}")

    def test_a_slow_import(self):
        assert said(all_good(), imports(1.4, 1.0))[-1].startswith("does not hold: import dale")

    @pytest.mark.parametrize(
        ("absent", "unknown"),
        [
            ({(BOTORCH, 99, 6)}, {0}),
            ({(OPTUNA, 101, 6)}, {1}),
            ({(DALE, 99, 6)}, {0, 1}),  # the jump is known in two dimensions
            ({(NOISY, 200, 6)}, {2}),
            ({(DALE, 2000, 6)}, {5, 6}),
            ({(DALE, 500, 6), (DALE, 500, 2)}, {3}),
            ({(FLOOR, 2000, 6)}, {5}),
        ],
    )
    def test_no_verdict_without_a_measurement(self, absent, unknown):
        verdicts = said([t for t in all_good() if t.key not in absent], imports(1.0, 1.0))
        assert {i for i, v in enumerate(verdicts) if v.startswith("not measured: ")} == unknown

    def test_no_measurements(self):
        assert all(v.startswith("not measured: ") for v in said([]))


class TestFigure:
    def test_its_series(self):
        figure = report.speed_figure([*all_good(), timing(GLOBAL, 99, 6, 0.02)])
        panels = {ax.get_title(): {line.get_label(): line for line in ax.lines} for ax in figure.axes}
        assert set(panels) == {"d = 6", "d = 2"}
        assert set(panels["d = 6"]) == {
            "floor",
            "dale",
            "dale, global",
            "dale, with noise",
            "Optuna GP",
            "BoTorch log EI",
        }
        assert set(panels["d = 2"]) == {"dale"}
        line = panels["d = 2"]["dale"]
        assert line.get_xdata().tolist() == [99, 101, 500, 2000]
        assert line.get_ydata().tolist() == [0.02, 0.02, 1.0, 16.0]
        assert {(ax.get_xscale(), ax.get_yscale()) for ax in figure.axes} == {("log", "log")}
        assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["99", "200", "500", "2000"]
