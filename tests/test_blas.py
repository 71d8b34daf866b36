import os
import subprocess
import sys
import threading
import types

import numpy as np
import pytest
import scipy
import threadpoolctl

import dale
from dale import _blas
from dale._blas import Libraries, one_blas_thread
from dale.history.reason import Reason, Source
from dale.methods.base import Proposal
from user_method import UserMethod

LIBRARIES = _blas.libraries().per_process


def numbers():
    return {library.get_num_threads() for library in LIBRARIES}


def set_all(number):
    for library in LIBRARIES:
        library.set_num_threads(number)


@pytest.fixture(autouse=True)
def _two_threads():
    """Two threads at the start of each test, whatever the environment."""
    before = [library.get_num_threads() for library in LIBRARIES]
    set_all(2)
    yield
    for library, number in zip(LIBRARIES, before, strict=True):
        library.set_num_threads(number)


class Fake:
    """A library with one number for the process, or one for each thread."""

    def __init__(self, number, kept=None, internal_api="openblas"):
        self.internal_api = internal_api
        self.kept = types.SimpleNamespace() if kept is None else kept
        self.default = number

    def get_num_threads(self):
        return getattr(self.kept, "number", self.default)

    def set_num_threads(self, number):
        self.kept.number = number


class FakeMKL(Fake):
    """Like MKL: a thread without a number of its own follows that of the process, and 0 takes its own away."""

    def __init__(self, number):
        super().__init__(number, threading.local(), "mkl")

    def get_num_threads(self):
        return getattr(self.kept, "number", 0) or self.default

    def set_num_threads(self, number):
        before, self.kept.number = getattr(self.kept, "number", 0), number
        return before


needs_a_library_per_process = pytest.mark.skipif(
    not LIBRARIES, reason="this BLAS keeps no number of threads for the process (Accelerate, MKL, OpenMP ...)"
)


@needs_a_library_per_process
class TestTheRealLibraries:
    def test_one_inside_and_as_before_afterwards(self):
        assert numbers() == {2}
        with one_blas_thread():
            assert numbers() == {1}
        assert numbers() == {2}

    def test_the_wheels_of_numpy_and_scipy_contain_one_library_each(self):
        if not all("scipy-openblas" in str(package.show_config(mode="dicts")) for package in (np, scipy)):
            pytest.skip("numpy and scipy are not both from wheels with OpenBLAS")
        assert len(LIBRARIES) == 2

    def test_one_thread_stays_one(self):
        set_all(1)
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

    def test_a_number_set_by_others_inside_is_kept(self):
        with one_blas_thread():
            set_all(3)
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

    def test_it_works_while_another_thread_controls_the_libraries(self):
        """In threadpoolctl 3.8, a library obeys only the thread that has set it first, as long as that is alive."""
        is_set, done = threading.Event(), threading.Event()

        def control():
            with threadpoolctl.threadpool_limits(4, user_api="blas"):
                is_set.set()
                done.wait(10)

        for library in LIBRARIES:
            getattr(library, "clear_controlling_thread", lambda force: None)(force=True)
        thread = threading.Thread(target=control)
        thread.start()
        assert is_set.wait(10)
        assert numbers() == {4}
        with one_blas_thread():
            assert numbers() == {1}
        assert numbers() == {4}
        done.set()
        thread.join(10)
        assert numbers() == {2}

    def test_limits_of_threadpoolctl_work_inside_and_afterwards(self):
        with one_blas_thread(), threadpoolctl.threadpool_limits(3, user_api="blas"):
            assert numbers() == {3}
        assert numbers() == {2}
        seen = []

        def limited():
            with threadpoolctl.threadpool_limits(3, user_api="blas"):
                seen.append(numbers())

        run_together(limited)
        assert (seen, numbers()) == ([{3}], {2})

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
        class Reads(UserMethod):
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

    def test_the_objective_keeps_its_threads(self):
        seen = []
        dale.minimize(lambda x: seen.append(numbers()) or (x[0] - 0.3) ** 2, [(0, 1)], budget=6, seed=0)
        assert seen == [{2}] * 6

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
    def test_a_process_forked_while_another_thread_is_inside_keeps_its_threads(self):
        code = """
import os, threading
from dale._blas import libraries, one_blas_thread
numbers = lambda: {library.get_num_threads() for library in libraries().per_process}
for library in libraries().per_process:
    library.set_num_threads(2)
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


@pytest.mark.parametrize("library", [Fake(4, threading.local()), FakeMKL(4)], ids=["OpenMP", "MKL"])
def test_a_number_of_the_calling_thread_is_set_in_that_thread_only(monkeypatch, library):
    monkeypatch.setattr(_blas, "libraries", lambda: Libraries((library,), ()))
    elsewhere = []
    with one_blas_thread():
        run_together(lambda: elsewhere.append(library.get_num_threads()))
        with one_blas_thread():
            assert library.get_num_threads() == 1
        assert library.get_num_threads() == 1
    with pytest.raises(KeyError), one_blas_thread():
        raise KeyError
    assert (library.get_num_threads(), elsewhere) == (4, [4])


def test_with_mkl_a_thread_follows_the_number_of_the_process_again(monkeypatch):
    library = FakeMKL(4)
    monkeypatch.setattr(_blas, "libraries", lambda: Libraries((library,), ()))
    with one_blas_thread():
        assert library.get_num_threads() == 1
    library.default = 3
    assert library.get_num_threads() == 3


def test_all_numbers_are_saved_before_any_is_set(monkeypatch):
    kept = types.SimpleNamespace()
    monkeypatch.setattr(_blas, "libraries", lambda: Libraries((), (Fake(2, kept), Fake(2, kept))))
    with one_blas_thread():
        assert kept.number == 1
    assert kept.number == 2


class TestWhichLibrariesAreFound:
    @staticmethod
    def found(monkeypatch, *loaded):
        class Controller:
            lib_controllers = loaded

            def select(self, user_api):
                assert user_api == "blas"
                return self

        monkeypatch.setattr(threadpoolctl, "ThreadpoolController", Controller)
        return _blas.libraries.__wrapped__()

    def test_by_the_scope_of_their_number(self, monkeypatch):
        pthreads, openmp, mkl, blis = Fake(2), Fake(2), FakeMKL(2), Fake(2, internal_api="blis")
        pthreads.threading_layer, openmp.threading_layer, blis.threading_layer = "pthreads", "openmp", "openmp"
        assert self.found(monkeypatch, blis, mkl, openmp, pthreads) == Libraries((openmp, mkl), (pthreads,))

    def test_without_those_whose_number_cannot_be_read(self, monkeypatch):
        library = Fake(None)
        library.threading_layer = "openmp"
        assert self.found(monkeypatch, library) == Libraries((), ())

    def test_without_libraries(self, monkeypatch):
        found = self.found(monkeypatch)
        assert found == Libraries((), ())
        monkeypatch.setattr(_blas, "libraries", lambda: found)
        before = numbers()
        with one_blas_thread():
            assert numbers() == before
        assert dale.Optimizer([(0, 1)], seed=0).ask().id == 0
        assert numbers() == before

    def test_they_are_looked_up_once(self, monkeypatch):
        monkeypatch.setattr(threadpoolctl, "ThreadpoolController", None)  # calling it would raise
        for _ in range(3):
            with one_blas_thread():
                pass


def run_together(*functions):
    running = [threading.Thread(target=function) for function in functions]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(30)
