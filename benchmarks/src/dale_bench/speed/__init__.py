"""``dale bench speed``: the cost of a proposal, compared with peers and with the minimum of linear algebra.

observations   the observations at a proposal: an Optimizer in the middle of a run
asks           how each contender makes one proposal
measure        time and memory of a proposal, the floor, and the time of an import
plan           the measurements; those on disk are not repeated
report         table, verdicts and plot
"""
