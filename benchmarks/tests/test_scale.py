"""Many workers on a simulated clock: idle times by hand, and the command on tiny runs."""

import json
import math
from dataclasses import asdict, replace
from types import SimpleNamespace

import numpy as np
import pytest

from dale.cli import main
from dale.optimizer import Optimizer
from dale_bench.functions import get
from dale_bench.scale import report
from dale_bench.scale import run as run_module
from dale_bench.scale.run import FUNCTION, Outcome, evaluations_of_one, growth, outcome, run_missing
from dale_bench.scale.simulation import Ask, Farm, simulate


class Fake:
    """A server and its clock: an ask of k trials takes `asking(k)` seconds, a tell `telling`."""

    def __init__(self, asking, telling=0.0):
        self.asking, self.telling = asking, telling
        self.time = 100.0  # clocks may begin anywhere
        self.asked, self.told = [], []

    def clock(self):
        return self.time

    def ask(self, n):
        self.time += self.asking(n)
        first = sum(self.asked)
        self.asked.append(n)
        return [SimpleNamespace(id=first + i, x=first + i) for i in range(n)]

    def tell(self, trial, value):
        self.time += self.telling
        self.told.append((trial.id, value))


def simulated(server, workers, evaluations, median=10.0, sigma=0.0, **settings):
    farm = Farm(workers, median, evaluations, sigma, **settings)
    return simulate(farm, server, lambda x: 1.0 * x, clock=server.clock)


def drawn(n, median, sigma, seed):
    return [median * math.exp(sigma * z) for z in np.random.default_rng(seed).standard_normal(n)]


class TestByHand:
    def test_one_worker_waits_for_every_proposal(self):
        """Ask 0-1, evaluate 1-11, ask 11-12, evaluate 12-22, ask 22-23, evaluate 23-33."""
        server = Fake(lambda k: 1.0)
        record = simulated(server, workers=1, evaluations=3)
        assert (record.idle, record.busy, record.ended) == (3, 30, 33)
        assert record.idle_share == pytest.approx(1 / 11)
        assert record.server_share == pytest.approx(3 / 33)
        assert record.asks == (Ask(1, 1, 0), Ask(1, 1, 1), Ask(1, 1, 2))
        assert record.values == (0, 1, 2)

    def test_a_tell_is_charged_to_the_worker_who_waits_for_the_next_proposal(self):
        """Ask 0-1, evaluate 1-11, tell 11-11.5, ask 11.5-12.5, evaluate 12.5-22.5, tell 22.5-23."""
        record = simulated(Fake(lambda k: 1.0, telling=0.5), workers=1, evaluations=2)
        assert (record.idle, record.busy, record.tell_seconds, record.ended) == (2.5, 20, 1, 23)

    def test_idle_workers_are_served_together_and_wait_for_the_whole_batch(self):
        """Ask for 3 until 6, evaluate until 16, ask for 3 until 22, evaluate until 32."""
        server = Fake(lambda k: 2.0 * k)
        record = simulated(server, workers=3, evaluations=6)
        assert server.asked == [3, 3]
        assert (record.idle, record.busy, record.ended) == (2 * 3 * 6, 60, 32)

    def test_a_limit_on_the_batch_lets_the_first_go_earlier(self):
        """Ask 0-2, 2-4, 4-6: the three start at 2, 4, 6 and end at 12, 14, 16, when the server is free for each."""
        server = Fake(lambda k: 2.0 * k)
        record = simulated(server, workers=3, evaluations=6, batch=1)
        assert server.asked == [1] * 6
        assert record.idle == (2 + 4 + 6) + 3 * 2
        assert record.ended == 28

    def test_who_ends_while_the_server_is_busy_waits_from_that_moment(self):
        """Ask 0-1, 1-2: ends at 11 and 12; ask 11-20 for the first, then 20-29 for the second: ends at 30 and 39."""
        costs = iter([1.0, 1.0, 9.0, 9.0])
        record = simulated(Fake(lambda k: next(costs)), workers=2, evaluations=4, batch=1)
        assert record.idle == (1 + 2) + (20 - 11) + (29 - 12)
        assert record.ended == 39

    def test_workers_without_anything_left_to_do_do_not_wait(self):
        server = Fake(lambda k: 1.0)
        record = simulated(server, workers=5, evaluations=2)
        assert server.asked == [2]
        assert (record.idle, record.busy) == (2, 20)

    def test_no_idle_time_with_a_server_without_cost(self):
        record = simulated(Fake(lambda k: 0.0), workers=7, evaluations=50, sigma=0.5)
        assert record.idle_share == pytest.approx(0, abs=1e-12)
        assert record.server_share == 0

    def test_a_server_that_is_too_slow_is_always_busy(self):
        record = simulated(Fake(lambda k: 5.0 * k), workers=10, evaluations=200, batch=1)
        assert record.server_share == pytest.approx(1, abs=0.02)
        assert record.idle_share == pytest.approx(1 - 10 / 50, abs=0.05)  # each worker's turn comes every 50 s


