"""The optimizer in spaces of integers, steps, options and fixed values."""

import numpy as np
import pytest

import dale
from evaluated_runs import points


class TestSpacesOfAnyKind:
    """Mixed spaces, and finite spaces up to their last point."""

    SPACE = dale.Space(
        rate=dale.Float(1e-5, 1e-1, log=True),
        depth=dale.Int(1, 12),
        act=dale.Choice(["relu", "gelu", None]),
        version=dale.Choice(["v2"]),
    )

    def value(self, params):
        off = {"relu": 0.5, "gelu": 0.0, None: 1.0}[params["act"]]
        return (np.log10(params["rate"]) + 3) ** 2 + 0.1 * (params["depth"] - 7) ** 2 + off

    def run(self, space, n, seed=0):
        optimizer = dale.Optimizer(space, seed=seed)
        for _ in range(n):
            trial = optimizer.ask()
            optimizer.tell(trial, self.value(trial.params))
        return optimizer

    def test_a_mixed_space(self):
        optimizer = self.run(self.SPACE, 12)
        result = optimizer.result()
        assert result.x.tolist() == list(result.params.values())
        assert result.x_iters.shape == (12, 4)
        assert result.local_minima == ()
        assert "version=v2" in str(result)
        assert {type(t.params["depth"]) for t in optimizer.history} == {int}
        for t in optimizer.history:
            np.testing.assert_array_equal(t.unit_x, self.SPACE.encode(t.params))
        optimizer.add({"rate": 1e-3, "depth": np.int64(7), "act": "gelu", "version": "v2"}, 0.0)
        assert optimizer.best.value == 0.0

    def test_the_order_of_the_names_does_not_matter(self):
        other = dale.Space(dict(reversed(self.SPACE.parameters.items())))
        assert points(self.run(self.SPACE, 12)) == points(self.run(other, 12))

    def test_without_names(self):
        optimizer = dale.Optimizer([(0, 1), dale.Int(1, 5), dale.Choice(["a", [1, 2], [3, 4]])], seed=0)
        for _ in range(8):
            trial = optimizer.ask()
            optimizer.tell(trial, trial.x[0] + trial.x[1] + (trial.x[2] == "a"))
        result = optimizer.result()
        assert result.x_iters.shape == (8, 3)
        assert optimizer.add(result.x, result.fun).x.tolist() == result.x.tolist()
        assert str(result.params[2]) in str(result)

    def test_minima_of_integers(self):
        """The Hessian is along the line through the integers; the minimum is one of them."""
        optimizer = dale.Optimizer(dale.Space(n=dale.Int(0, 40), s=dale.Float(0, 4, step=0.1), c=(5, 5)), seed=0)
        for _ in range(25):
            trial = optimizer.ask()
            n, s = trial.params["n"], trial.params["s"]
            optimizer.tell(trial, 0.02 * (n - 17.3) ** 2 + 3 * (s - 2.2) ** 2)
        minimum = optimizer.result().local_minima[0]
        assert minimum.params == {"n": 17, "s": 2.2, "c": 5.0}
        assert minimum.fun == pytest.approx(0.02 * 0.3**2, abs=1e-9)
        np.testing.assert_allclose(minimum.hessian[:2, :2], [[0.04, 0], [0, 6]], atol=1e-6)
        assert np.all(np.isnan(minimum.hessian[2]))

    @pytest.mark.parametrize("method", [dale.methods.default, dale.methods.paper, dale.methods.ei, dale.methods.imgpo])
    def test_each_point_of_a_finite_space_is_proposed_once(self, method):
        space = dale.Space(a=dale.Int(1, 2), b=dale.Choice(["x", None]), c=dale.Float(0, 1, step=0.5))
        optimizer = dale.Optimizer(space, seed=0, method=method())
        for _ in range(12):
            trial = optimizer.ask()
            optimizer.tell(trial, trial.params["a"] + trial.params["c"] + (trial.params["b"] is None))
        assert len({tuple(t.params.values()) for t in optimizer.history}) == 12
        assert optimizer.best.params == {"a": 1, "b": "x", "c": 0.0}
        optimizer.tell(optimizer.ask(), 1.0)  # the best one again, to test for noise
        for n in (None, 3):
            with pytest.raises(dale.SpaceExhausted, match=r"all 12 points of the space have been proposed; .*result"):
                optimizer.ask(n)
        assert len(optimizer.history) == 13
        assert optimizer.ask(at=trial.params).params == trial.params  # a user may evaluate a point again

    def test_a_batch_proposes_the_remaining_points(self):
        optimizer = dale.Optimizer([dale.Int(0, 4)], seed=0)
        optimizer.add([3], 1.0)
        optimizer.add([3], 1.0)
        assert sorted(t.x[0] for t in optimizer.ask(9)) == [0, 1, 2, 4]
        with pytest.raises(dale.SpaceExhausted):
            optimizer.ask()

    @pytest.mark.parametrize("left", [0, 1, 123, 2499])
    def test_the_last_point_of_a_larger_space_is_found(self, left):
        """The space is too large to enumerate; a point that few random points round to is found all the same."""
        space = dale.Space(a=dale.Int(1, 1250, log=True), b=dale.Choice([False, True]))
        optimizer = dale.Optimizer(space, seed=0, method=dale.methods.ei())
        for k in range(2500):
            if k != left:
                optimizer.fail(optimizer.ask(at=space.decode(space.encode_index(k))))
        trial = optimizer.ask()
        np.testing.assert_array_equal(trial.unit_x, space.encode_index(left))
        with pytest.raises(dale.SpaceExhausted):
            optimizer.ask()
