"""Exact values that scatter: the probes that prove it, and what the models see then."""

import math

import numpy as np
import pytest

import dale
from dale.history.reason import Reason, Source
from dale.history.roughness import proved_scatter, refutes_roughness, scatter
from dale.history.trial import Trial, TrialState
from hostile import bowl
from noisy_runs import rough

CENTER = np.array([0.4, 0.6])
STEP = np.array([1e-5, -2e-5])


def trial(number, x, value, state=TrialState.COMPLETE, **reason):
    source = Source.PROBE if reason else Source.LOCAL
    return Trial(number, tuple(x), x, x, Reason(source, **reason), state, value)


def probed(fun, scatter=1.0):
    """A point and two probes beside it."""
    points = (CENTER, CENTER + STEP, CENTER - STEP)
    center, *probes = (fun(x) for x in points)
    reason = {"probe_of": 0, "scatter": scatter}
    return (
        trial(0, points[0], center),
        *(trial(i, points[i], value, **reason) for i, value in enumerate(probes, 1)),
    )


class TestProof:
    @pytest.mark.parametrize(
        ("fun", "is_rough"),
        [
            (lambda x: bowl(x) + rough(x), True),
            (lambda x: bowl(x) + 1e-3 * rough(x), False),  # far below the scatter that was to be explained
            (lambda x: 100 * rough(x), False),  # far above it
            (bowl, False),
            (lambda x: 100 * float(np.abs(x - CENTER).sum()), False),  # a kink at the center
            (lambda x: float(x[0] >= CENTER[0]), False),  # a cliff: one of the probes is level
            (lambda x: 1e5 * (x[0] - CENTER[0]), False),  # a slope, however steep
            (lambda x: 3.0, False),
        ],
    )
    def test_of_functions(self, fun, is_rough):
        assert proved_scatter(probed(fun, 0.7)) == (0.7 if is_rough else 0)

    def test_both_probes_are_needed(self):
        trials = probed(lambda x: bowl(x) + rough(x))
        assert not proved_scatter(trials[:2])
        failed = trial(2, trials[2].x, None, TrialState.FAILED, probe_of=0, scatter=1.0)
        assert not proved_scatter((*trials[:2], failed))

    def test_one_probe_may_show_that_values_are_smooth(self):
        center, probe, _ = probed(bowl)
        assert refutes_roughness(center, probe)
        center, probe, _ = probed(lambda x: bowl(x) + rough(x))
        assert not refutes_roughness(center, probe)

    def test_a_reason_without_a_scatter_proves_nothing(self):
        center, *probes = probed(lambda x: bowl(x) + rough(x))
        others = [trial(p.id, p.x, p.value, probe_of=0) for p in probes]
        assert not proved_scatter((center, *others))


class TestScatter:
    X = 0.5 + 0.12 * np.random.default_rng(0).uniform(-1, 1, (24, 2))

    def values(self, std):
        return np.array([5 * bowl(x) + std * rough(x) for x in self.X])

    @pytest.mark.parametrize("std", [1e-3, 1e-2, 1e-1])
    def test_is_that_of_the_values(self, std):
        y = self.values(std)
        assert 0.6 * std < scatter(self.X, y - np.min(y), ()) < 1.6 * std

    def test_is_0_where_a_model_interpolates(self):
        y = self.values(0.0)
        assert scatter(self.X, y - np.min(y), ()) == 0

    def test_is_0_of_few_values(self):
        y = self.values(1e-2)[:8]
        assert scatter(self.X[:8], y - np.min(y), ()) == 0


def run(fun, n=45, **options):
    optimizer = dale.Optimizer([(0, 1)] * 2, seed=1, **options)
    for _ in range(n):
        t = optimizer.ask()
        optimizer.tell(t, fun(t.x))
    return optimizer


