"""``dale bench mine``: dale and its peers on a function of the user.

objective    the function on its space, and a task that counts its evaluations
contenders   the methods and peers, and which of them support a space
runs         make runs; on disk
report       table and figure of the best value so far
"""
