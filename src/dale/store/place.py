"""Whether a file is where SQLite can be trusted with it, as far as this can be told."""

from __future__ import annotations

from pathlib import Path

MOUNTS = Path("/proc/mounts")  # Linux; elsewhere only the path itself tells
NETWORK = {
    "9p", "afs", "beegfs", "ceph", "cifs", "davfs", "fhgfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4",
    "panfs", "pvfs2", "smb2", "smb3", "smbfs", "vboxsf",
}  # fmt: skip


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
