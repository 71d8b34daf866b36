"""The command line and the demo, run in this process."""

import re
import signal
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import dale
from dale.cli import main
from dale.cli.demo import command as demo
from dale.cli.main import COMMANDS, OPTIONAL_COMMANDS

PLOTS = ["branin-contour.png", "branin-convergence.png", "ode-convergence.png", "ode-fit.png", "ode-slices.png"]
PAGES = ["branin.html", "ode.html"]


class TestMain:
    def test_version(self, capsys):
        with pytest.raises(SystemExit) as stop:
            main(["--version"])
        assert stop.value.code == 0
        assert capsys.readouterr().out == f"dale {dale.__version__}\n"

    def test_without_a_command_the_help_lists_them(self, capsys):
        assert main([]) == 2
        said = capsys.readouterr().out
        assert all(name in said for name in COMMANDS)

    def test_an_unknown_command_lists_the_known_ones(self, capsys):
        with pytest.raises(SystemExit) as stop:
            main(["dmeo"])
        assert stop.value.code == 2
        error = capsys.readouterr().err
        assert "dmeo" in error
        assert all(name in error for name in COMMANDS)

    def test_only_the_requested_command_is_imported(self):
        code = (
            "import sys, dale.cli\n"
            "try: dale.cli.main(['--version'])\n"
            "except SystemExit: pass\n"
            "others = ('dale.cli.run', 'dale.cli.show', 'dale.cli.demo', 'dale.view', 'matplotlib')\n"
            "assert not [m for m in sys.modules if m.startswith(others)]"
        )
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)

    def test_every_command_has_its_own_help(self, capsys):
        for name in COMMANDS:
            with pytest.raises(SystemExit) as stop:
                main([name, "--help"])
            assert stop.value.code == 0
            assert f"usage: dale {name}" in capsys.readouterr().out

    def test_as_a_module(self):
        done = subprocess.run([sys.executable, "-m", "dale", "--version"], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == f"dale {dale.__version__}"


GREET = """
def add_parser(subparsers):
    parser = subparsers.add_parser("greet", help="greet somebody")
    parser.add_argument("--name")
    parser.set_defaults(run=run)


def run(args):
    print(f"hello {args.name}")
    return 7
"""


class TestCommandsOfOtherPackages:
    """Entry points of the group ``dale.commands``."""

    @pytest.fixture
    def installed(self, tmp_path, monkeypatch):
        """A package with a command, installed as pip would do it."""
        (tmp_path / "greetings.py").write_text(GREET)
        info = tmp_path / "greetings-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: greetings\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[dale.commands]\ngreet = greetings:add_parser\n")
        monkeypatch.syspath_prepend(tmp_path)
        yield
        sys.modules.pop("greetings", None)

    def test_run(self, installed, capsys):
        assert main(["greet", "--name", "you"]) == 7
        assert capsys.readouterr().out == "hello you\n"

    def test_are_listed_without_being_imported(self, installed, capsys):
        assert main([]) == 2
        listed = re.findall(r"^    (\w+) +(.*)$", capsys.readouterr().out, re.MULTILINE)
        assert ("greet", "command of greetings") in listed
        assert {name for name, _ in listed} >= {*COMMANDS, "greet"}
        assert "greetings" not in sys.modules

    def test_bench_says_how_to_install_it(self, monkeypatch, capsys):
        monkeypatch.setattr(metadata, "entry_points", lambda group: metadata.EntryPoints())
        with pytest.raises(SystemExit) as stop:
            main(["bench", "list"])
        assert stop.value.code == 2
        assert capsys.readouterr().err == (
            "dale: error: dale bench is not installed; in the dale repository, run: pip install ./benchmarks; "
            "see dale --help\n"
        )

    def test_the_package_of_bench_is_where_the_message_says(self):
        project = tomllib.loads((Path(__file__).parents[2] / "benchmarks" / "pyproject.toml").read_text())["project"]
        assert set(project["entry-points"]["dale.commands"]) == set(OPTIONAL_COMMANDS)


class TestErrors:
    def test_an_invalid_budget_prints_no_traceback(self, capsys, tmp_path):
        assert main(["demo", "--budget", "0", "--out", str(tmp_path)]) == 2
        assert capsys.readouterr().err == (
            "dale: error: budget must be at least 1, got 0; it is the number of evaluations\n"
        )

    def test_a_traceback_on_request(self, tmp_path):
        with pytest.raises(ValueError, match="budget"):
            main(["--traceback", "demo", "--budget", "0", "--out", str(tmp_path)])

    def test_a_file_instead_of_the_output_directory(self, capsys, tmp_path):
        (tmp_path / "taken").touch()
        assert main(["demo", "--out", str(tmp_path / "taken")]) == 2
        assert "taken" in capsys.readouterr().err

    def test_interrupt(self, capsys, monkeypatch, tmp_path):
        def interrupt(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(demo, "minimize", interrupt)
        assert main(["demo", "--out", str(tmp_path)]) == 130
        assert capsys.readouterr().err == "dale: interrupted\n"


class TestDemo:
    def test_prints_what_was_found_and_writes_the_plots(self, capsys, tmp_path):
        out = tmp_path / "new" / "folder"
        assert main(["demo", "--budget", "7", "--out", str(out)]) == 0
        text = capsys.readouterr().out
        assert sorted(p.name for p in out.iterdir()) == sorted([*PLOTS, *PAGES])
        assert all(str(out / name) in text for name in (*PLOTS, *PAGES))
        for said in ("absorption", "clearance", "volume", "x1", "found in trial", "Last trials and why", "7 of 7"):
            assert said in text

    def test_same_seed_same_words(self, capsys, tmp_path, monkeypatch):
        monkeypatch.setattr(demo, "save", lambda figure, path: path)
        said = []
        for seed in ("1", "1", "2"):
            assert main(["demo", "--budget", "5", "--seed", seed, "--out", str(tmp_path)]) == 0
            said.append(capsys.readouterr().out)
        assert said[0] == said[1] != said[2]

    def test_without_matplotlib_it_says_how_to_get_plots(self, capsys, tmp_path, monkeypatch):
        for name in [m for m in sys.modules if m.split(".")[0] == "matplotlib"]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        assert main(["demo", "--budget", "4", "--out", str(tmp_path)]) == 0
        text = capsys.readouterr().out
        assert "No plots were written: plots need matplotlib: pip install 'dale[plot]'" in text
        assert sorted(p.name for p in tmp_path.iterdir()) == PAGES

    @pytest.mark.parametrize(
        ("number", "code", "message"), [(signal.SIGINT, 130, "Interrupted"), (signal.SIGTERM, 143, "Terminated")]
    )
    def test_a_signal_prints_the_result_so_far_and_stops(self, number, code, message, capsys, tmp_path, monkeypatch):
        def interrupt(result):
            if result.nfev == 3:
                signal.raise_signal(number)

        monkeypatch.setattr(demo, "reporter", lambda budget: interrupt)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background of a shell it is ignored
        try:
            assert main(["demo", "--budget", "9", "--out", str(tmp_path)]) == code
        finally:
            signal.signal(signal.SIGINT, before)
        text = capsys.readouterr().out
        assert f"{message} after 3 evaluations" in text
        assert "Branin" not in text

    def test_on_a_terminal_the_progress_bar_replaces_the_lines(self, monkeypatch):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        assert demo.reporter(10) is None
