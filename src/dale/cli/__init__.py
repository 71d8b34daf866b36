"""The command line."""

from dale.cli.main import main

__all__ = ["main"]
