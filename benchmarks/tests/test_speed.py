"""What a proposal costs: the plan, the command, and the clocks on fake ones."""

import contextlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from dale.cli import main
from dale.history.reason import Source
from dale_bench import jsonl
from dale_bench.contender import Contender
from dale_bench.contenders import CONTENDERS
from dale_bench.fresh_process import BLAS_VARIABLES, in_fresh_process, one_blas_thread
from dale_bench.speed import asks, measure, observations, plan
from dale_bench.speed.measure import FLOOR, Timing
from made_up_timings import BOTORCH, DALE, GLOBAL, NOISY, OPTUNA, imports, timing


class Ticking:
    """A clock that advances by one more at each reading: 0, 1, 3, 6, ..."""

    def __init__(self):
        self.readings = 0

    def __call__(self):
        self.readings += 1
        return self.readings * (self.readings - 1) / 2


class TestObservations:
    @pytest.mark.parametrize("d", [1, 2, 6])
    def test_n_observations_of_which_the_last_are_proposals(self, d):
        optimizer = observations.observed(15, d, seed=1)
        sources = [trial.reason.source for trial in optimizer.history]
        assert [s is Source.ADDED for s in sources] == [True] * 10 + [False] * 5
        X, y = observations.data(optimizer)
        assert X.shape == (15, d)
        assert y.tolist() == [observations.objective(d, 1).on_cube()(u) for u in X]

    def test_noise_is_found_by_replicates(self):
        optimizer = observations.observed(40, 3, seed=1, noise=0.1)
        X, _ = observations.data(optimizer)
        assert len(X) == 40
        assert len(np.unique(X, axis=0)) < 40
        assert optimizer.result().noise > 0

    def test_points_are_spread_and_close_in_on_the_minimum(self):
        minimiser = np.array([0.3, 0.6, 0.5])
        U = observations.points(300, minimiser, np.random.default_rng(0))
        assert U.shape == (300, 3)
        assert 0 <= U.min() <= U.max() <= 1
        assert len(np.unique(U, axis=0)) == 300
        assert np.abs(U[:200].mean(axis=0) - 0.5).max() < 0.02  # random points would be off by as much, one in two
        distances = np.linalg.norm(U[200:] - minimiser, axis=1)
        np.testing.assert_allclose(distances[[0, -1]], [0.1, 0.001])
        assert np.all(np.diff(distances) < 0)

    @pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 17])
    def test_any_number_of_points(self, n):
        assert observations.points(n, np.full(2, 0.5), np.random.default_rng(0)).shape == (n, 2)

    def test_the_function_is_moved_and_rotated(self):
        assert observations.objective(6, 0).name == "levy6:moved:rotated"


class TestClocks:
    def test_only_the_ask_is_timed_and_in_other_runs(self, monkeypatch):
        asked = []

        @contextlib.contextmanager
        def fake(n, d, seed):
            yield lambda: asked.append((n, d, seed))

        monkeypatch.setitem(asks.ASKS, DALE, fake)
        made = measure.time_asks(DALE, 40, 3, 2, (Ticking(), Ticking()))
        assert asked == [(measure.SMALL, 2, 0), (40, 3, 0), (40, 3, 1)]  # the first warms up and is not counted
        assert made.key == (DALE, 40, 3)
        assert made.cpu == made.wall == [3, 5]  # readings 3 and 4, 5 and 6

    def test_a_real_ask(self):
        made = measure.time_asks(DALE, 12, 2, 1)
        assert len(made.cpu) == len(made.wall) == 1
        assert min(*made.cpu, *made.wall) >= 0

    @pytest.mark.parametrize("seed", range(3))
    def test_held_to_the_global_search(self, seed):
        with asks.ASKS[GLOBAL](31, 3, seed) as ask:
            assert ask().reason.source is Source.GLOBAL

    def test_the_floor_is_the_time_of_one_round(self, monkeypatch):
        monkeypatch.setattr(measure, "FLOOR_SECONDS", 10)  # the first round takes 1 by the clock: ten are timed at once
        made = measure.time_floor(5, 2, 1, (Ticking(), Ticking()))
        assert made.key == (FLOOR, 5, 2)
        assert made.cpu == [(2 * i + 1) / 10 for i in range(1, 1 + measure.FLOOR_REPEATS)]

    def test_the_median_counts(self):
        assert timing(DALE, 25, 2, 0.7).seconds == 0.7

    def test_imports_take_turns(self, monkeypatch):
        statements = []

        def fresh(statement, compiled):
            statements.append(statement)
            return len(statements), 0.0

        monkeypatch.setattr(measure, "_fresh_import", fresh)
        ours, needed = measure.time_imports(2)
        assert statements == ["import dale", "import numpy, scipy.optimize, scipy.linalg"] * 3
        assert (ours.cpu, needed.cpu) == ([3, 5], [4, 6])  # the first ones compile

    def test_an_import_in_a_fresh_interpreter(self, tmp_path):
        cpu, wall = measure._fresh_import("import colorsys", str(tmp_path))
        assert min(cpu, wall) >= 0
        assert list(tmp_path.rglob("colorsys*.pyc"))
        with pytest.raises(subprocess.CalledProcessError):
            measure._fresh_import("import there_is_no_such_module", str(tmp_path))


