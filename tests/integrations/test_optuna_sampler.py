"""DaleSampler: it proposes what dale proposes, from the trials of a study and nothing else."""

import pickle

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

import dale
from dale.history.reason import Source
from dale.integrations.optuna import DaleSampler


@pytest.fixture(autouse=True)
def _quiet():
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(verbosity)


def branin(x, y):
    bend = y - 5.1 / (4 * np.pi**2) * x**2 + 5 / np.pi * x - 6
    return float(bend**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10)


def objective(trial):
    return branin(trial.suggest_float("x", -5, 10), trial.suggest_float("y", 0, 15))


def run(n, sampler=None, f=objective, **settings):
    study = optuna.create_study(sampler=sampler or DaleSampler(seed=0), **settings)
    study.optimize(f, n_trials=n, catch=(ArithmeticError,))
    return study


def half_of_it_fails(trial):
    x = trial.suggest_float("x", 0, 1)
    if x > 0.5:
        raise ArithmeticError(x)
    return -x


def mixed(trial):
    lr = trial.suggest_float("lr", 1e-5, 1e-1, log=True)
    depth = trial.suggest_int("depth", 1, 12)
    width = trial.suggest_int("width", 16, 1024, log=True)
    momentum = trial.suggest_float("momentum", 0.5, 0.95, step=0.05)
    kind = trial.suggest_categorical("kind", ["a", None, True])
    assert [type(v) for v in (lr, depth, width, momentum)] == [float, int, int, float]
    loss = np.log10(lr / 1e-3) ** 2 + (depth - 7) ** 2 / 20 + np.log(width / 128) ** 2 + (momentum - 0.8) ** 2
    return float(loss + (kind is not True))


SPACES = {
    objective: {"x": (-5, 10), "y": (0, 15)},
    half_of_it_fails: {"x": (0, 1)},
    mixed: {
        "lr": dale.Float(1e-5, 1e-1, log=True),
        "depth": dale.Int(1, 12),
        "width": dale.Int(16, 1024, log=True),
        "momentum": dale.Float(0.5, 0.95, step=0.05),
        "kind": dale.Choice(["a", None, True]),
    },
}


@pytest.mark.parametrize(("f", "n"), [(objective, 30), (half_of_it_fails, 20), (mixed, 16)])
def test_its_proposals_are_those_of_dale_bit_for_bit(f, n):
    study = run(n, f=f)
    optimizer = dale.Optimizer(SPACES[f], seed=0)
    first, *others = study.trials
    optimizer.add(first.params, first.value)
    for trial in others:
        asked = optimizer.ask()
        assert dict(asked.params) == trial.params
        if trial.state is TrialState.FAIL:
            optimizer.fail(asked)
        else:
            optimizer.tell(asked, trial.value)
    assert {str(t.reason.source) for t in optimizer.history} >= {"added", "initial_design", "local", "global"}
    assert len({tuple(t.params.items()) for t in study.trials}) == n


def test_so_is_a_replicate_of_the_best_point():
    """Steps in a curved valley fail, and dale evaluates the best point again, in case the values are noisy."""

    def rosenbrock(trial):
        x, y = (15 * trial.suggest_float(name, 0, 1) - 5 for name in ("u0", "u1"))
        return 100 * (y - x**2) ** 2 + (1 - x) ** 2

    replicated = 0
    for seed in (0, 1, 4):
        study = run(20, DaleSampler(seed=seed), f=rosenbrock)
        optimizer = dale.Optimizer(dale.Space(u0=(0, 1), u1=(0, 1)), seed=seed)
        optimizer.add(study.trials[0].params, study.trials[0].value)
        for trial in study.trials[1:]:
            asked = optimizer.ask()
            assert dict(asked.params) == trial.params
            optimizer.tell(asked, trial.value)
        replicated += sum(t.reason.source is Source.REPLICATE for t in optimizer.history)
    assert replicated > 0


def test_a_sampler_without_its_cache_continues_bit_for_bit():
    whole = run(24)
    parts = run(12)
    parts.sampler = DaleSampler(seed=0)
    parts.optimize(objective, n_trials=6)
    parts.sampler = pickle.loads(pickle.dumps(parts.sampler))
    parts.optimize(objective, n_trials=6)
    assert [t.params for t in parts.trials] == [t.params for t in whole.trials]


