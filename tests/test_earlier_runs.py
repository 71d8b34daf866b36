"""``Optimizer.add_all`` with the trials of another run: of dale or of Optuna."""

import pytest

import dale
from dale.history.reason import Source

SPACE = dale.Space({"a": (0, 1), "kind": dale.Choice(["x", len]), "n": dale.Int(1, 9).when(kind="x")})


def start(store=None):
    """A run with trials in every state."""
    optimizer = dale.Optimizer(SPACE, seed=0, store=store)
    optimizer.add({"a": 0.5, "kind": "x", "n": 3}, 0.25, noise=0.1, constraints=[-1], extra={"rmse": 0.5})
    optimizer.fail(optimizer.ask(), "it broke")
    optimizer.fail(optimizer.ask(), "the node died", retry=True)
    optimizer.tell(optimizer.ask(), 2.0, constraints=[1])
    optimizer.discard(optimizer.tell(optimizer.ask(at={"a": 0.75, "kind": len}), 9.0, constraints=[0]), "wrong sample")
    optimizer.tell(optimizer.ask(at={"a": 0.125, "kind": len}), 3.0, constraints=[0])
    optimizer.ask()
    return optimizer


def outcomes(trials):
    return [(t.params, t.value, t.noise, t.constraints, t.extra, t.state) for t in trials]


class TestRuns:
    def test_all_forms_of_a_run(self, tmp_path):
        with start(tmp_path / "run.db") as run:
            known = [run.history[i] for i in (0, 1, 3, 5)]
            for source in (run, run.result(), dale.open(run.store, SPACE), tmp_path / "run.db", run.store):
                optimizer = dale.Optimizer(SPACE, seed=1)
                added = optimizer.add_all(source)
                assert outcomes(added) == outcomes(known)
                assert {t.reason.source for t in added} == {Source.ADDED}
                assert added[1].error == "it broke"
                assert optimizer.n_evaluated == 0

    def test_a_store_by_another_name(self, tmp_path):
        start(tmp_path / "run.sqlite").close()
        assert len(dale.Optimizer(SPACE, seed=1).add_all(tmp_path / "run.sqlite")) == 4

    def test_in_minimize(self, tmp_path):
        earlier = dale.minimize(lambda x: (x[0] - 0.3) ** 2, [(0, 1)], budget=5, seed=0, store=tmp_path / "run.db")
        for source in (earlier, tmp_path / "run.db"):
            result = dale.minimize(lambda x: (x[0] - 0.3) ** 2, [(0, 1)], budget=1, seed=0, x0=source, y0="value")
            assert (len(result.history), result.nfev) == (6, 1)

    def test_a_new_store_keeps_them(self, tmp_path):
        with dale.Optimizer(SPACE, seed=1, store=tmp_path / "new.db") as optimizer:
            added = outcomes(optimizer.add_all(start()))
        assert outcomes(dale.open(tmp_path / "new.db", SPACE).history) == added

    def test_points_have_to_fit(self):
        narrow = dale.Space({"a": (0, 0.3), "kind": dale.Choice(["x", len]), "n": dale.Int(1, 9).when(kind="x")})
        optimizer = dale.Optimizer(narrow, seed=0)
        with pytest.raises(dale.SpaceError, match=r"trial 0 of the run: .*'a'.*0\.5.*Nothing was recorded"):
            optimizer.add_all(start())
        assert optimizer.history == ()

    @pytest.mark.parametrize("space", [{"a": (0, 1)}, {"b": (0, 1)}, [(0, 1)]])
    def test_the_parameters_have_to_be_the_same(self, space):
        with pytest.raises(dale.SpaceError, match=r"expected a run with the parameters .*, got one with .*dale\.fork"):
            dale.Optimizer(space, seed=0).add_all(start().result())

    def test_the_constraints_have_to_fit(self):
        optimizer = dale.Optimizer(SPACE, seed=0)
        optimizer.add({"a": 0.1, "kind": len}, 1.0)
        with pytest.raises(dale.TrialError, match="trial 0 of the run: expected 0 constraints"):
            optimizer.add_all(start())

    @pytest.mark.parametrize("names", [{"value": "loss"}, {"noise": "noise"}, {"constraints": ["constraint_0"]}])
    def test_a_run_has_no_columns(self, names):
        with pytest.raises(TypeError, match=r"name columns of a table.*leave them out"):
            dale.Optimizer(SPACE, seed=0).add_all(start(), **names)

    def test_a_store_that_does_not_exist(self, tmp_path):
        with pytest.raises(dale.StoreError, match="does not exist"):
            dale.Optimizer(SPACE, seed=0).add_all(tmp_path / "run.db")

    def test_a_frame_without_unfinished_trials(self):
        pytest.importorskip("pandas")
        run = dale.Optimizer({"a": (0, 1), "n": dale.Int(1, 9)}, seed=0)
        run.tell(run.ask(), 1.0)
        run.fail(run.ask(), "it broke")
        run.discard(run.tell(run.ask(), 3.0))
        run.ask()
        optimizer = dale.Optimizer(run.space, seed=1)
        assert [(t.params, t.value) for t in optimizer.add_all(run.to_frame())] == [
            (run.history[0].params, 1.0),
            (run.history[1].params, None),
        ]


