"""What SQLite does to files, seen from below: record it, let it fail, or end the process in the middle of it.

A VFS of SQLite with callbacks in Python takes the place of the default one. It forwards every call, after it has told
an observer. SQLite is that of Python's ``sqlite3``, which must be linked dynamically; otherwise ``AVAILABLE`` is False.
"""

import _sqlite3
import ctypes
from collections.abc import Callable
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_int, c_int64, c_void_p, cast
from pathlib import Path
from typing import Any, NamedTuple

OK, FULL, IOERR_FSYNC = 0, 13, 10 | (4 << 8)

OPEN = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p)  # the name is passed on: more follows its end
DELETE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int)
CLOSE = CFUNCTYPE(c_int, c_void_p)
WRITE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
TRUNCATE = CFUNCTYPE(c_int, c_void_p, c_int64)
SYNC = CFUNCTYPE(c_int, c_void_p, c_int)


class VFS(Structure):
    """``sqlite3_vfs`` up to the last field of version 3; functions that are not replaced are plain pointers."""

    _fields_ = [
        ("version", c_int),
        ("file_size", c_int),
        ("max_path", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("data", c_void_p),
        ("open", OPEN),
        ("delete", DELETE),
        *((f"other{i}", c_void_p) for i in range(14)),
    ]


class Methods(Structure):
    """``sqlite3_io_methods`` of version 3."""

    _fields_ = [
        ("version", c_int),
        ("close", CLOSE),
        ("read", c_void_p),
        ("write", WRITE),
        ("truncate", TRUNCATE),
        ("sync", SYNC),
        *((f"other{i}", c_void_p) for i in range(13)),
    ]


class File(Structure):
    """``sqlite3_file``."""

    _fields_ = [("methods", POINTER(Methods))]


class Operation(NamedTuple):
    """One change of a file.

    Attributes:
        kind: "create", "write", "truncate", "sync", "delete"; and, from Python, "rename" and "sync folder".
        path: The file.
        at: Where data are written; the new size of a file that is truncated.
        data: What is written.
        target: The new name of a file that is renamed.
    """

    kind: str
    path: Path
    at: int = 0
    data: bytes = b""
    target: Path | None = None


Observer = Callable[[Operation], int]  # returns OK, or the error that SQLite gets instead


def _library() -> Any:
    try:
        library = ctypes.CDLL(_sqlite3.__file__)
        library.sqlite3_vfs_find.restype = POINTER(VFS)
        library.sqlite3_vfs_find.argtypes = [c_char_p]
        library.sqlite3_vfs_register.argtypes = [POINTER(VFS), c_int]
        library.sqlite3_vfs_unregister.argtypes = [POINTER(VFS)]
    except (OSError, AttributeError):
        return None
    return library


LIBRARY = _library()
AVAILABLE = LIBRARY is not None


@contextmanager
def observed(observer: Observer):
    """Tell an observer of each change that SQLite makes to a file before it is made."""
    real = LIBRARY.sqlite3_vfs_find(None)
    vfs = VFS.from_buffer_copy(real.contents)
    vfs.name = b"observed"
    paths: dict[int, Path] = {}  # by address of the open file
    kept: dict[int, Any] = {}  # the real methods, by their address, and the ones that replace them

    def methods_of(file: Any) -> Methods:
        return kept[ctypes.addressof(file.contents.methods.contents)][0]

    def write(file, data, size, at):
        error = observer(Operation("write", paths[file], at, ctypes.string_at(data, size)))
        return error or methods_of(cast(file, POINTER(File))).write(file, data, size, at)

    def truncate(file, size):
        error = observer(Operation("truncate", paths[file], size))
        return error or methods_of(cast(file, POINTER(File))).truncate(file, size)

    def sync(file, flags):
        error = observer(Operation("sync", paths[file]))
        return error or methods_of(cast(file, POINTER(File))).sync(file, flags)

    def close(file):
        paths.pop(file)
        return methods_of(cast(file, POINTER(File))).close(file)

    def replace_methods(file: Any) -> None:
        """Each kind of file has its own methods. The replacement differs in four of them."""
        before = file.contents.methods.contents
        for old, new in kept.values():
            if ctypes.addressof(old) == ctypes.addressof(before):
                file.contents.methods = ctypes.pointer(new)
                return
        new = Methods.from_buffer_copy(before)
        new.close, new.write, new.truncate, new.sync = CLOSE(close), WRITE(write), TRUNCATE(truncate), SYNC(sync)
        kept[ctypes.addressof(new)] = before, new
        file.contents.methods = ctypes.pointer(new)

    def open_file(_, name, file, flags, out_flags):
        path = Path(ctypes.string_at(name).decode()) if name else Path("temporary")
        error = OK if path.exists() else observer(Operation("create", path))
        error = error or real.contents.open(real, name, file, flags, out_flags)
        handle = cast(file, POINTER(File))
        if error == OK and handle.contents.methods:
            paths[file] = path
            replace_methods(handle)
        return error

    def delete(_, name, sync_folder):
        path = Path(ctypes.string_at(name).decode())
        error = observer(Operation("delete", path)) if path.exists() else OK
        return error or real.contents.delete(real, name, sync_folder)

    vfs.open, vfs.delete = OPEN(open_file), DELETE(delete)
    LIBRARY.sqlite3_vfs_register(byref(vfs), 1)
    try:
        yield
    finally:
        LIBRARY.sqlite3_vfs_unregister(byref(vfs))
        LIBRARY.sqlite3_vfs_register(real, 1)