class TestEvents:
    def test_evaluations_take_log_normal_times_from_the_seed(self):
        times = drawn(400, 60.0, 0.5, seed=3)
        record = simulated(Fake(lambda k: 0.0), 4, 400, median=60.0, sigma=0.5, seed=3)
        assert record.busy == pytest.approx(sum(times))
        assert np.median(times) == pytest.approx(60, rel=0.1)
        other = simulated(Fake(lambda k: 0.0), 4, 400, median=60.0, sigma=0.5, seed=4)
        assert other.busy != pytest.approx(sum(times))

    def test_answers_come_in_the_order_of_their_ends(self):
        times = drawn(6, 10.0, 1.0, seed=0)
        server = Fake(lambda k: 0.0)
        simulated(server, workers=6, evaluations=6, sigma=1.0)
        assert server.told == [(i, float(i)) for i in np.argsort(times)]

    def test_every_trial_is_recorded_once(self):
        server = Fake(lambda k: 0.7 * k, telling=0.01)
        record = simulated(server, workers=9, evaluations=100, sigma=0.5)
        assert sorted(i for i, _ in server.told) == list(range(100))
        assert sum(ask.trials for ask in record.asks) == 100
        assert all(ask.n_observations <= sum(server.asked) for ask in record.asks)

    def test_progress_is_reported(self):
        done = []
        server = Fake(lambda k: 1.0)
        simulate(Farm(2, 10.0, 3), server, float, clock=server.clock, on_tell=done.append)
        assert done == [1, 2, 3]


class TestOutcome:
    @pytest.fixture
    def found(self):
        """A real Optimizer by a clock that says each ask and each tell takes one second."""
        ticks = iter(range(10_000))
        return outcome(Farm(4, 60.0, 12, seed=1), one_worker_limit=3, clock=lambda: next(ticks))

    def test_the_optimizer_is_the_server(self, found):
        assert found.farm == Farm(4, 60.0, 12, seed=1)
        assert found.largest_ask == 4
        assert 0 < found.idle < 1
        assert found.tell == 1
        assert 0.25 <= found.proposal <= found.proposal_95 == 1  # four for a second, or one
        assert 8 <= found.max_observations <= 11
        assert found.regret > 0
        assert 1 <= found.reached <= 12

    def test_it_can_be_kept_as_json(self, found):
        assert Outcome(**json.loads(json.dumps(asdict(found)))) == found

    def test_one_worker_gets_as_far_at_an_evaluation_that_is_counted(self):
        function = get(FUNCTION, 0)
        optimizer = Optimizer(function.bounds, seed=0)
        regrets = []
        for _ in range(6):
            trial = optimizer.ask()
            regrets.append(optimizer.tell(trial, function.fun(trial.x)).value - function.minimum)
        best = int(np.argmin(regrets))
        assert evaluations_of_one(function, regrets[best], 0, 6) == best + 1
        assert evaluations_of_one(function, min(regrets) / 2, 0, 6) is None
        assert evaluations_of_one(function, 9.0, 0, 0) is None

    def test_growth_is_the_mean_of_pieces(self):
        asks = [Ask(2, 2.0, 0), Ask(2, 6.0, 2), Ask(1, 5.0, 4), Ask(4, 5.0, 8)]
        assert growth(asks, pieces=2) == [[1, 2], [6, 2]]
        assert growth(asks, pieces=9) == [[0, 1], [2, 3], [4, 5], [8, 1.25]]


def made_up(workers=1000, median=60.0, idle=0.0499, **changes):
    whole = Outcome(workers, median, 10_000, 0.5, 0, 0, idle, 0.5, 0.0123, 0.034, 4e-5, 1000, 9991, 2e-9, 700, 90, [])
    return replace(whole, growth=[[0.0, 0.01], [5000.0, 0.02]], **changes)


