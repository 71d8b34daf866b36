"""``dale bench workers``: how long workers are idle between evaluations in real runs.

objective   evaluations that sleep and record when they started and ended
methods     random points, the baseline; and a wrapper that times the proposals of a method
idle_time   idle times and delays from starts and ends
backends    threads, a process for each evaluation, Dask
replay      proposals along the history of a run again, with and without pending trials
run         runs of ``dale.minimize`` and their outcomes; runs on disk are not repeated
report      tables
"""
