"""``dale bench scale``: many workers on a simulated clock, and how long they wait for a proposal.

simulation   workers, one server, events in the order of time
run          the simulation with an Optimizer, what it comes to, and what is on disk already
report       table, verdict and picture
"""
