"""The data of the page, and the file around it. ``test_report_page.py`` opens it in a browser."""

import base64
import hashlib
import json
import math
import re
import subprocess
import sys

import numpy as np
import pytest
import zoo

import dale
from dale.history.result import with_std
from dale.view.data.landscape import contour_data, slice_data
from dale.view.data.sections import PLANE_POINTS, sections_data
from dale.view.report import page as report_page
from dale.view.report.numbers import on_grid, significant
from dale.view.run_view import view_of
from dale.view.tolerances import ellipse

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
each_kind = pytest.mark.parametrize("kind", zoo.KINDS)


def data_of(path):
    return json.loads(DATA.search(path.read_text(encoding="utf-8"))[1])


@pytest.fixture
def page(tmp_path):
    def write(run, **options):
        return data_of(dale.report(run, tmp_path / "run.html", **options))

    return write


class TestSections:
    @each_kind
    def test_lines_are_those_of_the_slice_plot(self, kind):
        run = zoo.run(kind)
        for line, expected in zip(sections_data(run).lines, slice_data(run, grid_points=49), strict=True):
            assert line.axes[0].name == expected.axis.name
            assert line.base == expected.base
            shown = np.isfinite(line.mean)
            np.testing.assert_allclose(line.mean[shown], expected.mean[shown], rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(line.std[shown], expected.std[shown], rtol=1e-6, atol=1e-6)

    @each_kind
    def test_planes_are_those_of_the_contour_plot(self, kind):
        run = zoo.run(kind)
        for plane in sections_data(run).planes:
            names = [axis.name for axis in plane.axes]
            expected = contour_data(run, params=names, grid_points=PLANE_POINTS)
            np.testing.assert_allclose(plane.mean, expected.mean, rtol=1e-9, atol=1e-9)
            assert plane.base == expected.base
            if expected.feasible.size:
                np.testing.assert_allclose(plane.feasible, expected.feasible, atol=1e-9)
            elif expected.allowed.size:
                assert np.array_equal(plane.feasible > 0.5, expected.allowed)

    def test_slow_input_constraints_are_left_out(self, monkeypatch):
        monkeypatch.setattr("dale.view.data.sections.MAX_SECONDS", -1.0)
        assert sections_data(zoo.run("input constraints")).planes[0].feasible.size == 0

    def test_many_parameters_have_the_planes_of_the_most_important(self):
        space = dale.Space({f"p{i}": (0.0, 1.0) for i in range(10)})
        optimizer = dale.Optimizer(space, seed=0)
        for point in np.random.default_rng(0).random((40, 10)):
            params = dict(zip(space.names, point.tolist(), strict=True))
            optimizer.add(params, sum((k + 1) * v for k, v in enumerate(params.values())))
        data = sections_data(optimizer)
        assert len(data.lines) == 10
        assert len(data.planes) == 28
        assert len(data.left_out) == 2
        assert "p9" not in data.left_out


class TestContent:
    @each_kind
    def test_every_column_has_one_entry_for_each_trial(self, kind, page):
        run = zoo.run(kind)
        data = page(run)
        n = len(run.history)
        columns = {
            k: v
            for k, v in data["trials"].items()
            if isinstance(v, list) and k not in ("at", "errors", "outlier", "elsewhere")
        }
        assert {len(column) for column in columns.values()} == {n}
        assert {len(column) for column in data["trials"]["at"]} == {n}
        assert data["trials"]["value"] == [t.value for t in run.history]
        assert data["trials"]["reason"] == [str(t.reason) for t in run.history]
        assert data["summary"]["best"]["value"] == with_std(run.fun, run.fun_std, 8)

    @each_kind
    def test_the_summary_answers_four_questions(self, kind, page):
        summary = page(zoo.run(kind))["summary"]
        assert summary["status"].startswith("The budget is spent after ")
        for answer in ("sure", "limits", "next"):
            assert summary[answer], answer
            assert all(line.endswith((".", "%")) or line[-1].isalnum() for line in summary[answer])
        assert [name for name, _ in summary["lines"]][:4] == ["Trials", "Noise", "Failures", "Constraints"]

    def test_noise_failures_and_constraints_are_stated(self, page):
        assert "Values have noise of 0.1" in dict(page(zoo.run("noisy"))["summary"]["lines"])["Noise"]
        assert "diverged: <b>step</b> too long" in dict(page(zoo.run("failed"))["summary"]["lines"])["Failures"]
        assert "violate a constraint" in dict(page(zoo.run("constrained"))["summary"]["lines"])["Constraints"]

    def test_errors_are_kept_once_each(self, page):
        data = page(zoo.run("failed"))["trials"]
        failed = [k for k, state in enumerate(data["state"]) if state == "failed"]
        assert failed
        for k in failed:
            assert "ValueError: diverged: <b>step</b> too long" in data["errors"][data["error"][k]]
        assert len(data["errors"]) == len(set(data["errors"]))

    def test_the_ellipses_of_minima_are_those_of_the_contour_plot(self, page):
        run = zoo.run("float")
        data, view = page(run), view_of(run)
        names = view.space.names
        assert data["minima"]["list"]
        for k, minimum in enumerate(data["minima"]["list"]):
            for i, j in ((0, 1), (0, 2), (1, 2)):
                H = np.array(minimum["hessian"], dtype=float)[np.ix_([i, j], [i, j])]
                curve = ellipse(run.local_minima[k], view.space, data["minima"]["rise"], (names[i], names[j]))
                rises = []
                for row in curve[np.all(np.isfinite(curve), axis=1)]:
                    t = [fraction(data["params"][p], v) - minimum["at"][p] for p, v in zip((i, j), row, strict=True)]
                    rises.append(t @ H @ np.array(t) / 2)
                np.testing.assert_allclose(rises, data["minima"]["rise"], rtol=1e-3)

    def test_regions_contain_their_last_step(self, page):
        data = page(zoo.run("constrained"))
        step = data["regions"][-1]
        assert not step["closed"]
        M = np.array(step["matrix"])
        assert np.all(np.linalg.eigvalsh(M) > 0)
        center = [data["trials"]["at"][i][step["center"]] for i in range(2)]
        np.testing.assert_allclose(
            step["at"], [fraction(p, v) for p, v in zip(data["params"], center, strict=True)], atol=1e-5
        )

    def test_a_run_without_values(self, page):
        data = page(dale.Optimizer(zoo.MIXED, seed=0))
        assert data["summary"]["best"] is None
        assert data["model"] is None
        assert data["modelNote"]
        assert data["trials"]["id"] == []

    def test_a_run_with_one_trial(self, page):
        optimizer = dale.Optimizer(zoo.PLANE, seed=0)
        optimizer.tell(optimizer.ask(), 1.5)
        optimizer.ask()
        data = page(optimizer)
        assert data["summary"]["status"] == "1 evaluation"
        assert data["trials"]["state"] == ["complete", "pending"]
        assert data["trials"]["at"][0][1] is not None

    def test_the_timeline_ignores_trials_that_the_view_does_not_know(self, tmp_path, page):
        store = tmp_path / "run.db"
        with dale.Optimizer(zoo.PLANE, seed=0, store=store) as one:
            one.tell(one.ask(), 1.0)
            view = view_of(one)
            one.tell(one.ask(), 2.0)
            later = view_of(one)
        data = page(type(view)(view.snapshot, view.result, later.run))
        assert data["timeline"]["trial"] == [0]

    def test_titles_and_labels(self, page):
        data = page(zoo.run("float"), title="my <run>", objective="cost (EUR)")
        assert (data["title"], data["objective"]) == ("my <run>", "cost (EUR)")


def fraction(parameter, value):
    low, high = parameter["low"], parameter["high"]
    return math.log(value / low) / math.log(high / low) if parameter["log"] else (value - low) / (high - low)


class TestAgain:
    def test_python_code_makes_the_run_again(self, page):
        run = zoo.run("conditional")
        text = page(run)["again"]["text"]
        assert text.startswith("import dale\n\nspace = dale.Space({")
        names = {"objective": zoo.conditional}
        exec(text, names)
        assert names["result"].space == run.space
        assert [t.params for t in names["result"].history] == [t.params for t in run.history]

    def test_a_program_has_its_command(self, tmp_path, page):
        store = tmp_path / "run.db"
        command = dale.Command([sys.executable, "-c", "print(({a} - 1) ** 2)"])
        dale.minimize(command, dale.Space(a=(0, 2)), budget=3, seed=4, store=store, noise=0.0)
        text = page(store)["again"]["text"]
        assert text.startswith("dale run --space space.toml --budget 3 --seed 4 --noise 0.0 -- ")
        assert text.endswith("-c 'print(({a} - 1) ** 2)'")


class TestFile:
    def test_the_data_cannot_leave_their_script(self, tmp_path):
        name = "</script><script>alert(1)</script>\u2028<!-- &amp; \ud800"
        optimizer = dale.Optimizer(dale.Space({name: dale.Choice([name, "b"]), "x": (0.0, 1.0)}), seed=0)
        optimizer.fail(optimizer.ask(), name)
        path = dale.report(optimizer, tmp_path / "run.html")
        raw = path.read_bytes()
        inside = DATA.search(raw.decode("utf-8"))[1]
        assert inside.isascii()
        assert not set("<>&") & set(inside)
        assert raw.count(b"</script>") == 3
        assert data_of(path)["params"][0]["name"] == name
        assert data_of(path)["trials"]["errors"] == [name]

    def test_the_policy_permits_the_scripts_of_the_page_only(self, tmp_path):
        text = dale.report(zoo.run("float"), tmp_path / "run.html").read_text(encoding="utf-8")
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
        directives = dict(part.split(" ", 1) for part in policy.split("; "))
        assert directives["default-src"] == "'none'"
        assert directives["script-src"].split() == [
            hash_of(s) for s in re.findall(r"<script>(.*?)</script>", text, re.S)
        ]
        assert directives["style-src"] == hash_of(re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1])
        assert "unsafe" not in policy
        assert text.count("<script") == 3

    def test_the_licence_of_the_library_is_in_the_page(self, tmp_path):
        text = dale.report(zoo.run("float"), tmp_path / "run.html").read_text(encoding="utf-8")
        assert "Mike Bostock" in text
        assert "Permission to use, copy, modify" in text

    def test_it_is_replaced_at_once(self, tmp_path, monkeypatch):
        path = tmp_path / "new" / "run.html"
        dale.report(zoo.run("float"), path)
        before = path.read_bytes()
        monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            dale.report(zoo.run("noisy"), path)
        assert path.read_bytes() == before
        assert [p.name for p in path.parent.iterdir()] == ["run.html"]

    def test_a_link_stays_a_link(self, tmp_path):
        (tmp_path / "link.html").symlink_to("real.html")
        dale.report(zoo.run("float"), tmp_path / "link.html")
        assert (tmp_path / "link.html").is_symlink()
        assert (tmp_path / "real.html").stat().st_size > 100_000

    def test_it_never_replaces_a_store(self, tmp_path):
        store, other = tmp_path / "run.db", tmp_path / "other.db"
        for path in (store, other):
            dale.minimize(lambda x: x[0], [(0, 1)], budget=3, seed=0, store=path)
        for path in (store, other):
            before = path.read_bytes()
            with pytest.raises(ValueError, match="other than that of a store"):
                dale.report(store, path)
            assert path.read_bytes() == before

    @pytest.mark.parametrize("path", ["", "."])
    def test_it_needs_the_path_of_a_file(self, path, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(ValueError, match="expected the path of a file"):
            dale.report(zoo.run("float"), path)
        with pytest.raises(TypeError, match="expected the path of a file"):
            dale.report(zoo.run("float"), 3)

    def test_results_optimizers_and_runs_write_themselves(self, tmp_path):
        store = tmp_path / "run.db"
        result = dale.minimize(lambda x: x[0], [(0, 1)], budget=3, seed=0, store=store)
        assert result.report(tmp_path / "a.html") == tmp_path / "a.html"
        dale.open(store).report(tmp_path / "b.html", title="b")
        dale.Optimizer([(0, 1)], seed=0).report(tmp_path / "c.html")
        assert [data_of(tmp_path / f"{name}.html")["title"] for name in "abc"] == ["Run of dale", "b", "Run of dale"]

    def test_it_needs_no_matplotlib_and_import_dale_does_not_need_it(self, tmp_path):
        code = (
            "import sys, dale\n"
            "assert not any(name.startswith('dale.view') for name in sys.modules)\n"
            "sys.modules['matplotlib'] = None\n"
            "result = dale.minimize(lambda x: x[0] ** 2, [(-1, 2)], budget=6, seed=0, report='run.html')\n"
            "result.report('again.html')\n"
        )
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
        assert (tmp_path / "again.html").exists()


def hash_of(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


class TestSize:
    def test_500_trials_in_6_dimensions(self, tmp_path):
        rng = np.random.default_rng(0)
        optimizer = dale.Optimizer([(0.0, 1.0)] * 6, seed=0)
        for k, x in enumerate(rng.random((500, 6))):
            if k % 10:
                optimizer.add(x, float(x @ x))
            else:
                optimizer.fail(optimizer.ask(at=x), f"error number {k}\n" + "a long line of a log\n" * 1000)
        size = dale.report(optimizer, tmp_path / "run.html").stat().st_size
        assert size < 2_000_000, size

    def test_long_errors_keep_their_ends(self, page):
        optimizer = dale.Optimizer([(0.0, 1.0)], seed=0)
        optimizer.fail(optimizer.ask(), "begin\n" + "x" * 9000 + "\nValueError: end")
        (error,) = page(optimizer)["trials"]["errors"]
        assert error.startswith("begin")
        assert error.endswith("ValueError: end")
        assert "characters were left out" in error
        assert len(error) < 6_100


class TestNumbers:
    def test_a_large_offset_keeps_the_variation(self):
        values = 1e9 + np.linspace(0, 1e-3, 5)
        np.testing.assert_allclose(on_grid(values), values, atol=1e-7, rtol=0)

    def test_what_is_not_finite_is_none(self):
        assert on_grid(np.array([np.nan, 1.0, 2.0])) == [None, 1, 2]
        assert significant([math.inf, None, 0.123456789]) == [None, None, 0.1234568]
        assert on_grid(np.full(2, np.nan)) == [None, None]


def test_the_assets_are_all_used():
    from importlib.resources import files

    scripts = {p.name for p in (files("dale.view.report") / "assets" / "js").iterdir()}
    assert scripts == set(report_page.SCRIPTS)
