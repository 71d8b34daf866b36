"""A notebook with every kind of object is executed, and shows each of them; nothing of the user's becomes markup."""

import base64
import re
import struct
from html.parser import HTMLParser

import nbformat
import pytest
import zoo
from nbclient import NotebookClient

import dale
from dale.history.result import with_std
from dale.view.html import html_of, text_of

CELLS = """
import dale
space = dale.Space(a=(-2.0, 2.0), b=dale.Int(1, 9), c=dale.Choice(["<b>x</b>", "y"]), d=dale.Float(0, 1).when(c="y"))
space
#
result = dale.minimize(lambda p: (p["a"] - 1) ** 2 + p["b"] + (p["c"] == "y"), space, budget=12, seed=0, store="run.db")
#
result
#
dale.open("run.db")
#
dale.Optimizer(space, store="run.db")
#
result.history[5]
#
print(dale.why("run.db", 8))
#
result.plot()
#
dale.plot.timeline("run.db", style="dark")
#
import matplotlib.pyplot
result.plot("slice")
"""


class Elements(HTMLParser):
    """Names and text of the elements of an HTML text."""

    def __init__(self, text):
        super().__init__()
        self.names, self.text = set(), ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    cells = [nbformat.v4.new_code_cell(text.strip()) for text in CELLS.split("#\n")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    path = {"metadata": {"path": str(tmp_path_factory.mktemp("notebook"))}}
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources=path).execute()
    return [cell.outputs for cell in notebook.cells]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
class TestExecuted:
    def test_objects_are_tables(self, outputs):
        space, result, run, optimizer = (outputs[i][0].data["text/html"] for i in (0, 2, 3, 4))
        assert "active when" in space
        for text in (result, run, optimizer):
            assert {"table", "td", "li"} & Elements(text).names >= {"table", "td"}
            assert "best value" in text
        for text in (space, result, run, optimizer):
            assert "b" not in Elements(text.replace("<b>", "", 1).replace("</b>", "", 1)).names  # but for the title
            assert "<b>x</b>" in Elements(text).text

    def test_progress_is_a_widget(self, outputs):
        (shown,) = [output for output in outputs[1] if output.output_type == "display_data"]
        assert "application/vnd.jupyter.widget-view+json" in shown.data

    def test_a_trial_is_one_line(self, outputs):
        text = outputs[5][0].data["text/plain"]
        assert text.startswith("<dale.Trial 5: a=")
        assert "\n" not in text

    def test_explanations_are_text(self, outputs):
        assert outputs[6][0].text.startswith("trial 8 at a=")

    @pytest.mark.parametrize("cell", [7, 8, 9])
    def test_figures_are_images_once(self, outputs, cell):
        (shown,) = outputs[cell]
        assert set(shown.data) == {"text/plain", "image/png"}
        width, height = struct.unpack(">II", base64.b64decode(shown.data["image/png"])[16:24])
        assert min(width, height) > 200
        if cell < 9:  # afterwards, pyplot draws figures in its own way
            assert shown.metadata["image/png"]["width"] == pytest.approx(width / 2, abs=1)


HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a\x1b[31m\x00b", "\udc80", "&amp;", "‮rtl"]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_stays_text(name, tmp_path):
    space = dale.Space({name: dale.Choice([name, "ok"]), "x": (0.0, 1.0)})

    def fun(p):
        if p["x"] < 0.5:
            raise ValueError(name)
        return p["x"]

    result = dale.minimize(fun, space, budget=6, seed=0, progress=False)
    for text in (html_of(result), html_of(space), html_of(dale.Optimizer(space, seed=0))):
        assert not {"script", "img"} & Elements(text).names
        assert text.encode("utf-8")
        assert not re.search(r"[\x00-\x08\x1b\u202e]", text)


@pytest.mark.parametrize("kind", zoo.KINDS)
def test_all_runs_have_html(kind):
    run = zoo.run(kind)
    text = html_of(run)
    assert text.count("<table>") == text.count("</table>") >= 2
    assert text_of(with_std(run.fun, run.fun_std)) in text


def test_nothing_else_has_html():
    with pytest.raises(TypeError, match="expected a result, an Optimizer, a run or a space, got int"):
        html_of(3)
