"""The run on disk: an SQLite file with all events of a run, from which it can be resumed and inspected."""

from dale.store.codec import OpaqueValue
from dale.store.events import Event, EventKind
from dale.store.run import Run, open_run
from dale.store.store import Store, open_store

__all__ = ["Event", "EventKind", "OpaqueValue", "Run", "Store", "open_run", "open_store"]
