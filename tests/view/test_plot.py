"""The plots, checked by their labels and data, not by pixels."""

import subprocess
import sys

import numpy as np
import pytest

import dale
from dale.history.reason import Source
from dale.view.plot.kinds import KINDS
from dale.view.style import SOURCE_STYLES, MatplotlibMissing, save

KINDS_IN_ORDER = sorted(KINDS)
SPACE = dale.Space(gain=dale.Float(0.01, 100, log=True), delay=(0.0, 3.0))


def objective(p):
    if p["delay"] > 2.7:
        raise ValueError("diverged")
    return np.log10(p["gain"]) ** 2 + (p["delay"] - 1) ** 2 + 2


@pytest.fixture(scope="module")
def run():
    x0 = [{"gain": 0.1, "delay": 2.9}, {"gain": 10, "delay": 0.5}]  # the first one fails
    return dale.minimize(objective, SPACE, budget=16, seed=0, x0=x0, method=dale.methods.paper())


def legend_of(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def line(ax, label):
    (found,) = [l for l in ax.get_lines() if l.get_label() == label]
    return found


class TestConvergence:
    def test_labels_and_legend(self, run):
        figure = dale.plot.convergence(run, objective="error (mg)", title="A run")
        top, bottom = figure.axes
        assert top.get_ylabel() == "error (mg)"
        assert top.get_title(loc="left") == "A run"
        assert (bottom.get_xlabel(), bottom.get_ylabel()) == ("trial", "length-scale")
        sources = {t.reason.source for t in run.history if t.value is not None}
        shown = ["best so far", "failed", "cooled down"] + [SOURCE_STYLES[s].label for s in sources]
        assert sorted(legend_of(figure)) == sorted(shown)

    def test_series(self, run):
        top, bottom = dale.plot.convergence(run).axes
        known = [(t.id, t.value) for t in run.history if t.value is not None]
        np.testing.assert_array_equal(line(top, "best so far").get_ydata()[1:], np.minimum.accumulate(run.func_vals))
        proposed = [(i, y) for i, y in known if run.history[i].reason.source is Source.GLOBAL]
        np.testing.assert_array_equal(line(top, "global model").get_xydata(), proposed)
        np.testing.assert_array_equal(line(top, "failed").get_xdata(), [0])
        cooled = [t.id for t in run.history if t.reason.cooled]
        np.testing.assert_array_equal(line(bottom, "cooled down").get_xdata(), cooled)

    def test_regret_is_on_a_log_scale_and_positive(self, run):
        top, _ = dale.plot.convergence(run, minimum=run.fun).axes
        regret = line(top, "best so far").get_ydata()
        assert top.get_yscale() == "log"
        assert top.get_ylabel() == "objective − minimum"
        assert 0 < regret[-1] < 1e-12
        assert regret[~np.isnan(regret)][0] == pytest.approx(run.func_vals[0] - run.fun)

    def test_values_of_many_decades_are_on_a_log_scale(self):
        wide = dale.minimize(lambda x: float(10 ** (4 * x[0])), [(0, 1)], budget=5, seed=0)
        narrow = dale.minimize(lambda x: float(1 + x[0]), [(0, 1)], budget=5, seed=0)
        assert [dale.plot.convergence(r).axes[0].get_yscale() for r in (wide, narrow)] == ["log", "linear"]

    def test_ticks_of_a_short_log_axis_are_plain_numbers(self):
        run = dale.minimize(lambda x: float(0.2 * 30 ** x[0]), [(0, 1)], budget=8, seed=0)
        figure = dale.plot.convergence(run)
        figure.canvas.draw()
        labels = [t.get_text() for t in figure.axes[0].get_yticklabels(which="both")]
        assert {"0.2", "0.5", "1", "2", "5"} <= set(labels)

    def test_an_outlier_is_marked_at_the_top_and_does_not_set_the_scale(self):
        values = iter([1e12, 3.0, 2.0, 5.0, 4.0, 2.5, 3.5, 1.5])
        run = dale.minimize(lambda x: next(values), [(0, 1)], budget=8, seed=0)
        top, _ = dale.plot.convergence(run).axes
        np.testing.assert_array_equal(line(top, "outlier").get_xdata(), [0])
        assert top.get_ylim()[1] < 10
        np.testing.assert_array_equal(line(top, "best so far").get_ydata(), [np.nan, 3, 2, 2, 2, 2, 2, 1.5])

    def test_of_an_initial_design_without_a_model(self, tmp_path):
        run = dale.minimize(lambda x: x[0], [(0, 1)], budget=2, seed=0)
        assert save(dale.plot.convergence(run), tmp_path / "two.png").stat().st_size > 0

    def test_of_a_run_without_a_value(self, tmp_path):
        run = dale.minimize(lambda x: float("nan"), [(0, 1)], budget=4, seed=0)
        figure = dale.plot.convergence(run, minimum=0.0)
        assert save(figure, tmp_path / "none.png").stat().st_size > 0
        assert "failed" in legend_of(figure)


class TestContour:
    def test_labels_legend_and_points(self, run):
        figure = dale.plot.contour(run, SPACE, title="A run")
        ax = figure.axes[0]
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("gain", "delay")
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
        assert figure.axes[-1].get_ylabel() == "objective"
        assert {"global model", "failed", "local minimum (ring: + 1 %)", "best"} <= set(legend_of(figure))
        np.testing.assert_array_equal(line(ax, "best").get_xydata(), [run.x])
        chosen = [t.x for t in run.history if t.reason.source is Source.GLOBAL and t.value is not None]
        np.testing.assert_array_equal(line(ax, "global model").get_xydata(), chosen)

    def test_the_objective_is_drawn_next_to_the_surrogate(self, run):
        points = []
        figure = dale.plot.contour(run, SPACE, lambda p: points.append(p) or 2 + p["delay"])
        left, right, _ = figure.axes
        assert [ax.get_title(loc="left") for ax in (left, right)] == ["Objective", "Surrogate"]
        assert set(points[0]) == {"gain", "delay"}
        assert not left.get_lines()

    def test_accepts_a_space_as_minimize_does(self):
        run = dale.minimize(lambda x: float(x @ x), [(-1, 1), (-1, 2)], budget=8, seed=0)
        assert dale.plot.contour(run, [(-1, 1), (-1, 2)]).axes[0].get_xlabel() == "x0"

    def test_of_a_constant(self, tmp_path):
        run = dale.minimize(lambda x: 1.0, [(-1, 1), (-1, 2)], budget=5, seed=0)
        assert save(dale.plot.contour(run, [(-1, 1), (-1, 2)]), tmp_path / "flat.png").stat().st_size > 0


class TestSlice:
    def test_one_panel_for_each_parameter(self, run, tmp_path):
        figure = dale.plot.slice(run, SPACE, objective="error")
        assert [ax.get_xlabel() for ax in figure.axes] == ["gain", "delay"]
        assert figure.axes[0].get_ylabel() == "error"
        assert legend_of(figure) == ["± 2 standard deviations", "surrogate", "trials (projected)", "failed", "best"]
        assert save(figure, tmp_path / "new" / "slices.png").stat().st_size > 10_000

    def test_five_parameters_need_two_rows(self):
        run = dale.minimize(lambda x: float(x @ x), [(-1, 1)] * 5, budget=5, seed=0)
        visible = [ax.get_xlabel() for ax in dale.plot.slice(run, [(-1, 1)] * 5).axes if ax.get_visible()]
        assert visible == ["x0", "x1", "x2", "x3", "x4"]


def test_without_matplotlib_the_message_says_how_to_install_it(run, monkeypatch):
    for name in [m for m in sys.modules if m.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MatplotlibMissing, match=r"pip install 'dale\[plot\]'"):
        dale.plot.convergence(run)


def test_pyplot_is_never_imported():
    code = (
        "import sys, dale; r = dale.minimize(lambda x: x[0], [(0, 1)], budget=4, seed=0);"
        "assert 'matplotlib' not in sys.modules;"
        "dale.plot.convergence(r); assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_plot_is_a_public_module():
    code = "import sys, dale; assert 'dale.view' not in sys.modules; print(*dale.plot.__all__, dale.plot.__name__)"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.split() == [*KINDS_IN_ORDER, "dale.view.plot"]
    assert "plot" in dir(dale)
    with pytest.raises(AttributeError, match="module 'dale' has no attribute 'plots'"):
        dale.plots  # noqa: B018
