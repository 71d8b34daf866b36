"""The probes that test for roughness: when and where they are proposed."""

from contextlib import suppress

import numpy as np
import pytest

import dale
from dale.history.reason import Reason, Source
from dale.history.trial import Trial, TrialState
from dale.methods.default.probe import MIN_DISTANCE, PROBE_DISTANCE, propose_probe
from dale.methods.default.replicate import FAILURES_BEFORE_REPLICATE
from dale.methods.default.trust_region import TrustRegion
from hostile import bowl
from noisy_runs import rough

N = 24
RADIUS = 0.02


def space(d=2):
    return {f"x{i}": (0.0, 1.0) for i in range(d)}


def known(fun, *, parameters=None, middle=0.4, noise="auto", replicate=True, **options):
    """An optimizer that knows values around a point, the lowest of them last, and its replicate."""
    optimizer = dale.Optimizer(parameters or space(), seed=0, noise=noise, **options)
    points = middle + 0.1 * np.random.default_rng(0).uniform(-1, 1, (N, 2))
    values = [fun(x) for x in points]
    for i in np.argsort(values)[::-1].tolist():
        optimizer.add(optimizer.space.decode(points[i].clip(0, 1)), values[i])
    if replicate:
        add(optimizer, optimizer.history[-1].unit_x, optimizer.history[-1].value, Reason(Source.REPLICATE))
    return optimizer


def add(optimizer, x, value, reason, state=TrialState.COMPLETE):
    """Append a trial to the history as if the method had proposed it."""
    x = np.asarray(x)
    n = len(optimizer.history)
    params = optimizer.space.decode(x)
    trial = Trial(n, params, optimizer.space.as_array(params), x, reason, state, value)
    optimizer._history = optimizer._history.with_trials([trial])


def proposed(optimizer, n_failed=FAILURES_BEFORE_REPLICATE, radius=RADIUS, shape=None, seed=0):
    snapshot = optimizer.snapshot
    observations = snapshot.history.observations.modelled
    row = int(np.nanargmin(observations.y))
    region = TrustRegion(observations.X[row], radius, n_failed=n_failed, shape=shape)
    return propose_probe(snapshot, observations, row, region, np.random.default_rng(seed))


def rough_bowl(x):
    return bowl(x) + 0.01 * rough(x)


class TestFirst:
    def test_beside_the_incumbent(self):
        optimizer = known(rough_bowl)
        found, best = proposed(optimizer), optimizer.history[N - 1]
        assert (found.reason.source, found.reason.probe_of) == (Source.PROBE, N - 1)
        assert 0.005 < found.reason.scatter < 0.02
        assert np.linalg.norm(found.point - best.unit_x) == pytest.approx(PROBE_DISTANCE * RADIUS)
        assert "to test for roughness" in str(found.reason)

    def test_in_the_shape_of_the_region(self):
        optimizer = known(rough_bowl)
        found, best = proposed(optimizer, shape=np.diag([4.0, 0.25])), optimizer.history[N - 1]
        step = (found.point - best.unit_x) / [4.0, 0.25]
        assert np.linalg.norm(step) == pytest.approx(PROBE_DISTANCE * RADIUS)

    def test_the_seed_draws_the_direction(self):
        optimizer = known(rough_bowl)
        assert proposed(optimizer).point.tolist() == proposed(optimizer).point.tolist()
        assert proposed(optimizer).point.tolist() != proposed(optimizer, seed=1).point.tolist()

    @pytest.mark.parametrize(
        ("fun", "options"),
        [
            (bowl, {}),  # a model explains the values
            (rough_bowl, {"replicate": False}),  # the values may be noisy
            (rough_bowl, {"noise": 0.1}),
            (rough_bowl, {"constraints": lambda x: x["x0"] <= 0.9}),
        ],
    )
    def test_not_without_need(self, fun, options):
        assert proposed(known(fun, **options)) is None

    def test_not_after_few_failures(self):
        assert proposed(known(rough_bowl), n_failed=FAILURES_BEFORE_REPLICATE - 1) is None

    def test_not_in_a_tiny_region(self):
        assert proposed(known(rough_bowl), radius=MIN_DISTANCE) is None

    def test_it_moves_continuous_parameters_only(self):
        optimizer = known(rough_bowl, parameters={"x": (0.0, 1.0), "n": dale.Int(0, 100)})
        found, best = proposed(optimizer), optimizer.history[N - 1].unit_x
        n, x = optimizer.space.columns("n"), optimizer.space.columns("x")
        assert found.point[n] == best[n]
        assert found.point[x] != best[x]

    def test_not_without_continuous_parameters(self):
        optimizer = known(rough_bowl, parameters={"m": dale.Int(0, 1000), "n": dale.Int(0, 100)})
        assert proposed(optimizer) is None

    def test_it_stays_on_the_faces_of_the_cube(self):
        def at_a_face(x):
            inside = np.maximum(x, 0)
            return bowl(inside + np.array([0.4, 0.0])) + 0.01 * rough(inside)

        optimizer = known(at_a_face, middle=0.02)
        best = optimizer.history[N - 1].unit_x
        assert best[0] == 0
        found = proposed(optimizer)
        assert found.point[0] == 0
        assert found.point[1] != best[1]


