"""Archives of logged runs in COCO's data format, which cocopp and other users of COCO read.

COCO's logger writes a directory for each run (``dale bench coco run --logger``). An archive has the runs of one method
on one suite: an ``.info`` file for each function, which lists the runs in each dimension, and for each function and
dimension the data files with all runs, one after the other. Runs with several seeds are several runs on one instance.
The coordinates of the points, which cocopp does not read, are left out.
"""

from __future__ import annotations

import gzip
import io
import re
import tarfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dale_bench.contenders import label

FIELD = re.compile(r"(?P<key>\w+) = '?(?P<value>[^',]*)'?")
FINISHED = re.compile(r"(?P<instance>\d+):\d+\|.+")  # instance:evaluations|final value
DATA_SUFFIXES = (".dat", ".tdat", ".rdat", ".mdat")  # improvements, some evaluations, restarts, recommendations
COLUMNS = 5  # of the data before the coordinates of the point
COMMENT = "% written by dale-bench: runs merged, coordinates of the points left out"


@dataclass(frozen=True)
class LoggedRun:
    """A run in the directory that COCO's logger has written.

    Attributes:
        directory: The directory.
        header: The first line of the ``.info`` file.
        data: The path of its ``.dat`` file; those of the other data files have other suffixes.
        entry: How the ``.info`` file describes the run.
        suite: COCO's name of the suite.
        method: The name of the method.
        function: The number of the function.
        dimension: The number of variables.
        instance: The number of the instance; None if the run was interrupted.
    """

    directory: Path
    header: str
    data: Path
    entry: str
    suite: str
    method: str
    function: int
    dimension: int
    instance: int | None

    @property
    def place(self) -> tuple[int, int, int, str]:
        """Its place in an archive."""
        return self.function, self.dimension, self.instance or 0, self.directory.name

    def lines(self, suffix: str) -> list[str]:
        """The lines of a data file without the coordinates; none if there is no data, and only a comment."""
        path = self.data.with_suffix(suffix)
        lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
        if all(line.startswith("%") for line in lines):
            return []
        return [_without_coordinates(line) for line in lines]


@dataclass(frozen=True)
class Archive:
    """The runs of one method on one suite, in the order in which they are written."""

    suite: str
    method: str
    runs: Sequence[LoggedRun]

    @property
    def name(self) -> str:
        """The name for cocopp, which is that of the file."""
        return re.sub(r"[^\w.+-]+", "-", label(self.method)).strip("-")

    def files(self) -> dict[str, str]:
        """The content of each file, by its path in the archive."""
        found: dict[str, list[str]] = {}
        entries: dict[tuple[int, int], list[LoggedRun]] = {}
        for run in self.runs:
            entries.setdefault((run.function, run.dimension), []).append(run)
        for (function, dimension), runs in entries.items():
            data = f"data_f{function}/bbobexp_f{function}_DIM{dimension}"
            header = runs[0].header.replace(f"algId = '{self.method}'", f"algId = '{self.name}'")
            listed = ", ".join([f"{data}.dat", *(run.entry for run in runs)])
            found.setdefault(f"bbobexp_f{function}.info", []).extend([header, COMMENT, listed])
            for suffix in DATA_SUFFIXES:
                lines = [line for run in runs for line in run.lines(suffix)]
                if lines:
                    found[data + suffix] = lines
        return {f"{self.name}/{path}": "\n".join(lines) + "\n" for path, lines in found.items()}

    def write(self, directory: Path) -> Path:
        """Write the archive to ``directory/suite/name.tgz``; the same runs give the same bytes."""
        path = directory / self.suite / f"{self.name}.tgz"
        path.parent.mkdir(parents=True, exist_ok=True)
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w") as tar:
            for name, text in self.files().items():
                member = tarfile.TarInfo(name)
                member.size = len(text.encode())
                tar.addfile(member, io.BytesIO(text.encode()))
        path.write_bytes(gzip.compress(content.getvalue(), mtime=0))
        return path


def archives_of(logs: Sequence[Path]) -> tuple[list[Archive], list[LoggedRun]]:
    """The archives of all runs in some directories of logs, and the interrupted runs, which are in none of them.

    Raises:
        ValueError: There is no logged run, or a run is logged twice.
    """
    runs: dict[tuple[str, str, str], LoggedRun] = {}
    for run in (run for directory in logs for run in _logged_runs(directory)):
        key = run.suite, run.method, run.directory.name
        if key in runs:
            raise ValueError(
                f"expected each run once, got {run.directory} and {runs[key].directory}; remove one of them"
            )
        runs[key] = run
    finished = sorted((run for run in runs.values() if run.instance is not None), key=lambda run: run.place)
    if not finished:
        raise ValueError(
            f"expected runs of COCO's logger, got none in {', '.join(map(str, logs))}; make some: dale bench coco run "
            "--logger DIRECTORY"
        )
    names = sorted({(run.suite, run.method) for run in finished})
    archives = [Archive(s, m, [run for run in finished if (run.suite, run.method) == (s, m)]) for s, m in names]
    return archives, [run for run in runs.values() if run.instance is None]


def _logged_runs(directory: Path) -> Iterable[LoggedRun]:
    if not directory.is_dir():
        is_rows = directory.exists()
        raise ValueError(
            f"expected a directory of COCO's logger, got {directory}, which "
            + ("is a file: rows have only the targets that were reached, not the values" if is_rows else "is missing")
            + "; make the runs with: dale bench coco run --logger DIRECTORY"
        )
    for info in sorted(directory.rglob("*.info")):
        lines = [line for line in info.read_text(encoding="ascii").splitlines() if line.strip()]
        for header, data in zip(lines[::3], lines[2::3], strict=False):
            yield _logged_run(info, header, data)


def _logged_run(info: Path, header: str, data: str) -> LoggedRun:
    fields = {match["key"]: match["value"] for match in FIELD.finditer(header)}
    path, *entries = [word.strip() for word in data.split(",")]
    try:
        [entry] = entries
        finished = FINISHED.fullmatch(entry)
        return LoggedRun(
            info.parent,
            header,
            info.parent / path,
            entry,
            fields["suite"],
            fields["algId"],
            int(fields["funcId"]),
            int(fields["DIM"]),
            int(finished["instance"]) if finished else None,
        )
    except (KeyError, ValueError):
        raise ValueError(
            f"expected the description of one run, as `dale bench coco run --logger` writes it, got another in {info}"
        ) from None


def _without_coordinates(line: str) -> str:
    """A line of a data file with the first columns only."""
    if line.startswith("%"):
        return line.split(" | x1")[0]
    return " ".join(line.split()[:COLUMNS])
