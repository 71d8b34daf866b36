"""Integrations with other libraries. Each is a module of its own, which you import when you need it."""
