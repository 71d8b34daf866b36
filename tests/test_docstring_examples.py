"""The examples in the docstrings of models, acquisition functions, optim and methods give what they show."""

import doctest
import importlib
import pkgutil

import pytest

ROOMS = ("dale.models", "dale.acquisition", "dale.optim", "dale.methods")
MODULES = [
    name
    for room in ROOMS
    for _, name, _ in pkgutil.walk_packages(importlib.import_module(room).__path__, prefix=f"{room}.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    found = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert len(found) >= 12
