"""Noisy problems: one module each."""
