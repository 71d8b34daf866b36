"""The command line: ``dale <command>``, or ``python -m dale <command>``.

Each command is a module of this package with the functions ``add_parser(subparsers)`` and ``run(args) -> int``, and a
line in ``COMMANDS``. Other packages add commands through the entry point group ``dale.commands``: the name of the
command and an ``add_parser`` function. Only the requested command is imported, so commands do not slow each other down.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from typing import NoReturn, TextIO

import dale
from dale.errors import StoreError
from dale.history.stopping import Status

# name -> (module, one-line description); add a line here to add a command
COMMANDS = {
    "run": ("dale.cli.run", "minimise or maximise the output of a program"),
    "show": ("dale.cli.show", "print the content of a store"),
    "why": ("dale.cli.why", "explain why a trial was proposed"),
    "plot": ("dale.cli.plot", "draw a plot of a store into a file"),
    "report": ("dale.cli.report", "write an HTML page of a store"),
    "export": ("dale.cli.export", "copy a store, or write it as CSV or JSON"),
    "amend": ("dale.cli.amend", "correct the outcome of a trial"),
    "discard": ("dale.cli.discard", "ignore the outcome of a trial"),
    "fork": ("dale.cli.fork", "start a new run from the trials of another one"),
    "demo": ("dale.cli.demo", "solve two example problems, print the results, write plots and pages"),
}
ENTRY_POINTS = "dale.commands"  # commands of other packages
# name -> how to install the package that provides it
OPTIONAL_COMMANDS = {"bench": "in the dale repository, run: pip install ./benchmarks"}

EXIT_USAGE = 2  # as in argparse
EXIT_INTERRUPTED, EXIT_TERMINATED = 130, 143  # as in shells: 128 + SIGINT, 128 + SIGTERM
EXIT_SIGNALS = {Status.INTERRUPTED: EXIT_INTERRUPTED, Status.TERMINATED: EXIT_TERMINATED}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; ``argv=None`` takes the arguments of the process."""
    _open_standard_files()
    try:
        return _main(list(sys.argv[1:] if argv is None else argv))
    finally:
        _discard_unwritten()


def say(text: str, stream: TextIO | None) -> Exception | None:
    """Print to a stream, and return why it was not possible: the stream may be closed, full or read by nobody."""
    if stream is None:
        return ValueError("it is closed")
    try:
        print(text, file=stream, flush=True)
    except (OSError, ValueError) as error:
        return error
    return None


def is_failed_write(error: Exception | None) -> bool:
    """Whether a write failed, on a full disk for example. Nobody wants what is written to a closed or unread stream."""
    return isinstance(error, OSError) and not isinstance(error, BrokenPipeError)


def _main(arguments: list[str]) -> int:
    argv, program = _split(arguments)
    parser = _parser(argv)
    if not argv:
        parser.print_help()
        return EXIT_USAGE
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        hint = "; write the program after --" if hasattr(args, "program") and program is None else ""
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
    if program is not None:
        if not hasattr(args, "program"):
            parser.error(f"dale {args.command} expects nothing after --, got {' '.join(program)}")
        args.program = program
    try:
        code = int(args.run(args))
        if code == 0 and sys.stdout is not None:
            sys.stdout.flush()  # or an error: a script must not take a part for the whole
        return code
    except KeyboardInterrupt:
        say("dale: interrupted", sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # the reader stopped reading, as in `dale demo | head`
        return 0
    except (ValueError, TypeError, OSError, ImportError, StoreError) as error:
        if args.traceback:
            raise
        say(f"dale: error: {escape_control_characters(str(error))}", sys.stderr)
        return EXIT_USAGE


def _open_standard_files() -> None:
    """Open the null device in place of standard files that are closed, so that no other file takes their numbers."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number


def _discard_unwritten() -> None:
    """Discard what a stream cannot write, because Python would fail when it flushes the stream at its exit."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not _flushed(stream):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _flushed(stream: TextIO) -> bool:
    try:
        stream.flush()
    except (OSError, ValueError):
        return False
    return True


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        """Print the error and exit."""
        self.exit(EXIT_USAGE, f"{self.prog}: error: {message}; see {self.prog} --help\n")


def escape_control_characters(text: str) -> str:
    """Text that is safe to print: without control sequences, and only with characters that the terminal can encode."""
    safe = "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return safe.encode(encoding, errors="backslashreplace").decode(encoding)


def _split(argv: list[str]) -> tuple[list[str], list[str] | None]:
    """The arguments before and after ``--``: those of dale, and those of a program; None without ``--``."""
    if "--" not in argv:
        return argv, None
    end = argv.index("--")
    return argv[:end], argv[end + 1 :]


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    parser = Parser(prog="dale", description="Minimise or maximise expensive functions in few evaluations.")
    parser.add_argument("--version", action="version", version=f"dale {dale.__version__}")
    parser.add_argument("--traceback", action="store_true", help="print the traceback of an error, for bug reports")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="<command>", required=True)
    requested = next((arg for arg in argv if not arg.startswith("-")), None)
    for name, (module, description) in COMMANDS.items():
        if name == requested:
            importlib.import_module(module).add_parser(commands)
        else:
            commands.add_parser(name, help=description)
    if requested not in COMMANDS:
        for entry_point in metadata.entry_points(group=ENTRY_POINTS):
            if entry_point.name == requested:
                entry_point.load()(commands)
            else:
                package = entry_point.dist.name if entry_point.dist is not None else entry_point.value
                commands.add_parser(entry_point.name, help=f"command of {package}")
    if requested in OPTIONAL_COMMANDS and requested not in commands.choices:
        parser.error(f"dale {requested} is not installed; {OPTIONAL_COMMANDS[requested]}")
    return parser
