"""Workers in real runs: idle times by hand, replayed proposals, and the command on tiny runs."""

import json
import math
import threading
from dataclasses import asdict, replace
from itertools import pairwise

import numpy as np
import pytest

from dale import methods
from dale.cli import main
from dale.history.reason import Reason, Source
from dale.history.seeding import generator
from dale.history.snapshot import Cache
from dale.methods.base import Proposal
from dale.optimizer import Optimizer
from dale_bench.speed.observations import objective
from dale_bench.workers import backends as backends_module
from dale_bench.workers import report
from dale_bench.workers import run as run_module
from dale_bench.workers.idle_time import Span, dispatch_delays, ideal_makespan, idle_share, makespan
from dale_bench.workers.methods import RandomPoints, Timed
from dale_bench.workers.objective import Sleeper, spans
from dale_bench.workers.replay import Pair, Replay, replay
from dale_bench.workers.run import Case, Outcome, cases, outcomes, run_missing

CASE = Case(0.1, "threads", False, 3, "default", 2, 40, 8, 0.5)


def made_up(case=CASE, **changes):
    figures = {
        "idle": 0.25,
        "rate": 50.0,
        "ideal": 80.0,
        "dispatch_delay": 0.02,
        "dispatch_delay_95": 0.05,
        "load": 0.5,
    }
    figures |= {"proposal": 0.01, "proposal_95": 0.03, "proposal_cpu": 0.009, "proposing": 0.6}
    figures |= {"serial": 0.008, "serial_95": 0.02, "parallel": 0.0088, "parallel_95": 0.024, "ratio": 1.1}
    return Outcome(**asdict(case) | figures | changes)


class TestWaiting:
    def test_two_workers(self):
        """The first works from 0 to 4 and from 5 to 8, the second from 1 to 3 and from 3.5 to 9; the last begin is 5.

        Of the 10 seconds until then, the first waited 1 and the second 1 and a half.
        """
        noted = [Span(0, 4), Span(1, 3), Span(3.5, 9), Span(5, 8)]
        assert idle_share(noted, 2) == pytest.approx(2.5 / 10)
        assert dispatch_delays(noted, 2) == [0.5, 1]
        assert makespan(noted) == 9
        assert ideal_makespan(noted, 2) == 7.5  # 0-4 and 4-7; 0-2 and 2-7.5

    def test_what_is_left_after_the_last_begin_does_not_count(self):
        assert idle_share([Span(0, 2), Span(2, 100)], 1) == 0
        assert idle_share([Span(0, 1), Span(0, 100), Span(1, 2)], 2) == 0

    def test_the_order_of_notes_does_not_count(self):
        noted = [Span(3.5, 9), Span(5, 8), Span(1, 3), Span(0, 4)]
        assert idle_share(noted, 2) == pytest.approx(0.25)
        assert dispatch_delays(noted, 2) == [0.5, 1]
        assert ideal_makespan(noted, 2) == 7.5

    def test_one_worker(self):
        noted = [Span(10, 11), Span(13, 14), Span(15, 20)]
        assert idle_share(noted, 1) == pytest.approx(3 / 5)
        assert dispatch_delays(noted, 1) == [2, 1]
        assert (makespan(noted), ideal_makespan(noted, 1)) == (10, 7)

    def test_all_at_once_and_fewer_than_workers(self):
        assert idle_share([Span(1, 2), Span(1, 3)], 2) == 0
        assert dispatch_delays([Span(1, 2), Span(1, 3)], 4) == []
        assert ideal_makespan([Span(1, 2), Span(1, 3)], 4) == 2

    def test_dispatch_delays_and_both_ends_sum_to_the_idle_time(self):
        """For workers that each do one thing after the other, with pauses between."""
        rng, noted, workers = np.random.default_rng(0), [], 3
        for _ in range(workers):
            times = np.cumsum(rng.random(200))
            noted += [Span(*pair) for i, pair in enumerate(pairwise(times)) if i % 2 == 0]
        noted = sorted(noted)[:-40]  # an early end of a worker would count as idle time
        begins, ends = [s.start for s in noted], sorted(s.end for s in noted)
        waited = sum(dispatch_delays(noted, workers)) + sum(b - begins[0] for b in begins[:workers])
        waited += sum(max(begins[-1] - end, 0) for end in ends[-workers:])
        assert waited == pytest.approx(idle_share(noted, workers) * workers * (begins[-1] - begins[0]))


