"""Measurements on disk: one JSON line for each dataclass instance, appended and never rewritten."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T")


def append(path: Path, measurement: DataclassInstance) -> None:
    """Append a line. It is on disk when this returns. A line that a crash left incomplete is terminated first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(json.dumps(asdict(measurement)).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def check_exists(path: Path, command: str) -> None:
    """Raise an error with the command that makes the file if it does not exist."""
    if not path.exists():
        raise ValueError(f"expected a file of runs, got {path}, which does not exist; run: {command} --rows {path}")


def read(path: Path, make: Callable[..., T]) -> list[T]:
    """All complete lines of a file as dataclass instances; none if the file does not exist."""
    if not path.exists():
        return []
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            found.append(make(**json.loads(line)))
        except json.JSONDecodeError:  # incomplete because of a crash: that measurement is missing
            continue
        except TypeError as error:
            name = getattr(make, "__name__", "measurement")
            raise ValueError(f"expected lines of {name}, got another one in {path}: {error}") from None
    return found
