"""The experiments of the paper's Section 4, with a verdict on each statement, and a comparison with its neighbours."""

from dale_bench.paper.page import reproduce
from dale_bench.paper.related import compare_related

__all__ = ["compare_related", "reproduce"]
