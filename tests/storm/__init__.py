"""Storms: random failures of programs, machines and disks, for as long as you like. ``make storm`` runs them.

Each storm is a module with a function ``case(rng, folder)`` that tries something in an empty folder, raises an error if
a promise of docs/reliability.md is broken, and returns how many failures (``UNIT``) it has caused. All its choices come
from ``rng``, so a case is repeated by its number; only the timing differs.
"""

STORMS = ("fuzz", "power", "kills", "creation", "disk_full", "writers", "processes", "dask_deaths")
IN_MEMORY = {"fuzz", "power", "creation", "disk_full"}  # need no real disk: on one in memory, they try more in a minute
