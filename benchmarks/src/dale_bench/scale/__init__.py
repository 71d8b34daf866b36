"""``dale bench scale``: how long many workers wait for proposals, on a simulated clock.

simulation   workers and one server, event by event
run          the simulation with an Optimizer and its outcome; outcomes on disk are not repeated
report       table, verdict and plot
"""
