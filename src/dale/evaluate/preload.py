"""The fork server of multiprocessing imports once what every evaluation needs: the script, and the objective's module.

A process of an evaluation is then a fork of a server that has done all imports. The server imports this module when it
starts, and reads from an environment variable what to import. It imports ``__main__`` by itself only since Python
3.13.1 or so, and a module whose import raises would end it. An import that fails here is left to the process of the
evaluation, whose error reaches the user.
"""

from __future__ import annotations

import functools
import gc
import importlib
import json
import multiprocessing
import os
from contextlib import suppress
from types import MethodType
from typing import Any

from dale.evaluate.outcome import WithArguments

VARIABLE = "DALE_PRELOAD"
HERE = "dale.evaluate.preload"


def start_server(fun: Any, *, imports_main: bool) -> None:
    """Start the fork server with the imports of an objective. No effect if it runs already.

    Args:
        fun: The objective.
        imports_main: Whether its processes import the main module.
    """
    from multiprocessing import forkserver  # not available on every platform

    add_preload(HERE)
    os.environ[VARIABLE] = json.dumps(_imports(fun, imports_main))
    try:
        with suppress(OSError):  # out of memory or of processes: the first evaluation reports it
            forkserver.ensure_running()
    finally:
        del os.environ[VARIABLE]


def add_preload(module: str) -> None:
    """Let the fork server import a module, in addition to those that the user has set. No effect if it runs."""
    from multiprocessing import forkserver

    modules = getattr(getattr(forkserver, "_forkserver", None), "_preload_modules", ["__main__"])
    if module not in modules:
        multiprocessing.set_forkserver_preload([*modules, module])


def _imports(fun: Any, imports_main: bool) -> dict[str, Any]:
    """What a process of multiprocessing imports before it can evaluate."""
    from multiprocessing import spawn

    data = spawn.get_preparation_data("dale")
    keys = ["sys_path", "sys_argv", "dir", *(["init_main_from_name", "init_main_from_path"] if imports_main else [])]
    prepare = {key: data[key] for key in keys if key in data}
    return {"prepare": prepare, "modules": sorted(_modules(fun)), "parent": os.getpid()}


def _modules(fun: Any) -> set[str]:
    """The modules of an objective: of a function, of the class of an object, and of what these wrap."""
    if isinstance(fun, functools.partial):
        return _modules(fun.func)
    if isinstance(fun, MethodType):
        return _modules(type(fun.__self__))
    name = getattr(fun, "__module__", None)
    wrapped = _modules(fun.fun) if isinstance(fun, WithArguments) else set()
    return wrapped | ({name} if isinstance(name, str) and name not in ("__main__", "builtins") else set())


def _preload(wanted: dict[str, Any]) -> None:
    """In the server: import everything."""
    from multiprocessing import process, spawn

    def prepare() -> None:
        current: Any = process.current_process()
        current._inheriting = True  # a script without a main guard gets an error that says so
        try:
            spawn.prepare(wanted["prepare"])
        finally:
            del current._inheriting

    def import_all() -> None:
        for module in wanted["modules"]:
            importlib.import_module(module)

    for step in (prepare, import_all):
        with suppress(BaseException):
            step()
    gc.freeze()  # the garbage collector of a fork need not touch, and so copy, what all of them share


if VARIABLE in os.environ:
    found = json.loads(os.environ.pop(VARIABLE))
    if found["parent"] == os.getppid():  # this is the server
        _preload(found)
