"""Careful readings of values in files of other tools, which anybody may have written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["mapping", "sequence", "single", "texts"]


def mapping(value: object) -> Mapping[str, Any]:
    """Return a mapping with text keys; an empty one for any other value."""
    return {str(key): item for key, item in value.items()} if isinstance(value, Mapping) else {}


def sequence(value: object) -> list[Any]:
    """Return a list; an empty one for None, and a list of one item for any other value."""
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def texts(value: object) -> list[str]:
    """Return the texts among the items of a list."""
    return [item for item in sequence(value) if isinstance(item, str)]


def single(value: object) -> tuple[str, object, list[str]]:
    """Read `name` or `{name: options}`, as YAML files write a check, and return its name, options and further keys."""
    if isinstance(value, str):
        return value, None, []
    items = list(mapping(value).items())
    name, said = items[0] if items else ("", None)
    return name, said, [key for key, _ in items[1:]]
