"""Forks: they continue exactly as their run would have, or take its data to another space."""

import copy

import pytest
from scipy.optimize import LinearConstraint
from store_runs import BOUNDS, same_runs, valley

import dale
from dale.history.reason import Source
from dale.history.trial import TrialState


@pytest.fixture(scope="module")
def result():
    return dale.minimize(valley, BOUNDS, budget=24, seed=1)


@pytest.fixture
def path(tmp_path):
    dale.minimize(valley, BOUNDS, budget=24, seed=1, store=tmp_path / "run.db")
    return tmp_path / "run.db"


def same_proposals(optimizer, trials):
    """Whether an optimizer proposes the points of trials, with their reasons."""
    for expected in trials:
        trial = optimizer.ask()
        if trial.unit_x.tobytes() != expected.unit_x.tobytes() or trial.reason != expected.reason:
            return False
        optimizer.tell(trial, expected.value)
    return True


class TestSameSpace:
    @pytest.mark.parametrize("at", [0, 1, 7, 17, 24])
    def test_it_proposes_what_the_run_proposed(self, at, result):
        fork = dale.fork(result, at=at)
        assert same_runs(fork.history, result.history[:at])
        assert same_proposals(fork, result.history[at:])
        assert fork.seed == result.seed

    @pytest.mark.parametrize("at", [0, 17, None])
    def test_on_disk_too(self, at, path, tmp_path, result):
        before = path.read_bytes()
        with dale.fork(path, tmp_path / "fork.db", at=at) as fork:
            assert same_proposals(fork, result.history[len(fork.history) :])
        assert same_runs(dale.open(tmp_path / "fork.db").history, result.history)
        assert path.read_bytes() == before

    def test_any_source(self, path, tmp_path, result):
        with dale.Optimizer(BOUNDS, store=path) as stored:
            sources = [path, str(path), dale.open(path), stored, result, copy.deepcopy(result), dale.fork(result)]
            for i, source in enumerate(sources):
                assert same_proposals(dale.fork(source, at=20), result.history[20:])
                with dale.fork(source, tmp_path / f"{i}.db", at=20) as fork:
                    assert same_proposals(fork, result.history[20:])

    def test_times_and_corrections_go_along(self, path, tmp_path):
        with dale.Optimizer(BOUNDS, store=path) as optimizer:
            optimizer.amend(3, 5.0, why="misread", who="ada")
            optimizer.discard(19, who="ada")
        dale.fork(path, tmp_path / "fork.db", at=10).close()
        run, fork = dale.open(path), dale.open(tmp_path / "fork.db")
        assert fork.times()[:10] == run.times()[:10]
        [correction] = fork.history[3].corrections
        assert (correction.why, correction.n_trials) == ("misread", 10)  # later proposals come after it
        assert fork.problem["fork"] == {"of": str(path.resolve()), "trials": 10}

    def test_pending_trials_stay_pending(self, path, tmp_path):
        with dale.Optimizer(BOUNDS, store=path) as optimizer:
            trial = optimizer.ask()
            with dale.fork(optimizer, tmp_path / "fork.db") as fork:
                assert fork.history[trial.id].state is TrialState.PENDING
                assert fork.ask().id == trial.id
                fork.tell(trial.id, 1.0)
            assert optimizer.history[trial.id].state is TrialState.PENDING

    def test_pending_trials_come_first_in_memory_too(self):
        optimizer = dale.Optimizer(BOUNDS, seed=0)
        for trial in optimizer.ask(6):
            if trial.id not in (2, 4):
                optimizer.tell(trial, valley(trial.x))
        for fork in (dale.fork(optimizer), dale.fork(optimizer.result()), copy.deepcopy(dale.fork(optimizer))):
            assert [t.id for t in fork.ask(3)] == [2, 4, 6]
            assert fork.ask().id == 7
        fork = dale.fork(optimizer)

        def fails():
            with fork.transaction():
                assert fork.ask().id == 2
                raise KeyError

        with pytest.raises(KeyError):
            fails()  # then nothing has happened
        fork.tell(4, 1.0)
        assert [fork.ask().id, fork.ask().id] == [2, 6]
        assert optimizer.ask().id == 6  # its own pending trials are being evaluated

    def test_settings_go_along(self, tmp_path):
        constraint = LinearConstraint([[1, 1]], ub=2)
        method = dale.methods.DefaultMethod(n_initial=5)
        settings = {"seed": 5, "method": method, "noise": 0.1, "constraints": constraint}
        original = dale.Optimizer(BOUNDS, store=tmp_path / "run.db", **settings)
        for _ in range(8):
            trial = original.ask()
            original.tell(trial, valley(trial.x))
        forks = [dale.fork(original), dale.fork(original, tmp_path / "a.db")]
        forks.append(dale.fork(tmp_path / "run.db", tmp_path / "b.db", method=method, constraints=constraint))
        expected = original.ask()
        for fork in forks:
            trial = fork.ask()
            assert (trial.unit_x.tobytes(), trial.reason) == (expected.unit_x.tobytes(), expected.reason)
            fork.close()
        original.close()

    def test_another_method_is_refused(self, path, tmp_path):
        with pytest.raises(ValueError, match=r"method is default in the store and .* here; pass the method="):
            dale.fork(path, tmp_path / "fork.db", method=dale.methods.ei())
        assert not (tmp_path / "fork.db").exists()


