"""Settings of the LZMA compressor, an external program: ten parameters, and combinations that fail.

The program `compress.py` compresses the breast cancer data, 569 rows of 30 floating-point numbers. dale starts it as
`dale run` does, with ``dale.Command``; as a command line, with this space in space.toml:

    dale run space.toml -- python compress.py {params} table.bin

Value: size in kilobytes, which is deterministic.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from dale.evaluate.command import Command
from dale.space.choice import Choice
from dale.space.int import Int
from dale.space.space import Space
from dale_bench.problems.problem import Failed
from dale_bench.real.exact import compress
from dale_bench.real.problem import Real

SPACE = Space(
    mode=Choice(["fast", "normal"]),
    mf=Choice(["hc3", "hc4", "bt2", "bt3", "bt4"]),
    nice_len=Int(4, 273, log=True),  # shorter ones depend on the version of liblzma
    depth=Int(1, 1000, log=True),
    dict_size=Int(2**12, 2**20, log=True),
    lc=Int(0, 4),
    lp=Int(0, 4),
    pb=Int(0, 4),
    delta=Choice([False, True]),
    dist=Int(1, 256, log=True).when(delta=True),
)


@lru_cache
def content() -> bytes:
    """The table as it is in memory: float64, little endian, row by row."""
    from sklearn.datasets import load_breast_cancer

    return load_breast_cancer().data.astype("<f8").tobytes()


@lru_cache
def directory() -> tempfile.TemporaryDirectory[str]:
    """A directory with the table, which is deleted when the process ends."""
    made = tempfile.TemporaryDirectory()
    (Path(made.name) / "table.bin").write_bytes(content())
    return made


def value(params: Mapping[str, Any]) -> float:
    """Size in kilobytes. Raises ``Failed`` if the program fails."""
    table = Path(directory().name) / "table.bin"
    command = Command([sys.executable, "-I", "-S", compress.__file__, "{params}", table])
    try:
        return float(command(params))
    except RuntimeError as error:
        raise Failed(str(error)) from None


PROBLEM = Real(
    "compressor",
    SPACE,
    80,
    "settings of an LZMA compressor, a program; invalid combinations fail; kB",
    value,
    fails=True,
    modules=("sklearn",),
)
