"""How the processes of evaluations are started, and what happens if they cannot be."""

import multiprocessing
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from evaluators import (
    BOX,
    FORK_WARNING,
    Random,
    bowl,
    one_in,
)

import dale
import dale.evaluate.process as process
from dale.evaluate import preload
from dale.history.trial import TrialState

FULL = os.environ.get("DALE_FULL") == "1"
pytestmark = [
    pytest.mark.filterwarnings(FORK_WARNING),
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and fork"),
    pytest.mark.usefixtures("all_may_fail"),
]


class TestStartMethods:
    def test_an_importable_objective_is_not_forked(self):
        assert process._start_method(bowl) == "forkserver"

    def test_other_objectives_are_forked(self):
        assert process._start_method(lambda x: 1.0) == "fork"
        assert process._start_method(one_in(2, sys.exit)) == "fork"

    def test_an_objective_of_a_notebook_is_forked(self, monkeypatch):
        main = type(sys)("__main__")  # a module without a file
        main.__spec__ = None
        main.fun = lambda x: 1.0
        main.fun.__module__, main.fun.__qualname__ = "__main__", "fun"
        monkeypatch.setitem(sys.modules, "__main__", main)
        assert process._start_method(main.fun) == "fork"
        main.__file__ = __file__
        assert process._start_method(main.fun) == "forkserver"

    def test_points_with_options_that_cannot_be_pickled(self):
        space = {"f": dale.Choice([lambda: 1.0, lambda: 2.0])}
        result = dale.minimize(call_it, space, budget=2, seed=0, n_parallel=2)
        assert sorted(result.func_vals) == [1.0, 2.0]

    def test_without_fork_the_error_says_what_to_do(self, monkeypatch):
        monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
        message = (
            r"objective <function .*lambda.*> cannot be sent to another process: .*; define it at the top level of "
        )
        with pytest.raises(TypeError, match=message + r"a module, or use executor=.*ThreadPoolExecutor\(\)"):
            dale.minimize(lambda x: 1.0, BOX, budget=2, n_parallel=2)
        assert process._start_method(bowl) == "spawn"

    def test_spawn(self, monkeypatch):
        monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
        result = dale.minimize(bowl, BOX, budget=2, seed=0, timeout=60)
        assert [t.value for t in result.history] == [bowl(t.x) for t in result.history]

    def test_the_start_of_the_process_does_not_count_towards_the_timeout(self, monkeypatch):
        """A new interpreter takes longer than this to import dale."""
        monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
        result = dale.minimize(bowl, BOX, budget=1, seed=0, timeout=0.1)
        assert result.history[0].error in (None, "timed out after 0.1 s")
        monkeypatch.setattr(process, "START_TIMEOUT", 0.05)
        result = dale.minimize(bowl, BOX, budget=1, seed=0, timeout=0.04)
        assert result.history[0].error == "the process of the evaluation did not start within 0.05 s"
        assert result.history[0].retry

    def test_preloaded_modules_of_the_fork_server_are_kept(self, monkeypatch):
        set_to = []
        monkeypatch.setattr(multiprocessing.forkserver._forkserver, "_preload_modules", ["json"])
        monkeypatch.setattr(multiprocessing, "set_forkserver_preload", set_to.append)
        preload.add_preload("dale")
        assert set_to == [["json", "dale"]]


def call_it(params):
    return params["f"]()


class TestNoProcess:
    """If no process can be started, the run ends with a message and keeps its results."""

    def fails(self, monkeypatch, after):
        start, calls = multiprocessing.context.ForkProcess.start, []

        def failing(self):
            calls.append(1)
            if len(calls) > after:
                raise BlockingIOError(11, "Resource temporarily unavailable")
            start(self)

        monkeypatch.setattr(multiprocessing.context.ForkProcess, "start", failing)

    def test_at_the_start_of_the_run(self, monkeypatch):
        self.fails(monkeypatch, 0)
        with pytest.raises(RuntimeError, match="was possible: no process could be started: BlockingIOError"):
            dale.minimize(lambda x: bowl(x), BOX, budget=9, seed=0, n_parallel=2)

    def test_later_in_the_run(self, monkeypatch):
        self.fails(monkeypatch, 5)
        result = dale.minimize(lambda x: bowl(x), BOX, budget=9, seed=0, n_parallel=2)
        assert (result.status, result.success, len(result.func_vals)) == (8, False, 5)
        message = "No further evaluation was possible: no process could be started: BlockingIOError"
        assert result.message.startswith(message)
        assert [t.retry for t in result.history] == [False] * 5 + [True] * (len(result.history) - 5)

    def test_none_is_started_when_the_interpreter_exits(self):
        workers = process.ProcessEvaluator(lambda x: bowl(x), 2, 60.0)
        workers._close()
        with pytest.raises(RuntimeError, match="interpreter is exiting"):
            workers.submit(dale.Optimizer(BOX, seed=0).ask())


def in_a_daemon(queue):
    try:
        dale.minimize(lambda x: 1.0, BOX, budget=2, n_parallel=2)
    except RuntimeError as error:
        queue.put(str(error))


def test_in_a_daemonic_process_the_error_says_what_to_do():
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    daemon = context.Process(target=in_a_daemon, args=(queue,), daemon=True)
    daemon.start()
    said = queue.get()
    daemon.join()
    assert "a daemonic process (such as a worker of multiprocessing.Pool) cannot do" in said
    assert "use executor=concurrent.futures.ThreadPoolExecutor()" in said


def test_in_another_thread():
    with ThreadPoolExecutor(1) as executor:
        result = executor.submit(dale.minimize, lambda x: bowl(x), BOX, budget=5, seed=0, n_parallel=2).result()
    assert result.nfev == 5


def test_inside_an_evaluation():
    def inner(x):
        return dale.minimize(lambda y: (y[0] - x[0]) ** 2, [(-3, 3)], budget=4, seed=0, n_parallel=2).fun

    result = dale.minimize(inner, [(-2, 2)], budget=2, seed=0, n_parallel=2, method=Random())
    assert [t.state for t in result.history] == [TrialState.COMPLETE] * 2
