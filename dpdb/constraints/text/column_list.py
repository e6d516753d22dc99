"""Lists of columns in constraint text: `A, B`, `[A, B]`, `[]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dpdb.constraints.denial import MAX_PREDICATES
from dpdb.constraints.text.cursor import Cursor
from dpdb.constraints.text.lexer import Kind, Token

__all__ = ["WrittenColumn", "column_list", "columns_of", "distinct_columns"]


class WrittenColumn(NamedTuple):
    """A column by the table's spelling, its first token, and what was written."""

    name: str
    token: Token
    written: str


def distinct_columns(columns: Sequence[WrittenColumn]) -> dict[str, str]:
    """Return what was written, by column."""
    return {each.name: each.written for each in columns}


def column_list(cursor: Cursor) -> list[WrittenColumn]:
    """Take `A, B` or `[A, B]` or `[]`."""
    if not cursor.accept(Kind.LBRACKET):
        return columns_of(cursor)
    if cursor.accept(Kind.RBRACKET):
        return []
    columns = columns_of(cursor)
    cursor.expect(Kind.RBRACKET, "',' or ']'")
    return columns


def columns_of(cursor: Cursor) -> list[WrittenColumn]:
    """Take `A, B`."""
    columns: list[WrittenColumn] = []
    while not columns or cursor.accept(Kind.COMMA):
        token, start = cursor.peek(), cursor.position
        if len(columns) == MAX_PREDICATES - 1:
            raise cursor.error(f"at most {MAX_PREDICATES - 1} columns")
        columns.append(WrittenColumn(cursor.column(), token, cursor.written(start)))
    return columns
