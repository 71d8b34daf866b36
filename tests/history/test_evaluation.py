"""Evaluations: values, their noise and their outcome constraints."""

import numpy as np
import pytest

import dale


class Tensor:
    """A scalar like those of torch, whose ``len`` raises."""

    ndim = 0

    def __init__(self, value):
        self.value = value

    def __len__(self):
        raise TypeError("len() of a 0-d tensor")

    def item(self):
        return self.value


def test_a_scalar_of_another_library_is_a_number():
    optimizer = dale.Optimizer([(0, 1)], seed=0)
    assert optimizer.tell(optimizer.ask(), Tensor(0.5)).value == 0.5
    with pytest.raises(TypeError, match="must be one real number"):
        optimizer.tell(optimizer.ask(), Tensor("a"))
    with pytest.raises(TypeError, match="must be one real number"):
        optimizer.tell(optimizer.ask(), np.ma.masked)


class TestNoiseAndConstraints:
    def test_they_are_stored_with_the_value(self):
        optimizer = dale.Optimizer([(0, 1)], seed=0)
        evaluated = optimizer.tell(optimizer.ask(), 1.0, noise=np.float32(0.5), constraints=np.array([-1, 2]))
        assert (evaluated.noise, evaluated.constraints, evaluated.feasible) == (0.5, (-1.0, 2.0), False)
        added = optimizer.add([0.5], 2.0, noise=0, constraints=[0, -3])
        assert (added.noise, added.constraints, added.feasible) == (0.0, (0.0, -3.0), True)

    def test_the_same_evaluation_again_changes_nothing_and_another_raises(self):
        optimizer = dale.Optimizer([(0, 1)], seed=0)
        trial = optimizer.tell(optimizer.ask(), 1.0, noise=0.5, constraints=[1])
        assert optimizer.tell(trial, 1.0, noise=0.5, constraints=1.0) is trial
        for other in ({"noise": 0.4, "constraints": [1]}, {"noise": 0.5, "constraints": [2]}):
            with pytest.raises(ValueError, match="nothing was changed"):
                optimizer.tell(trial, 1.0, **other)

    @pytest.mark.parametrize("noise", [-1, np.nan, np.inf, True, "0.1", [0.1]])
    def test_invalid_noise_raises(self, noise):
        optimizer = dale.Optimizer([(0, 1)], seed=0)
        trial = optimizer.ask()
        with pytest.raises((TypeError, ValueError), match="noise must be"):
            optimizer.tell(trial, 1.0, noise=noise)
        assert optimizer.history[0].value is None
        with pytest.raises((TypeError, ValueError), match="noise must be"):
            dale.Optimizer([(0, 1)], noise=noise)

    @pytest.mark.parametrize("constraints", [np.nan, [1, np.inf], "ab", ["a"], [[1, 2]], [True], {"a": 1}])
    def test_invalid_constraints_raise(self, constraints):
        optimizer = dale.Optimizer([(0, 1)], seed=0)
        trial = optimizer.ask()
        with pytest.raises(ValueError, match="constraints must be finite numbers"):
            optimizer.tell(trial, 1.0, constraints=constraints)
        assert optimizer.history[0].value is None

    def test_another_number_of_constraints_raises(self):
        optimizer = dale.Optimizer([(0, 1)], seed=0)
        optimizer.tell(optimizer.ask(), 1.0, constraints=[1, 2])
        with pytest.raises(ValueError, match=r"expected 2 constraints, as trial 0 has, got \[1.0\]"):
            optimizer.tell(optimizer.ask(), 1.0, constraints=[1])
        with pytest.raises(ValueError, match="expected 2 constraints"):
            optimizer.add([0.3], 1.0)
        assert len(optimizer.history) == 2

    def test_an_objective_returns_them_with_the_value(self):
        result = dale.minimize(lambda x: dale.Evaluation(x[0], noise=0.1, constraints=[x[0] - 2]), [(0, 1)], budget=2)
        assert all(t.noise == 0.1 and t.constraints == (t.value - 2,) for t in result.history)

    def test_an_invalid_evaluation_fails_the_trial(self):
        result = dale.minimize(lambda x: dale.Evaluation(x[0], constraints=[np.nan]), [(0, 1)], budget=2)
        assert result.status == 3
        assert "constraints=[nan]" in result.history[0].error
