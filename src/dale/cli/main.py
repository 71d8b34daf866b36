"""The command line: ``dale <command>``, the same as ``python -m dale <command>``.

Each command is a module here with two functions, ``add_parser(subparsers)`` and ``run(args) -> int``, and a line in
``COMMANDS``. Other packages add commands through the entry point group ``dale.commands``: the name of the command, and
an ``add_parser`` function. Only the requested command is imported, so none of them slows down the others.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from importlib import metadata
from typing import NoReturn

import dale
from dale.errors import StoreError

# name -> (module, one-line description); add a line here to add a command
COMMANDS = {
    "run": ("dale.cli.run", "minimise what a program computes"),
    "show": ("dale.cli.show", "tell what a run on disk holds"),
    "demo": ("dale.cli.demo", "minimise a real problem, print what was found, write pictures"),
}

ENTRY_POINTS = "dale.commands"  # commands of other packages, such as `dale bench`
WRONG_USE = 2  # as argparse has it
INTERRUPTED = 130  # as shells have it: 128 + SIGINT


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; ``argv=None`` takes the arguments of the process."""
    argv, words = _split(list(sys.argv[1:] if argv is None else argv))
    parser = _parser(argv)
    if not argv:
        parser.print_help()
        return WRONG_USE
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        hint = "; a program stands after --" if hasattr(args, "words") and words is None else ""
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
    if words is not None:
        if not hasattr(args, "words"):
            parser.error(f"dale {args.command} takes nothing after --, got {' '.join(words)}")
        args.words = words
    try:
        return int(args.run(args))
    except KeyboardInterrupt:
        print("dale: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader has seen enough, as in `dale demo | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it flushes at exit
        return 0
    except (ValueError, TypeError, OSError, ImportError, StoreError) as error:
        if args.traceback:
            raise
        print(f"dale: error: {printable(str(error))}", file=sys.stderr)
        return WRONG_USE


class Parser(argparse.ArgumentParser):
    """One whose errors are one line; the rest is in the help."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and leave."""
        self.exit(WRONG_USE, f"{self.prog}: error: {message}; see {self.prog} --help\n")


def printable(text: str) -> str:
    """Text for a terminal: what could steer it is escaped, whatever programs and stores hold, and what it has not."""
    harmless = "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
    encoding = sys.stdout.encoding or "utf-8"
    return harmless.encode(encoding, errors="backslashreplace").decode(encoding)


def _split(argv: list[str]) -> tuple[list[str], list[str] | None]:
    """What is for dale, and what stands after ``--`` and is another program's; None where there is no ``--``."""
    if "--" not in argv:
        return argv, None
    end = argv.index("--")
    return argv[:end], argv[end + 1 :]


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    parser = Parser(prog="dale", description="Minimise expensive functions in few evaluations.")
    parser.add_argument("--version", action="version", version=f"dale {dale.__version__}")
    parser.add_argument("--traceback", action="store_true", help="show where an error came from, for bug reports")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="<command>", required=True)
    asked = next((word for word in argv if not word.startswith("-")), None)
    for name, (module, about) in COMMANDS.items():
        if name == asked:
            importlib.import_module(module).add_parser(commands)
        else:
            commands.add_parser(name, help=about)
    if asked not in COMMANDS:
        for command in metadata.entry_points(group=ENTRY_POINTS):
            if command.name == asked:
                command.load()(commands)
            else:
                package = command.dist.name if command.dist is not None else command.value
                commands.add_parser(command.name, help=f"command of {package}")
    return parser
