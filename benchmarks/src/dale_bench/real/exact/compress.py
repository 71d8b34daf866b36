"""A program that compresses a table of numbers with LZMA and prints the size in kilobytes, for `compressor`.

Usage: python compress.py PARAMS FILE, where PARAMS is a JSON file with the filter settings. It exits with code 1 if
LZMA rejects the settings (lc + lp above 4), or if a device with 150 kB of memory could not decompress the result.
"""

import json
import lzma
import sys
from pathlib import Path

DEVICE_MEMORY = 150_000  # bytes


def size(settings: dict[str, object], content: bytes) -> float:
    """The size of the compressed content in kilobytes. Raises ``LZMAError`` if it cannot be made or read."""
    given = {name: settings[name] for name in ("lc", "lp", "pb", "nice_len", "depth", "dict_size")}
    mode = {"fast": lzma.MODE_FAST, "normal": lzma.MODE_NORMAL}[str(settings["mode"])]
    finder = getattr(lzma, f"MF_{str(settings['mf']).upper()}")
    filters = [{"id": lzma.FILTER_LZMA2, "mode": mode, "mf": finder, **given}]
    if settings["delta"]:
        filters.insert(0, {"id": lzma.FILTER_DELTA, "dist": settings["dist"]})
    packed = lzma.compress(content, format=lzma.FORMAT_XZ, filters=filters)
    if lzma.LZMADecompressor(memlimit=DEVICE_MEMORY).decompress(packed) != content:
        raise RuntimeError("expected the content after decompression, got something else")
    return len(packed) / 1000


def main() -> int:
    """Print the size, or the reason why there is none."""
    try:
        print(size(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]).read_bytes()))
    except lzma.LZMAError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
