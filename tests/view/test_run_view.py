"""Whatever the user has of a run, plots see the same; a wrong space is a clear error; times come from the store."""

import pickle
import threading
import time

import numpy as np
import pytest
import zoo

import dale
from dale.history.result import Result, with_std
from dale.history.trial import TrialState
from dale.view import advice, convergence_data, importance_data, slice_data, timeline_data
from dale.view.advice import Noise
from dale.view.data.predictions import predictions
from dale.view.plot.kinds import plot_of_kind
from dale.view.report.content import content_of
from dale.view.run_view import view_of

SPACE = dale.Space(a=(-2.0, 2.0), n=dale.Int(1, 6))


def fun(p):
    return p["a"] ** 2 + p["n"]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("view") / "run.db"
    dale.minimize(fun, SPACE, budget=10, seed=0, store=path)
    return path


def test_all_ways_to_name_a_run_give_the_same_numbers(store):
    run = dale.open(store)
    with dale.Optimizer(SPACE, store=store) as optimizer:
        result = optimizer.result()
        ways = (store, str(store), run, run.result(), optimizer, result, pickle.loads(pickle.dumps(result)))
        means = [slice_data(way)[0].mean for way in ways]
    for mean in means[1:]:
        np.testing.assert_array_equal(mean, means[0])


def test_a_pickled_noisy_result_keeps_its_posterior_means():
    run = zoo.run("noisy")
    copy = pickle.loads(pickle.dumps(run))
    assert view_of(copy).best.id == view_of(run).best.id
    assert view_of(copy).posterior_means == pytest.approx(view_of(run).posterior_means)


class TestDetectedNoise:
    """All views state the noise and the error of the result, also those of a copy."""

    @pytest.fixture(params=["result", "pickle"])
    def result(self, request):
        run = zoo.detected_noise()
        assert run._snapshot.history.observations.noise.level < 0.95 * run.noise  # the pooled one of the replicates
        return run if request.param == "result" else pickle.loads(pickle.dumps(run))

    def test_advice(self, result):
        (noise,) = (item for item in advice(result) if isinstance(item, Noise))
        assert (noise.std, noise.best_std) == (result.noise, result.fun_std)
        assert str(noise).startswith(f"Values have noise of {result.noise:.2g} (")
        assert str(noise).endswith(f"the best value is known to ± {result.fun_std:.2g}.")

    def test_numbers(self, result):
        assert convergence_data(result).noise == result.noise
        page = content_of(view_of(result), title="", objective="", message=None)
        assert page["noise"] == pytest.approx(result.noise)
        assert page["summary"]["best"]["value"] == with_std(result.fun, result.fun_std, 8)

    def test_predictions(self, result):
        global_ones = [p for p in predictions(view_of(result)) if p.trial.reason.step is None]
        stds = [np.hypot(p.trial.reason.std, result.noise) for p in global_ones]
        assert len(stds) > 5
        assert [p.std for p in global_ones] == pytest.approx(stds)

    def test_a_copy_is_not_told_the_noise(self, result):
        assert result.specified_noise is None
        assert view_of(result).snapshot.history.observations.noise.known is None
        assert view_of(result).snapshot.incumbent[1:] == (
            result.fun,
            result.noise,
            result.fun_std,
            result.model_difference,
        )


def test_a_copy_is_told_the_noise_of_the_run():
    copy = pickle.loads(pickle.dumps(zoo.run("noisy")))
    assert copy.specified_noise == 0.1
    assert np.all(view_of(copy).snapshot.history.observations.noise.known == 0.1)


def test_objects_plot_themselves(store):
    run = dale.open(store)
    with dale.Optimizer(SPACE, store=store) as optimizer:
        for way in (run, run.result(), optimizer):
            assert way.plot().axes[0].get_title(loc="left") == "Convergence"
            assert way.plot("slice", style="dark", params=["n"]).axes[0].get_xlabel() == "n"
    assert "plot" in dir(run.result())


