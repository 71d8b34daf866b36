"""The package as OptunaHub loads it."""

import re
import runpy
from pathlib import Path

import optuna
import optunahub
import pytest

from dale.integrations.optuna import DaleSampler

PACKAGE = Path(__file__).parents[1]
ROOT = PACKAGE.parents[1]


@pytest.fixture
def module(monkeypatch):
    loaded = optunahub.load_local_module("samplers/dale", registry_root=str(ROOT))
    monkeypatch.setattr(optunahub, "load_module", {"samplers/dale": loaded}.get)
    return loaded


def test_it_has_the_sampler_of_dale(module):
    assert module.DaleSampler is DaleSampler
    assert module.__all__ == ["DaleSampler"]


def test_the_example(module, capsys):
    runpy.run_path(str(PACKAGE / "example.py"), run_name="__main__")
    assert capsys.readouterr().out.startswith("{'kernel': 'rbf'")


def test_the_example_of_the_readme(module, monkeypatch):
    code = re.search(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text(encoding="utf-8"), re.DOTALL)[1]
    names = {}
    exec(code.replace("n_trials=40", "n_trials=12"), names)
    assert names["study"].best_value < 1e-3


def test_what_the_registry_asks_for():
    assert {path.name for path in PACKAGE.iterdir()} >= {
        *("LICENSE", "README.md", "__init__.py", "example.py", "requirements.txt", "sampler.py")
    }
    head = (PACKAGE / "README.md").read_text(encoding="utf-8").split("---")[1]
    keys = re.findall(r"^(\w+): \S", head, re.MULTILINE)
    assert keys == ["author", "title", "description", "tags", "optuna_versions", "license"]
    assert (PACKAGE / "LICENSE").read_text() == (ROOT.parent / "LICENSE").read_text()
    assert issubclass(DaleSampler, optuna.samplers.BaseSampler)
