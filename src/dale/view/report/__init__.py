"""One self-contained HTML page of a run: a summary, interactive charts and a table of all trials."""

from dale.view.report.live import LiveReport
from dale.view.report.page import report

__all__ = ["LiveReport", "report"]
