"""Locks between processes: files beside the store that the operating system locks.

SQLite uses POSIX locks. A process loses all of those on a file as soon as any of its code, a backup of the folder for
example, opens and closes that file. So dale does not depend on them. Each of its locks has a file of its own:

    run.db-lock       held while a connection to the database is open, to read or to write: some milliseconds
    run.db-write      held during a change, from reading the last events to writing new ones: as long as a proposal
    run.db-session3   held by a process for as long as it has the run open: its trials are not given to others

``flock`` locks, and those of Windows, belong to the open file: another open and close of the same file does not release
them, and the end of the process, however it ends, does. A forked child would share them, so it closes its copies; a
program that is started does not inherit them. Host names and process ids are not used: containers reuse them.

A lock file exists while its lock is held, and after a kill until the next process removes it. One that was deleted and
created again is another file, so a lock counts only if its file still has its name.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
import weakref
from pathlib import Path
from threading import get_ident

from dale.errors import StoreError

LOCK_TIMEOUT = 600.0  # seconds to wait for a lock: another process may be computing a proposal
MAX_PAUSE = 0.05  # seconds between two attempts

if sys.platform == "win32":
    import msvcrt

    def _lock(fd: int) -> None:
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)

    def _unlock(fd: int) -> None:
        os.lseek(fd, 0, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)


class FileLock:
    """An exclusive lock with a file of its own. Two objects with the same path exclude each other in any two processes.

    Args:
        path: The lock file; it is created and removed with the lock.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd: int | None = None
        self._is_locked = False  # Ctrl-C may come when the file is open and not locked
        self._process = os.getpid()
        self._thread = get_ident()
        _all.add(self)

    def try_acquire(self) -> bool:
        """Acquire the lock if nobody holds it."""
        self.release()
        while True:
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                _lock(self._fd)
            except (BlockingIOError, PermissionError):
                self.close()
                return False
            self._is_locked = True
            if self.is_held():
                return True
            self.close()  # the holder before has removed the file since it was opened

    def acquire(self) -> None:
        """Wait for the lock; Ctrl-C ends the wait."""
        deadline, pause = time.monotonic() + LOCK_TIMEOUT, 0.0005
        while not self.try_acquire():
            if time.monotonic() > deadline:
                raise StoreError(f"another process has held {self.path} for {LOCK_TIMEOUT:g} s; try again later")
            time.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE)

    def is_held(self) -> bool:
        """Whether the lock is held here, on the file that has its name."""
        return self._is_locked and self._fd is not None and file_id(self.path) == file_id(self._fd)

    def release(self) -> None:
        """Remove the file and the lock, if it is held here. A leftover file is harmless."""
        if self._fd is None or os.getpid() != self._process:
            return
        if sys.platform != "win32" and self.is_held():
            with contextlib.suppress(OSError):
                self.path.unlink()
        with contextlib.suppress(OSError):
            _unlock(self._fd)
        self.close()
        if sys.platform == "win32":
            with contextlib.suppress(OSError):  # another process has opened it meanwhile
                self.path.unlink()

    def release_interrupted(self) -> None:
        """Release the lock if this thread holds it through another object, because Ctrl-C has interrupted its end."""
        for lock in list(_all):
            if lock is not self and (lock.path, lock._thread) == (self.path, self._thread):
                lock.release()

    def close(self) -> None:
        """Close the file; that releases the lock unless another process has inherited it."""
        fd, self._fd, self._is_locked = self._fd, None, False
        if fd is not None:
            os.close(fd)

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def __del__(self) -> None:
        self.release()


def access_lock(store: Path) -> FileLock:
    """The lock for a connection to the database; no thread has two."""
    lock = FileLock(Path(f"{store}-lock"))
    lock.release_interrupted()
    return lock


def write_lock(store: Path) -> FileLock:
    """The lock for a change."""
    return FileLock(Path(f"{store}-write"))


def session_lock(store: Path, session: int) -> FileLock:
    """The lock of a session."""
    return FileLock(Path(f"{store}-session{session}"))


def is_alive(store: Path, session: int) -> bool:
    """Whether some process has the session open; with the write lock held. Removes the file of one that was killed."""
    lock = session_lock(store, session)
    if not lock.path.exists():
        return False
    is_dead = lock.try_acquire()
    lock.release()
    return not is_dead


def remove_dead_sessions(store: Path) -> None:
    """Remove the files of sessions that were killed; with the write lock held."""
    prefix = f"{store.name}-session"
    for file in store.parent.iterdir():
        number = file.name.removeprefix(prefix)
        if number != file.name and number.isdecimal():
            is_alive(store, int(number))


def file_id(file: Path | int) -> tuple[int, int] | None:
    """Device and inode of the file with this name or descriptor; None if there is none."""
    try:
        found = os.fstat(file) if isinstance(file, int) else file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


_all: weakref.WeakSet[FileLock] = weakref.WeakSet()


def _after_fork() -> None:
    """A forked child holds none of its parent's locks."""
    for lock in _all:
        lock.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
