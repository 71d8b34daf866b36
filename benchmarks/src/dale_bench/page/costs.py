"""Blocks of the cost of a proposal, of workers and of forecasts."""

from __future__ import annotations

from dale_bench import jsonl
from dale_bench.forecasts import Outcome as Forecast
from dale_bench.forecasts import parts_table
from dale_bench.page.markdown import bullets, columns, table_text
from dale_bench.page.published import Published
from dale_bench.scale.report import remarks as scale_remarks
from dale_bench.scale.report import scale_table
from dale_bench.scale.run import Outcome as Simulated
from dale_bench.speed.measure import Timing
from dale_bench.speed.report import SHARES, verdicts
from dale_bench.workers.report import idle_table
from dale_bench.workers.run import DEFAULT
from dale_bench.workers.run import Outcome as Worked

SHOWN_DIMENSION = 6  # the rows have the others
SCALE_SHOWN = [
    "workers",
    "median, s",
    "evaluations",
    "idle",
    "server busy",
    "proposal, ms",
    "reached after",
    "one worker",
]
WORKERS_SHOWN = ["seconds", "evaluated in", "idle", "runs"]


def timings(published: Published) -> list[Timing]:
    """The last measurement of each cell."""
    return list({t.key: t for t in jsonl.read(published.path("speed/rows.jsonl"), Timing)}.values())


def speed(published: Published) -> str:
    """The claims about the cost of a proposal that the rows can prove."""
    first = verdicts(timings(published), ())[: len(SHARES) + 1]  # compared with each peer, and with noise
    return bullets([str(verdict) for verdict in first if verdict.measured is not None])


def scale(published: Published) -> str:
    """Simulated runs with many workers."""
    outcomes = list({o.farm: o for o in jsonl.read(published.path("scale/rows.jsonl"), Simulated)}.values())
    return table_text(columns(scale_table(outcomes), SCALE_SHOWN), scale_remarks(outcomes)) if outcomes else ""


def workers(published: Published) -> str:
    """How long eight workers wait in real runs without a store."""
    found = list({o.case: o for o in jsonl.read(published.path("workers/rows.jsonl"), Worked)}.values())
    shown = [o for o in found if o.dimension == SHOWN_DIMENSION and o.method == DEFAULT and not o.store]
    _, rows = columns(idle_table(shown), WORKERS_SHOWN)
    lines: dict[str, list[str]] = {}
    for seconds, backend, idle, n in rows:
        lines.setdefault(seconds, []).append(f"{idle} with {backend} ({n} runs)")
    return bullets(
        [f"{seconds} s: the workers wait {', '.join(some)} of their time" for seconds, some in lines.items()]
    )


def forecasts(published: Published) -> str:
    """Forecasts, compared with what came."""
    outcomes = jsonl.read(published.path("forecasts/rows.jsonl"), Forecast)
    return table_text(parts_table(outcomes)) if outcomes else ""
