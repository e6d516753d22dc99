"""`schema has (id, total DECIMAL(12,2))`: a line of a suite about the table's columns, which are public."""

from __future__ import annotations

from typing import Literal

from dpdb.constraints.column_ref import SchemaLine
from dpdb.constraints.text.cursor import CLOSING, OPENING, Cursor
from dpdb.constraints.text.lexer import Kind

_TYPES = frozenset([Kind.NAME, Kind.NUMBER, Kind.LPAREN, Kind.RPAREN, Kind.LBRACKET, Kind.RBRACKET, Kind.TEXT])


def schema_line(cursor: Cursor) -> SchemaLine:
    """Take a line up to its end.

    Raises
    ------
    ConstraintSyntaxError
        If it says something else, or a column twice.
    """
    cursor.take()
    kind: Literal["has", "is", "has no"] = "is" if cursor.take().is_word("is") else "has"
    if kind == "has" and cursor.accept_words("no"):
        kind = "has no"
    cursor.expect(Kind.LPAREN, "'(' and columns, such as schema has (id, total DECIMAL(12,2))")
    columns: dict[str, tuple[str, str | None]] = {}
    while not columns or cursor.accept(Kind.COMMA):
        token = cursor.peek()
        if not cursor.at_column():
            raise cursor.error("a column")
        name = cursor.take().content
        if name.casefold() in columns:
            raise cursor.error("each column once", token)
        columns[name.casefold()] = (name, _type(cursor, allowed=kind != "has no"))
    cursor.expect(Kind.RPAREN, "',' or ')'")
    in_order = kind != "has no" and cursor.accept_words("in", "order")
    cursor.expect(
        Kind.END, "the end of the line" if in_order or kind == "has no" else "IN ORDER or the end of the line"
    )
    return SchemaLine(kind, tuple(columns.values()), in_order)


def _type(cursor: Cursor, *, allowed: bool) -> str | None:
    """Take a type up to the comma or parenthesis behind it; None if there is none."""
    start, depth = cursor.position, 0
    while depth or not (cursor.at(Kind.COMMA) or cursor.at(Kind.RPAREN)):
        kind = cursor.peek().kind
        if not allowed or kind not in _TYPES | {Kind.COMMA}:
            raise cursor.error("',' or ')'" if not allowed else "a type, ',' or ')'")
        depth += (kind in OPENING) - (kind in CLOSING)
        cursor.take()
    return cursor.written(start) if cursor.position > start else None