class TestAnotherSpace:
    def test_the_data_are_added(self, path, tmp_path, result):
        with dale.fork(path, tmp_path / "wide.db", space=[(-3, 4), (-1, 5)]) as fork:
            assert [t.value for t in fork.history] == result.func_vals.tolist()
            assert {t.reason.source for t in fork.history} == {Source.ADDED}
            assert fork.n_evaluated == 0
            fork.ask()
        resumed = dale.minimize(valley, [(-3, 4), (-1, 5)], budget=3, store=tmp_path / "wide.db")
        assert (resumed.nfev, len(resumed.history)) == (3, 27)

    def test_those_outside_are_counted(self, result):
        inside = [t for t in result.history if t.x[0] <= 0.5]
        with pytest.warns(dale.ForkWarning, match=rf"{24 - len(inside)} of 24 trials are outside of the new space"):
            fork = dale.fork(result, space=[(-1, 0.5), (0, 3)])
        assert [t.value for t in fork.history] == [t.value for t in inside]
        assert fork.best_value == min(t.value for t in inside)

    def test_a_parameter_is_added(self):
        run = dale.minimize(lambda p: p["a"] ** 2, {"a": (-1.0, 1.0)}, budget=8, seed=0)
        fork = dale.fork(run, space={"a": (-1.0, 1.0), "b": (0.0, 2.0)}, fill={"b": 0.5})
        assert {t.params["b"] for t in fork.history} == {0.5}
        assert fork.best_value == run.fun

    def test_other_settings_are_taken(self, path):
        assert dale.fork(path, space=BOUNDS, method=dale.methods.ei()).method == dale.methods.ei()
        fork = dale.fork(path, space=BOUNDS, constraints=lambda x: x[0] < 0.2)
        assert {t.allowed for t in fork.history} == {True, False}
        assert fork.best.x[0] < 0.2

    def test_corrected_values_are_taken(self, result):
        original = dale.fork(result)
        original.amend(4, 9.0)
        original.discard(5)
        fork = dale.fork(original, space=BOUNDS)
        assert len(fork.history) == 23
        assert fork.history[4].value == 9.0
        assert fork.history[4].corrections == ()

    def test_a_method_must_take_the_outcome_constraints(self):
        original = dale.Optimizer(BOUNDS, seed=0)
        original.tell(original.ask(), 1.0, constraints=[1.0])
        with pytest.raises(TypeError, match="takes no outcome constraints"):
            dale.fork(original, space=BOUNDS, method=dale.methods.imgpo())


class TestMisuse:
    def test_settings_that_do_not_go_together_leave_no_file(self, path, tmp_path):
        with pytest.raises(TypeError, match="takes no input constraints"):
            dale.fork(path, tmp_path / "fork.db", space=BOUNDS, method=dale.methods.ei(), constraints=lambda x: True)
        assert not (tmp_path / "fork.db").exists()

    def test_an_existing_file_is_not_changed(self, path):
        before = path.read_bytes()
        with pytest.raises(dale.StoreError, match=r"run\.db exists; choose another path for the new run"):
            dale.fork(path, path)
        assert path.read_bytes() == before

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ({"at": 25}, ValueError, "at: expected a number of trials from 0 to 24, which the run has, got 25"),
            ({"at": -1}, ValueError, "got -1"),
            ({"at": 2.0}, TypeError, "at: expected a number of trials or None"),
            ({"fill": {"b": 1}}, ValueError, "fill: expected only with a new space"),
            ({"space": [(0, 1)]}, dale.SpaceError, "'x1': varied in the run, but missing"),
        ],
    )
    def test_arguments(self, result, tmp_path, arguments, error, message):
        with pytest.raises(error, match=message):
            dale.fork(result, tmp_path / "fork.db", **arguments)
        assert not (tmp_path / "fork.db").exists()

    def test_the_source(self, tmp_path):
        with pytest.raises(TypeError, match=r"expected an Optimizer, a result, a run from dale\.open or the path"):
            dale.fork(7)
        with pytest.raises(dale.StoreError, match="does not exist"):
            dale.fork(tmp_path / "missing.db")


class TestConstraints:
    """A fork in a new space says which constraints it has; those that are text are kept by a store."""

    TWO = dale.Space(a=(0, 1), b=(0, 1))

    def fun(self, p):
        return (p["a"] - 1) ** 2 + (p["b"] - 1) ** 2

    def test_text_is_read_back_from_a_store(self, tmp_path):
        path = tmp_path / "run.db"
        result = dale.minimize(self.fun, self.TWO, budget=12, seed=0, constraints=["a + b <= 1.2"], store=path)
        assert dale.fork(path, at=8).ask().params == result.history[8].params
        assert dale.view.forecast(path, 10) == result.forecast(10)

    @pytest.mark.parametrize("stored", [False, True])
    def test_a_new_space_needs_them_again(self, stored, tmp_path):
        path = tmp_path / "run.db"
        result = dale.minimize(self.fun, self.TWO, budget=6, seed=0, constraints=["a + b <= 1.2"], store=path)
        source, wider = path if stored else result, dale.Space(a=(0, 2), b=(0, 1))
        with pytest.raises(ValueError, match=r"pass constraints=, those of the fork, or constraints=\[\] for none"):
            dale.fork(source, space=wider)
        params = dale.fork(source, space=wider, constraints=["a + b <= 1.9"]).ask().params
        assert params["a"] + params["b"] <= 1.9
        assert dale.fork(source, space=wider, constraints=[]).constraints is None

    def test_equalities_of_the_new_space(self, tmp_path):
        three = dale.Space(a=(0, 1), b=(0, 1), c=(0, 1))
        result = dale.minimize(self.fun, three, budget=8, seed=0, constraints=["a + b + c == 1"])
        wider = dale.Space(a=(0, 2), b=(0, 2), c=(0, 2))
        fork = dale.fork(result, tmp_path / "fork.db", space=wider, constraints=["a + b + c == 1"])
        assert len(fork.history) == 8
        assert sum(fork.ask().params.values()) == pytest.approx(1.0, abs=1e-15)
