"""Run the storms: ``make storm`` (``MINUTES=60 SEED=1``), or one case: ``make storm CASE=power/17 SEED=1``.

Each storm gets an equal share of the time, in turns. A turn is a process of its own, so that a crash, a hang or a leak
of one case is seen and does not end the others. The exit status is 1 if any case failed.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import cycle
from pathlib import Path
from threading import Timer

from storm import IN_MEMORY, STORMS

TURN = 60.0  # seconds, at most; the last case of a turn is completed
MAX_CASE = 900.0  # seconds, after which a case counts as hanging
MEMORY_DISK = Path("/dev/shm")  # Linux
BEGUN, DONE, FAILED = "begun", "done", "failed"


@dataclass
class Count:
    """What a storm has tried.

    Attributes:
        cases: Number of cases.
        tried: Number of failures that they have caused.
        failed: Numbers of the cases that failed.
        seconds: How long it took.
    """

    cases: int = 0
    tried: int = 0
    failed: tuple[int, ...] = ()
    seconds: float = 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="storm", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=8.0, help="how long all storms take (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="repeats the cases of an earlier storm; random by default")
    parser.add_argument("--only", choices=STORMS, help="one storm alone")
    parser.add_argument("--case", metavar="STORM/NUMBER", help="one case alone")
    parser.add_argument("--turn", nargs=3, metavar=("STORM", "NUMBER", "SECONDS"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    if options.turn:
        turn(seed, options.turn[0], int(options.turn[1]), float(options.turn[2]))
        return 0
    if options.case:
        name, _, number = options.case.partition("/")
        return int(not run_case(seed, name, int(number)))
    storms = STORMS if options.only is None else (options.only,)
    print(f"seed {seed}, {options.minutes:g} minutes, storms: {', '.join(storms)}", flush=True)
    counts = weather(seed, storms, 60 * options.minutes)
    print(table(counts), flush=True)
    return int(any(count.failed for count in counts.values()))


def weather(seed: int, storms: Sequence[str], seconds: float) -> dict[str, Count]:
    """Give the storms turns until the time is over; at least one to each."""
    counts = {name: Count() for name in storms}
    end, length = time.monotonic() + seconds, min(TURN, seconds / len(storms))
    for turn_number, name in enumerate(cycle(storms)):
        if turn_number >= len(storms) and time.monotonic() > end:
            break
        count = counts[name]
        began, before = time.monotonic(), count.cases
        for failure in play(seed, name, count, length):
            print(f"FAILED {name}/{count.cases - 1}: {failure}", flush=True)
            print(f"  to repeat it: make storm SEED={seed} CASE={name}/{count.cases - 1}", flush=True)
        took = time.monotonic() - began
        count.seconds += took
        so_far = f"so far {count.tried} {unit_of(name)}, {len(count.failed)} failed"
        print(f"{name}: {count.cases - before} cases in {took:.0f} s; {so_far}", flush=True)
    return counts


def play(seed: int, name: str, count: Count, seconds: float) -> Iterator[str]:
    """One turn of a storm, in another process; yields the failures and updates the count."""
    program = [sys.executable, "-m", "storm", "--seed", str(seed), "--turn", name, str(count.cases), str(seconds)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    environment["DASK_DISTRIBUTED__LOGGING__DISTRIBUTED"] = "critical"  # Dask reports each death
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True, env=environment) as process:
        is_running, before = False, count.cases
        hang = Timer(0, lambda: None)
        for line in process.stdout or ():
            hang.cancel()
            word, _, rest = line.strip().partition(" ")
            if word == BEGUN:
                is_running = True
                count.cases += 1
                hang = Timer(MAX_CASE, process.kill)
                hang.start()
            elif word == DONE:
                is_running = False
                count.tried += int(rest)
            elif word == FAILED:
                is_running = False
                count.failed += (count.cases - 1,)
                yield rest
        hang.cancel()
    if is_running:
        count.failed += (count.cases - 1,)
        yield f"its process ended with status {process.returncode}; it is killed if a case takes {MAX_CASE:g} s"
    elif process.returncode:
        count.cases = max(count.cases, before + 1)  # it may not even have begun one
        count.failed += (count.cases - 1,)
        yield f"after it, the process ended with status {process.returncode}"


def turn(seed: int, name: str, first: int, seconds: float) -> None:
    """Cases from this number on, for so many seconds; at least one."""
    end, number = time.monotonic() + seconds, first
    while number == first or time.monotonic() < end:
        print(BEGUN, number, flush=True)
        run_case(seed, name, number)
        number += 1


def run_case(seed: int, name: str, number: int) -> bool:
    """Whether a case succeeded; the folder of one that failed is kept."""
    disk = MEMORY_DISK if name in IN_MEMORY and MEMORY_DISK.is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix=f"storm-{name}-{number}-", dir=disk))
    try:
        tried = import_module(f"storm.{name}").case(random.Random(f"{seed}/{name}/{number}"), folder)
    except BaseException as error:
        traceback.print_exc()
        print(FAILED, f"{type(error).__name__}: {str(error)[:300]!r}; its files are in {folder}", flush=True)
        return False
    shutil.rmtree(folder)
    print(DONE, tried, flush=True)
    return True


def unit_of(name: str) -> str:
    """What a storm counts."""
    return import_module(f"storm.{name}").UNIT


def table(counts: dict[str, Count]) -> str:
    """The counts of all storms."""
    rows = [("storm", "cases", "tried", "", "failed", "minutes")]
    for name, count in counts.items():
        minutes = f"{count.seconds / 60:.1f}"
        rows.append((name, str(count.cases), str(count.tried), unit_of(name), str(len(count.failed)), minutes))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


if __name__ == "__main__":
    sys.exit(main())
