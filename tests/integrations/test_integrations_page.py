"""Runs the examples of docs/integrations.md that need torch or Ray; tests/test_docs.py runs the others."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "integrations.md"
EXAMPLES = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def run(library):
    (code,) = (example for example in EXAMPLES if library in example)
    names = {"__name__": "__main__"}
    exec(compile(code, "<example>", "exec"), names)
    return names


def test_there_are_two_examples():
    assert len(EXAMPLES) == 2


@pytest.mark.filterwarnings("ignore")
def test_botorch():
    pytest.importorskip("botorch", reason="BoTorch is not installed; it comes with the extra botorch")
    assert run("botorch")["X"].shape == (15, 2)


@pytest.mark.filterwarnings("ignore")
def test_ray(tmp_path, monkeypatch):
    ray = pytest.importorskip("ray", reason="Ray is not installed; it comes with the extra ray")
    monkeypatch.setenv("HOME", str(tmp_path))
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        assert len(run("from ray import tune")["tuner"].get_results()) == 6
    finally:
        ray.shutdown()