class TestSecond:
    def test_the_mirror_image(self):
        optimizer = known(rough_bowl)
        best, first = optimizer.history[N - 1], proposed(optimizer)
        add(optimizer, first.point, best.value + first.reason.scatter, first.reason)
        second = proposed(optimizer, n_failed=0)
        np.testing.assert_allclose(first.point + second.point, 2 * best.unit_x, rtol=1e-14)
        assert second.reason == first.reason
        add(optimizer, second.point, best.value + first.reason.scatter, second.reason)
        assert proposed(optimizer, n_failed=100) is None  # values are rough
        assert optimizer.result().roughness > 0

    @pytest.mark.parametrize("outcome", ["level", "pending", "failed"])
    def test_not_if_the_first_proves_nothing(self, outcome):
        optimizer = known(rough_bowl)
        best, first = optimizer.history[N - 1], proposed(optimizer)
        state = {"pending": TrialState.PENDING, "failed": TrialState.FAILED}.get(outcome, TrialState.COMPLETE)
        value = best.value if outcome == "level" else None
        add(optimizer, first.point, value, first.reason, state)
        assert proposed(optimizer, n_failed=100) is None

    def test_a_further_test_is_of_another_incumbent_and_later(self):
        optimizer = known(rough_bowl)
        best, first = optimizer.history[N - 1], proposed(optimizer)
        add(optimizer, first.point, best.value, first.reason)
        add(optimizer, best.unit_x + np.array([0.01, 0.02]), best.value - 0.01, Reason(Source.LOCAL))
        assert proposed(optimizer, n_failed=2 * FAILURES_BEFORE_REPLICATE - 1) is None
        found = proposed(optimizer, n_failed=2 * FAILURES_BEFORE_REPLICATE)
        assert found.reason.probe_of == len(optimizer.history) - 1


class TestModels:
    def test_they_do_not_see_the_probes_of_smooth_functions(self):
        optimizer = known(rough_bowl)
        best, first = optimizer.history[N - 1], proposed(optimizer)
        add(optimizer, first.point, best.value - 1e-9, first.reason)
        observations = optimizer.snapshot.history.observations
        assert observations.modelled.ids.tolist() == list(range(N))
        assert optimizer.best.reason.source is Source.PROBE  # the user does

    def test_a_replaced_probe_is_none(self):
        first = proposed(known(rough_bowl))
        assert (first.reason.replaced().probe_of, first.reason.replaced().scatter) == (None, None)

    def test_a_store_keeps_them(self, tmp_path):
        path = tmp_path / "run.db"
        with dale.Optimizer(space(), seed=1, store=path) as optimizer:
            while not any(t.reason.source is Source.PROBE for t in optimizer.history):
                trial = optimizer.ask()
                optimizer.tell(trial, bowl(trial.x) + 0.01 * rough(trial.x))
            probe = optimizer.history[-1].reason
        assert dale.open(path).history[-1].reason == probe
        with dale.Optimizer(space(), seed=1, store=path) as resumed:
            again = resumed.ask()
        with suppress(FileNotFoundError):
            path.unlink()
        fresh = dale.Optimizer(space(), seed=1)
        for trial in resumed.history[:-1]:
            mine = fresh.ask()
            fresh.tell(mine, trial.value)
        assert fresh.ask().x.tolist() == again.x.tolist()

    def test_workers(self):
        """Pending probes, in batches of four."""
        optimizer = dale.Optimizer(space(3), seed=0)
        for _ in range(15):
            for trial in optimizer.ask(4):
                optimizer.tell(trial, bowl(trial.x) + 0.02 * rough(trial.x))
        x = np.array([t.unit_x for t in optimizer.history if t.reason.source is not Source.REPLICATE])
        assert len(np.unique(x, axis=0)) == len(x)


def test_a_discarded_probe_is_no_test():
    optimizer = known(rough_bowl)
    first = proposed(optimizer)
    add(optimizer, first.point, 5.0, first.reason, TrialState.DISCARDED)
    again = proposed(optimizer)
    assert (again.reason.source, again.reason.probe_of) == (Source.PROBE, N - 1)
