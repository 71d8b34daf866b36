"""dale amend, dale discard and dale fork."""

import pytest

import dale
from dale.cli.main import main
from dale.history.trial import TrialState

SPACE = {"a": (-1.0, 2.0), "b": (0.0, 3.0)}


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with dale.Optimizer(SPACE, seed=0, store="run.db") as optimizer:
        for _ in range(6):
            trial = optimizer.ask()
            value = sum(trial.params.values())
            optimizer.tell(trial, value, constraints=[value - 9])
        optimizer.fail(optimizer.ask(), "broken")
    return tmp_path / "run.db"


def run(capsys, *arguments):
    code = main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


class TestAmend:
    def test_a_value(self, store, capsys):
        before = dale.open(store).history[2].value
        code, out, _ = run(capsys, "amend", "run.db", "2", "--value", "0.31", "--why", "misread", "--who", "ada")
        assert code == 0
        assert out.startswith(f"trial 2: {before:.10g} (constraints ")
        assert "-> 0.31 (constraints" in out
        assert "by ada, " in out
        assert out.endswith("UTC: misread\n")
        trial = dale.open(store).history[2]
        assert (trial.value, trial.corrections[0].who, trial.corrections[0].why) == (0.31, "ada", "misread")

    def test_constraints_and_noise(self, store, capsys):
        assert run(capsys, "amend", "run.db", "2", "--constraints=-1e-3", "--noise", "0.5")[0] == 0
        trial = dale.open(store).history[2]
        assert (trial.constraints, trial.noise) == ((-1e-3,), 0.5)

    def test_extra_values(self, store, capsys):
        assert run(capsys, "amend", "run.db", "2", "--extra", '{"rmse": 0.5}')[0] == 0
        assert dale.open(store).history[2].extra == {"rmse": 0.5}

    def test_a_failed_trial(self, store, capsys):
        assert run(capsys, "amend", "run.db", "6", "--value=-2", "--constraints", "1")[0] == 0
        assert dale.open(store).history[6].value == -2

    def test_the_same_value(self, store, capsys):
        value = repr(dale.open(store).history[2].value)
        code, out, _ = run(capsys, "amend", "run.db", "2", f"--value={value}")
        assert (code, out) == (0, "trial 2 has this outcome already; nothing was changed\n")
        assert dale.open(store).history[2].corrections == ()

    def test_the_run_can_be_resumed(self, store, capsys):
        run(capsys, "amend", "run.db", "2", "--value", "0.31")
        with dale.Optimizer(SPACE, store=store) as optimizer:
            assert optimizer.history[2].value == 0.31
            optimizer.ask()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["2"], "expected a value, noise, constraints or extra to change"),
            (["2", "--extra", "{"], "--extra: expected a JSON object, such as"),
            (["2", "--extra", "[1]"], "extra: expected a mapping"),
            (["2", "--value", "nan"], "expected finite numbers, got value nan"),
            (["2", "--constraints", "1,2"], "expected 1 constraints, as trial 0 has, got [1.0, 2.0]"),
            (["2", "--constraints", "a"], "--constraints: expected numbers with commas between them, got 'a'"),
            (["99", "--value", "1"], "trial 99 is unknown here"),
            (["2", "--value", "1", "--who", ""], "who must be the name of a person"),
        ],
    )
    def test_misuse(self, store, capsys, arguments, message):
        before = len(dale.open(store).events)
        code, out, err = run(capsys, "amend", "run.db", *arguments)
        assert (code, out) == (2, "")
        assert message in err
        assert len(dale.open(store).events) == before


class TestDiscard:
    def test_a_trial(self, store, capsys):
        code, out, _ = run(capsys, "discard", "run.db", "2", "--why", "wrong \x1b[31msample", "--who", "ada")
        assert code == 0
        assert "discarded by ada" in out
        assert "\x1b" not in out
        assert dale.open(store).history[2].state is TrialState.DISCARDED
        code, _, err = run(capsys, "discard", "run.db", "2")
        assert code == 2
        assert "trial 2 is discarded already" in err
        assert err.endswith("Nothing was changed; to use the trial again, run dale amend with --value\n")
        for arguments in (["--noise", "0.1"], ["--value", "nan"]):
            _, _, err = run(capsys, "amend", "run.db", "2", *arguments)
            assert "--value too" in err or "run dale discard" in err
            assert "(trial" not in err  # no Python

    def test_a_pending_trial(self, store, capsys):
        with dale.Optimizer(SPACE, store=store) as optimizer:
            number = str(optimizer.ask().id)
        for command in (["amend", "run.db", number, "--value", "1"], ["discard", "run.db", number]):
            code, _, err = run(capsys, *command)
            assert code == 2
            assert "Correct it after the run has reported its outcome" in err
        _, _, err = run(capsys, "discard", "run.db", "99")
        assert "Expected the id of one of them, from 0" in err

    def test_show_lists_corrections(self, store, capsys):
        run(capsys, "discard", "run.db", "2", "--why", "wrong sample", "--who", "ada")
        run(capsys, "amend", "run.db", "3", "--value", "0.31", "--who", "ada")
        _, out, _ = run(capsys, "show", "run.db", "--trials")
        assert "4 complete" not in out
        assert "5 complete, 1 discarded, 1 failed" in out
        corrections = out.split("corrections\n")[1].splitlines()
        assert corrections[0].startswith("  2  ")
        assert corrections[0].endswith("UTC: wrong sample")
        assert "-> 0.31" in corrections[1]
        assert "  2  discarded" in out.split("all trials\n")[1]

    def test_a_missing_store(self, tmp_path, capsys):
        code, _, err = run(capsys, "discard", str(tmp_path / "missing.db"), "2")
        assert code == 2
        assert "does not exist" in err


