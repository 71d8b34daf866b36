"""``Optimizer.add_all``: tables of earlier evaluations."""

import numpy as np
import pytest

import dale
from dale.history.reason import Source
from dale.history.trial import TrialState
from evaluated_runs import BOX, bowl


class TestEarlierData:
    ROWS = ({"x0": 1.0, "x1": 4.5, "value": 0.25}, {"x0": -2.0, "x1": 3.0, "value": ""}, {"x0": 3, "x1": 4, "value": 4})

    def test_each_row_is_a_trial(self):
        optimizer = dale.Optimizer(BOX, seed=0)
        first, second, third = optimizer.add_all(list(self.ROWS))
        assert optimizer.history == (first, second, third)
        assert [t.reason.source for t in optimizer.history] == [Source.ADDED] * 3
        assert [t.state for t in optimizer.history] == [TrialState.COMPLETE, TrialState.FAILED, TrialState.COMPLETE]
        assert (second.error, second.value) == ("no value in row 2", None)
        assert (optimizer.best.value, optimizer.best.x.tolist()) == (0.25, [1.0, 4.5])
        assert optimizer.result().nfev == 0

    def test_same_as_add_and_fail(self):
        one, other = dale.Optimizer(BOX, seed=0), dale.Optimizer(BOX, seed=0)
        one.add_all(list(self.ROWS))
        other.add([1.0, 4.5], 0.25)
        other.fail(other.ask(at=[-2.0, 3.0]))
        other.add([3, 4], 4)
        assert one.ask().unit_x.tolist() == other.ask().unit_x.tolist()

    @pytest.mark.parametrize("method", [dale.methods.default, dale.methods.paper, dale.methods.ei])
    def test_it_replaces_the_initial_design(self, method):
        optimizer = dale.Optimizer(BOX, seed=0, method=method())
        optimizer.add_all(list(self.ROWS))
        for _ in range(6):
            trial = optimizer.ask()
            assert trial.reason.source is not Source.INITIAL_DESIGN
            optimizer.tell(trial, bowl(trial.x))

    def test_all_failed(self):
        """Only the failed points are known."""
        optimizer = dale.Optimizer(BOX, seed=0)
        optimizer.add_all([row | {"value": np.nan} for row in self.ROWS])
        trial = optimizer.ask()
        assert trial.reason.source is Source.SPACE_FILLING
        optimizer.tell(trial, 1.0)
        optimizer.ask()

    def test_all_or_nothing(self):
        optimizer = dale.Optimizer(BOX, seed=0)
        for bad in ({"x0": 99.0}, {"value": "lost"}):
            with pytest.raises(ValueError, match=r"row 3 .*Nothing was recorded"):
                optimizer.add_all([*self.ROWS[:2], self.ROWS[2] | bad])
        assert optimizer.history == ()

    def test_the_column_of_the_values(self):
        optimizer = dale.Optimizer({"a": (0, 1)}, seed=0)
        [trial] = optimizer.add_all({"a": [0.5], "loss": [3.0], "value": ["no"]}, value="loss")
        assert trial.value == 3.0
        with pytest.raises(ValueError, match="got 'a', which is a parameter"):
            optimizer.add_all({"a": [0.5]}, value="a")
        with pytest.raises(TypeError, match="name of a column, got 3"):
            optimizer.add_all({"a": [0.5]}, value=3)

    def test_ten_thousand_rows(self):
        X = np.random.default_rng(0).uniform([-5, 0], [10, 15], (10_000, 2))
        optimizer = dale.Optimizer(BOX, seed=0)
        optimizer.add_all({"x0": X[:, 0], "x1": X[:, 1], "value": [bowl(x) for x in X]})
        trial = optimizer.ask()
        optimizer.tell(trial, bowl(trial.x))
        assert bowl(trial.x) < 0.1 * np.min([bowl(x) for x in X])
