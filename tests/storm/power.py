"""Power cuts, simulated: after any operation of SQLite, with any part of what was not synchronised lost or torn.

A run is recorded once: every change of a file, and how many of its trials were acknowledged by then. For a cut, the
files are made as a disk may hold them: what was synchronised is there; of later writes each sector of 512 bytes is
either old or new, or zeros beyond the old end of the file; of later changes of names (create, rename, delete) a prefix
is there. The run must then hold every acknowledged trial, and continue as if nothing had happened.
"""

import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from store_runs import BOUNDS, Uniform, same_runs, step, valley

import dale
from dale.store import sqlite
from dale.store.locks import session_lock, write_lock
from storm import disk

UNIT = "power cuts"
CUTS = 25  # for each recorded run
SECTOR = 512


def case(rng, folder):
    here = folder / "recorded"
    here.mkdir()
    n, error = rng.randint(2, 9), "it broke " * rng.choice([1, 100, 2000])
    operations, acknowledged = record(here / "run.db", n, error, rng)
    whole = acknowledged[-1][1]
    for number in range(CUTS):
        there = folder / str(number)
        there.mkdir()
        cut = rng.randint(0, len(operations))
        for name, data in after_a_cut(operations, cut, rng).items():
            (there / name).write_bytes(data)
        leave_lock_files(there / "run.db", rng)
        needed = next(history for at, history in reversed(acknowledged) if at <= cut)
        expected = next((history for at, history in acknowledged if at > cut), whole)
        check(there / "run.db", needed, expected, whole, error)
    return CUTS


def check(path, needed, in_flight, whole, error):
    """Open what a power cut has left, and continue the run."""
    if path.exists():
        found = dale.open(path).history
        assert same_runs(found, needed) or same_runs(found, in_flight), f"{path}: {found}, expected {needed}"
    else:
        assert needed == ()
    with dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=path) as optimizer:
        step(optimizer, valley, len([t for t in whole if t.state != "pending"]), error)
    assert same_runs(optimizer.history, whole), f"{path}: another run"
    assert sorted(p.name for p in path.parent.iterdir()) == ["run.db"]


def record(path, n, error, rng):
    """Make a run of n trials; returns the operations, and (number of operations, history) after each change."""
    operations: list[disk.Operation] = []
    acknowledged = [(0, ())]

    def observer(operation):
        operations.append(operation)
        return disk.OK

    with disk.observed(observer), recorded_names(operations):
        optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=path)
        write = optimizer._store._save

        def saved():
            write()
            acknowledged.append((len(operations), optimizer.history))

        for k in range(1, n + 1):
            optimizer._store._save = saved
            step(optimizer, valley, k, error)
            if rng.random() < 0.2:
                optimizer.close()
                optimizer = dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=path)
                write = optimizer._store._save
        optimizer.close()
    return operations, acknowledged


@contextmanager
def recorded_names(operations):
    """Record also what dale itself does to names: it renames and deletes drafts, and synchronises the folder."""
    rename, unlink, sync = Path.rename, Path.unlink, sqlite._sync_directory

    def renamed(path, target):
        operations.append(disk.Operation("rename", path, target=Path(target)))
        return rename(path, target)

    def unlinked(path, missing_ok=False):
        if path.exists():
            operations.append(disk.Operation("delete", path))
        return unlink(path, missing_ok)

    def synced(path):
        operations.append(disk.Operation("sync folder", path))
        return sync(path)

    with (
        mock.patch.object(Path, "rename", renamed),
        mock.patch.object(Path, "unlink", unlinked),
        mock.patch.object(sqlite, "_sync_directory", synced),
    ):
        yield


@dataclass
class Inode:
    """A file without its name: what is on disk, and what was written since it was synchronised."""

    data: bytearray = field(default_factory=bytearray)
    unsynced: list[disk.Operation] = field(default_factory=list)


def after_a_cut(operations, cut, rng):
    """The files by name, as a disk may hold them after so many operations."""
    now: dict[Path, Inode] = {}  # names as programs see them
    on_disk: dict[Path, Inode] = {}
    unsynced: list[dict[Path, Inode]] = []  # all names, after each change since the folder was synchronised
    for operation in operations[:cut]:
        path = operation.path
        if operation.kind in ("write", "truncate") and path in now:
            now[path].unsynced.append(operation)
        elif operation.kind == "sync" and path in now:
            now[path].data = merged(now[path], lambda: True)
            now[path].unsynced = []
            if path.name.endswith("-wal") and now[path] not in on_disk.values():
                on_disk, unsynced = dict(now), []  # SQLite synchronises the folder of a new log
        elif operation.kind == "sync folder":
            on_disk, unsynced = dict(now), []
        elif operation.kind in ("create", "rename", "delete"):
            inode = Inode() if operation.kind == "create" else now.pop(path, None)
            if inode is not None and operation.kind != "delete":
                now[operation.target or path] = inode
            unsynced.append(dict(now))
    names = rng.choice([on_disk, *unsynced])
    kept = rng.choice([0.0, 0.5, 0.9, 1.0])
    files = {path.name: bytes(merged(inode, lambda: rng.random() < kept)) for path, inode in names.items()}
    return {name: data for name, data in files.items() if not name.endswith("-shm")}  # memory, not data


def merged(inode, is_kept):
    """The content of a file with each sector of the later writes kept or not."""
    data = bytearray(inode.data)
    for operation in inode.unsynced:
        if operation.kind == "truncate":
            if is_kept():
                data = data[: operation.at] + bytes(max(0, operation.at - len(data)))
            continue
        for start in range(0, len(operation.data), SECTOR):
            part, at = operation.data[start : start + SECTOR], operation.at + start
            if is_kept():
                data.extend(bytes(max(0, at + len(part) - len(data))))
                data[at : at + len(part)] = part
    return data


def leave_lock_files(path, rng):
    """The locks end with the machine; their files may stay."""
    for lock in (write_lock(path), session_lock(path, 1), session_lock(path, 2)):
        if rng.random() < 0.3 and path.exists():
            os.close(os.open(lock.path, os.O_CREAT))
