"""Made-up measurements of proposals, and the verdicts on them, for the tests of `dale bench speed`."""

from dale_bench.speed import report
from dale_bench.speed.measure import FLOOR, IMPORTS, Timing

DALE, GLOBAL, NOISY, OPTUNA, BOTORCH = "default", "global", "noisy", "optuna_gp", "botorch"


def timing(contender, n, d, seconds, megabytes=None):
    """Three repetitions with the given median."""
    return Timing(contender, n, d, [seconds / 2, 3 * seconds, seconds], [9.0, 9.0, 9.0], megabytes)


def imports(ours, needed):
    return [Timing(name, 0, 0, [5.0, best], [5.0, best]) for name, best in zip(IMPORTS, (ours, needed), strict=True)]


def all_good():
    """Measurements with which everything holds, each just so."""
    return [
        *(timing(DALE, n, 6, s) for n, s in ((99, 0.01), (101, 0.03), (500, 0.125))),
        *(timing(DALE, n, 2, s) for n, s in ((99, 0.02), (101, 0.02), (500, 1.0), (2000, 16.0))),
        timing(DALE, 2000, 6, 2.0, megabytes=228.0),
        timing(FLOOR, 2000, 6, 0.1),
        timing(DALE, 200, 6, 0.02),
        timing(NOISY, 200, 6, 0.06),
        *(timing(BOTORCH, n, 6, s) for n, s in ((99, 0.5), (101, 1.1))),
        *(timing(OPTUNA, n, 6, s) for n, s in ((99, 0.1), (101, 0.22))),
    ]


def said(timings, imported=()):
    return [str(verdict) for verdict in report.verdicts(timings, imported)]
