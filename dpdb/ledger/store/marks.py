"""Marks under a ledger's own key: of its table, of the rows of an epoch, of its head.

A mark is an HMAC with a random key that never leaves the ledger file, so whoever sees a mark learns nothing about the
table.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass

__all__ = ["SourceMark", "is_rows_of", "mark", "new_key", "rows_of", "unit_words"]

_ROWS_OF = "single rows of "


@dataclass(frozen=True)
class SourceMark:
    """The table that a release reads.

    Parameters
    ----------
    table
        Its schema, as text: the same for ever.
    content
        What changes when its rows may have changed: sizes and times of its files, or a digest of its rows.
    rows_per_person
        Rows by which one unit changes what releases read, at most.
    unit
        The column whose values are the units that the ledger protects, or what `rows_of` says of rows of several
        tables; None if units are rows or persons with `rows_per_person` rows.
    read_as
        How its text is cut into rows, where its columns do not tell. An append-only ledger, which compares no content,
        knows its table by this, too.
    """

    table: str
    content: str
    rows_per_person: int = 1
    unit: str | None = None
    read_as: str = ""

    @property
    def protects(self) -> str:
        """The unit in words."""
        return unit_words(self.rows_per_person, self.unit)


def rows_of(tables: str) -> str:
    """Return the unit of a ledger that counts for rows of several tables, of which some are used, in words."""
    return f"{_ROWS_OF}{tables}"


def is_rows_of(unit: str) -> bool:
    """Return whether a unit comes from `rows_of`, and is no column."""
    return unit.startswith(_ROWS_OF)


def unit_words(rows: int, unit: str | None) -> str:
    """Return the unit that a ledger counts for, in words."""
    if unit is None:
        return f"{rows} rows per person"
    if is_rows_of(unit):
        return unit
    return f"values of {unit} with at most {rows} rows each"


def new_key() -> bytes:
    """A random key from the operating system."""
    return secrets.token_bytes(32)


def mark(key: bytes, kind: str, text: str) -> bytes:
    """HMAC-SHA-256 of a text.

    Parameters
    ----------
    key
        The ledger's own key.
    kind
        The name that keeps marks of different things apart.
    text
        The text to mark.
    """
    return hmac.digest(key, f"{kind}\0{text}".encode(), hashlib.sha256)
