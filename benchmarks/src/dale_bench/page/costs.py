"""Blocks of the cost of a proposal, of workers and of forecasts."""

from __future__ import annotations

from dale_bench import jsonl
from dale_bench.forecasts import Outcome as Forecast
from dale_bench.forecasts import parts_table
from dale_bench.page.markdown import table_text
from dale_bench.page.published import Published
from dale_bench.scale.report import remarks as scale_remarks
from dale_bench.scale.report import scale_table
from dale_bench.scale.run import Outcome as Simulated
from dale_bench.speed.measure import Timing
from dale_bench.speed.report import SHARES, SLOWER, speed_table, verdicts
from dale_bench.workers.report import idle_table
from dale_bench.workers.run import DEFAULT
from dale_bench.workers.run import Outcome as Worked

SHOWN_DIMENSION = 6  # of the tables; the figure and the rows have the others


def timings(published: Published) -> list[Timing]:
    """The last measurement of each cell."""
    return list({t.key: t for t in jsonl.read(published.path("speed/rows.jsonl"), Timing)}.values())


def speed(published: Published) -> str:
    """The cost of a proposal, and the claims about it that the rows can prove."""
    found = timings(published)
    shown = [t for t in found if t.d == SHOWN_DIMENSION]
    first = verdicts(found, ())[: len(SHARES) + 1]  # compared with each peer, and with noise
    claims = [str(verdict) for verdict in first if verdict.measured is not None]
    return table_text(speed_table(shown), [SLOWER, *claims]) if shown else ""


def scale(published: Published) -> str:
    """Simulated runs with many workers."""
    outcomes = list({o.farm: o for o in jsonl.read(published.path("scale/rows.jsonl"), Simulated)}.values())
    return table_text(scale_table(outcomes), scale_remarks(outcomes)) if outcomes else ""


def workers(published: Published) -> str:
    """Eight workers in real runs without a store."""
    found = list({o.case: o for o in jsonl.read(published.path("workers/rows.jsonl"), Worked)}.values())
    if not found:
        return ""
    shown = [o for o in found if o.dimension == SHOWN_DIMENSION and o.method == DEFAULT and not o.store]
    return table_text(idle_table(shown), ["medians over the runs"])


def forecasts(published: Published) -> str:
    """Forecasts, compared with what came."""
    outcomes = jsonl.read(published.path("forecasts/rows.jsonl"), Forecast)
    return table_text(parts_table(outcomes)) if outcomes else ""
