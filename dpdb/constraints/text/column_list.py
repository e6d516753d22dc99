"""Lists of columns in constraint text: `A, B`, `[A, B]`, `{A B}`, `(t.A, t.B)`, `[]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dpdb.constraints.denial import MAX_PREDICATES
from dpdb.constraints.text.cursor import CLOSED_BY, Cursor
from dpdb.constraints.text.lexer import Kind, Token
from dpdb.constraints.text.names import normal_tuple_name

__all__ = ["RowName", "WrittenColumn", "column_list", "columns_of", "distinct_columns"]

_SIGN_OF = {Kind.RPAREN: ")", Kind.RBRACKET: "]", Kind.RBRACE: "}"}

_LONGEST_ROW_NAME = 3
"""Such as `t_i`; longer ones may be meant as part of a column's name."""


class WrittenColumn(NamedTuple):
    """A column by the table's spelling, its first token, and what was written."""

    name: str
    token: Token
    written: str


def distinct_columns(columns: Sequence[WrittenColumn]) -> dict[str, str]:
    """Return what was written, by column."""
    return {each.name: each.written for each in columns}


class RowName:
    """The one row name that the columns of a list, or of both lists beside an arrow, may have: `[t.a] -> t.b`.

    It has no meaning; a column of the table whose own name has this beginning is tried first.
    """

    def __init__(self) -> None:
        self._name: str | None = None

    def skip(self, cursor: Cursor) -> None:
        """Take the name and its dot, if they are next."""
        if not (cursor.at(Kind.NAME) and cursor.at(Kind.DOT, ahead=1)) or cursor.at_dotted_column():
            return
        name = normal_tuple_name(cursor.peek().text)
        if name is None or len(name) > _LONGEST_ROW_NAME or cursor.at_known_column():
            return
        self._name = self._name or name
        if name != self._name:
            raise cursor.error(f"one name of a row, as {self._name} before (rows are compared column by column)")
        cursor.take()
        cursor.take()


def column_list(cursor: Cursor, row: RowName) -> list[WrittenColumn]:
    """Take `A, B` or, in any brackets, `A, B` or `A B` or nothing."""
    closing = CLOSED_BY.get(cursor.peek().kind)
    if closing is None:
        return columns_of(cursor, row)
    cursor.take()
    if cursor.accept(closing):
        return []
    columns = columns_of(cursor, row, spaced=True)
    cursor.expect(closing, f"',' or '{_SIGN_OF[closing]}'")
    return columns


def columns_of(cursor: Cursor, row: RowName | None = None, *, spaced: bool = False) -> list[WrittenColumn]:
    """Take `A, B`; if `spaced`, `A B`, too.

    Parameters
    ----------
    cursor
        At the first column.
    row
        The name of a row that columns may have before them. Default: any one name.
    spaced
        Whether a space may separate columns, too: of `A B` the longest name that a column has is one column.
    """
    row = row or RowName()
    columns: list[WrittenColumn] = []
    while not columns or cursor.accept(Kind.COMMA) or (spaced and cursor.at_column()):
        token, start = cursor.peek(), cursor.position
        if len(columns) == MAX_PREDICATES - 1:
            raise cursor.error(f"at most {MAX_PREDICATES - 1} columns")
        row.skip(cursor)
        first = cursor.position
        column = cursor.column()
        if spaced:
            cursor.refuse_two_readings(first)
        columns.append(WrittenColumn(column, token, cursor.written(start)))
    return columns
