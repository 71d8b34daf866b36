"""Sessions: which of the processes that opened a store are still alive.

Each optimizer with a store is a session with a number. It holds a lock on the byte of that number in a file beside the
store. The operating system releases the lock when the process ends, however it ends. Host names and process ids are not
used, because containers reuse them. POSIX locks are not inherited by child processes, so an evaluation that outlives
its parent does not keep the parent's session alive.

All methods must be called with the store's write lock held, so only one process at a time is here.
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

    def _lock_all(fd: int) -> bool:
        return True  # Windows does not delete a file that another process has open

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

    def _lock_all(fd: int) -> bool:
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        return True


class Sessions:
    """The sessions of this process on one store. They share one open file: closing a second one would drop the locks.

    Args:
        path: The lock file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.own: set[int] = set()
        self._fd: int | None = None

    def begin(self, session: int) -> bool:
        """Lock a session number. False if it is taken, by a process whose store was deleted and created anew."""
        if self._fd is None:
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        if session in self.own or not _lock(self._fd, session):
            return False
        self.own.add(session)
        return True

    def end(self, session: int, *, remove_file: bool) -> None:
        """Unlock a session number. With ``remove_file``, the last session of all processes deletes the lock file."""
        if self._fd is None or session not in self.own:
            return
        self.own.discard(session)
        _unlock(self._fd, session)
        if self.own:
            return
        fd, self._fd = self._fd, None
        is_last = remove_file and _lock_all(fd)
        if is_last and sys.platform != "win32":
            self._remove()
        os.close(fd)
        if is_last and sys.platform == "win32":
            self._remove()

    def _remove(self) -> None:
        with contextlib.suppress(OSError):  # the directory may be read-only by now; a leftover lock file is harmless
            self.path.unlink(missing_ok=True)

    def alive(self, session: int) -> bool:
        """Whether a session is alive, in this process or in another."""
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
    """The sessions of a store, by its resolved path; one object per store in each process."""
    with _guard:
        return _sessions.setdefault(store, Sessions(store.with_name(f"{store.name}-lock")))


def is_inherited(store: Path) -> bool:
    """Whether the store was open in the parent process when this process was forked.

    SQLite in the child would take the parent's locks for its own and write without any.
    """
    return store in _inherited


def _after_fork() -> None:
    """Forget the parent's sessions: a forked child holds none of its locks."""
    _inherited.update(store for store, sessions in _sessions.items() if sessions.own)
    _sessions.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
