"""External programs: the value in their output."""

import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path

import pytest
from programs import errors, minimise

import dale
from dale.evaluate.output import last_number, tail

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals"),
    pytest.mark.usefixtures("all_may_fail"),
]


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
    def test_nan(self, text):
        assert last_number(text) != last_number(text)

    @pytest.mark.parametrize("said", ["nan", "-inf"])
    def test_a_value_that_is_not_finite_fails_the_trial(self, said, script):
        assert errors(minimise(script(f"print({said!r})", "{a}"), budget=1)) == [f"the objective returned {said}"]

    def test_output_without_a_number(self, script):
        args = script("print('no', end=' ' * int(sys.argv[2])); print('oh', file=sys.stderr)", "{a}", "9")
        why = "expected a number in the standard output of the program, got none"
        assert errors(minimise(args, budget=1)) == [f"{why}: oh"]
        args[-1] = "99999"
        why = "expected a number in the last 65536 bytes of the standard output of the program, got none"
        assert errors(minimise(args, budget=1)) == [f"{why}: oh"]

    def test_an_incomplete_word_is_not_read(self):
        for n in range(8):
            assert last_number(tail(BytesIO(b"1 12345" + b" " * n), 7)) in ((12345, None) if n > 2 else (12345,))
        assert last_number(tail(BytesIO(b"1 12345"), 4)) is None

    def test_long_output_before_and_after_the_number(self, script):
        """More than fits into a pipe."""
        args = script(
            """
            for _ in range(25):
                os.write(1, b"123456789\\n" * 100_000)
                os.write(2, b"123456789\\n" * 100_000)
            print(sys.argv[1])
            """,
            "{a}",
        )
        result = minimise(args, budget=1)
        assert result.fun == result.params["a"]

    def test_only_the_end_of_long_output_is_read(self, tmp_path):
        with (tmp_path / "out").open("w+b") as file:
            file.seek(10**9)
            file.write(b" 0.5\n")
            tracemalloc.start()
            try:
                assert last_number(tail(file)) == 0.5
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
    def test_a_number(self, text, key, value, script):
        args = script(f"open(sys.argv[1] + '/out.json', 'w').write({text!r}); print(99)", "{directory}", "{a}")
        result = minimise(args, budget=1, result="{directory}/out.json", key=key)
        assert (result.fun, errors(result)) == (value, [])

    def test_noise_and_constraints(self, script):
        args = script(
            "json.dump({'value': 1, 'noise': 0.5, 'constraints': [-1, 2]}, open(sys.argv[1] + '/o', 'w'))",
            "{directory}", "{a}",
        )  # fmt: skip
        result = minimise(args, budget=1, result="{directory}/o", method=None)
        (trial,) = result.history
        assert (trial.value, trial.noise, trial.constraints) == (1.0, 0.5, (-1.0, 2.0))

    def test_extra_values(self, script):
        text = '{"value": 1, "extra": {"rmse": 0.5, "steps": [1, null]}}'
        args = script(f"open(sys.argv[1] + '/o', 'w').write({text!r})", "{directory}", "{a}")
        assert minimise(args, budget=1, result="{directory}/o").history[0].extra == {"rmse": 0.5, "steps": (1, None)}

    @pytest.mark.parametrize(
        ("text", "key", "said"),
        [
            ("{", None, "out.json is not valid JSON"),
            ("true", None, "out.json: expected a number, got 'True'"),
            ('{"value": "0.5"}', None, "out.json: value: expected a number, got '0.5'"),
            ('{"loss": 1}', None, "out.json: expected an entry 'value', got the keys ['loss']"),
            ('{"a": {"loss": 1}}', "a.lossy", "out.json: a: expected an entry 'lossy', got the keys ['loss']"),
            ("[1]", "1", "out.json: expected an entry '1', got '[1]'"),
            ('{"value": 1, "constraints": ["x"]}', None, "out.json: constraints: expected a number, got 'x'"),
            ('{"value": 1, "noise": []}', None, "out.json: noise: expected a number, got '[]'"),
            ('{"value": 1, "extra": [2]}', None, "extra: expected a mapping, such as {'rmse': 0.3}, got [2]"),
            ("NaN", None, "the objective returned nan"),
            ("[" * 100_000, None, "out.json is not valid JSON"),
        ],
        ids=lambda value: value[:20] if isinstance(value, str) else None,
    )
    def test_invalid_content(self, text, key, said, script):
        path = Path("text")
        path.write_text(text)
        args = script("open(sys.argv[1] + '/out.json', 'w').write(open('text').read())", "{directory}", "{a}")
        (why,) = errors(minimise(args, budget=1, result="{directory}/out.json", key=key))
        assert said in why

    def test_a_missing_file(self, script):
        (why,) = errors(minimise(script("print(1)", "{a}"), budget=1, result="out.json"))
        assert why == f"the program did not write {Path.cwd() / 'out.json'}"

    def test_an_existing_file_is_neither_read_nor_deleted(self, script):
        Path("out.json").write_text("1.0")
        args = script("if float(sys.argv[1]) > 0.5: open('out.json', 'w').write('2.0')", "{a}")
        result = minimise(args, {"a": dale.Choice([0, 1])}, result="out.json")
        assert {t.params["a"]: t.value for t in result.history} == {0: None, 1: 2.0}
        (why,) = errors(result)
        assert why == f"the program did not write {Path.cwd() / 'out.json'}; the existing file was not read"
        assert Path("out.json").read_text() == "2.0"

    @pytest.mark.parametrize("more", [{"n_parallel": 2}, {"executor": ThreadPoolExecutor(1)}], ids=["n", "executor"])
    def test_one_file_for_several_evaluations_is_rejected(self, more):
        with pytest.raises(
            ValueError, match=r"expected {directory} or {trial} in result or cwd, got result='out.json'"
        ):
            minimise([sys.executable, "{a}"], result="out.json", **more)