def test_the_same_seed_gives_the_same_study_and_another_one_another():
    assert [t.params for t in run(8).trials] == [t.params for t in run(8).trials]
    assert run(8, DaleSampler(seed=1)).trials[0].params != run(8).trials[0].params
    reseeded = DaleSampler(seed=0)
    reseeded.reseed_rng()
    assert run(1, reseeded).trials[0].params != run(1).trials[0].params


def test_a_sampler_may_serve_several_studies():
    sampler = DaleSampler(seed=0)
    shifted = run(6, sampler, f=lambda trial: objective(trial) + trial.params["x"])
    assert [t.params for t in run(12, sampler).trials] == [t.params for t in run(12).trials]
    shifted.optimize(lambda trial: objective(trial) + trial.params["x"], n_trials=6)
    again = run(12, f=lambda trial: objective(trial) + trial.params["x"])
    assert [t.params for t in shifted.trials] == [t.params for t in again.trials]


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_pruners():
    def pruned(trial):
        x = trial.suggest_float("x", 0, 1)
        for step in range(4):
            trial.report((x - 0.3) ** 2 + 1 / (1 + step), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return (x - 0.3) ** 2

    for pruner in (optuna.pruners.MedianPruner(2), optuna.pruners.HyperbandPruner(1, 4)):
        study = run(16, f=pruned, pruner=pruner)
        assert {t.state for t in study.trials} == {TrialState.COMPLETE, TrialState.PRUNED}
        assert study.best_value < 0.01


def test_maximization_mirrors_minimization():
    largest = run(20, f=lambda trial: -objective(trial), direction="maximize")
    assert [t.params for t in largest.trials] == [t.params for t in run(20).trials]


def test_it_continues_the_study_of_another_sampler():
    study = run(30, optuna.samplers.RandomSampler(seed=3))
    before = study.best_value
    study.sampler = DaleSampler(seed=0)
    study.optimize(objective, n_trials=25)
    assert study.best_value - 0.397887 < 1e-4 < before - 0.397887


def test_running_trials_are_pending_and_no_point_is_proposed_twice():
    study = run(12)
    space = {"x": FloatDistribution(-5, 10), "y": FloatDistribution(0, 15)}
    asked = [study.ask(space) for _ in range(6)]
    points = {tuple(trial.params.values()) for trial in asked}
    assert len(points) == 6
    for trial in reversed(asked):
        study.tell(trial, branin(**trial.params))
    assert all(t.state is TrialState.COMPLETE for t in study.trials)


def test_the_point_of_a_running_trial_is_known_before_it_asks_for_its_parameters():
    study = run(12)
    space = DaleSampler(seed=0).infer_relative_search_space(study, study.trials[-1])
    waiting = study.ask()
    proposed = waiting.relative_params  # as Optuna computes them at the first suggest
    other = DaleSampler(seed=0).sample_relative(study, study.ask()._cached_frozen_trial, space)
    assert set(proposed) == set(other) == {"x", "y"}
    assert proposed != other


def test_failures_are_learnt():
    """The minimum is at the edge of the failing half, which is bisected; most steps across it fail."""
    study = run(25, f=half_of_it_fails)
    assert 0 < sum(t.state is TrialState.FAIL for t in study.trials) < 22
    assert study.best_value < -0.499


def test_a_retried_failure_is_forgotten():
    study = run(6)
    distributions = study.trials[0].distributions
    point = {"x": 9.4, "y": 2.5}
    study.add_trial(optuna.trial.create_trial(state=TrialState.FAIL, params=point, distributions=distributions))
    study.enqueue_trial(point, user_attrs={})
    sampler = DaleSampler(seed=0)
    history = sampler._history(study, distributions)
    assert history.update(study.get_trials(deepcopy=False)).history.observations.has_value.tolist() == [True] * 6 + [
        False
    ]
    retry = optuna.trial.create_trial(
        value=1.0, params=point, distributions=distributions, system_attrs={"retry_history": [6], "failed_trial": 6}
    )
    study.add_trial(retry)
    snapshot = history.update(study.get_trials(deepcopy=False))
    assert snapshot.history.observations.has_value.tolist() == [True] * 7
    assert history.numbers == [0, 1, 2, 3, 4, 5, 8]


def test_infinite_values_count_as_failures():
    study = run(15, f=lambda trial: x if (x := trial.suggest_float("x", 0, 1)) < 0.7 else float("inf"))
    history = study.sampler._kept[1].update(study.get_trials(deepcopy=False)).history
    assert history.observations.has_value.tolist() == [t.value < 1 for t in study.trials]
    assert sum(~history.observations.has_value) > 0


def test_pruned_trials_count_with_their_last_report_unless_it_is_the_best_value():
    space = {"x": FloatDistribution(0, 1)}
    study = optuna.create_study(sampler=DaleSampler(seed=0))
    study.add_trial(optuna.trial.create_trial(value=1.0, params={"x": 0.1}, distributions=space))
    for x, reports in [(0.2, {0: 9.0, 1: 3.0}), (0.3, {0: 0.5}), (0.4, {}), (0.5, {0: float("nan")})]:
        pruned = {"state": TrialState.PRUNED, "params": {"x": x}, "distributions": space}
        study.add_trial(optuna.trial.create_trial(intermediate_values=reports, **pruned))
    sampler = study.sampler
    history = sampler._history(study, space).update(study.get_trials(deepcopy=False)).history
    np.testing.assert_array_equal(history.observations.y, [1.0, 3.0, np.nan, np.nan, np.nan])
    study.add_trial(optuna.trial.create_trial(value=0.25, params={"x": 0.6}, distributions=space))
    history = sampler._history(study, space).update(study.get_trials(deepcopy=False)).history
    np.testing.assert_array_equal(history.observations.y, [1.0, 3.0, 0.5, np.nan, np.nan, 0.25])


def conditional(trial):
    kernel = trial.suggest_categorical("kernel", ["linear", "rbf", "poly"])
    if kernel == "linear":
        return 1.0
    gamma = trial.suggest_float("gamma", 1e-3, 1e1, log=True)
    if kernel == "poly":
        return 0.5 + np.log10(gamma) ** 2 + (trial.suggest_int("degree", 2, 5) - 3) ** 2
    return (np.log10(gamma) + 1) ** 2


def test_conditional_parameters_are_sampled_together():
    study = run(30, f=conditional)
    assert study.best_params["kernel"] == "rbf"
    assert study.best_value < 1e-4
    space = study.sampler._kept[1].space
    assert {name: {p: set(v.options) for p, v in c.items()} for name, c in space.conditions.items()} == {
        "gamma": {"kernel": {"rbf", "poly"}},
        "degree": {"kernel": {"poly"}},
    }


def test_a_condition_that_no_parameter_explains_leaves_its_parameter_to_random_sampling():
    def unexplained(trial):
        x = trial.suggest_float("x", 0, 1)
        return x + (trial.suggest_float("y", 0, 1) if x > 0.4 else 0.0)

    study = run(15, f=unexplained)
    assert list(study.sampler.infer_relative_search_space(study, study.trials[-1])) == ["x"]
    assert study.best_value < 0.01


def test_a_new_range_takes_effect_at_once():
    def shifted(low):
        return lambda trial: (trial.suggest_float("x", low, low + 10) - low - 3) ** 2

    study = run(6, f=shifted(0))
    study.optimize(shifted(100), n_trials=12)
    assert ["dale:proposal" in t.system_attrs for t in study.trials[6:9]] == [True, True, True]
    assert study.sampler._kept[1].numbers == list(range(6, 17))  # the last update was before trial 17
    assert min(t.value for t in study.trials[6:]) < 1e-3


def test_constraints_of_a_function():
    sampler = DaleSampler(seed=0, constraints_func=lambda trial: (0.5 - trial.params["x"],))
    study = run(20, sampler, f=lambda trial: trial.suggest_float("x", -1, 1) ** 2)
    assert abs(study.best_trial.params["x"] - 0.5) < 1e-3
    assert all(t.system_attrs["constraints"] == [0.5 - t.params["x"]] for t in study.trials)


@pytest.mark.skipif(not hasattr(optuna.trial.Trial, "set_constraint"), reason="Optuna 4 has no set_constraint")
def test_constraints_of_the_objective():
    def constrained(trial):
        x, y = trial.suggest_float("x", -1, 1), trial.suggest_float("y", -1, 1)
        trial.set_constraint("on x", 0.5 - x)
        trial.set_constraint("on y", y + 0.25)
        return x**2 + y**2

    study = run(30, f=constrained)
    assert study.best_trial.params == pytest.approx({"x": 0.5, "y": -0.25}, abs=1e-3)


def test_invalid_constraints():
    with pytest.raises(TypeError, match=r"constraints_func must be callable or None, got \[1\]"):
        DaleSampler(constraints_func=[1])
    sampler = DaleSampler(seed=0, constraints_func=lambda trial: [float("nan")])
    with pytest.raises(ValueError, match=r"constraints_func: expected numbers, got \[nan\] for trial 0"):
        run(1, sampler)


def test_a_method_without_constraints_refuses_them():
    sampler = DaleSampler(seed=0, method=dale.methods.paper(), constraints_func=lambda trial: (0.0,))
    with pytest.raises(TypeError, match="takes no outcome constraints"):
        run(3, sampler)


def test_a_finite_space_never_ends():
    study = run(14, f=lambda trial: trial.suggest_int("n", 0, 4) + trial.suggest_categorical("c", [0, 1]))
    assert len({tuple(t.params.items()) for t in study.trials}) == 10
    assert len(study.trials) == 14


def test_integers_that_dale_does_not_have_are_left_to_random_sampling():
    study = run(8, f=lambda trial: trial.suggest_int("n", 0, 2**60) * 1e-18 + trial.suggest_float("x", 0, 1))
    assert list(study.sampler.infer_relative_search_space(study, study.trials[-1])) == ["x"]


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_enqueued_trials_and_fixed_parameters():
    study = optuna.create_study(sampler=DaleSampler(seed=0))
    study.enqueue_trial({"x": 1.5, "y": 2.5})
    study.enqueue_trial({"x": 3.5})
    study.optimize(objective, n_trials=15)
    assert study.trials[0].params == {"x": 1.5, "y": 2.5}
    assert study.trials[1].params["x"] == 3.5
    study.sampler = optuna.samplers.PartialFixedSampler({"y": 2.275}, study.sampler)
    study.optimize(objective, n_trials=15)
    assert {t.params["y"] for t in study.trials[15:]} == {2.275}
    assert study.best_value < 0.3980


def test_an_attribute_fits_into_a_column_of_any_database():
    names = [f"x{i:02}" for i in range(60)]
    distributions = {name: FloatDistribution(0, 1) for name in names}
    study = optuna.create_study(sampler=DaleSampler(seed=0))
    study.add_trial(optuna.trial.create_trial(value=1.0, params=dict.fromkeys(names, 0.5), distributions=distributions))
    history = study.sampler._history(study, distributions)
    history.update(study.get_trials(deepcopy=False))
    shape = tuple(map(tuple, np.random.default_rng(0).random((60, 60)).tolist()))
    step = dale.history.reason.TrustRegionStep(0, 0.1, 1.0, 0.5, shape=shape)
    reason = dale.Reason(dale.history.reason.Source.LOCAL, step=step)
    published = history.publication(dict.fromkeys(names, 0.25), reason)
    assert len(str(published)) < 60_000
    assert published["reason"]["step"]["radius"] == 0.1


def test_running_trials_of_a_finite_space_with_noise_may_be_at_the_same_point():
    study, rng, running = optuna.create_study(sampler=DaleSampler(seed=0, noise=0.3)), np.random.default_rng(0), []
    for _ in range(24):
        trial = study.ask()
        running.append((trial, {"a": 0.0, "b": 0.2, "c": 2.0}[trial.suggest_categorical("c", ["a", "b", "c"])]))
        if len(running) == 4:
            trial, mean = running.pop(0)
            study.tell(trial, mean + 0.3 * rng.standard_normal())
    assert sum(t.params["c"] == "c" for t in study.trials) <= 4  # alike, all three would have eight


def test_settings():
    sampler = DaleSampler(seed=0, method=dale.methods.ei(), noise=0.1)
    assert run(6, sampler).best_value < 100
    for settings, message in [
        ({"seed": -1}, "seed must be a non-negative integer"),
        ({"seed": 1.5}, "seed must be a non-negative integer"),
        ({"method": "ei"}, "method must be one of dale.methods"),
        ({"noise": -1}, "noise"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            DaleSampler(**settings)


def test_several_objectives_are_refused():
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=DaleSampler(seed=0))
    with pytest.raises(ValueError, match="minimises or maximises one objective, got a study with 2 directions"):
        study.ask({"x": IntDistribution(0, 3), "c": CategoricalDistribution([1, 2])})