class TestFork:
    def test_the_first_trials(self, store, capsys):
        code, out, _ = run(capsys, "fork", "run.db", "new.db", "--at", "4")
        assert (code, out) == (0, "wrote new.db with 4 trials of run.db\n")
        original = dale.open(store).history
        with dale.Optimizer(SPACE, store="new.db") as fork:
            trial = fork.ask()
        assert (trial.id, trial.unit_x.tobytes()) == (4, original[4].unit_x.tobytes())
        assert "fork of     the first 4 trials of " in run(capsys, "show", "new.db")[1]

    def test_another_space(self, store, tmp_path, capsys):
        space = "[a]\nlow = -1\nhigh = 0.5\n[b]\nlow = 0\nhigh = 9\n[kind]\noptions = ['x', 'y']\n"
        (tmp_path / "new.toml").write_text(space)
        inside = [t for t in dale.open(store).history if t.params["a"] <= 0.5]
        code, out, _ = run(capsys, "fork", "run.db", "new.db", "--space", "new.toml", "--set", "kind=y")
        assert code == 0
        left_out = f"; {7 - len(inside)} are outside of the new space and were left out"
        assert out == f"wrote new.db with {len(inside)} trials of run.db{left_out}\n"
        fork = dale.open("new.db").history
        assert [(t.params["a"], t.params["kind"]) for t in fork] == [(t.params["a"], "y") for t in inside]
        with dale.Optimizer(dale.Space.from_toml("new.toml"), store="new.db") as optimizer:
            optimizer.ask()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--at", "9"], "expected a number of trials from 0 to 7"),
            (["--set", "c=1"], "--set: expected only with --space, got c=1"),
            (["--space", "new.toml"], "'c': new in this space"),
            (["--space", "new.toml", "--set", "c"], "--set: expected NAME=VALUE, got 'c'"),
            (["--space", "new.toml", "--set", "c=5"], "fill, parameter 'c' must be in"),
            (["--space", "new.toml", "--set", "c=0", "--set", "z=0"], "got 'z'"),
        ],
    )
    def test_misuse(self, store, tmp_path, capsys, arguments, message):
        (tmp_path / "new.toml").write_text("".join(f"[{n}]\nlow = 0\nhigh = 1\n" for n in "abc"))
        code, _, err = run(capsys, "fork", "run.db", "new.db", *arguments)
        assert code == 2
        assert message in err
        assert not (tmp_path / "new.db").exists()

    def test_the_constraints_of_a_fork_are_those_of_its_file(self, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "new.toml").write_text('constraints = ["a + b <= 1.2"]\na = [0, 1]\nb = [0, 1]\n')
        dale.minimize(lambda p: p["a"] + p["b"], dale.Space(a=(0, 1), b=(0, 1)), budget=4, seed=0, store="run.db")
        assert run(capsys, "fork", "run.db", "new.db", "--space", "new.toml")[0] == 0
        with dale.Optimizer(dale.Space.from_toml("new.toml"), store="new.db") as optimizer:
            assert len(optimizer.history) == 4
            params = optimizer.ask().params
            assert params["a"] + params["b"] <= 1.2

    def test_constraints_are_code(self, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "new.toml").write_text("[a]\nlow = 0\nhigh = 1\n[b]\nlow = 0\nhigh = 1\n")
        dale.Optimizer(SPACE, seed=0, store="run.db", constraints=lambda p: p["a"] < 1).close()
        code, _, err = run(capsys, "fork", "run.db", "new.db", "--space", "new.toml")
        assert code == 2
        assert "write those of the fork into the file of its space" in err
        assert run(capsys, "fork", "run.db", "new.db")[0] == 0
