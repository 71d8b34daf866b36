"""``dale bench workers``: real evaluations that sleep, and how long workers wait between them.

objective   evaluations that take their time and note when they began and ended
methods     the floor, a method that thinks of nothing; and any method, with what its proposals took
waiting     the arithmetic of begins and ends
ways        who evaluates: threads, a process for each evaluation, Dask
replay      proposals over the history of a run once more, with nothing pending and with something
run         runs of ``dale.minimize``, what they come to, and what is on disk already
report      tables
"""
