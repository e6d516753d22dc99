"""Names in statements: how DuckDB compares them, and words about one that is not known."""

from __future__ import annotations

import difflib
import string
from collections.abc import Iterable

__all__ = ["folded", "nearest"]

# DuckDB folds ASCII only. Python's casefold would take the Kelvin sign for a k and a long s for an s.
_FOLD = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def folded(name: str) -> str:
    """Return the form in which two equal names are the same text."""
    return name.translate(_FOLD)


def nearest(wanted: str, known: Iterable[str]) -> str:
    """Say which known name is close to the wanted one, and whether it only looks like one."""
    odd = "; it has letters that are not ASCII" if not wanted.isascii() else ""
    near = difflib.get_close_matches(folded(wanted), list(known), n=1)
    return odd + (f"; did you mean {near[0]}?" if near else "")
