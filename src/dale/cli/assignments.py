"""Values of parameters on the command line, as ``NAME=VALUE``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dale.space.space import Space


def read_assignments(option: str, texts: Sequence[str], space: Space) -> dict[str, Any]:
    """Values of parameters by name; text is parsed as the parameter needs it.

    Args:
        option: The option that they were given with, for messages.
        texts: As they were given.
        space: The parameters. Unknown names are left for others to refuse.

    Examples:
        >>> import dale
        >>> read_assignments("--fixed", ["n=3", "kind=q"], Space(n=(0, 9), kind=dale.Choice(["p", "q"])))
        {'n': 3, 'kind': 'q'}
    """
    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"{option}: expected NAME=VALUE, got {text!r}")
        values[name] = space.parameters[name].parse(value) if name in space.parameters else value
    return values
