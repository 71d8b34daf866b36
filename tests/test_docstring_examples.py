"""The examples in the docstrings give what they show."""

import doctest
import importlib
import pkgutil

import pytest

import dale

MODULES = [name for _, name, _ in pkgutil.walk_packages(dale.__path__, prefix="dale.") if not name.endswith("__main__")]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some examples write files
    results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    found = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert len(found) >= 75
