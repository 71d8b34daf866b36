"""Runs in a space with conditional parameters."""

import numpy as np
import pytest

import dale

ACTIVE = {"linear": {"C", "kernel"}, "rbf": {"C", "kernel", "gamma"}, "poly": {"C", "kernel", "gamma", "degree"}}


class TestConditional:
    """A support vector machine: gamma is active for two of three kernels, the degree for one."""

    SPACE = dale.Space(
        C=dale.Float(1e-3, 1e3, log=True),
        kernel=dale.Choice(["linear", "rbf", "poly"]),
        gamma=dale.Float(1e-4, 1e1, log=True).when(kernel=["rbf", "poly"]),
        degree=dale.Int(2, 6).when(kernel="poly"),
    )

    def loss(self, best):
        """The error, with a minimum of 0 for the best kernel."""

        def loss(p):
            assert set(p) == ACTIVE[p["kernel"]]
            error = 0.1 * (np.log10(p["C"]) - 1) ** 2 + (0.0 if p["kernel"] == best else 0.2)
            if "gamma" in p:
                error += 0.2 * (np.log10(p["gamma"]) + 2) ** 2
            if "degree" in p:
                error += 0.1 * (p["degree"] - 4) ** 2
            return error

        return loss

    @pytest.mark.parametrize("best", ["linear", "rbf", "poly"])
    @pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
    def test_the_optimum_is_found_for_each_best_kernel(self, best, seed):
        result = dale.minimize(self.loss(best), self.SPACE, budget=50, seed=seed)
        assert not any(t.error for t in result.history)
        assert result.fun < 1e-6
        assert result.params["kernel"] == best
        assert set(result.params) == ACTIVE[best]
        assert len({t.unit_x.tobytes() for t in result.history}) == 50
        assert [v is None for v in result.x] == [name not in result.params for name in self.SPACE.names]
        assert result.local_minima == ()
        assert f"kernel={best}" in str(result)

    @pytest.mark.parametrize(
        "method", [dale.methods.paper, dale.methods.ei, dale.methods.lcb, dale.methods.imgpo], ids=lambda m: m.__name__
    )
    def test_other_methods_propose_no_point_twice(self, method):
        result = dale.minimize(self.loss("rbf"), self.SPACE, budget=25, seed=0, method=method())
        assert not any(t.error for t in result.history)
        assert len({t.unit_x.tobytes() for t in result.history}) == 25

    def test_a_finite_space_ends_after_all_distinct_points(self):
        b, c = dale.Int(1, 3).when(a="x"), dale.Int(0, 1).when(b=[1, 2])
        space = dale.Space(a=dale.Choice(["x", "y", "z"]), b=b, c=c)
        calls = []
        result = dale.minimize(
            lambda p: calls.append(tuple(p.values())) or len(calls), space, budget=50, seed=0, noise=0
        )
        assert (result.status, result.nfev) == (4, 7)
        assert sorted(calls) == [("x", 1, 0), ("x", 1, 1), ("x", 2, 0), ("x", 2, 1), ("x", 3), ("y",), ("z",)]

    def test_earlier_data(self, tmp_path):
        path = tmp_path / "svm.csv"
        path.write_text("C,kernel,gamma,degree,error\n1,linear,,,0.3\n10,rbf,0.01,,0.2\n10,poly,0.01,4,\n")
        result = dale.minimize(self.loss("poly"), self.SPACE, budget=3, seed=0, x0=path, y0="error")
        assert [set(t.params) for t in result.history[:3]] == list(ACTIVE.values())
        assert result.nfev == 3
