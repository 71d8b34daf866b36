"""The path of a store, and the type of the file system that it is on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from dale.errors import StoreError

MOUNT_TABLE = Path("/proc/mounts")  # Linux only
NETWORK_TYPES = {
    "9p", "afs", "beegfs", "ceph", "cifs", "davfs", "fhgfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4",
    "panfs", "pvfs2", "smb2", "smb3", "smbfs", "vboxsf",
}  # fmt: skip


def resolve_path(path: Any) -> Path:
    """Check the path of a store and follow links."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f'store: expected the path of a file, such as "run.db", or None, got {path!r}')
    text = os.fspath(path)
    if not isinstance(text, str) or not text or "://" in text or text == ":memory:":
        raise ValueError(f'store: expected the path of a file, such as "run.db", or None, got {path!r}')
    resolved = Path(text).resolve()
    if resolved.is_dir():
        raise StoreError(f"{resolved} is a directory; expected the path of a file, which need not exist yet")
    if resolved.exists() and not resolved.is_file():  # to open a pipe would wait for ever
        raise StoreError(f"{resolved} is a pipe, a socket or a device; expected the path of a regular file")
    return resolved


def network_file_system(path: Path) -> str | None:
    """The type of the network file system that a path is on, where SQLite's locks may not work; None if it is local."""
    if str(path).startswith("\\\\"):
        return "a network drive"
    try:
        mounts = MOUNT_TABLE.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    kind = mount_type(path, mounts)
    return kind if kind in NETWORK_TYPES or kind.startswith("fuse.") else None


def mount_type(path: Path, mounts: str) -> str:
    """The type of the file system that a path is on, from a mount table of Linux; empty if unknown."""
    depth, kind = -1, ""
    for line in mounts.splitlines():
        columns = line.split()
        if len(columns) < 3:
            continue
        mount_point = Path(_unescape(columns[1]))
        is_above = path == mount_point or mount_point in path.parents
        if is_above and len(mount_point.parts) >= depth:  # of several mounts on one directory, the last is visible
            depth, kind = len(mount_point.parts), columns[2]
    return kind


def _unescape(text: str) -> str:
    """Restore space, tab, newline and backslash, which the mount table writes as octal numbers."""
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text
