"""The command ``dale demo`` and the problems it solves."""

from dale.cli.demo.command import add_parser, run

__all__ = ["add_parser", "run"]
