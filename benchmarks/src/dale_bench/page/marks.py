"""The generated blocks of a page: between ``<!-- dale bench page: NAME -->`` and ``<!-- end -->``."""

from __future__ import annotations

import re
from collections.abc import Mapping

BLOCK = re.compile(
    r"(?P<begin><!-- dale bench page: (?P<name>[\w-]+) -->\n)(?P<text>.*?)(?P<end><!-- end -->)", re.DOTALL
)


def blocks_of(page: str) -> dict[str, str]:
    """The text of each block of a page, by name.

    Raises:
        ValueError: A name occurs twice, or a mark has no partner.
    """
    found = [(block["name"], block["text"].strip("\n")) for block in BLOCK.finditer(page)]
    names = [name for name, _ in found]
    if len(set(names)) < len(names) or page.count("<!-- dale bench page:") != len(names):
        raise ValueError(f"expected blocks that end with <!-- end --> and have different names, got {', '.join(names)}")
    return dict(found)


def rewritten(page: str, texts: Mapping[str, str]) -> str:
    """The page with new texts of its blocks; an empty text leaves nothing between the comments.

    Raises:
        ValueError: The page has a block without a new text.
    """
    unknown = [name for name in blocks_of(page) if name not in texts]
    if unknown:
        raise ValueError(f"expected blocks named {', '.join(texts)}, got {', '.join(unknown)}")

    def replaced(block: re.Match[str]) -> str:
        text = texts[block["name"]].strip("\n")
        return block["begin"] + (f"{text}\n" if text else "") + block["end"]

    return BLOCK.sub(replaced, page)


def stale(page: str, texts: Mapping[str, str]) -> list[str]:
    """The names of the blocks of a page that differ from the new texts."""
    new = blocks_of(rewritten(page, texts))
    return [name for name, text in blocks_of(page).items() if text != new[name]]
