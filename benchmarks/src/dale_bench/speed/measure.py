"""Time and memory of a proposal, the floor of linear algebra, and the time of an import.

Seconds are CPU seconds of all threads of the process, which depend less on other load than wall seconds; both are
stored. Memory is the peak of the process minus its memory before the first observation, after a small problem has
loaded everything that is loaded on first use.
"""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist

from dale_bench.speed.asks import ASKS

FLOOR = "floor"
CANDIDATES = 576  # rows of the kernel matrix in the floor
FLOOR_SECONDS, FLOOR_REPEATS = 0.02, 9  # minimum seconds and repetitions of a measurement of the floor, which is short
SMALL = 12  # observations of the warm-up problem
IMPORTS = {"dale": "import dale", "dependencies": "import numpy, scipy.optimize, scipy.linalg"}

Clock = Callable[[], float]
CLOCKS: tuple[Clock, Clock] = (time.process_time, time.perf_counter)


@dataclass(frozen=True)
class Timing:
    """Repeated measurements of one operation.

    Attributes:
        contender: A contender, `FLOOR`, or a key of `IMPORTS`.
        n: Number of observations; 0 for an import.
        d: Number of dimensions; 0 for an import.
        cpu: CPU seconds of each repetition.
        wall: Wall seconds of each repetition.
        megabytes: Peak memory in units of 10^6 bytes; None if not measured.
        versions: Versions of the packages.
    """

    contender: str
    n: int
    d: int
    cpu: Sequence[float]
    wall: Sequence[float]
    megabytes: float | None = None
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, int, int]:
        """Identifies the operation."""
        return self.contender, self.n, self.d

    @property
    def seconds(self) -> float:
        """The median of the CPU seconds."""
        return statistics.median(self.cpu)


def time_asks(contender: str, n: int, d: int, repeats: int, clocks: tuple[Clock, Clock] = CLOCKS) -> Timing:
    """A proposal after n observations, each time in another run; meant to be called in a new process."""
    _ask_once(contender, SMALL, min(d, 2), 0, clocks)
    memory = PeakMemory()
    times = [_ask_once(contender, n, d, seed, clocks) for seed in range(repeats)]
    return _timing(contender, n, d, times, memory.megabytes())


def time_floor(n: int, d: int, repeats: int, clocks: tuple[Clock, Clock] = CLOCKS) -> Timing:
    """One triangular solve of n unknowns, and one squared-exponential matrix of size 576 by n."""
    rng = np.random.default_rng(0)
    L = np.asfortranarray(np.eye(n) + np.tril(rng.random((n, n))) / n)
    b = rng.random(n)
    A, B = rng.random((CANDIDATES, d)), rng.random((n, d))

    def work() -> None:
        solve_triangular(L, b, lower=True, check_finite=False)
        np.exp(-0.5 * cdist(A, B, "sqeuclidean"))

    work()
    once = _elapsed(work, clocks)[1]
    often = max(1, round(FLOOR_SECONDS / max(once, 1e-9)))

    def work_often() -> None:
        for _ in range(often):
            work()

    times = [_elapsed(work_often, clocks) for _ in range(max(repeats, FLOOR_REPEATS))]
    return _timing(FLOOR, n, d, [(cpu / often, wall / often) for cpu, wall in times])


def time_imports(repeats: int) -> list[Timing]:
    """Times of `IMPORTS` in new interpreters, alternating, without the start of the interpreter."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in IMPORTS}
    with TemporaryDirectory() as compiled:  # the first import compiles the modules and does not count
        for number in range(repeats + 1):
            for name, statement in IMPORTS.items():
                cpu, wall = _fresh_import(statement, compiled)
                if number:
                    times[name].append((cpu, wall))
    return [_timing(name, 0, 0, pairs) for name, pairs in times.items()]


class PeakMemory:
    """Peak memory of this process since the object was created, minus the memory at that time."""

    def __init__(self) -> None:
        gc.collect()
        with suppress(OSError):  # not Linux, or not allowed: the peak is that of the whole process
            Path("/proc/self/clear_refs").write_text("5")
        self._before = _resident("VmRSS")

    def megabytes(self) -> float | None:
        """The peak in units of 10^6 bytes; None if the system does not provide it."""
        peak = _resident("VmHWM")
        return None if peak is None or self._before is None else (peak - self._before) / 1e6


def _ask_once(contender: str, n: int, d: int, seed: int, clocks: tuple[Clock, Clock]) -> tuple[float, float]:
    with ASKS[contender](n, d, seed) as ask:
        elapsed = _elapsed(ask, clocks)
    gc.collect()  # so that the next one starts with the same memory
    return elapsed


def _elapsed(work: Callable[[], object], clocks: tuple[Clock, Clock]) -> tuple[float, float]:
    cpu, wall = (clock() for clock in clocks)
    work()
    return clocks[0]() - cpu, clocks[1]() - wall


def _timing(
    contender: str, n: int, d: int, times: Sequence[tuple[float, float]], megabytes: float | None = None
) -> Timing:
    cpu, wall = zip(*times, strict=True)
    return Timing(contender, n, d, list(cpu), list(wall), megabytes)


def _fresh_import(statement: str, compiled: str) -> tuple[float, float]:
    clocks = "time.process_time(), time.perf_counter()"
    code = f"import time\na, b = {clocks}\n{statement}\nc, d = {clocks}\nprint(c - a, d - b)"
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    cpu, wall = map(float, done.stdout.split())
    return cpu, wall


def _resident(name: str) -> float | None:
    """Resident memory in bytes, now (VmRSS) or at the peak (VmHWM). Without /proc, the peak for both."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not ru_maxrss, which a process inherits from its parent.
        found = [line.split()[1] for line in status.read_text().splitlines() if line.startswith(f"{name}:")]
        return 1024.0 * int(found[0]) if found else None
    try:
        import resource
    except ImportError:  # Windows
        return None
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * (1 if sys.platform == "darwin" else 1024)
