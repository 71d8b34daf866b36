"""Which of the processes that opened a store are alive, told by locks of the operating system.

Each optimizer on a store is a session with a number, and holds a lock on the byte of that number in a file beside the
store. However a process ends, its locks go with it; host names and process ids, which containers give out again, are
never asked. Locks of POSIX belong to the process, not to its children: an evaluation that outlives its parent does
not keep the parent alive.

All of this is called with the store's write lock held, so by one process at a time.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from threading import Lock

if sys.platform == "win32":
    import msvcrt

    def _lock(fd: int, byte: int) -> bool:
        os.lseek(fd, byte, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(fd: int, byte: int) -> None:
        os.lseek(fd, byte, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

    def _alone(fd: int) -> bool:
        return True  # a file that another process has open cannot be deleted

else:
    import fcntl

    def _lock(fd: int, byte: int) -> bool:
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _unlock(fd: int, byte: int) -> None:
        fcntl.lockf(fd, fcntl.LOCK_UN, 1, byte)

    def _alone(fd: int) -> bool:
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        return True


class Sessions:
    """The sessions of one store in this process: one open file for all, since closing another would drop the locks.

    Args:
        path: Of the file with the locks.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.own: set[int] = set()
        self._fd: int | None = None

    def begin(self, session: int) -> bool:
        """Begin to be alive under a number; False where it is another's, of a store that was deleted under it."""
        if self._fd is None:
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        if session in self.own or not _lock(self._fd, session):
            return False
        self.own.add(session)
        return True

    def end(self, session: int, *, tidy: bool) -> None:
        """Be gone; the last one removes the file, if it may ``tidy`` up: no other process can begin meanwhile."""
        if self._fd is None or session not in self.own:
            return
        self.own.discard(session)
        _unlock(self._fd, session)
        if self.own:
            return
        fd, self._fd = self._fd, None
        alone = tidy and _alone(fd)
        if alone and sys.platform != "win32":
            self._remove()
        os.close(fd)
        if alone and sys.platform == "win32":
            self._remove()

    def _remove(self) -> None:
        with contextlib.suppress(OSError):  # in a folder that may not be written to any more it stays, and does no harm
            self.path.unlink(missing_ok=True)

    def alive(self, session: int) -> bool:
        """Whether a session is, in this process or in another."""
        if session in self.own:
            return True
        if self._fd is None or not _lock(self._fd, session):
            return self._fd is not None
        _unlock(self._fd, session)
        return False


_sessions: dict[Path, Sessions] = {}
_guard = Lock()
_inherited: set[Path] = set()  # stores that were open when this process was forked


def sessions_of(store: Path) -> Sessions:
    """Those of a store, by its resolved path: one object for the whole process."""
    with _guard:
        return _sessions.setdefault(store, Sessions(store.with_name(f"{store.name}-lock")))


def is_inherited(store: Path) -> bool:
    """Whether a process that this one was forked from had the store open then.

    SQLite in this process takes the locks of that one for its own, and would share the file with everybody without any.
    """
    return store in _inherited


def _forget() -> None:
    """A forked child holds none of its parent's locks."""
    _inherited.update(store for store, sessions in _sessions.items() if sessions.own)
    _sessions.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
