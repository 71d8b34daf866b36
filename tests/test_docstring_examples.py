"""The examples in the docstrings give what they show."""

import doctest
import importlib
import pkgutil

import pytest

import dale

MODULES = [name for _, name, _ in pkgutil.walk_packages(dale.__path__, prefix="dale.") if not name.endswith("__main__")]


def module_or_skip(name):
    """A module; the test is skipped if it needs an extra that is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if name.startswith("dale.integrations.") and "pip install 'dale[" in str(error):
            pytest.skip(str(error))
        raise


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some examples write files
    results = doctest.testmod(module_or_skip(name))
    assert results.failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    core = [name for name in MODULES if not name.startswith("dale.integrations.")]
    found = [test for name in core for test in finder.find(importlib.import_module(name)) if test.examples]
    assert len(found) >= 75