class TestRuns:
    def test_a_rough_function(self):
        optimizer = run(lambda x: bowl(x) + 0.01 * rough(x))
        result, sources = optimizer.result(), [t.reason.source for t in optimizer.history]
        assert sources.count(Source.PROBE) == 2
        assert 0.004 < result.roughness < 0.03
        assert (result.noise, result.fun_std) == (0, 0)
        assert result.fun == min(t.value for t in optimizer.history)  # the values are exact
        assert "roughness" in str(result)
        modelled = optimizer.snapshot.history.observations.modelled
        assert modelled.noise.modelled
        assert Source.REPLICATE not in {optimizer.history[i].reason.source for i in modelled.ids.tolist()}
        x = np.array([t.x for t in optimizer.history])
        agree = sources.index(Source.REPLICATE)
        others = np.delete(x, agree, axis=0)
        assert len(np.unique(others, axis=0)) == len(others)  # nothing that is known is evaluated again

    @pytest.mark.parametrize(
        "fun",
        [bowl, lambda x: float(np.abs(x - 0.37) @ [1, 5]), lambda x: math.floor(20 * x[0]) + bowl(x)],
        ids=["smooth", "kink", "steps"],
    )
    def test_other_functions(self, fun):
        optimizer = run(fun)
        assert optimizer.result().roughness == 0
        assert not optimizer.snapshot.history.observations.modelled.noise.modelled

    def test_what_is_proved_stays_proved(self):
        """Where the lowest value moves, the values around it may not tell the scatter."""

        def fun(x):  # many basins
            return float(np.sum((x - 0.37) ** 2 * 4 + 0.3 * (1 - np.cos(9 * np.pi * (x - 0.37))))) + 0.02 * rough(x)

        optimizer = dale.Optimizer([(0, 1)] * 2, seed=2)
        states = []
        for _ in range(70):
            t = optimizer.ask()
            optimizer.tell(t, fun(t.x))
            if proved_scatter(optimizer.history):
                states.append(optimizer.snapshot.history.observations)
        assert len(states) > 20
        assert any(o.inliers._without_replicates().scatter() == 0 for o in states)
        assert all(o.roughness > 0 for o in states)

    def test_a_probe_far_below_the_incumbent_replaces_it_in_the_models(self):
        optimizer = run(lambda x: bowl(x) + 0.01 * rough(x), 12)
        while (t := optimizer.ask()).reason.source is not Source.PROBE:
            optimizer.tell(t, bowl(t.x) + 0.01 * rough(t.x))
        center = optimizer.history[t.reason.probe_of]
        for below, seen in ((0.5 * t.reason.scatter, center.id), (100 * t.reason.scatter, t.id)):
            told = dale.Optimizer([(0, 1)] * 2, seed=1)
            for before in optimizer.history[: t.id]:
                told.tell(told.ask(), before.value)
            told.tell(told.ask(), center.value - below)
            modelled = told.snapshot.history.observations.modelled
            assert {center.id, t.id} & set(modelled.ids.tolist()) == {seen}

    def test_a_resumed_run_proposes_the_same(self, tmp_path):
        """Also where other trials were pending: their steps are not known when the values are analysed."""

        def fun(x):
            return float(np.sum((x - 0.37) ** 2 * [1, 9])) + 0.01 * rough(x)

        def asked(path=None):
            options = {"seed": 1, "store": path}
            optimizer = dale.Optimizer([(0, 1)] * 2, **options)
            while len(optimizer.history) < 39:
                for t in [optimizer.ask() for _ in range(3)]:
                    optimizer.tell(t, fun(t.x))
            assert optimizer.result().roughness > 0
            pending = optimizer.ask()
            if path is not None:
                optimizer.close()
                optimizer = dale.Optimizer([(0, 1)] * 2, **options)
                pending = optimizer.ask()  # the same again
            x = [t.x.tolist() for t in (pending, optimizer.ask(), optimizer.ask())]
            optimizer.close()
            return x

        assert asked(tmp_path / "run.db") == asked()

    def test_it_is_better_than_to_interpolate(self):
        """Regret of the trend at the best points, in units of the scatter; noise=0 switches the tests off."""

        def regret(noise):
            found = []
            for seed in range(5):
                c, std = np.random.default_rng(seed).uniform(0.2, 0.8, 2), 0.02

                def trend(x, c=c):
                    return float(np.sum((x - c) ** 2 * [1, 9]))

                result = dale.minimize(
                    lambda x, trend=trend, std=std: trend(x) + std * rough(x),
                    [(0, 1)] * 2,
                    budget=40,
                    seed=seed,
                    noise=noise,
                )
                found.append(trend(result.x) / std)
            return float(np.median(found))

        assert regret("auto") < 0.5 * regret(0)

    def test_maximised_runs_are_mirror_images(self):
        lowest = run(lambda x: bowl(x) + 0.01 * rough(x))
        highest = run(lambda x: -(bowl(x) + 0.01 * rough(x)), direction="maximize")
        assert highest.result().roughness == lowest.result().roughness
        assert [t.x.tolist() for t in highest.history] == [t.x.tolist() for t in lowest.history]
