"""Several optimizers on one store. ``tests/storm`` has processes that are killed, and several at once."""

import pytest
from store_runs import BOUNDS, same, same_runs

import dale


def test_two_optimizers_on_one_store_see_each_other(tmp_path):
    one = dale.Optimizer(BOUNDS, seed=0, store=tmp_path / "run.db")
    two = dale.Optimizer(BOUNDS, seed=0, store=tmp_path / "run.db")
    trials = [one.ask(), two.ask(), one.ask(), two.ask()]
    assert [t.id for t in trials] == [0, 1, 2, 3]
    assert len({t.unit_x.tobytes() for t in trials}) == 4
    two.tell(trials[0], 0.3)  # any process may report the value
    with pytest.raises(dale.TrialError, match="already has"):
        one.tell(trials[0], 0.4)
    assert same(one.tell(trials[0], 0.3), two.history[0])
    one.tell(trials[1], 0.1)
    two.fail(trials[2], "broken")
    one.ask()
    two.ask()
    assert same_runs(one.history, two.history[:-1])
    assert same(one.best, two.best)
