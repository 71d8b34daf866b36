"""A process that ends a program when the process that has started the program dies, though that could tell nobody.

Started as a script, with the seconds of grace as its argument. It reads the number of the program's process group from
a pipe, and then waits for the end of the pipe, which the system closes when nobody holds its other end any more. It
imports nothing of dale's, so that it is there at once.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress

POLL = 0.1  # seconds between two looks whether the program has ended


def main() -> None:
    """Wait for the end of standard input, and end the group that it names: first by word, then by force."""
    group = sys.stdin.read()
    if not group or sys.platform == "win32":
        return
    until = time.monotonic() + float(sys.argv[1])
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(int(group), signal.SIGTERM)
        while time.monotonic() < until:
            time.sleep(POLL)
            os.killpg(int(group), 0)  # an error when all have ended
        os.killpg(int(group), signal.SIGKILL)


if __name__ == "__main__":
    main()
