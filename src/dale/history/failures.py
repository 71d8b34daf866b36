"""Failed trials by kind, so that many failures read as a few lines.

Two failures are of one kind if the same type of exception was raised at the same line; other errors, if they have the
same text. An error is text wherever it comes from: this process, another machine, a program's standard error, a store.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import NamedTuple

from dale.history.trial import Trial, TrialState

MAX_WIDTH = 120  # characters of an error in one line
MAX_KINDS = 8  # that are listed one by one
_FRAME = re.compile(r'^[ |]*File "(?P<file>[^"\n]+)", line (?P<line>\d+)', re.MULTILINE)
_RETURNED = re.compile(r"^the objective returned (?!-?[A-Za-z]+$|np\.float\d+\()(?P<what>Evaluation)?.*")
_EXCEPTION = re.compile(r"^(?P<prefix>(?:the program [^:\n]*: )?)(?P<type>[A-Za-z_][\w.]*)(?::|$)")


class FailureKind(NamedTuple):
    """What went wrong, and where.

    Attributes:
        what: The type of the exception, or the last line of another error.
        file: File of the innermost frame of the traceback; None without one.
        line: Line in it.
    """

    what: str
    file: str | None = None
    line: int = 0


@dataclass(frozen=True)
class FailureCount:
    """Failures of one kind.

    Attributes:
        n: How many there are.
        last: The last one of them.
    """

    n: int
    last: Trial

    def __str__(self) -> str:
        error = self.last.error or ""
        kind = failure_kind(error)
        where = "" if kind.file is None else f" ({PurePath(kind.file).name}, line {kind.line})"
        return f"{_shortened(exception_line(error))}{where}"


def exception_line(error: str) -> str:
    """The line of an error that says what went wrong: the exception of a traceback, or else the last line."""
    lines = error.strip().splitlines()
    if not lines:
        return "no error message"
    frames = list(_FRAME.finditer(error))
    if frames and not lines[-1].startswith("the program "):
        for line in error[frames[-1].end() :].splitlines()[1:]:
            if _EXCEPTION.match(line.lstrip("| ")) and not line.startswith("    "):
                return line.lstrip("| ")
    return lines[-1]


def failure_kind(error: str) -> FailureKind:
    r"""The kind of an error.

    Examples:
        >>> failure_kind("timed out after 2 s")
        FailureKind(what='timed out after 2 s', file=None, line=0)
        >>> failure_kind('Traceback (most recent call last):\n  File "f.py", line 3, in f\nKeyError: 7')
        FailureKind(what='KeyError', file='f.py', line=3)
    """
    frames = list(_FRAME.finditer(error))
    text = exception_line(error)
    if not frames:
        found = _RETURNED.match(text)  # but not None, nan or inf; the digits of other values differ
        return FailureKind(f"the objective returned {found['what'] or 'no number'}" if found else text)
    found = _EXCEPTION.match(text)
    what = f"{found['prefix']}{found['type']}" if found else text
    return FailureKind(what, frames[-1]["file"], int(frames[-1]["line"]))


def count_failures(trials: Iterable[Trial]) -> list[FailureCount]:
    """The failed trials by kind, the most frequent kind first."""
    by_kind: dict[FailureKind, list[Trial]] = {}
    for trial in trials:
        if trial.state is TrialState.FAILED:
            by_kind.setdefault(failure_kind(trial.error or ""), []).append(trial)
    counts = [FailureCount(len(of_a_kind), of_a_kind[-1]) for of_a_kind in by_kind.values()]
    return sorted(counts, key=lambda count: -count.n)


def describe_failures(trials: Iterable[Trial]) -> list[str]:
    """A line for each kind of failure: how many, what, and the last trial of the kind."""
    counts = count_failures(trials)
    lines = [f"{c.n} x {c}, {'the last in' if c.n > 1 else 'in'} trial {c.last.id}" for c in counts[:MAX_KINDS]]
    others = counts[MAX_KINDS:]
    return [*lines, f"{sum(c.n for c in others)} x other errors"] if others else lines


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_WIDTH else f"{text[: MAX_WIDTH - 3]}..."
