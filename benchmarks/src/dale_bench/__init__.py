"""Benchmarks of dale: test functions, other solvers, and runs that compare them."""
