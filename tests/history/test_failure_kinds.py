"""Failures by kind: type and line of an exception, text of any other error."""

import traceback

import pytest

import dale
from dale.history.failures import (
    MAX_KINDS,
    FailureKind,
    count_failures,
    describe_failures,
    exception_line,
    failure_kind,
)


def error_of(fun):
    try:
        fun()
    except BaseException as error:
        return "".join(traceback.format_exception(error))
    raise AssertionError


def chained():
    try:
        {}["a"]
    except KeyError as error:
        raise ValueError("two\nlines") from error


def noted():
    error = ValueError("it broke")
    error.add_note("TypeError: this is a note")
    raise error


def grouped():
    raise ExceptionGroup("several", [ValueError("one")])


LINE = chained.__code__.co_firstlineno + 4
PROGRAM = """command: python sim.py 1.5
standard error:
  Traceback (most recent call last):
    File "sim.py", line 7, in <module>
      main({value})
  KeyError: {value}
the program ended with exit code 1: KeyError: {value}"""


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (error_of(chained), FailureKind("ValueError", __file__, LINE)),
        (error_of(noted), FailureKind("ValueError", __file__, noted.__code__.co_firstlineno + 3)),
        (error_of(lambda: compile("a b", "f.py", "exec")), FailureKind("SyntaxError", "f.py", 1)),
        ("timed out after 2 s", FailureKind("timed out after 2 s")),
        ("the objective returned Evaluation(value=nan, noise=0.3)", FailureKind("the objective returned Evaluation")),
        ("the objective returned (0.3+1j)", FailureKind("the objective returned no number")),
        ("the objective returned '0.3'", FailureKind("the objective returned no number")),
        ("the objective returned None", FailureKind("the objective returned None")),
        ("the objective returned -inf", FailureKind("the objective returned -inf")),
        ("the objective returned np.float32(nan)", FailureKind("the objective returned np.float32(nan)")),
        ("", FailureKind("no error message")),
        (PROGRAM.format(value=3), FailureKind("the program ended with exit code 1: KeyError", "sim.py", 7)),
        ("command: sim\nthe program ended with exit code 3", FailureKind("the program ended with exit code 3")),
    ],
)
def test_kinds(error, kind):
    assert failure_kind(error) == kind


def test_messages_do_not_matter_but_lines_do():
    assert failure_kind(PROGRAM.format(value=3)) == failure_kind(PROGRAM.format(value=4))
    assert failure_kind(error_of(chained)) != failure_kind(error_of(noted))


def test_the_line_that_says_what_went_wrong():
    assert exception_line(error_of(chained)) == "ValueError: two"
    assert exception_line(error_of(noted)) == "ValueError: it broke"
    assert "ValueError: one" in exception_line(error_of(grouped)) or "several" in exception_line(error_of(grouped))
    assert exception_line(PROGRAM.format(value=3)) == "the program ended with exit code 1: KeyError: 3"


class TestCounts:
    @pytest.fixture
    def optimizer(self):
        optimizer = dale.Optimizer([(0, 1)], seed=0)
        for error in ("timed out after 2 s", error_of(chained), "timed out after 2 s"):
            optimizer.fail(optimizer.ask(), error)
        optimizer.tell(optimizer.ask(), 1.0)
        return optimizer

    def test_the_most_frequent_first(self, optimizer):
        assert [(c.n, c.last.id) for c in count_failures(optimizer.history)] == [(2, 2), (1, 1)]

    def test_in_print(self, optimizer):
        text = str(optimizer.result())
        assert optimizer.result().n_failed == 3
        assert text.splitlines()[-2:] == [
            "failed      2 x timed out after 2 s, the last in trial 2",
            f"            1 x ValueError: two (test_failure_kinds.py, line {LINE}), in trial 1",
        ]

    def test_many_kinds_are_summed(self, optimizer):
        for i in range(20):
            optimizer.fail(optimizer.ask(), f"diverged at {i}")
        lines = describe_failures(optimizer.history)
        assert (len(lines), lines[-1]) == (MAX_KINDS + 1, f"{23 - 3 - (MAX_KINDS - 2)} x other errors")

    def test_none(self):
        assert "failed" not in str(dale.minimize(lambda x: x[0], [(0, 1)], budget=3, seed=0))
