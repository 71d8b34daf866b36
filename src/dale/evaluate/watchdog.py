"""Watchdog: terminates a program if the process that started it is killed.

It runs as a script, with the grace period in seconds as its argument. It reads the id of the program's process group
from a pipe, and waits for the end of the pipe, which the operating system closes when the process dies. It does not
import dale, so it starts quickly.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress

POLL_INTERVAL = 0.1  # seconds between two checks whether the program has ended


def main() -> None:
    """Wait for the end of standard input, then send SIGTERM to the process group in it and, if needed, SIGKILL."""
    group = sys.stdin.read()
    if not group or sys.platform == "win32":
        return
    until = time.monotonic() + float(sys.argv[1])
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(int(group), signal.SIGTERM)
        while time.monotonic() < until:
            time.sleep(POLL_INTERVAL)
            os.killpg(int(group), 0)  # raises when the whole group has ended
        os.killpg(int(group), signal.SIGKILL)


if __name__ == "__main__":
    main()