class TestMemory:
    def test_the_peak_is_seen_after_it_has_passed(self):
        memory = measure.PeakMemory()
        if memory.megabytes() is None:
            pytest.skip("this system does not tell the memory of a process")
        size = (
            64_000_000 if sys.platform == "linux" else 400_000_000
        )  # elsewhere more than the peak of all tests before
        block = np.ones(size // 8)
        del block
        assert memory.megabytes() > 0.9 * size / 1e6


class TestAlone:
    def test_a_process_of_its_own_with_one_thread(self, monkeypatch):
        monkeypatch.setenv("OMP_NUM_THREADS", "7")
        monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
        with one_blas_thread():
            code = f"import os; print(*(os.environ[name] for name in {BLAS_VARIABLES!r}))"
            seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert seen.stdout.split() == ["1"] * len(BLAS_VARIABLES)
        assert os.environ["OMP_NUM_THREADS"] == "7"
        assert "MKL_NUM_THREADS" not in os.environ

    def test_results_and_errors_come_back(self):
        assert in_fresh_process(os.getpid) != os.getpid()
        with pytest.raises(ZeroDivisionError):
            in_fresh_process(divmod, 1, 0)


class TestLines:
    def test_round_trip_and_a_torn_line(self, tmp_path):
        path = tmp_path / "deep" / "speed.jsonl"
        assert jsonl.read(path, Timing) == []
        first, second, third = (timing(DALE, n, 2, 0.5, 3.5) for n in (25, 50, 99))
        jsonl.append(path, first)
        jsonl.append(path, second)
        path.write_bytes(path.read_bytes()[:-9])
        jsonl.append(path, third)
        assert jsonl.read(path, Timing) == [first, third]

    def test_a_foreign_file_is_refused(self, tmp_path):
        path = tmp_path / "rows.jsonl"
        path.write_text('{"function": "branin"}\n')
        with pytest.raises(ValueError, match="expected lines of Timing"):
            jsonl.read(path, Timing)


class TestPlan:
    def test_contenders_of_a_cell_stand_together_and_peers_end_early(self):
        assert plan.cells([25, 500], [2], peers_to=200) == [
            (FLOOR, 25, 2),
            (DALE, 25, 2),
            (GLOBAL, 25, 2),
            (NOISY, 25, 2),
            (OPTUNA, 25, 2),
            (BOTORCH, 25, 2),
            (FLOOR, 500, 2),
            (DALE, 500, 2),
            (GLOBAL, 500, 2),
            (NOISY, 500, 2),
        ]
        assert plan.cells([25], [2, 6], peers=()) == [(c, 25, d) for d in (2, 6) for c in plan.OURS]

    @pytest.fixture
    def installed(self, monkeypatch):
        for name in (OPTUNA, BOTORCH):
            monkeypatch.setitem(CONTENDERS, name, Contender(name, None, CONTENDERS[name].label, True))

    @pytest.fixture
    def run(self):
        """Measures by counting."""

        def run(function, *args):
            run.made.append((function.__name__, *args))
            name, n, d = (FLOOR, *args[:2]) if function is measure.time_floor else args[:3]
            return timing(name, n, d, float(len(run.made)))

        run.made = []
        return run

    def test_peers_are_not_measured_twice(self, tmp_path, installed, run):
        path = tmp_path / "speed.jsonl"
        wanted = plan.cells([25], [2])
        first = plan.measure(wanted, path, repeats=4, run=run)
        assert run.made == [
            ("time_floor", 25, 2, 4),
            ("time_asks", DALE, 25, 2, 4),
            ("time_asks", GLOBAL, 25, 2, 4),
            ("time_asks", NOISY, 25, 2, 4),
            ("time_asks", OPTUNA, 25, 2, 4),
            ("time_asks", BOTORCH, 25, 2, 4),
        ]
        assert [t.key for t in first] == wanted
        assert all("numpy" in t.versions for t in first)
        again = plan.measure(wanted, path, repeats=4, run=run)
        assert [t.seconds for t in again] == [7, 8, 9, 10, 5, 6]
        assert [t.seconds for t in plan.measure(wanted, path, repeats=4, run=run, rerun=())] == [7, 8, 9, 10, 5, 6]
        assert len(path.read_text().splitlines()) == 10

    def test_a_missing_package_is_skipped_unless_its_measurement_is_on_disk(self, tmp_path, monkeypatch, run, capsys):
        for name in (OPTUNA, BOTORCH):
            monkeypatch.setitem(CONTENDERS, name, Contender(name, None, name, True, ("no_such_module",)))
        path = tmp_path / "speed.jsonl"
        jsonl.append(path, timing(OPTUNA, 25, 2, 0.1))
        found = plan.measure(plan.cells([25], [2]), path, repeats=1, run=run)
        assert [t.contender for t in found] == [FLOOR, DALE, GLOBAL, NOISY, OPTUNA]
        assert capsys.readouterr().err == "skipped: botorch (not installed: no_such_module)\n"

    def test_a_failure_is_reported_and_tried_again_next_time(self, tmp_path, installed, run, capsys):
        def broken(function, *args):
            if OPTUNA in args:
                raise RuntimeError("no memory")
            return run(function, *args)

        path = tmp_path / "speed.jsonl"
        found = plan.measure(plan.cells([25], [2]), path, repeats=1, run=broken)
        assert [t.contender for t in found] == [FLOOR, DALE, GLOBAL, NOISY, BOTORCH]
        assert capsys.readouterr().err == "failed: optuna_gp, n = 25, d = 2: RuntimeError: no memory\n"
        assert len(plan.measure(plan.cells([25], [2]), path, repeats=1, run=run, rerun=())) == 6


class TestPeers:
    @pytest.mark.parametrize("name", [OPTUNA, BOTORCH])
    def test_a_peer_proposes_without_output(self, name, capfd):
        if CONTENDERS[name].missing:
            pytest.skip(f"{name} not tested: {', '.join(CONTENDERS[name].missing)} not installed (extra 'peers')")
        with asks.ASKS[name](13, 2, 0) as ask:
            proposed = ask()
        u = [proposed.params[p] for p in ("u0", "u1")] if name == OPTUNA else proposed[0][0].tolist()
        assert all(0 <= c <= 1 for c in u)
        assert capfd.readouterr() == ("", "")


class TestCommand:
    @pytest.fixture
    def fake(self, monkeypatch):
        """Instant measurements, and no peers installed."""

        def measured(wanted, path, *, repeats, rerun):
            measured.asked = (wanted, path, repeats, rerun)
            return [timing(c, n, d, n / 1e4, 1.0) for c, n, d in wanted if c in (FLOOR, DALE)]

        monkeypatch.setattr(plan, "measure", measured)
        monkeypatch.setattr(measure, "time_imports", lambda repeats: imports(1.0, 1.0))
        return measured

    @pytest.mark.parametrize(
        ("kind", "head", "start"),
        [
            ("text", "d  n     floor, ms  dale, ms", "\n"),
            ("markdown", "| d | n | floor, ms | dale, ms | global, ms |", "\n- "),
            ("csv", 'd,n,"floor, ms","dale, ms"', "\n# "),
        ],
    )
    def test_formats(self, fake, capsys, kind, head, start):
        assert main(["bench", "speed", "--sizes", "99,101,2000", "--dimensions", "6", "--format", kind]) == 0
        out = capsys.readouterr().out
        assert head in out
        assert f"{start}ratios and verdicts use the slower of dale's two" in out
        assert f"{start}holds: n = 99 to 101: " in out
        assert f"{start}not measured: n = 100, d = 6: at most 1/40 of BoTorch log EI" in out

    def test_options_arrive(self, fake, tmp_path):
        rows = tmp_path / "rows.jsonl"
        words = ["bench", "speed", "--sizes", "25, 300", "--dimensions", "2", "--repeats", "2", "--rows", str(rows)]
        assert main([*words, "--rerun", "default", "--out", str(tmp_path / "out")]) == 0
        assert fake.asked == (plan.cells([25, 300], [2], peers_to=200), rows, 2, ["default"])
        assert {p.name for p in (tmp_path / "out").iterdir()} == {"speed.png", "speed.svg"}
        assert main([*words, "--no-peers"]) == 0
        assert fake.asked == (plan.cells([25, 300], [2], peers=()), rows, 2, ["floor", "default", "global", "noisy"])

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["--sizes", "25,many"], "--sizes: expected integers of at least 12, separated by commas, got '25,many'"),
            (["--sizes", "5"], "--sizes: expected integers of at least 12"),
            (["--dimensions", "0"], "--dimensions: expected integers of at least 1"),
            (["--dimensions", ""], "--dimensions: expected integers"),
            (["--repeats", "0"], "--repeats: expected at least 1, got 0"),
            (
                ["--rerun", "optuna"],
                "--rerun: expected names of floor, default, global, noisy, optuna_gp, botorch, got 'optuna'",
            ),
        ],
    )
    def test_wrong_use(self, fake, capsys, words, message):
        assert main(["bench", "speed", *words]) == 2
        assert message in capsys.readouterr().err

    def test_from_end_to_end(self, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(measure, "time_imports", lambda repeats: imports(1.0, 1.0))
        rows = tmp_path / "rows.jsonl"
        words = ["bench", "speed", "--sizes", "12", "--dimensions", "2", "--repeats", "1", "--no-peers"]
        assert main([*words, "--rows", str(rows)]) == 0
        assert [json.loads(line)["contender"] for line in rows.read_text().splitlines()] == [FLOOR, DALE, GLOBAL, NOISY]
        assert "\n2  12  " in capsys.readouterr().out
