"""Test functions, methods and runs to compare them by."""