class TestSleeper:
    def sleeper(self, tmp_path, seed=0):
        return Sleeper(objective(2, seed), 1e-3, 0.5, str(tmp_path / "log"))

    def test_it_returns_the_function_and_lasts_as_the_point_says(self, tmp_path, monkeypatch):
        slept = []
        monkeypatch.setattr("dale_bench.workers.objective.sleep", slept.append)
        monkeypatch.setattr("dale_bench.workers.objective.monotonic", lambda: 5.0)
        sleeper, X = self.sleeper(tmp_path), np.random.default_rng(0).random((200, 2))
        assert [sleeper(x) for x in X] == [objective(2, 0).fun(x) for x in X]
        again = [self.sleeper(tmp_path)(x) for x in X]
        assert len(again) == 200
        assert slept[:200] == slept[200:]
        assert np.median(slept) == pytest.approx(1e-3, rel=0.2)
        assert np.std(np.log(slept[:200])) == pytest.approx(0.5, rel=0.2)
        assert spans(tmp_path / "log") == [Span(5, 5)] * 400

    def test_threads_write_into_one_log(self, tmp_path):
        sleeper = self.sleeper(tmp_path)
        threads = [
            threading.Thread(target=lambda i=i: [sleeper(np.array([i / 8, k / 20])) for k in range(20)])
            for i in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        noted = spans(tmp_path / "log")
        assert len(noted) == 160
        assert noted == sorted(noted)
        assert all(s.start < s.end for s in noted)


class TestMethods:
    def test_random_points_are_a_function_of_seed_and_number(self):
        trials = Optimizer([(0, 1)] * 3, seed=1, method=RandomPoints()).ask(5)
        assert [t.unit_x.tolist() for t in trials] == [generator(1, k).random(3).tolist() for k in range(5)]

    def test_a_timed_method_proposes_the_same(self):
        timed = Timed(methods.default())
        plain, watched = (Optimizer([(0, 1)] * 2, seed=1, method=m) for m in (None, timed))
        for _ in range(8):
            a, b = plain.ask(), watched.ask()
            assert a.x.tolist() == b.x.tolist()
            plain.tell(a, a.x[0] ** 2 + a.x[1])
            watched.tell(b, b.x[0] ** 2 + b.x[1])
        assert [t.source for t in timed.times] == [t.reason.source for t in watched.history]
        assert all(t.wall > 0 for t in timed.times)


class Seen:
    """A method that writes down what it sees, and designs while it knows less than two values."""

    name, revision = "seen", 1

    def changed_settings(self):
        return {}

    def __init__(self):
        self.histories = []

    def propose(self, snapshot, rng):
        assert isinstance(snapshot.cache, Cache)
        self.histories.append(snapshot.history)
        few = len(snapshot.history.observations.y) < 2
        return Proposal(np.zeros(2), Reason(Source.INITIAL_DESIGN if few else Source.GLOBAL))


class TestReplay:
    def history(self, n=9):
        optimizer = Optimizer([(0, 1)] * 2, seed=0)
        for number in range(n):
            trial = optimizer.ask()
            optimizer.tell(trial, float(number))
        return optimizer.history

    def test_the_same_observations_without_and_with_pending_trials(self):
        trials, method = self.history(), Seen()
        ticks = iter(np.cumsum([0, *[1, 0, 10, 0] * 6, 0]))
        pairs = replay(method, trials, 0, 3, clock=lambda: next(ticks))
        assert pairs == [Pair(1, 10)] * 5  # after 2 to 6 of the 9: with one value, it designs
        points = np.array([t.unit_x for t in trials])
        for n, (alone, among) in enumerate(zip(method.histories[::2], method.histories[1::2], strict=True), 1):
            assert alone.observations.y.tolist() == among.observations.y.tolist() == list(range(n))
            assert len(alone.pending) == 0
            np.testing.assert_array_equal(among.pending, points[n : n + 3])
            np.testing.assert_array_equal(among.observations.X, points[:n])

    def test_the_proposals_are_those_of_the_run(self):
        """Without pending trials, in the order of the trials, the replay is the run itself."""
        trials, proposed = self.history(12), []

        class Listening:
            def propose(self, snapshot, rng):
                proposed.append(methods.default().propose(snapshot, rng))
                return proposed[-1]

        walk = Replay(Listening(), trials, 0, 0)
        for n in range(1, 12):
            walk.step(n, lambda: 0.0)
        assert [p.point.tolist() for p in proposed] == [t.unit_x.tolist() for t in trials[1:]]


class TestRuns:
    def test_cases(self):
        some = cases([(0.1, 200, 2), (1.0, 40, 1)], ["threads", "dask"], [2, 6], 8, 0.5)
        assert len(some) == len(set(some)) == 3 * 2 * 2 * 3
        assert [c.group for c in some[:6:3]] == [(0.1, "threads", False, 0), (0.1, "threads", True, 0)]
        assert [(c.method, c.dimension) for c in some[:3]] == [("default", 2), ("default", 6), ("random", 6)]
        assert {c.seed for c in some if c.seconds == 1} == {0}
        assert [c.seed for c in some] == sorted(c.seed for c in some)

    @pytest.mark.parametrize(
        ("backend", "store"),
        [
            ("threads", False),
            ("threads", True),
            ("processes", True),
            pytest.param("processes", False, marks=pytest.mark.slow),
        ],
    )
    def test_real_runs(self, backend, store, tmp_path):
        case = Case(2e-3, backend, store, 0, "default", 2, 12, 3, 0.5)
        found = outcomes([case, replace(case, method="random")], tmp_path)
        assert [o.case for o in found] == [case, replace(case, method="random")]
        for o in found:
            assert 0 <= o.idle < 1
            assert 0 < o.rate <= o.ideal
            assert 0 < o.proposing < 1
            assert 0 < o.dispatch_delay <= o.dispatch_delay_95
            assert 0 < o.proposal <= o.proposal_95
            assert Outcome(**json.loads(json.dumps(asdict(o)))) == o
        assert [o.ratio is not None for o in found] == [backend == "threads" and not store, False]
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("objective", [lambda x: math.nan, lambda x: x[0]], ids=["fails", "notes nothing"])
    def test_a_run_that_did_not_go_as_planned_is_no_measurement(self, objective, tmp_path, monkeypatch):
        monkeypatch.setattr(run_module, "Sleeper", lambda *_: objective)
        with pytest.raises(RuntimeError, match=r"expected 9 recorded evaluations in .*, got 0: "):
            outcomes([replace(CASE, seconds=1e-3, evaluations=9)], tmp_path)

    def test_outcomes_on_disk_are_not_repeated(self, tmp_path):
        made = []

        def run(function, group, folder):
            assert function is outcomes
            assert folder == tmp_path / "sub"
            made.append(group)
            return [made_up(case, idle=len(made) / 100) for case in group]

        path = tmp_path / "sub" / "rows.jsonl"
        wanted = cases([(0.1, 40, 1)], ["threads"], [2], 8, 0.5)
        assert [o.idle for o in run_missing(wanted, path, run=run)] == [0.01, 0.01, 0.02, 0.02]
        assert made == [wanted[:2], wanted[2:]]
        more = cases([(0.1, 40, 2)], ["threads"], [2], 8, 0.5)
        assert [o.idle for o in run_missing(more, path, run=run)] == [0.01, 0.01, 0.02, 0.02, 0.03, 0.03, 0.04, 0.04]
        assert [o.idle for o in run_missing(wanted[:1], path, run=run, rerun=True)] == [0.05]
        assert [o.idle for o in run_missing(wanted[:2], path, run=run)] == [0.05, 0.01]


class TestReport:
    def test_idle_table(self):
        floor = replace(CASE, method="random", store=True)
        seeds = [made_up(replace(CASE, seed=k), idle=w) for k, w in enumerate((0.1, 0.5, 0.2))]
        header, rows = report.idle_table([seeds[0], made_up(floor, serial=None, ratio=None), *seeds[1:]])
        first, second = (dict(zip(header, row, strict=True)) for row in rows)
        assert first == {
            "seconds": "0.1",
            "evaluated in": "threads",
            "store": "no",
            "method": "dale",
            "d": "2",
            "idle": "20.0%",
            "worst": "50.0%",
            "evaluations/s": "50",
            "of ideal": "62.5%",
            "dispatch delay, ms": "20 (95 %: 50)",
            "proposal, ms": "10 (95 %: 30)",
            "proposing": "60.0%",
            "runs": "3",
        }
        assert (second["method"], second["store"], second["runs"]) == ("random points", "yes", "1")

    def test_replays(self):
        some = [made_up(replace(CASE, seed=k), ratio=r) for k, r in enumerate((1.0, 1.3, 1.1))]
        header, rows = report.replay_table([*some, made_up(replace(CASE, method="random"), ratio=None)])
        (row,) = (dict(zip(header, row, strict=True)) for row in rows)
        assert row.pop("ratio").startswith("1.10 ± 0.")
        assert row == {
            "d": "2",
            "evaluations": "40",
            "in the run, ms": "9",
            "none pending, ms": "8 (95 %: 20)",
            "others pending, ms": "8.8 (95 %: 24)",
            "worst": "1.30",
            "runs": "3",
        }

    def test_remarks(self):
        said = report.remarks([made_up(), made_up(load=2.25)], {"dask": ["dask.distributed", "x"]})
        assert any(remark.startswith("load average before the runs: 0.5 to 2.2, on ") for remark in said)
        assert report.remarks([made_up(load=None)], {})[-1].startswith("load average before the runs: unknown, on ")
        assert said[-1] == "not measured: dask (not installed: dask.distributed, x)"


class TestCommand:
    def test_from_end_to_end(self, tmp_path, capsys):
        rows = tmp_path / "rows.jsonl"
        words = ["bench", "workers", "--runs", "0.002:10:1", "--dimensions", "1", "--workers", "3"]
        words += ["--backends", "threads", "--rows", str(rows), "--format", "markdown"]
        assert main(words) == 0
        out = capsys.readouterr().out
        assert "### 3 workers\n\n| seconds | evaluated in | store | method | d | idle |" in out
        assert "\n| 0.002 | threads | yes | random points | 1 | " in out
        assert "### Proposals with and without pending trials\n\n| d | evaluations | in the run, ms |" in out
        written = [json.loads(line) for line in rows.read_text().splitlines()]
        kinds = [(w["store"], w["method"]) for w in written]
        assert kinds == [(store, method) for store in (False, True) for method in ("default", "random")]
        assert [p.name for p in tmp_path.iterdir()] == ["rows.jsonl"]
        assert main(words) == 0  # all are there
        assert capsys.readouterr().out == out

    def test_missing_backends_are_reported(self, tmp_path, capsys, monkeypatch):
        def faked(requested, path, *, rerun):
            faked.asked = requested, path, rerun
            return [made_up(case) for case in requested]

        monkeypatch.setattr(run_module, "run_missing", faked)
        monkeypatch.setitem(backends_module.NEEDED, "dask", ("dask_that_is_not_there", "dale.nor_this"))
        words = ["bench", "workers", "--rows", str(tmp_path / "rows"), "--rerun"]
        assert main([*words, "--backends", "dask"]) == 2
        assert "no backend is installed; missing: dask_that_is_not_there, dale.nor_this" in capsys.readouterr().err
        assert main(words) == 0
        said = "not measured: dask (not installed: dask_that_is_not_there, dale.nor_this)"
        assert said in capsys.readouterr().out
        wanted = cases([(0.1, 150, 3), (1.0, 40, 2)], ["threads", "processes"], [2, 6], 8, 0.5)
        assert faked.asked == (wanted, tmp_path / "rows", True)

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (
                ["--runs", "0.1:20"],
                "SECONDS:EVALUATIONS:SEEDS, separated by commas, such as 0.1:150:3,1:40:2, got '0.1:20'",
            ),
            (["--runs", "0:20:1"], "--runs: expected positive SECONDS:EVALUATIONS:SEEDS"),
            (["--runs", "nan:20:1"], "--runs: expected positive SECONDS:EVALUATIONS:SEEDS"),
            (["--runs", ""], "--runs: expected positive SECONDS:EVALUATIONS:SEEDS"),
            (["--runs", "0.1:8:1"], "expected more evaluations in a run than workers (8), got 8"),
            (
                ["--backends", "pigeons"],
                "--backends: expected names of threads, processes, dask, separated by commas, got 'pigeons'",
            ),
            (["--workers", "1"], "--workers: expected a number of at least 2, got 1"),
            (["--sigma", "nan"], "--sigma: expected a number of at least 0, got nan"),
            (["--dimensions", "0"], "--dimensions: expected integers of at least 1"),
        ],
    )
    def test_wrong_use(self, words, message, capsys, tmp_path):
        assert main(["bench", "workers", *words, "--rows", str(tmp_path / "rows")]) == 2
        assert message in capsys.readouterr().err
