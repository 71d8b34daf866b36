"""Exact problems: one module each."""
