"""The runs that a command reads: from one or more files, of some suites, dimensions, functions, instances, methods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dale_bench.coco.runs import Job, Run, read
from dale_bench.coco.suites import SUITES, Suite
from dale_bench.contenders import CONTENDERS, label


@dataclass(frozen=True)
class Selection:
    """Some of the runs; None stands for all.

    Attributes:
        suite: The suite.
        dimensions: The dimensions.
        functions: The functions.
        instances: The instances.
        methods: Names of methods, or their labels in tables.
    """

    suite: str | None = None
    dimensions: Sequence[int] | None = None
    functions: Sequence[int] | None = None
    instances: Sequence[int] | None = None
    methods: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.suite is not None:
            suite = SUITES[self.suite]
            _check("dimensions", self.dimensions, suite, suite.dimensions, _listed(suite.dimensions))
            _check("functions", self.functions, suite, suite.functions, f"1-{suite.functions[-1]}")
        if self.methods is not None:
            object.__setattr__(self, "methods", [method_name(name) for name in self.methods])

    def __contains__(self, run: Job) -> bool:
        chosen = (
            (run.dimension, self.dimensions),
            (run.function, self.functions),
            (run.instance, self.instances),
            (run.method, self.methods),
        )
        return self.suite in (None, run.suite) and all(some is None or value in some for value, some in chosen)


def method_name(name: str) -> str:
    """The name of the method with this name or label; a name that only a file knows is kept."""
    return next((c.name for c in CONTENDERS.values() if name == c.label), name)


def read_selected(paths: Sequence[Path], selection: Selection) -> list[Run]:
    """The selected runs of all files. A method that is in several files is named after them.

    Raises:
        ValueError: There are none.
    """
    files = {path: read(path) for path in paths}
    found = [(path, run) for path, runs in files.items() for run in runs if run in selection]
    if not found:
        raise ValueError(f"expected runs that match the options, got none in {_listed(paths)}; {_contents(files)}")
    in_files = Counter(method for _, method in {(path, run.method) for path, run in found})
    return [
        run if in_files[run.method] == 1 else replace(run, method=f"{label(run.method)} ({path})")
        for path, run in found
    ]


def _check(option: str, numbers: Sequence[int] | None, suite: Suite, known: Collection[int], names: str) -> None:
    unknown = [number for number in numbers or () if number not in known]
    if unknown:
        raise ValueError(f"--{option}: expected some of {names} for the suite {suite.name!r}, got {_listed(unknown)}")


def _contents(files: dict[Path, list[Run]]) -> str:
    runs = [run for of_file in files.values() for run in of_file]
    suites, methods = sorted({run.suite for run in runs}), sorted({run.method for run in runs})
    dimensions, instances = sorted({run.dimension for run in runs}), sorted({run.instance for run in runs})
    return (
        f"available: suites {_listed(suites)}; dimensions {_listed(dimensions)}; instances {_listed(instances)}; "
        f"methods {_listed(methods)}"
    )


def _listed(items: Collection[object]) -> str:
    return ", ".join(map(str, items))
