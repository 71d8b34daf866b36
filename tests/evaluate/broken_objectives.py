"""What an objective may raise or return that is no value: each fails its trial only."""

import asyncio
import sys

import pytest

import dale


class PanicException(BaseException):
    """As PyO3 raises it: no ``Exception``, and it cannot be unpickled."""

    def __init__(self, message, code):
        super().__init__(message)


class Silent(Exception):
    """Its text cannot be had."""

    def __str__(self):
        raise PanicException("str", 0)


def nested():
    """Groups so deep that formatting them exceeds the recursion limit."""
    error = ValueError("innermost")
    for _ in range(3 * sys.getrecursionlimit()):
        error = ExceptionGroup("outer", [error])
    return error


RAISED = {
    "panic": (lambda: PanicException("called `Option::unwrap()` on a `None` value", 1), "PanicException: called"),
    "exit": (lambda: SystemExit(3), "SystemExit: 3"),
    "skip": (lambda: pytest.skip.Exception("no GPU"), "Skipped: no GPU"),
    "cancelled": (asyncio.CancelledError, "CancelledError"),
    "silent": (Silent, "Silent: <exception str() failed>"),
    "group": (nested, "ExceptionGroup"),
}


def broken(*names, base=object, **attributes):
    """A new object whose methods of these names raise what is no ``Exception``."""

    def breaks(self, *_):
        raise PanicException("broken object", 1)

    return type("Broken", (base,), {**attributes, **dict.fromkeys(names, breaks)})()


class Unreadable:
    """It can be pickled and not unpickled."""

    def __reduce__(self):
        return int, ("no number",)


RETURNED = {
    "item": lambda: broken("item", ndim=0),
    "len": lambda: broken("__len__"),
    "float": lambda: broken("__float__", base=float),
    "repr": lambda: broken("__repr__"),
    "class": lambda: type("Broken", (), {"__class__": property(lambda self: 1 / 0)})(),
    "array": lambda: broken("__array__", "__iter__", "__len__"),
    "noise": lambda: dale.Evaluation(1.0, noise=10**400),
    "noise that breaks": lambda: dale.Evaluation(1.0, noise=broken("__float__", base=float)),
    "constraint": lambda: dale.Evaluation(1.0, constraints=[10**400]),
    "constraints": lambda: dale.Evaluation(1.0, constraints=broken("__iter__", "__len__", "__array__")),
    "unpicklable": lambda: lambda: None,
    "not to be unpickled": Unreadable,
    "unreadable noise": lambda: dale.Evaluation(1.0, noise=Unreadable()),
    "recursive": lambda: (values := [], values.append(values))[0],
}
