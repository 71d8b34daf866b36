"""best2009 and best 2009-16: the best of the algorithms submitted to the BBOB workshops, from cocopp's data.

cocopp ships them for `bbob` and `bbob-noisy`. For each function, dimension and target, the data has the smallest
expected number of evaluations (over instances) of any algorithm, so the result does not depend on the instances.
"""

from __future__ import annotations

import io
import re
import tarfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from dale._arrays import Vector
from dale_bench.coco.runs import TARGETS
from dale_bench.coco.scores import Runs

SUITES = ("bbob", "bbob-noisy")
FILES = {"best2009": "best2009-{suite}.tar.gz", "best 2009-16": "best09-16-{suite}.tar.gz"}
DATA_FILE = re.compile(r".*_f(?P<function>\d+)_d(?P<dimension>\d+)\.dat")
ROUNDING = 1e-9  # relative; the targets are stored with 16 digits


def data_directory() -> Path | None:
    """The reference data of the installed cocopp; None if it is not installed."""
    found = find_spec("cocopp")
    if found is None or not found.submodule_search_locations:
        return None
    return Path(found.submodule_search_locations[0]) / "refalgs"


def reference_runs(suite: str, dimension: int) -> dict[str, Runs]:
    """The references of a suite in a dimension, by name; empty if there are none or cocopp is not installed."""
    directory = data_directory()
    if directory is None or suite not in SUITES:
        return {}
    files = {name: directory / file.format(suite=suite) for name, file in FILES.items()}
    return {name: Runs(_hits(path, dimension), np.inf) for name, path in files.items()}


def _hits(path: Path, dimension: int) -> dict[tuple[int, int], Vector]:
    hits = {}
    with tarfile.open(path) as archive:
        for member in archive:
            name = DATA_FILE.fullmatch(member.name)
            file = archive.extractfile(member)
            if name is not None and file is not None and int(name["dimension"]) == dimension:
                text = io.StringIO(file.read().decode("ascii"))
                evaluations, values = np.loadtxt(text, comments="%", usecols=(0, 1), ndmin=2).T
                first = np.searchsorted(-values, -TARGETS * (1 + ROUNDING))
                hits[int(name["function"]), 0] = np.append(evaluations, np.inf)[first][None]
    return hits
