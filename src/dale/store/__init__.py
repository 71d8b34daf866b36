"""The run on disk: an SQLite file that holds all that was asked and told, and from which a run goes on."""

from dale.store.codec import StandIn, as_json
from dale.store.events import Event, Kind, params_data, reason_data, replayed
from dale.store.location import checked_path
from dale.store.problem import problem_of, space_from
from dale.store.store import Store, open_store, read

__all__ = [
    "Event",
    "Kind",
    "StandIn",
    "Store",
    "as_json",
    "checked_path",
    "open_store",
    "params_data",
    "problem_of",
    "read",
    "reason_data",
    "replayed",
    "space_from",
]
