"""An objective that is a program: the value that is read from it."""

import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from programs import errors, minimise

import dale
from dale.evaluate.output import last_number, tail

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


class TestValues:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("0.5", 0.5),
            ("a\nloss: -1.5e-3\n", -1.5e-3),
            ("f=.5", 0.5),
            ("f(x) = 5.", 5.0),
            ("The loss is 0.25.", 0.25),
            ('{"loss": 0.125}', 0.125),
            ("np.float64(0.5)", 0.5),
            ("1, 2, 3\n\n", 3.0),
            ("1.0D-03", 1e-3),
            ("0.1234E+02", 12.34),
            ("  0.25-103", 0.25e-103),
            ("+7", 7.0),
            ("1e400", float("inf")),
            ("-Infinity", float("-inf")),
            ("best \x1b[32m0.5\x1b[0m", 0.5),
            ("\N{MINUS SIGN}0.5", -0.5),
            ("50%\r100%\rloss 3\r", 3.0),
            ("0.5 (in 12s, 3/4 of it at 12:30:45 on 2024-01-02 with v1.2.3)", 0.5),
            ("0.5 banana info 1_000 0x10", 0.5),
            ("", None),
            ("no number", None),
        ],
    )
    def test_the_last_number(self, text, value):
        assert last_number(text) == value

    @pytest.mark.parametrize("text", ["nan", "loss NaN", "1 -nan", "1 -1.#IND"])
    def test_no_number(self, text):
        assert last_number(text) != last_number(text)

    @pytest.mark.parametrize("said", ["nan", "-inf"])
    def test_one_that_is_not_finite_fails_the_trial(self, said, script):
        assert errors(minimise(script(f"print({said!r})", "{a}"), budget=1)) == [f"the objective returned {said}"]

    def test_no_number_at_all(self, script):
        words = script("print('no', end=' ' * int(sys.argv[2])); print('oh', file=sys.stderr)", "{a}", "9")
        why = "there is no number in all of the program's standard output"
        assert errors(minimise(words, budget=1)) == [f"{why}: oh"]
        words[-1] = "99999"
        why = "there is no number in the last 65536 bytes of the program's standard output"
        assert errors(minimise(words, budget=1)) == [f"{why}: oh"]

    def test_a_word_is_never_cut(self, tmp_path):
        path = tmp_path / "out"
        for n in range(8):
            path.write_text(f"1 {'12345'}{' ' * n}")
            assert last_number(tail(path, 7)) in ((12345, None) if n > 2 else (12345,))
        path.write_text("1 12345")
        assert last_number(tail(path, 4)) is None

    def test_much_output_on_both_sides(self, script):
        """More than any pipe holds, and more than anybody wants to read."""
        words = script(
            """
            for _ in range(25):
                os.write(1, b"123456789\\n" * 100_000)
                os.write(2, b"123456789\\n" * 100_000)
            print(sys.argv[1])
            """,
            "{a}",
        )
        result = minimise(words, budget=1)
        assert result.fun == result.params["a"]

    def test_of_much_output_only_the_end_is_read(self, tmp_path):
        with (tmp_path / "out").open("wb") as file:
            file.seek(10**9)
            file.write(b" 0.5\n")
        tracemalloc.start()
        try:
            assert last_number(tail(tmp_path / "out")) == 0.5
            assert tracemalloc.get_traced_memory()[1] < 2**22
        finally:
            tracemalloc.stop()


class TestResultFiles:
    @pytest.mark.parametrize(
        ("text", "key", "value"),
        [
            ("0.5", None, 0.5),
            ('{"value": 2}', None, 2.0),
            ('{"metrics": {"loss": 0.25}}', "metrics.loss", 0.25),
            ('{"runs": [1, {"value": 3, "other": "x"}]}', "runs.1", 3.0),
        ],
    )
    def test_a_number_in_it(self, text, key, value, script):
        words = script(f"open(sys.argv[1] + '/out.json', 'w').write({text!r}); print(99)", "{folder}", "{a}")
        result = minimise(words, budget=1, result="{folder}/out.json", key=key)
        assert (result.fun, errors(result)) == (value, [])

    def test_noise_and_constraints(self, script):
        words = script(
            "json.dump({'value': 1, 'noise': 0.5, 'constraints': [-1, 2]}, open(sys.argv[1] + '/o', 'w'))",
            "{folder}", "{a}",
        )  # fmt: skip
        result = minimise(words, budget=1, result="{folder}/o", method=None)
        (trial,) = result.history
        assert (trial.value, trial.noise, trial.constraints) == (1.0, 0.5, (-1.0, 2.0))

    @pytest.mark.parametrize(
        ("text", "key", "said"),
        [
            ("{", None, "out.json is not JSON"),
            ("true", None, "out.json is 'True'; wanted a number"),
            ('{"value": "0.5"}', None, "out.json: value is '0.5'; wanted a number"),
            ('{"loss": 1}', None, "out.json has no 'value'; it has ['loss']"),
            ('{"a": {"loss": 1}}', "a.lossy", "out.json: a has no 'lossy'; it has ['loss']"),
            ("[1]", "1", "out.json has no '1'; it is '[1]'"),
            ('{"value": 1, "constraints": ["x"]}', None, "out.json: constraints is 'x'; wanted a number"),
            ('{"value": 1, "noise": []}', None, "out.json: noise is '[]'; wanted a number"),
            ("NaN", None, "the objective returned nan"),
            ("[" * 100_000, None, "out.json is not JSON"),
        ],
        ids=lambda value: value[:20] if isinstance(value, str) else None,
    )
    def test_something_else_in_it(self, text, key, said, script):
        path = Path("text")
        path.write_text(text)
        words = script("open(sys.argv[1] + '/out.json', 'w').write(open('text').read())", "{folder}", "{a}")
        (why,) = errors(minimise(words, budget=1, result="{folder}/out.json", key=key))
        assert said in why

    def test_none(self, script):
        (why,) = errors(minimise(script("print(1)", "{a}"), budget=1, result="out.json"))
        assert why == f"the program has not written {Path.cwd() / 'out.json'}"

    def test_one_of_before_is_not_taken_and_not_deleted(self, script):
        Path("out.json").write_text("1.0")
        words = script("if float(sys.argv[1]) > 0.5: open('out.json', 'w').write('2.0')", "{a}")
        result = minimise(words, {"a": dale.Choice([0, 1])}, result="out.json")
        assert {t.params["a"]: t.value for t in result.history} == {0: None, 1: 2.0}
        (why,) = errors(result)
        assert why == f"{Path.cwd() / 'out.json'} was there before and the program has not written it; it was not read"
        assert Path("out.json").read_text() == "2.0"

    @pytest.mark.parametrize("more", [{"n_parallel": 2}, {"executor": ThreadPoolExecutor(1)}], ids=["n", "executor"])
    def test_one_for_several_at_once_is_refused(self, more):
        with pytest.raises(ValueError, match=r"write to one file, got result='out.json'; put {folder} or {trial} into"):
            minimise([sys.executable, "{a}"], result="out.json", **more)
