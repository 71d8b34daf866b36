"""``python -m dale`` is the command line."""

import sys

from dale.cli import main

if __name__ == "__main__":
    sys.exit(main())
