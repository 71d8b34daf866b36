"""The page in a real browser: Debian's chromium, headless. Without one, these tests are skipped."""

import json
import time

import numpy as np
import pytest
import zoo
from browser import EXECUTABLE, Browser

import dale
from dale.view.report.page import html_of, write
from dale.view.run_view import view_of

pytestmark = pytest.mark.skipif(EXECUTABLE is None, reason="no Chromium: apt-get install chromium")

CHARTS = {  # a chart, and what it must have at least one of
    "convergence": ".point",
    "plane": ".contours path, .contours rect",
    "slices": ".model",
    "parallel": ".line",
    "predictions": ".point",
    "importance": ".bar-main",
    "length-scale": ".model",
}
ROWS = "[...document.querySelectorAll('#table tr.row')]"
IDS = f"{ROWS}.map(r => Number(r.dataset.trial))"
HOSTILE = [
    "<script>hacked=1</script>", "<img src=x onerror=hacked=1>", "<svg onload=hacked=1>", "</script><script>hacked=1//",
    "<!--<script>", "-->", "]]>", "<b>bold</b>", "&lt;b&gt;", "&#60;script&#62;", '"><script>hacked=1</script>',
    "'><img src=x onerror='hacked=1'>", "javascript:hacked=1", "<a href='javascript:hacked=1'>x</a>",
    "<iframe srcdoc='<script>parent.hacked=1</script>'>", "<object data='x'>", "<embed src=x>", "<base href='//x/'>",
    "<link rel=stylesheet href='//x/'>", "<style>*{display:none}</style>", "<meta http-equiv=refresh content=0>",
    "<form action=x><input autofocus onfocus=hacked=1>", "<details open ontoggle=hacked=1>",
    "<video src=x onerror=hacked=1>", "<math><mtext></form><form><mglyph><style></math><img src onerror=hacked=1>",
    "<template><p>", "<plaintext>", "<textarea>", "<title>", "<noscript>", "${hacked=1}", "`${hacked=1}`",
    "{{constructor.constructor('hacked=1')()}}", "\\u003cscript>hacked=1\\u003c/script>", "\u2028hacked=1",
    "\u2029hacked=1", "\x00<b>", "\x1b[31m<b>", "\ufeff<b>", "\u202e<b>txt", "\ud800<b>",
    "%3Cscript%3Ehacked=1%3C/script%3E", "__proto__", "constructor", "toString", "#", "' OR 1=1 --", "%DATA%",
    "%PROGRAM%", "a" * 3000 + "<b>",
]  # fmt: skip
WORDS = """
a b body button dd dialog div dl dt footer h1 h2 h3 head header html i input label li main meta nav noscript option p
pre script section select span style table tbody td th thead title tr ul
circle clippath defs g line path pattern rect svg text
"""
TAGS = set(WORDS.split())


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    started = Browser(tmp_path_factory.mktemp("chromium"))
    started.size(1440)
    yield started
    started.close()


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A run with a store, failures, three parameters and a minimum."""
    folder = tmp_path_factory.mktemp("page")

    def objective(p):
        if p["d"] > 0.9:
            raise ValueError("diverged: <b>step</b> too long")
        return 1 + (p["a"] - 1) ** 2 + 0.05 * (p["b"] - 5) ** 2 + 0.1 * (np.log(p["d"]) + 2) ** 2

    space = dale.Space(a=(-2.0, 2.0), b=(0.0, 10.0), d=dale.Float(0.01, 1.0, log=True))
    x0 = {"a": 0.0, "b": 1.0, "d": 1.0}
    dale.minimize(objective, space, budget=30, seed=0, store=folder / "run.db", x0=x0, progress=False)
    return dale.report(folder / "run.db", folder / "run.html")


@pytest.fixture
def opened(browser, stored):
    browser.size(1440)
    browser.scheme("light")
    browser.open(stored)
    return browser


def no_trouble(browser):
    assert browser.problems == []
    assert [r for r in browser.requests if not r.startswith("file://")] == []
    assert len(browser.requests) == 1


class TestLoading:
    @pytest.mark.parametrize("kind", zoo.KINDS)
    def test_every_kind_of_run_draws_all_charts(self, kind, browser, tmp_path):
        browser.open(dale.report(zoo.run(kind), tmp_path / "run.html"))
        for chart, marks in CHARTS.items():
            places = f"#{chart} .chart :is({marks}), #{chart} .tiles :is({marks})"
            assert browser.run(f"document.querySelectorAll('{places}').length"), chart
        assert browser.run(f"{ROWS}.length") == len(zoo.run(kind).history)
        assert not browser.run("document.querySelector('main').outerHTML.includes('NaN')")
        no_trouble(browser)

    def test_a_run_that_maximises_with_a_held_parameter(self, browser, tmp_path):
        def objective(p):
            return dale.Evaluation(3 - (p["a"] - 0.3) ** 2 - (p["b"] - p["c"]) ** 2, extra={"rmse": 0.5})

        optimizer = dale.Optimizer(dale.Space(a=(0, 1), b=(0, 1), c=(0, 1)), seed=0, direction="maximize")
        for k in range(20):
            trial = optimizer.ask(fixed={"c": (0.2, 0.6)[k % 2]})
            optimizer.tell(trial, objective(trial.params))
        browser.open(dale.report(optimizer.hold({"c": 0.6}), tmp_path / "run.html"))
        for chart in ("convergence", "slices", "plane", "parallel", "predictions"):
            assert browser.run(f"document.querySelectorAll('#{chart} path').length"), chart
        text = browser.run("document.querySelector('main').textContent")
        assert "Local maxima" in text
        assert "Local minima" not in text
        assert browser.run("document.getElementById('best-value').textContent") == f"{optimizer.best_value:.8g}"
        assert browser.run("document.querySelectorAll('#parallel path[data-trial]').length") == 10  # of 20
        browser.click("#best-trial")
        assert "Extra: rmse" in browser.run("document.getElementById('details').textContent")
        assert not browser.run("document.querySelector('main').outerHTML.includes('NaN')")
        no_trouble(browser)

    @pytest.mark.parametrize("n", [0, 1, 2])
    def test_runs_that_have_hardly_begun(self, n, browser, tmp_path):
        optimizer = dale.Optimizer(zoo.MIXED, seed=0)
        for _ in range(n):
            optimizer.tell(optimizer.ask(), 1.0)
        browser.open(dale.report(optimizer, tmp_path / "run.html"))
        assert browser.run("document.getElementById('best-value').textContent") == ("1" if n else "none yet")
        assert browser.run(f"{ROWS}.length") == n
        no_trouble(browser)

    def test_a_stored_run_has_a_timeline_and_minima(self, opened):
        assert opened.run("document.querySelectorAll('#timeline .span').length") == 30
        assert opened.run("document.querySelectorAll('#minima tbody tr').length") >= 1
        assert opened.run("document.querySelectorAll('#minima .bars-alone:not(.legend *)').length") == 3
        assert opened.run("document.querySelectorAll('#plane .ring').length") >= 1
        assert "dale.minimize(objective, space" in opened.run("document.getElementById('command').textContent")
        no_trouble(opened)


class TestCharts:
    def test_pointing_at_a_trial_shows_it(self, opened):
        x, y = opened.middle("#convergence .point[data-trial='7']")
        opened.mouse("mouseMoved", x, y)
        tip = opened.wait("document.getElementById('tip').hidden || document.getElementById('tip').textContent")
        assert "Trial 7" in tip
        assert "a " in tip

    def test_pointing_at_the_model_shows_a_prediction(self, opened):
        opened.click("#check-planeTrials")
        x, y = opened.middle("#plane .plot")
        opened.mouse("mouseMoved", x + 3, y + 31)
        assert "±" in opened.run("document.getElementById('tip').textContent")

    def test_drag_zooms_and_the_button_resets(self, opened):
        ticks = "[...document.querySelectorAll('#convergence .axis.x text')].map(t => t.textContent).join()"
        before = opened.run(ticks)
        assert opened.run("document.getElementById('zoom-convergence-Reset').disabled")
        x, y = opened.middle("#convergence .plot")
        opened.drag((x - 200, y - 60), (x + 100, y + 60))
        assert opened.run(ticks) != before
        assert opened.run("document.getElementById('chart-convergence').dataset.zoomed") == "yes"
        opened.click("#zoom-convergence-Reset")
        assert opened.run(ticks) == before

    def test_keys_zoom_move_and_open(self, opened):
        opened.run("document.getElementById('chart-convergence').focus()")
        opened.key("+", "+")
        assert opened.run("document.getElementById('chart-convergence').dataset.zoomed") == "yes"
        opened.key("0", "0")
        assert not opened.run("document.getElementById('chart-convergence').dataset.zoomed")
        opened.key("ArrowRight")
        assert opened.run("document.getElementById('tip').textContent").startswith("Trial 0")
        opened.key("Enter", "\r")
        assert opened.run("document.getElementById('details').open")
        assert "diverged: <b>step</b> too long" in opened.run("document.getElementById('details').textContent")
        opened.key("Escape")
        assert not opened.run("document.getElementById('details').open")

    def test_the_log_switch(self, opened):
        label = "document.querySelector('#convergence svg > .label:last-of-type').textContent"
        line = "document.querySelector('#convergence .best-line:not(.legend *)').getAttribute('d')"
        before = opened.run(line)
        opened.click("#scale-log")
        log = opened.run(line)
        opened.click("#scale-gap")
        assert len({before, log, opened.run(line)}) == 3
        assert "above the lowest value" in opened.run(label)
        no_trouble(opened)

    def test_any_two_parameters(self, opened):
        seen = set()
        for x, y in ((0, 2), (2, 0), (1, 2)):
            for name, value in (("X", x), ("Y", y)):
                select = f"document.getElementById('select-plane{name}')"
                opened.run(f"{select}.value = {value}; {select}.dispatchEvent(new Event('change'))")
            seen.add(
                opened.run(
                    "[...document.querySelectorAll('#plane .contours path')].map(p => p.getAttribute('d')).join()"
                )
            )
            labels = opened.run("[...document.querySelectorAll('#plane svg > .label')].map(t => t.textContent)")
            assert labels == ["abd"[x], "abd"[y]]
        assert len(seen) == 3
        no_trouble(opened)

    def test_the_best_share_of_parallel_lines(self, opened):
        lines = "document.querySelectorAll('#parallel .chart .line').length"
        before = opened.run(lines)
        slider = "document.getElementById('parallel-share')"
        opened.run(f"{slider}.value = 20; {slider}.dispatchEvent(new Event('input'))")
        assert 0 < opened.run(lines) < before / 2


class TestTable:
    def test_sorting(self, opened):
        data = json.loads(opened.run("document.getElementById('data').textContent"))["trials"]
        opened.click("#sort-value")
        with_value = sorted((v, k) for k, v in enumerate(data["value"]) if v is not None)
        assert opened.run(IDS)[: len(with_value)] == [k for _, k in with_value]
        assert (
            opened.run("document.getElementById('sort-value').closest('th').getAttribute('aria-sort')") == "ascending"
        )
        opened.click("#sort-value")
        assert opened.run(IDS)[: len(with_value)] == [k for _, k in reversed(with_value)]

    def test_filtering(self, opened):
        data = json.loads(opened.run("document.getElementById('data').textContent"))["trials"]
        opened.run("document.getElementById('filter').focus()")
        opened.type("a > 0.5")
        assert set(opened.run(IDS)) == {k for k, v in enumerate(data["at"][0]) if v > 0.5}
        opened.run("document.getElementById('filter').value = ''")
        opened.type("diverged")
        failed = {k for k, state in enumerate(data["state"]) if state == "failed"}
        assert failed
        assert set(opened.run(IDS)) == failed
        select = "document.getElementById('select-table-state')"
        opened.run(f"{select}.value = 'complete'; {select}.dispatchEvent(new Event('change'))")
        assert opened.run(IDS) == []

    def test_details_have_the_reason_and_the_traceback(self, opened):
        opened.click("#open-0")
        details = opened.run("document.querySelector('td.detail').textContent")
        assert "Traceback (most recent call last)" in details
        assert "point of the user" in details
        opened.click("#open-0")
        assert opened.run("document.querySelector('td.detail')") is None

    def test_more_trials_than_a_page(self, browser, tmp_path):
        optimizer = dale.Optimizer([(0.0, 1.0)], seed=0)
        for x in np.linspace(0, 1, 120):
            optimizer.add([x], float(x))
        browser.open(dale.report(optimizer, tmp_path / "run.html"))
        assert browser.run(f"{IDS}[0]") == 119
        browser.click("#following")
        browser.click("#following")
        assert browser.run(IDS) == list(range(19, -1, -1))
        assert browser.run("document.getElementById('following').disabled")


class TestLook:
    @pytest.mark.parametrize("width", [360, 1440])
    def test_no_horizontal_scroll(self, width, opened):
        opened.size(width)
        opened.wait(f"document.querySelector('#convergence svg').clientWidth < {width}")
        assert opened.run("document.documentElement.scrollWidth") == width
        right = "[...document.querySelectorAll('main > section')].map(s => s.getBoundingClientRect().right)"
        assert max(opened.run(right)) <= width
        no_trouble(opened)

    def test_dark_and_light(self, opened):
        colours = "[document.body, document.querySelector('.card')].map(n => getComputedStyle(n).backgroundColor)"
        ink = "getComputedStyle(document.body).color"
        light = opened.run(colours), opened.run(ink)
        opened.scheme("dark")
        dark = opened.run(colours), opened.run(ink)
        assert brightness(light[0][0]) > 200 > 100 > brightness(dark[0][0])
        assert brightness(light[1]) < 100 < 200 < brightness(dark[1])
        assert all(one != other for one, other in zip(light[0], dark[0], strict=True))

    def test_controls_have_names(self, opened):
        nameless = """[...document.querySelectorAll('button, select, input, svg[tabindex]')].filter(
            n => !(n.textContent.trim() || n.getAttribute('aria-label') || n.labels?.length)).map(n => n.id)"""
        assert opened.run(nameless) == []


def brightness(colour):
    return np.mean([float(part) for part in colour.strip("rgb()").split(",")[:3]])


def test_hostile_strings_stay_text(browser, tmp_path):
    """50 of them, as names of parameters, options and errors."""
    assert len(set(HOSTILE)) == 50
    varied = dict.fromkeys(HOSTILE[:5], (0.0, 1.0))
    fixed = {name: dale.Choice([name]) for name in HOSTILE[6:]}
    space = dale.Space({**varied, HOSTILE[5]: dale.Choice(HOSTILE), **fixed})
    optimizer = dale.Optimizer(space, seed=0)
    rng = np.random.default_rng(0)
    for k, text in enumerate(HOSTILE):
        point = {**dict.fromkeys(varied, 0.5), **{name: float(rng.random()) for name in varied}}
        point |= {HOSTILE[5]: text, **{name: name for name in fixed}}
        if k % 2:
            optimizer.add(point, float(rng.random()))
        optimizer.fail(optimizer.ask(at=point), f"Traceback\n{text}")
    page = dale.report(optimizer, tmp_path / "run.html", title=HOSTILE[0], objective=HOSTILE[1])
    browser.open(page)
    for trial in range(0, 75, 8):  # their details too
        browser.run(f"document.getElementById('open-{trial}')?.click()")
    browser.click("#best-trial")
    browser.mouse("mouseMoved", *browser.middle("#convergence .point"))
    tags = browser.run("[...new Set([...document.querySelectorAll('*')].map(n => n.tagName))]")
    assert {tag.lower() for tag in tags} <= TAGS
    assert browser.run("document.querySelectorAll('script').length") == 3
    assert browser.run("document.querySelectorAll('style').length") == 1
    assert browser.run("document.querySelectorAll('head > meta').length") == 6
    handlers = "[...document.querySelectorAll('*')].flatMap(n => n.getAttributeNames()).filter(a => a.startsWith('on'))"
    assert browser.run(handlers) == []
    links = "[...document.querySelectorAll('[href], [src]')].map(n => n.getAttribute('href') ?? n.getAttribute('src'))"
    assert all(link.startswith("#") for link in browser.run(links))
    assert browser.run("typeof hacked") == "undefined"
    assert browser.run("document.querySelector('h1').textContent") == HOSTILE[0]
    names = browser.run("[...document.querySelectorAll('#again dt')].map(n => n.textContent)")
    assert [name for name in names if name in HOSTILE] == HOSTILE[:49]
    no_trouble(browser)


def test_the_page_refuses_what_is_not_its_own(opened):
    """The policy is enforced: a script, a handler, a request and text as HTML that somebody adds do nothing."""
    attempts = (
        "const s = document.createElement('script'); s.append('hacked = 1'); document.body.append(s)",
        "document.body.setAttribute('onclick', 'hacked = 1'); document.body.click()",
        "document.body.innerHTML = '<b>hacked</b>'",
        "new Function('hacked = 1')()",
    )
    for attempt in attempts:
        opened.run(f"{{ try {{ {attempt} }} catch {{}} }}")
        assert opened.run("typeof hacked") == "undefined", attempt
    assert opened.run("fetch('http://localhost:9/').then(() => 'sent', () => 'refused')") == "refused"
    assert opened.run("document.querySelectorAll('#table tr').length") > 0


def test_a_run_in_progress_reloads_itself(browser, tmp_path):
    path = tmp_path / "run.html"
    optimizer = dale.Optimizer(zoo.PLANE, seed=0)

    def proceed(n, *, live):
        for _ in range(n):
            trial = optimizer.ask()
            optimizer.tell(trial, trial.params["a"] ** 2)
        write(html_of(view_of(optimizer), live=live, budget=12), path)

    proceed(5, live=True)
    browser.size(1440, 700)
    browser.open(path)
    assert browser.run("document.getElementById('status').textContent") == "In progress: 5 of 12 evaluations"
    browser.click("#scale-gap")
    browser.click("#sort-value")
    browser.run("document.getElementById('open-3').click(); window.scrollTo(0, 1234); document.before = true")
    proceed(4, live=True)
    status = "document.before === undefined && document.getElementById('status')?.textContent"
    browser.wait(f"String({status}).includes('9 of 12')")
    assert browser.run("window.scrollY") == 1234
    assert browser.run("document.getElementById('scale-gap').getAttribute('aria-pressed')") == "true"
    assert browser.run("document.getElementById('sort-value').closest('th').getAttribute('aria-sort')") == "ascending"
    assert browser.run("document.getElementById('open-3').getAttribute('aria-expanded')") == "true"
    assert browser.run("document.activeElement.id") == "open-3"
    browser.run("document.before = true")
    proceed(3, live=False)
    browser.wait(f"{status} === '12 of 12 evaluations'")
    browser.run("document.before = true")
    time.sleep(3)
    assert browser.run("document.before") is True  # it has stopped
    assert browser.problems == []
