"""DaleSearch: the interface of Ray Tune's search algorithms, and a real run of Ray on this machine."""

import json
import math

import pytest

pytest.importorskip("ray.tune", reason="Ray Tune is not installed; it comes with the extra ray")

import ray
from ray import tune

import dale
from dale.integrations.ray import DaleSearch, from_param_space

pytestmark = pytest.mark.filterwarnings("ignore")  # of the library
SPACE = {"x": (-2, 2), "n": dale.Int(1, 4)}


def loss(config):
    return (config["x"] - 0.5) ** 2 + abs(config["n"] - 3)


def search(**settings):
    return DaleSearch(SPACE, metric="loss", mode="min", seed=0, **settings)


def complete(searcher, *ids):
    for i in ids:
        config = searcher.suggest(i)
        searcher.on_trial_complete(i, {"loss": loss(config)})


def test_a_search_is_a_run_of_dale():
    searcher, optimizer = search(), dale.Optimizer(SPACE, seed=0)
    for i in range(12):
        config, trial = searcher.suggest(f"trial {i}"), optimizer.ask()
        assert config == dict(trial.params)
        optimizer.tell(trial, loss(config))
        searcher.on_trial_complete(f"trial {i}", {"loss": loss(config)})
    assert searcher.optimizer.best_value < 0.1


def test_running_trials_and_results_in_any_order():
    searcher = search()
    configs = {i: searcher.suggest(i) for i in "abcd"}
    assert len({tuple(config.values()) for config in configs.values()}) == 4
    for i in "dbca":
        searcher.on_trial_complete(i, {"loss": loss(configs[i])})
    assert [t.value for t in searcher.optimizer.history] == [loss(c) for c in configs.values()]


def test_failures():
    searcher = search()
    for i in "abcd":
        searcher.suggest(i)
    searcher.on_trial_complete("a", error=True)
    searcher.on_trial_complete("b", {"loss": math.nan})
    searcher.on_trial_complete("c", {"other": 1.0})
    searcher.on_trial_complete("d")
    searcher.on_trial_complete("not ours", {"loss": 1.0})
    assert [str(t.state) for t in searcher.optimizer.history] == ["failed"] * 4


def test_a_restored_search_continues_exactly(tmp_path):
    path = str(tmp_path / "state")
    whole = search()
    complete(whole, *range(9))
    running = whole.suggest("running")
    whole.save(path)
    assert json.loads((tmp_path / "state").read_text())["metric"] == "loss"
    restored = DaleSearch()
    restored.restore(path)
    for searcher in (whole, restored):
        searcher.on_trial_complete("running", {"loss": loss(running)})
        complete(searcher, *range(10, 15))
    assert [dict(t.params) for t in restored.optimizer.history] == [dict(t.params) for t in whole.optimizer.history]
    assert [t.reason for t in restored.optimizer.history] == [t.reason for t in whole.optimizer.history]


def test_known_points():
    points = [{"x": 1.0, "n": 2}, {"x": 0.0, "n": 3}]
    assert search(points_to_evaluate=points).suggest("a") == points[0]
    searcher = search(points_to_evaluate=points, evaluated_rewards=[1.25, 0.25])
    assert [t.value for t in searcher.optimizer.history] == [1.25, 0.25]
    searcher.add_evaluated_point({"x": 0.25, "n": 3}, 0.0625)
    searcher.add_evaluated_point({"x": 2.0, "n": 3}, 0.0, error=True)
    assert searcher.optimizer.best_value == 0.0625
    assert searcher.suggest("b") not in points


def test_the_space_of_a_tuner():
    space = from_param_space(
        {
            "lr": tune.loguniform(1e-5, 1e-1),
            "model": {"width": tune.lograndint(8, 513), "depth": tune.randint(1, 5), "kind": tune.choice(["a", "b"])},
            "drop": tune.quniform(0.0, 0.5, 0.1),
            "batch": tune.qrandint(32, 128, 32),
            "constant": 7,
        }
    )
    assert space == dale.Space(
        {
            "lr": dale.Float(1e-5, 1e-1, log=True),
            "model/width": dale.Int(8, 512, log=True),
            "model/depth": dale.Int(1, 4),
            "model/kind": dale.Choice(["a", "b"]),
            "drop": dale.Float(0.0, 0.5, step=0.1),
            "batch": dale.Int(32, 128, step=32),
        }
    )


@pytest.mark.parametrize(
    ("config", "message"),
    [({"x": tune.grid_search([1, 2])}, "x: a grid is not searched"), ({"x": tune.randn()}, "x: expected tune.uniform")],
)
def test_spaces_that_dale_does_not_have(config, message):
    with pytest.raises(dale.SpaceError, match=message):
        from_param_space(config)


def test_invalid_arguments():
    with pytest.raises(ValueError, match="mode: expected 'min', 'max' or None, got 'low'"):
        DaleSearch(mode="low")
    with pytest.raises(ValueError, match="expected a value for each of 1 points, got 2"):
        DaleSearch(points_to_evaluate=[{"x": 1}], evaluated_rewards=[1, 2])
    with pytest.raises(dale.SpaceError, match="expected a space with names"):
        DaleSearch([(0, 1)])
    with pytest.raises(RuntimeError, match="the space is not known yet"):
        DaleSearch().suggest("a")


def test_a_finite_space_ends():
    searcher = DaleSearch({"n": dale.Int(1, 2)}, metric="loss", mode="max", seed=0)
    assert {searcher.suggest("a")["n"], searcher.suggest("b")["n"]} == {1, 2}
    assert searcher.suggest("c") == DaleSearch.FINISHED


def test_a_real_run(tmp_path):
    def train(config):
        if config["model"]["x"] > 1.5:
            raise ArithmeticError("diverged")
        tune.report({"loss": (config["model"]["x"] - 0.5) ** 2 + config["offset"]})

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        tuner = tune.Tuner(
            train,
            param_space={"model": {"x": tune.uniform(-2, 2)}, "offset": 1.0},
            tune_config=tune.TuneConfig(
                metric="loss", mode="min", num_samples=10, max_concurrent_trials=2, search_alg=DaleSearch(seed=0)
            ),
            run_config=tune.RunConfig(storage_path=str(tmp_path), verbose=0),
        )
        results = tuner.fit()
    finally:
        ray.shutdown()
    assert len(results) == 10
    assert results.get_best_result().metrics["loss"] < 1.01