class TestReport:
    def test_table(self):
        header, rows = report.scale_table([made_up(), made_up(10, 600.0, 0.0012, one_worker=None)])
        first, second = (dict(zip(header, row, strict=True)) for row in rows)
        assert first == {
            "workers": "1000",
            "median, s": "60",
            "evaluations": "10000",
            "idle": "4.99%",
            "server busy": "50.0%",
            "proposal, ms": "12.3",
            "95 %, ms": "34",
            "tell, ms": "0.04",
            "largest ask": "1000",
            "peak n": "9991",
            "regret": "2.0e-09",
            "reached after": "700",
            "one worker": "90",
        }
        assert (second["idle"], second["one worker"]) == ("0.12%", "-")

    def test_the_goal(self):
        claim = "1000 workers at 60 s wait less than 5% of their time"
        assert report.remarks([made_up()])[0] == f"holds: {claim}; it is 4.99% over 10000 evaluations"
        assert report.remarks([made_up(idle=0.05)])[0].startswith(f"does not hold: {claim}; it is 5.00% over")
        assert report.remarks([made_up(100), made_up(median=600.0)])[0] == f"not measured: {claim}"

    def test_figure(self):
        figure = report.scale_figure([made_up(), made_up(10, 60.0, 0.001), made_up(10, 600.0, 0.0001)])
        idle, costs = figure.axes
        series = {line.get_label(): line for line in idle.lines}
        assert set(series) == {"evaluations of 60 s", "evaluations of 600 s", "goal"}
        assert series["evaluations of 60 s"].get_xdata().tolist() == [10, 1000]
        assert series["evaluations of 60 s"].get_ydata().tolist() == [0.001, 0.0499]
        assert costs.lines[0].get_label() == "1000 workers, 60 s"
        assert costs.lines[0].get_ydata().tolist() == [10, 20]


class TestRows:
    def test_outcomes_on_disk_are_not_repeated(self, tmp_path):
        made = []

        def run(function, farm, limit):
            assert function is outcome
            made.append((farm, limit))
            return made_up(farm.workers, farm.median, len(made) / 100)

        path = tmp_path / "scale.jsonl"
        farms = [Farm(workers, 60.0, 10_000) for workers in (10, 100)]
        assert [o.idle for o in run_missing(farms, path, one_worker_limit=7, run=run)] == [0.01, 0.02]
        assert made == [(farms[0], 7), (farms[1], 7)]
        farms.append(Farm(1000, 60.0, 10_000))
        assert [o.idle for o in run_missing(farms, path, run=run)] == [0.01, 0.02, 0.03]
        assert [o.idle for o in run_missing(farms[:1], path, run=run, rerun=True)] == [0.04]
        assert [o.idle for o in run_missing(farms, path, run=run)] == [0.04, 0.02, 0.03]
        other = [replace(farms[0], seed=1)]
        run_missing(other, path, run=lambda function, farm, limit: replace(run(function, farm, limit), seed=1))
        assert len(made) == 5


class TestCommand:
    def test_from_end_to_end(self, tmp_path, capsys):
        rows = tmp_path / "rows.jsonl"
        words = ["bench", "scale", "--workers", "3", "--medians", "60", "--evaluations", "8", "--one-worker", "0"]
        words += ["--rows", str(rows), "--seed", "2", "--out", str(tmp_path / "out")]
        assert main([*words, "--format", "markdown"]) == 0
        out = capsys.readouterr().out
        assert "| workers | median, s | evaluations | idle |" in out
        assert "\n| 3 | 60 | 8 | " in out
        assert "\n- not measured: 1000 workers at 60 s wait less than 5% of their time" in out
        assert {p.name for p in (tmp_path / "out").iterdir()} == {"scale.png", "scale.svg"}
        (row,) = (json.loads(line) for line in rows.read_text().splitlines())
        assert (row["seed"], row["sigma"], row["batch"]) == (2, 0.5, 0)

    def test_every_number_of_workers_with_every_median(self, monkeypatch, capsys, tmp_path):
        def faked(farms, path, *, one_worker_limit, rerun):
            faked.asked = farms, path, one_worker_limit, rerun
            return [made_up(farm.workers, farm.median, 0.07) for farm in farms]

        monkeypatch.setattr(run_module, "run_missing", faked)
        words = ["bench", "scale", "--sigma", "1", "--batch", "50", "--rerun", "--rows", str(tmp_path / "rows")]
        assert main([*words, "--format", "csv"]) == 0
        farms = [Farm(w, m, 10_000, 1.0, 50, 0) for m in (60, 600) for w in (10, 100, 1000)]
        assert faked.asked == (farms, tmp_path / "rows", 200, True)
        assert "# does not hold: 1000 workers at 60 s wait less than 5% of their time; it is 7.00%" in (
            capsys.readouterr().out
        )

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["--workers", "ten"], "--workers: expected integers of at least 1, separated by commas, got 'ten'"),
            (["--medians", "0"], "--medians: expected integers of at least 1"),
            (["--evaluations", "0"], "--evaluations: expected at least 1, got 0"),
            (["--sigma", "-1"], "--sigma: expected at least 0, got -1.0"),
            (["--sigma", "nan"], "--sigma: expected at least 0, got nan"),
            (["--batch", "-2"], "--batch: expected at least 0, got -2"),
        ],
    )
    def test_wrong_use(self, words, message, capsys, tmp_path):
        assert main(["bench", "scale", *words, "--rows", str(tmp_path / "rows")]) == 2
        assert message in capsys.readouterr().err
