"""Evaluations whose process crashes, exits, hangs, stops, sends nonsense, or leaves children behind.

Only these trials fail, every trial is evaluated once, and no process is left.
"""

import os
import signal
import subprocess
import sys
import time

from evaluators import BOX, Counted, Random, evaluation_processes, failed, is_hit, one_in, points_of, wait_until_gone

import dale

UNIT = "deaths"
TIMEOUT = 3.0


def stop():
    os.kill(os.getpid(), signal.SIGSTOP)


def ignore_and_hang():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(3600)


def leave_a_child():
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"]).returncode = 0
    os._exit(5)


def recurse():
    return recurse()


def exhaust_memory():
    raise MemoryError


HARMS = {
    "segfault": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "terminate": lambda: os.kill(os.getpid(), signal.SIGTERM),
    "abort": os.abort,
    "exit": lambda: os._exit(3),
    "exit 0": lambda: os._exit(0),
    "sys.exit": sys.exit,
    "hang": lambda: time.sleep(3600),
    "stop": stop,
    "ignore SIGTERM": ignore_and_hang,
    "child": leave_a_child,
    "recursion": recurse,
    "memory": exhaust_memory,
    "closed files": lambda: os.closerange(3, 256),
}


def case(rng, folder):
    harm, n = rng.choice(list(HARMS)), rng.randint(3, 8)
    fun = Counted(folder, one_in(n, HARMS[harm]))
    result = dale.minimize(
        fun, BOX, budget=24, seed=rng.randrange(10**6), n_parallel=rng.randint(1, 4), timeout=TIMEOUT, method=Random()
    )
    hit = {t.id for t in result.history if is_hit(t.x, n)}
    late = {t.id for t in failed(result) if t.error == f"timed out after {TIMEOUT:g} s"}  # on a busy machine
    assert hit <= {t.id for t in failed(result)} <= hit | late, (harm, hit, failed(result))
    assert fun.points() == points_of(result), harm
    assert (result.status, result.nfev) == (dale.Status.BUDGET_SPENT, 24), (harm, result.message)
    assert wait_until_gone(fun.pids()), harm
    assert evaluation_processes() == [], harm
    return len(hit)
