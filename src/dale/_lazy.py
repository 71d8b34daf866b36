"""Names of a package that are imported on first use, because most runs need none of them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any


def on_first_use(package: str, modules: Mapping[str, str], name: str) -> Any:
    """The object that a package has under a name: the body of its ``__getattr__``.

    Args:
        package: The name of the package.
        modules: The module of the package that each name is imported from.
        name: The name.
    """
    if name in modules:
        return getattr(import_module(f"{package}.{modules[name]}"), name)
    raise AttributeError(f"module {package!r} has no attribute {name!r}")
