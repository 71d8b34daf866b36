"""How processes end: the grace period before they are killed, and exit codes as text."""

from __future__ import annotations

import signal

GRACE = 5.0  # seconds for a process to exit by itself, after its outcome was read or after SIGTERM; then SIGKILL


def describe_exit(code: int | None) -> str:
    """An exit code, or minus the number of a signal, as the predicate of a sentence."""
    if code is None:
        return "disappeared"
    if code >= 0:
        return f"ended with exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else "unknown"
    return f"was killed by signal {-code} ({name})"
