"""Why a trial was proposed: the numbers are those of the reason, and the alternatives come from an exact replay."""

import numpy as np
import pytest
import zoo

import dale
from dale.history.reason import Source
from dale.history.trial import TrialState

BOWL = dale.Space(a=(-2.0, 2.0), b=(0.0, 10.0))


def bowl(p):
    return p["a"] ** 2 + 0.05 * (p["b"] - 5) ** 2 + 0.1 * p["a"] * p["b"]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("why") / "run.db"
    dale.minimize(bowl, BOWL, budget=16, seed=0, store=path)
    return path


@pytest.mark.parametrize("kind", [k for k in zoo.KINDS if k != "float"])
def test_the_alternatives_of_every_proposal_are_computed_again(kind):
    """A proposal is a function of the trials before it, so the chosen one is found among the alternatives."""
    run = zoo.run(kind)
    for trial in run.history[3::6]:
        if trial.reason.source not in (Source.GLOBAL, Source.LOCAL):
            continue
        why = dale.why(run, trial)
        chosen = [a for a in why.alternatives if a.chosen]
        assert len(chosen) == 1
        assert chosen[0].mean == pytest.approx(trial.reason.mean, rel=1e-6, abs=1e-9)
        assert chosen[0].source is trial.reason.source


def test_a_local_step_competes_with_the_global_model(store):
    run = dale.open(store)
    steps = [t for t in run.history if t.reason.source is Source.LOCAL]
    assert steps
    why = dale.why(store, steps[0].id)
    assert {a.source for a in why.alternatives} == {Source.LOCAL, Source.GLOBAL}
    other = next(a for a in why.alternatives if not a.chosen)
    assert other.mean is not None
    assert str(other.reason) in str(why)


def test_prediction_and_outcome(store):
    run = dale.open(store)
    trial = next(t for t in run.history if t.reason.source is Source.LOCAL)
    why = dale.why(store, trial.id)
    assert (why.predicted, why.value) == (trial.reason.mean, trial.value)
    assert why.std == pytest.approx(trial.reason.std, rel=1e-6)
    assert why.error == pytest.approx((trial.value - trial.reason.mean) / why.std)
    assert why.best_before == min(t.value for t in run.history[: trial.id])
    assert why.predicted_reduction == trial.reason.step.predicted_reduction
    assert why.actual_reduction == run.history[trial.reason.step.center].value - trial.value


def test_the_record_counts_the_predictions_of_the_run(store):
    run = dale.open(store)
    record = dale.why(store, 15).record
    source = run.history[15].reason.source
    same = [t for t in run.history if t.reason.source is source and t.reason.mean is not None]
    assert record.n == len(same)
    assert 0 <= record.n_kept <= record.n
    best = np.minimum.accumulate([t.value for t in run.history])
    assert record.n_improved == sum(t.value < best[t.id - 1] for t in same)


def test_all_ways_to_name_a_run_agree(store):
    run = dale.open(store)
    with dale.Optimizer(BOWL, store=store) as optimizer:
        texts = {str(dale.why(r, 9)) for r in (store, str(store), run, run.result(), optimizer)}
    assert len(texts) == 1


def test_a_parallel_run_is_replayed_from_its_events(tmp_path):
    """Without a store the order of the outcomes is lost; with one, the state at the proposal is exact."""
    with dale.Optimizer(BOWL, seed=1, store=tmp_path / "batch.db") as optimizer:
        for _ in range(4):
            for trial in reversed(optimizer.ask(3)):
                optimizer.tell(trial, bowl(trial.params))
        models = [t.id for t in optimizer.history if t.reason.mean is not None]
        assert all(dale.why(optimizer, i).alternatives for i in models)


def test_what_has_no_alternatives_says_so(store):
    assert "no model was asked" in str(dale.why(store, 0))
    paper = dale.minimize(bowl, BOWL, budget=8, seed=0, method=dale.methods.paper())
    assert not dale.why(paper, 6).alternatives
    assert dale.why(paper, 6, method=dale.methods.paper()).alternatives_note == "not known for this method"


def test_tests_that_come_before_the_models_say_so():
    """Those of noise and of options that have failed."""
    optimizer = dale.Optimizer({"x": (0.0, 1.0), "kind": dale.Choice(["a", "b", "c"])}, seed=0)
    optimizer.fail(optimizer.ask(at={"x": 0.9, "kind": "c"}), "out of memory")
    while (trial := optimizer.ask()).reason.source is not Source.FAILED_OPTION:
        value = trial.params["x"] ** 2 + (trial.params["kind"] == "b")
        optimizer.tell(trial, value) if trial.params["kind"] != "c" else optimizer.fail(trial, "out of memory")
    optimizer.tell(trial, 0.0)
    text = str(dale.why(optimizer, trial.id))
    assert "with an option of which all evaluations have failed" in text
    assert "none: this test comes before the models" in text


def test_failed_trials():
    run = zoo.run("failed")
    failed = next(t for t in run.history if t.state is TrialState.FAILED)
    assert "ValueError: diverged" in str(dale.why(run, failed))


def test_unknown_trials(store):
    with pytest.raises(dale.TrialError, match="trial 99 is unknown here; number of trials in this run: 16"):
        dale.why(store, 99)


def test_with_noise_single_values_are_not_compared():
    """The lowest of noisy values is low by chance, and a reduction has the noise of two values."""
    rng = np.random.default_rng(0)
    result = dale.minimize(
        lambda x: float((x[0] - 0.3) ** 2 + 0.1 * rng.standard_normal()), [(0, 1)], budget=14, seed=0, noise=0.1
    )
    step = next(trial.id for trial in result.history if trial.reason.step is not None)
    text = str(dale.why(result, step))
    assert "single values have noise of 0.1, so this is no comparison of points" in text
    assert "± 0.14" in text
    assert "improvement\n" not in text
    assert " were kept " in text
    assert "improved on the best value" not in text
    assert "median of actual over predicted" not in text


@pytest.mark.parametrize("noise", [0.0, 1e298])
def test_huge_values(noise):
    """Squares of their errors would overflow."""
    result = dale.minimize(lambda x: 1e300 * (x[0] - 0.3) ** 2, [(0, 1)], budget=8, seed=0, noise=noise)
    assert "predicted" in str(dale.why(result, 7))
