"""Each analysis is made at most once for each state of the history, and only when it is read."""

from collections import Counter

import numpy as np
import pytest

import dale
from dale.history import observations as observations_module
from dale.history import snapshot as snapshot_module
from dale.history.noise import NoiseEstimate
from dale.history.outliers import find_outliers
from dale.history.reason import Source
from dale_bench.functions import get

BRANIN = get("branin")


class Counted:
    """A function that counts its calls for each state of the values."""

    def __init__(self, function, values):
        self.function, self.values, self.calls = function, values, Counter()

    def __call__(self, *args):
        self.calls[self.values(*args)] += 1
        return self.function(*args)


@pytest.fixture
def analyses(monkeypatch):
    """Counters of the outlier rule, of noise detection and of the local minima."""
    counted = {
        "outliers": Counted(find_outliers, lambda X, y: y.tobytes()),
        "noise": Counted(NoiseEstimate.of, lambda X, y, noise_std, params: y.tobytes()),
        "minima": Counted(snapshot_module.find_minima, lambda history, domain: history.observations.y.tobytes()),
    }
    monkeypatch.setattr(observations_module, "find_outliers", counted["outliers"])
    monkeypatch.setattr(observations_module.NoiseEstimate, "of", counted["noise"])
    monkeypatch.setattr(snapshot_module, "find_minima", counted["minima"])
    return counted


@pytest.mark.parametrize("details", [{}, {"tolerance": 1e-6}], ids=["plain", "with a tolerance"])
def test_once_for_each_state_in_a_run_with_callback_and_target(analyses, details):
    seen = []
    dale.minimize(
        BRANIN.fun, BRANIN.bounds, budget=60, seed=0, target=-1.0, callback=lambda r: seen.append(r.fun), **details
    )
    assert len(seen) == 60
    for name in ("outliers", "noise"):
        calls = analyses[name].calls
        assert max(calls.values()) == 1, name
        assert 50 < len(calls) <= 61, name  # one for each number of values
    assert not analyses["minima"].calls  # they were not read


def test_local_minima_are_computed_when_they_are_read(analyses):
    result = dale.minimize(BRANIN.fun, BRANIN.bounds, budget=25, seed=0)
    assert not analyses["minima"].calls
    assert "local_minima" not in result
    assert "local_minima" in dir(result)
    assert not analyses["minima"].calls
    minima = result.local_minima
    assert result["local_minima"] is minima
    assert "local_minima" in result
    str(result)
    assert sum(analyses["minima"].calls.values()) == 1


def test_a_batch_shares_the_analysis(analyses):
    optimizer = dale.Optimizer(BRANIN.bounds, seed=0)
    for _ in range(10):
        trial = optimizer.ask()
        optimizer.tell(trial, BRANIN.fun(trial.x))
    before = sum(analyses["noise"].calls.values())
    optimizer.ask(8)
    assert sum(analyses["noise"].calls.values()) == before + 1


def test_the_incumbent_of_a_noisy_run_is_found_once():
    rng = np.random.default_rng(0)
    optimizer = dale.Optimizer(BRANIN.bounds, seed=0, noise=3.0)
    for _ in range(12):
        trial = optimizer.ask()
        optimizer.tell(trial, BRANIN.fun(trial.x) + 3 * rng.standard_normal())
    snapshot = optimizer.snapshot
    assert snapshot.incumbent is optimizer.snapshot.incumbent
    assert optimizer.best is snapshot.incumbent.trial
    optimizer.ask()
    assert optimizer.snapshot is not snapshot
    assert optimizer.snapshot.history.observations is snapshot.history.observations


def test_the_best_value_has_the_error_of_the_result(tmp_path):
    """0 without a value and without noise."""
    for noise in (0.0, 3.0):
        path = tmp_path / f"{noise}.db"
        with dale.Optimizer(BRANIN.bounds, seed=0, noise=noise, store=path) as optimizer:
            assert optimizer.best_std == optimizer.result().fun_std == 0.0
            for x in np.random.default_rng(0).random((12, 2)):
                optimizer.add(
                    optimizer.space.decode(x), BRANIN.fun(optimizer.space.as_array(optimizer.space.decode(x)))
                )
            assert optimizer.best_std == optimizer.result().fun_std == dale.open(path).best_std
            assert (optimizer.best_std > 0) == (noise > 0)


def test_the_convergence_check_and_the_next_ask_share_a_proposal():
    proposals = []

    class RecordingMethod:
        def __init__(self, method):
            self.method = method

        def __getattr__(self, name):
            return getattr(self.method, name)

        def propose(self, snapshot, rng):
            proposals.append(snapshot)
            return self.method.propose(snapshot, rng)

    optimizer = dale.Optimizer([(0, 1)] * 2, seed=0, method=RecordingMethod(dale.methods.default()))
    for _ in range(25):
        trial = optimizer.ask()
        optimizer.tell(trial, float(np.sum((trial.x - 0.3) ** 2)))
    reason = optimizer.next_reason(optimizer.snapshot)
    n = len(proposals)
    assert optimizer.ask().reason == reason
    assert len(proposals) == n


def test_a_disallowed_added_point_is_not_the_best_of_an_opened_run(tmp_path):
    """The store does not hold input constraints, which are code; each trial records whether it is allowed."""
    rng = np.random.default_rng(0)
    with dale.Optimizer(
        [(0, 1)] * 2, seed=0, noise=0.1, constraints=lambda x: x[0] >= 0.5, store=tmp_path / "run.db"
    ) as optimizer:
        optimizer.add([0.1, 0.1], -100.0)
        optimizer.add([0.1, 0.2], -100.0)
        for _ in range(8):
            trial = optimizer.ask()
            optimizer.tell(trial, float(np.sum(trial.x**2)) + 0.1 * rng.standard_normal())
        best = optimizer.best
    assert best.x[0] >= 0.5
    opened = dale.open(tmp_path / "run.db")
    assert opened.best.id == best.id
    assert opened.result().x.tolist() == best.x.tolist()


def test_a_failing_batch_leaves_no_pending_trials():
    class Fails:
        name, revision, capabilities = "fails", 1, dale.methods.default().capabilities

        def changed_settings(self):
            return {}

        def propose(self, snapshot, rng):
            if len(snapshot.history.trials) == 2:
                raise RuntimeError("no more")
            return dale.methods.default().propose(snapshot, rng)

    optimizer = dale.Optimizer([(0, 1)] * 2, seed=0, method=Fails())
    with pytest.raises(RuntimeError, match="no more"):
        optimizer.ask(4)
    assert optimizer.history == ()
    assert len(optimizer.ask(2)) == 2


def test_a_batch_of_a_finite_space_is_shorter():
    optimizer = dale.Optimizer({"a": dale.Int(0, 2)}, seed=0)
    assert len(optimizer.ask(9)) == 3
    assert {t.reason.source for t in optimizer.history} <= {Source.INITIAL_DESIGN, Source.SPACE_FILLING}
