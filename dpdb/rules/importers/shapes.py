"""What files of other tools may hold at a place: careful looks at values that anybody may have written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["mapping", "sequence", "single", "texts"]


def mapping(value: object) -> Mapping[str, Any]:
    """Return a mapping with text keys; anything else is an empty one."""
    return {str(key): item for key, item in value.items()} if isinstance(value, Mapping) else {}


def sequence(value: object) -> list[Any]:
    """Return a list; None is an empty one, and anything else a list of itself."""
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def texts(value: object) -> list[str]:
    """Return the texts among the items of a list."""
    return [item for item in sequence(value) if isinstance(item, str)]


def single(value: object) -> tuple[str, object, list[str]]:
    """Read `name` or `{name: options}`, as YAML files write a check, and name what stands beside it."""
    if isinstance(value, str):
        return value, None, []
    items = list(mapping(value).items())
    name, said = items[0] if items else ("", None)
    return name, said, [key for key, _ in items[1:]]
