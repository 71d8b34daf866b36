"""The experiments of the paper's Section 4, run again: plan, figures, and a verdict on each of its statements."""

from dale_bench.paper.page import reproduce

__all__ = ["reproduce"]
