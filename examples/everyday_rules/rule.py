"""`Rule`: what people say of their rows, as dpdb reads it and as plain SQL that counts what breaks it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Rule", "about_pairs", "about_rows"]


@dataclass(frozen=True)
class Rule:
    """A rule in words, as constraint text, and as SQL that counts rows, or pairs of rows, that break it."""

    words: str
    text: str
    sql: str


def about_rows(table: str, words: str, text: str, broken: str) -> Rule:
    """Make a rule that single rows break."""
    return Rule(words, text, f"SELECT count(*) FROM {table} WHERE {broken}")


def about_pairs(table: str, words: str, text: str, broken: str, *, exchanged: str = "a.rowid < b.rowid") -> Rule:
    """Make a rule that pairs of rows a and b break, each of which counts once: by default they break it either way."""
    return Rule(words, text, f"SELECT count(*) FROM {table} a, {table} b WHERE {broken} AND {exchanged}")
