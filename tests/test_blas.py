import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy

import dale
from dale import _blas as threads
from dale._blas import Controls, Shared, one_blas_thread
from dale.history.reason import Reason, Source
from dale.methods.base import Proposal

LIBRARIES = threads.controls().shared


def numbers():
    return {library.get() for library in LIBRARIES}


@pytest.fixture(autouse=True)
def _two_threads():
    """Two to begin with, whatever the environment says."""
    before = [library.get() for library in LIBRARIES]
    for library in LIBRARIES:
        library.put(2)
    yield
    for library, number in zip(LIBRARIES, before, strict=True):
        library.put(number)


needs_a_shared_number = pytest.mark.skipif(
    not LIBRARIES, reason="this BLAS keeps no number of threads for the process (Accelerate, MKL, OpenMP ...)"
)


@needs_a_shared_number
class TestTheRealLibraries:
    def test_one_inside_and_as_before_afterwards(self):
        assert numbers() == {2}
        with one_blas_thread():
            assert numbers() == {1}
        assert numbers() == {2}

    def test_numpy_and_scipy_from_wheels_bring_one_each(self):
        if not all("scipy-openblas" in str(package.show_config(mode="dicts")) for package in (np, scipy)):
            pytest.skip("numpy and scipy are not both from wheels with OpenBLAS")
        assert len(LIBRARIES) == 2

    def test_one_thread_to_begin_with_stays_one(self):
        for library in LIBRARIES:
            library.put(1)
        with one_blas_thread():
            assert numbers() == {1}
        assert numbers() == {1}

    def test_nested(self):
        with one_blas_thread():
            with one_blas_thread():
                assert numbers() == {1}
            assert numbers() == {1}
        assert numbers() == {2}

    def test_an_exception_passes_and_the_number_is_restored(self):
        with pytest.raises(KeyError, match="why"), one_blas_thread(), one_blas_thread():
            raise KeyError("why")
        assert numbers() == {2}

    def test_what_somebody_else_has_set_meanwhile_is_left(self):
        with one_blas_thread():
            for library in LIBRARIES:
                library.put(3)
        assert numbers() == {3}

    def test_of_overlapping_threads_the_last_one_out_restores(self):
        first_is_in, second_is_in, first_is_out = (threading.Event() for _ in range(3))
        seen = []

        def first():
            with one_blas_thread():
                first_is_in.set()
                second_is_in.wait(10)
            seen.append(numbers())
            first_is_out.set()

        def second():
            first_is_in.wait(10)
            with one_blas_thread():
                second_is_in.set()
                first_is_out.wait(10)
                seen.append(numbers())
            seen.append(numbers())

        run_together(first, second)
        assert seen == [{1}, {1}, {2}]

    def test_many_threads_in_and_out(self):
        seen = set()

        def work():
            for _ in range(300):
                with one_blas_thread():
                    seen.update(numbers())

        run_together(*[work] * 4)
        assert seen == {1}
        assert numbers() == {2}

    def test_ask_works_on_one_thread_and_leaves_the_number_as_it_was(self):
        class Reads:
            def propose(self, *_):
                seen.append(numbers())
                if len(seen) == 3:
                    raise RuntimeError("no more")
                return Proposal(np.array([0.2 * len(seen)]), Reason(Source.SPACE_FILLING))

        seen = []
        optimizer = dale.Optimizer([(0, 1)], seed=0, method=Reads())
        optimizer.ask(2)
        assert numbers() == {2}
        with pytest.raises(RuntimeError, match="no more"):
            optimizer.ask()
        assert seen == [{1}] * 3
        assert numbers() == {2}

    def test_the_objective_has_its_threads(self):
        seen = []
        dale.minimize(lambda x: seen.append(numbers()) or (x[0] - 0.3) ** 2, [(0, 1)], budget=6, seed=0)
        assert seen == [{2}] * 6

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
    def test_a_process_forked_while_another_thread_is_inside_has_its_threads(self):
        code = """
import os, threading
from dale.threads import controls, one_blas_thread
numbers = lambda: {library.get() for library in controls().shared}
for library in controls().shared:
    library.put(2)
inside, done = threading.Event(), threading.Event()
def hold():
    with one_blas_thread():
        inside.set()
        done.wait(20)
thread = threading.Thread(target=hold)
thread.start()
inside.wait(20)
child = os.fork()
if child == 0:
    alone = numbers()
    with one_blas_thread():
        within = numbers()
    os._exit(0 if (alone, within, numbers()) == ({2}, {1}, {2}) else 3)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert numbers() == {1}
with one_blas_thread():  # and a thread that forks inside stays inside
    if (child := os.fork()) == 0:
        os._exit(0 if numbers() == {1} else 3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
done.set()
thread.join()
assert numbers() == {2}
raise SystemExit(code)
"""
        command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code]
        subprocess.run(command, check=True, timeout=60)


def test_a_number_of_the_calling_thread_is_set_in_that_thread_only(monkeypatch):
    kept = threading.local()

    def swap(number):
        before, kept.number = getattr(kept, "number", 4), number
        return before

    def read():
        return getattr(kept, "number", 4)

    monkeypatch.setattr(threads, "controls", lambda: Controls((swap,), ()))
    elsewhere = []
    with one_blas_thread():
        run_together(lambda: elsewhere.append(read()))
        with one_blas_thread():
            assert read() == 1
        assert read() == 1
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert (read(), elsewhere) == (4, [4])


def test_a_library_that_both_use_is_counted_once(monkeypatch):
    monkeypatch.setattr(threads, "CALLERS", ("numpy.linalg._umath_linalg", "numpy.linalg._umath_linalg"))
    found = threads.controls.__wrapped__()
    assert len(found.own) + len(found.shared) <= 1


def test_all_numbers_are_saved_before_any_is_set(monkeypatch):
    kept = [2]
    same = [Shared(lambda: kept[0], lambda number: kept.__setitem__(0, number)) for _ in range(2)]
    monkeypatch.setattr(threads, "controls", lambda: Controls((), tuple(same)))
    with one_blas_thread():
        assert kept == [1]
    assert kept == [2]


@pytest.mark.parametrize("callers", [(), ("numpy.no_such_module",), ("sys",), ("numpy.linalg",)])
def test_where_no_library_is_found_nothing_happens(monkeypatch, callers):
    monkeypatch.setattr(threads, "CALLERS", callers)
    found = threads.controls.__wrapped__()
    assert found == Controls((), ())
    monkeypatch.setattr(threads, "controls", lambda: found)
    before = numbers()
    with one_blas_thread():
        assert numbers() == before
    assert dale.Optimizer([(0, 1)], seed=0).ask().id == 0
    assert numbers() == before


def run_together(*functions):
    running = [threading.Thread(target=function) for function in functions]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(30)
