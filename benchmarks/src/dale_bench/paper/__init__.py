"""The experiments of the paper's Section 4: plan, figures, and a verdict on each statement."""

from dale_bench.paper.page import reproduce

__all__ = ["reproduce"]
