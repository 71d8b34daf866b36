"""Where a store is, and whether SQLite can be trusted with a file there, as far as this can be told."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from dale.errors import StoreError

MOUNTS = Path("/proc/mounts")  # Linux; elsewhere only the path itself tells
NETWORK = {
    "9p", "afs", "beegfs", "ceph", "cifs", "davfs", "fhgfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4",
    "panfs", "pvfs2", "smb2", "smb3", "smbfs", "vboxsf",
}  # fmt: skip


def checked_path(path: Any) -> Path:
    """Where a store is, links followed."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f'store must be the path of a file, such as "run.db", or None, got {path!r}')
    text = os.fspath(path)
    if not isinstance(text, str) or not text or "://" in text or text == ":memory:":
        raise ValueError(f'store must be the path of a file, such as "run.db", or None, got {path!r}')
    where = Path(text).resolve()
    if where.is_dir():
        raise StoreError(f"{where} is a folder; give the path of a file in it, which need not be there")
    return where


def doubtful(path: Path) -> str | None:
    """The kind of the file system that a file is on, where locks and shared memory may not work; else None."""
    if str(path).startswith("\\\\"):
        return "a network drive"
    try:
        mounts = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    kind = mounted(path, mounts)
    return kind if kind in NETWORK or kind.startswith("fuse.") else None


def mounted(path: Path, mounts: str) -> str:
    """The kind of the file system that a path is on, by a table of mounts as Linux writes it; empty if unknown."""
    found, kind = -1, ""
    for line in mounts.splitlines():
        parts = line.split()
        if len(parts) < 3:
            continue
        where = Path(_unescaped(parts[1]))
        if (path == where or where in path.parents) and len(where.parts) >= found:  # of equals, the last is on top
            found, kind = len(where.parts), parts[2]
    return kind


def _unescaped(text: str) -> str:
    """A path of the table: space, tab, newline and backslash are written as octal numbers."""
    for code, sign in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, sign)
    return text
