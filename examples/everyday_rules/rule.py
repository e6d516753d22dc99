"""`Rule`: what people say of their rows, as dpdb reads it and as plain SQL that counts what breaks it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Rule", "pairs", "rows"]


@dataclass(frozen=True)
class Rule:
    """A rule in words, as constraint text, and as SQL that counts rows, or pairs of rows, that break it."""

    words: str
    text: str
    sql: str


def rows(table: str, broken: str) -> str:
    """Write the SQL that counts rows."""
    return f"SELECT count(*) FROM {table} WHERE {broken}"


def pairs(table: str, broken: str, *, exchanged: str = "a.rowid < b.rowid") -> str:
    """Write the SQL that counts pairs of rows a and b, each once: by default those that break a rule either way."""
    return f"SELECT count(*) FROM {table} a, {table} b WHERE {broken} AND {exchanged}"