class TestStates:
    def test_errors_have_the_numbers_of_the_table(self):
        table = {"a": [0.1, 0.2, 7], "value": [1, 2, 3], "state": ["RUNNING", "COMPLETE", "COMPLETE"]}
        optimizer = dale.Optimizer({"a": (0, 1)}, seed=0)
        with pytest.raises(dale.SpaceError, match="row 3 of the table"):
            optimizer.add_all(table)
        table = {"a": [0.1, 0.2, 0.3], "value": [1, 2, None], "state": ["RUNNING", "FAIL", "COMPLETE"]}
        assert [(t.value, t.error) for t in optimizer.add_all(table)] == [
            (None, "no value in row 2"),
            (None, "no value in row 3"),
        ]

    def test_a_column_that_is_something_else_is_ignored(self):
        table = {"a": [0.1, 0.2], "value": [1, 2], "state": ["RUNNING", "Ohio"]}
        assert len(dale.Optimizer({"a": (0, 1)}, seed=0).add_all(table)) == 2
        table = {"state": ["RUNNING", "FAIL"], "value": [1, 2]}
        space = {"state": dale.Choice(["RUNNING", "FAIL"])}
        assert [t.value for t in dale.Optimizer(space, seed=0).add_all(table)] == [1, 2]


class TestOptuna:
    @pytest.fixture
    def study(self):
        optuna = pytest.importorskip("optuna")
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0), direction="maximize")

        def objective(trial):
            x, kind = trial.suggest_float("x", -1, 1), trial.suggest_categorical("kind", ["a", "b"])
            n = trial.suggest_int("n", 1, 9) if kind == "a" else 0
            if trial.number == 2:
                raise RuntimeError("broken")
            if trial.number == 3:
                trial.report(99.0, 0)
                raise optuna.TrialPruned
            return x**2 + n

        study.optimize(objective, n_trials=8, catch=RuntimeError)
        study.ask()
        study.enqueue_trial({"x": 0.5})
        return study

    def test_a_data_frame_of_trials(self, study, tmp_path):
        pytest.importorskip("pandas")
        space = dale.Space({"x": (-1, 1), "kind": dale.Choice(["a", "b"]), "n": dale.Int(1, 9).when(kind="a")})
        known = [t for t in study.trials if t.state.name in ("COMPLETE", "FAIL")]
        frame = study.trials_dataframe()
        frame.to_csv(tmp_path / "study.csv")
        for table in (frame, tmp_path / "study.csv"):
            added = dale.Optimizer(space, seed=0).add_all(table)
            assert [(dict(t.params), t.value) for t in added] == [(t.params, t.value) for t in known]
            assert [str(t.state) for t in added].count("failed") == 1
            assert len(added) == 7
