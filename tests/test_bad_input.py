"""What the optimizer says to values, trials and points that it cannot take."""

import numpy as np
import pytest

import dale
from evaluated_runs import BOX, evaluated


class TestBadInput:
    """A clear error, and no change of state."""

    @pytest.fixture
    def optimizer(self):
        return evaluated(4)

    def state(self, optimizer):
        return [(t.id, t.state, t.value, t.unit_x.tolist()) for t in optimizer.history]

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_values_that_are_not_finite(self, optimizer, value):
        trial = optimizer.ask()
        before = self.state(optimizer)
        with pytest.raises(ValueError, match=r"must be finite, got .*fail"):
            optimizer.tell(trial, value)
        with pytest.raises(ValueError, match="must be finite"):
            optimizer.add([0, 1], value)
        assert self.state(optimizer) == before

    @pytest.mark.parametrize("value", [None, "1.0", 1j, [1.0, 2.0], np.array([1.0, 2.0]), True])
    def test_values_that_are_not_numbers(self, optimizer, value):
        trial = optimizer.ask()
        before = self.state(optimizer)
        with pytest.raises(TypeError, match="one real number, got"):
            optimizer.tell(trial, value)
        assert self.state(optimizer) == before

    def test_unknown_trials(self, optimizer):
        before = self.state(optimizer)
        with pytest.raises(ValueError, match="trial 99 is unknown here; number of trials in this run: 4"):
            optimizer.tell(99, 1.0)
        with pytest.raises(ValueError, match="unknown"):
            optimizer.tell(-1, 1.0)
        with pytest.raises(ValueError, match="unknown"):
            optimizer.tell(evaluated(1, seed=9).history[0], 1.0)
        with pytest.raises(TypeError, match="expected a Trial"):
            optimizer.tell("0", 1.0)
        assert self.state(optimizer) == before

    def test_telling_twice(self, optimizer):
        value = optimizer.history[0].value
        before = self.state(optimizer)
        optimizer.tell(0, value)  # the same value again changes nothing
        with pytest.raises(ValueError, match=r"trial 0 already has .*, got .*nothing was changed"):
            optimizer.tell(0, value + 1)
        with pytest.raises(ValueError, match="cannot fail"):
            optimizer.fail(0, "late")
        assert self.state(optimizer) == before

    def test_add_outside_the_box_or_of_a_wrong_shape(self, optimizer):
        before = self.state(optimizer)
        with pytest.raises(ValueError, match=r"coordinate 0 must be in \[-5.0, 10.0\], got 11.0"):
            optimizer.add([11, 3], 1.0)
        with pytest.raises(ValueError, match="expected 2 numbers"):
            optimizer.add([1, 2, 3], 1.0)
        with pytest.raises(ValueError, match="expected 2 numbers"):
            optimizer.add([[1, 2]], 1.0)
        with pytest.raises(TypeError, match="no names"):
            optimizer.add({"a": 1}, 1.0)
        with pytest.raises(TypeError, match="sequence of 2 numbers"):
            optimizer.add(3.0, 1.0)
        assert self.state(optimizer) == before

    def test_unknown_and_missing_names(self):
        optimizer = dale.Optimizer(dale.Space(a=(0, 1), b=(0, 1)))
        with pytest.raises(ValueError, match="unknown parameter 'c'; missing parameter 'b'; the space has 'a', 'b'"):
            optimizer.add({"a": 0.5, "c": 0.5}, 1.0)
        with pytest.raises(TypeError, match="this space has names"):
            optimizer.add([0.5, 0.5], 1.0)
        assert optimizer.history == ()

    @pytest.mark.parametrize(("n", "error"), [(0, ValueError), (-3, ValueError), (1.5, TypeError), (True, TypeError)])
    def test_ask_for_an_invalid_number(self, optimizer, n, error):
        with pytest.raises(error, match="n must be a positive integer"):
            optimizer.ask(n)

    def test_method_and_seed(self):
        with pytest.raises(TypeError, match=r"method must be one of dale\.methods"):
            dale.Optimizer(BOX, method="paper")
        with pytest.raises(TypeError, match="seed must be"):
            dale.Optimizer(BOX, seed="0")
        with pytest.raises(ValueError, match="seed must be"):
            dale.Optimizer(BOX, seed=-1)