def test_one_surrogate_serves_several_plots(store):
    run = dale.open(store)
    importance_data(run)
    assert view_of(run).surrogate is view_of(run).surrogate


class TestWrongInput:
    def test_a_wrong_space(self, store):
        other = dale.Space(a=(-2.0, 3.0), n=dale.Int(1, 6))
        message = (
            r"space: expected that of the run, got another one: a is Float\(.*2\.0, log.* in the run and Float\(.*3\.0"
        )
        with pytest.raises(ValueError, match=message):
            slice_data(dale.open(store).result(), other)
        with pytest.raises(dale.StoreError, match=r"holds another problem: space\.parameters\.a"):
            slice_data(store, other)
        with pytest.raises(ValueError, match="b is 'no such parameter' in the run"):
            slice_data(dale.open(store), dale.Space(a=(-2.0, 2.0), n=dale.Int(1, 6), b=(0, 1)))
        assert len(slice_data(dale.open(store), SPACE)) == 2

    def test_a_result_without_its_space(self, store):
        history = dale.open(store).history
        with pytest.raises(ValueError, match="this result does not know its space; pass it as space="):
            slice_data(Result(history=history, local_minima=()))
        assert len(slice_data(Result(history=history, local_minima=()), SPACE)) == 2
        with pytest.raises(ValueError, match="expected the space of the run, got Space"):
            slice_data(Result(history=history, local_minima=()), [(0, 1), (0, 1)])

    def test_other_objects(self):
        with pytest.raises(TypeError, match=r"expected a result, an Optimizer, a run from dale\.open or the path"):
            slice_data(3.0)
        with pytest.raises(dale.StoreError, match=r"none\.db does not exist"):
            slice_data("none.db")

    def test_unknown_names(self, store):
        with pytest.raises(ValueError, match=r"kind: expected one of 'convergence', .* got 'bars'"):
            plot_of_kind(store, "bars")
        with pytest.raises(ValueError, match="style: expected 'light' or 'dark', got 'blue'"):
            plot_of_kind(store, "convergence", style="blue")
        with pytest.raises(ValueError, match=r"params: expected 2 different names out of 'a', 'n', got \['a', 'a'\]"):
            plot_of_kind(store, "contour", params=["a", "a"])


@pytest.fixture(scope="module")
def parallel(tmp_path_factory):
    """Two threads that evaluate at the same time; one trial fails and one is pending."""
    path = tmp_path_factory.mktemp("timeline") / "run.db"
    with dale.Optimizer(SPACE, seed=0, store=path) as optimizer:
        optimizer.add({"a": 1.0, "n": 2}, 3.0)
        both = threading.Barrier(2)

        def work(fails):
            trial = optimizer.ask()
            both.wait()
            time.sleep(0.02)
            optimizer.fail(trial, "broken") if fails else optimizer.tell(trial, fun(trial.params))

        threads = [threading.Thread(target=work, args=(fails,)) for fails in (False, True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        optimizer.ask()
        return timeline_data(optimizer)


class TestTimeline:
    def test_lanes_states_and_times(self, parallel):
        assert parallel.trial.tolist() == [1, 2, 3]  # without the added one
        assert sorted(parallel.lane[:2]) == [0, 1]
        assert parallel.lane[2] == 0
        assert sorted(parallel.state[:2]) == [TrialState.COMPLETE, TrialState.FAILED]
        assert parallel.state[2] is TrialState.PENDING
        assert np.all(parallel.end >= parallel.start)
        assert np.all(parallel.end[:2] - parallel.start[:2] >= 0.02)
        assert 0 < parallel.busy <= 1

    def test_evaluations_of_one_lane_do_not_overlap(self, store):
        data = timeline_data(store)
        assert set(data.lane) == {0}
        assert np.all(data.start[1:] >= data.end[:-1])
        figure = dale.plot.timeline(store)
        assert figure.axes[0].get_ylabel() == "evaluations at once"

    def test_needs_a_store(self):
        with pytest.raises(ValueError, match="expected a stored run, because only a store keeps times"):
            timeline_data(zoo.run("failed"))
