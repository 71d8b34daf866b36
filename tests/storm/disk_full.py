"""A full disk: writes of SQLite fail, files beyond a limit cannot grow, or no lock file can be created.

Each failure is a ``StoreError`` that names the file, no acknowledged trial is lost, and once there is space again the
same optimizer continues. An error does not always mean that nothing was written: a commit that could not be
synchronised may be found in the log later. Then the next change sees it, and memory and file are equal again.
"""

import errno
import os
import re
from contextlib import contextmanager
from unittest import mock

from store_runs import BOUNDS, Uniform, limited, same, same_runs, valley, without_store

import dale
from storm import disk

UNIT = "failed writes"
TRIALS = 10


def case(rng, folder):
    store = folder / "run.db"
    if rng.random() < 0.1 or not disk.AVAILABLE:
        said = limited(store, rng.randint(13_000, 80_000))
        assert re.search(r"Not written: (ask|tell) of trial \d+, \{", said), said
        return 1
    faults = Faults(rng)
    with disk.observed(faults), mock.patch.object(os, "open", faults.open_file):
        optimizer = faults.until_done(store, lambda: dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=store))
        acknowledged = []
        for _ in range(TRIALS):
            trial = faults.until_done(store, optimizer.ask)
            acknowledged.append(faults.until_done(store, lambda t=trial: optimizer.tell(t, valley(t.x))))
            with faults.paused():
                history = dale.open(store).history
                assert same_runs(history, optimizer.history)
                assert all(same(history[t.id], t) for t in acknowledged)
        with faults.paused():
            optimizer.close()
    if len(optimizer.history) == TRIALS:
        assert same_runs(optimizer.history, without_store(TRIALS))
    with dale.Optimizer(BOUNDS, seed=0, method=Uniform(), store=store) as again:
        assert same_runs(again.history, optimizer.history)
    assert [p.name for p in folder.iterdir()] == ["run.db"]
    return faults.n_errors


class Faults:
    """A disk that is full from time to time; it counts the errors that come out at the top."""

    def __init__(self, rng):
        self.rng = rng
        self.full_for = 0  # so many operations
        self.active = True
        self.n_errors = 0

    def __call__(self, operation):
        if not self.is_full() or operation.kind in ("truncate", "delete"):
            return disk.OK
        return disk.IOERR_FSYNC if operation.kind == "sync" else disk.FULL

    def open_file(self, path, flags, *mode, open_file=os.open, **more):
        if flags & os.O_CREAT and str(path).endswith(("-lock", "-write")) and self.is_full():
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return open_file(path, flags, *mode, **more)

    def is_full(self):
        if self.full_for == 0 and self.rng.random() < 0.03:
            self.full_for = self.rng.randint(1, 15)
        self.full_for -= self.active and self.full_for > 0
        return self.active and self.full_for > 0

    @contextmanager
    def paused(self):
        self.active = False
        try:
            yield
        finally:
            self.active = True

    def until_done(self, store, change):
        """Try until there is space."""
        while True:
            try:
                return change()
            except dale.StoreError as error:
                said = str(error)
            assert str(store) in said, said
            assert "damaged" not in said, said
            self.n_errors += 1
