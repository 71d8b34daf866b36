"""``dale bench speed``: what a proposal costs, beside peers and beside what linear algebra takes at the least.

observations   what a contender has seen when it is asked: an Optimizer in the middle of a run
asks           how each contender is asked for one more point
measure        seconds, cache, the floor, and what an import takes
plan           which measurements are made, and which are on disk already
report         table, verdicts and picture
"""
