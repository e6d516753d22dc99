"""`COMPARE replica BY id COLUMNS born, ward = replica.department`: lines that compare two tables by a key."""

from __future__ import annotations

from dpdb.constraints.column_ref import ComparedWith
from dpdb.constraints.text.cursor import Cursor
from dpdb.constraints.text.lexer import Kind, shortened


def comparison_line(cursor: Cursor) -> ComparedWith:
    """Take a line up to its WHERE or end.

    Raises
    ------
    ConstraintSyntaxError
        If it says something else.
    UnknownColumnError
        If the table has no such column.
    """
    cursor.take()
    table = cursor.dotted_name("the name of another table, such as COMPARE replica BY id")
    if not cursor.accept_words("by"):
        raise cursor.error("BY and the columns of the key, such as BY id or BY id = replica.pid")
    key = tuple(cursor.listed(lambda: _pair(cursor, table)))
    columns = tuple(cursor.listed(lambda: _pair(cursor, table))) if cursor.accept_words("columns") else None
    if not (cursor.at(Kind.END) or cursor.at_word("where")):
        raise cursor.error("COLUMNS and those to compare, WHERE, limits, or the end of the line")
    return ComparedWith(".".join(table), key, columns)


def _pair(cursor: Cursor, table: list[str]) -> tuple[str, str]:
    """Take a column that both tables have, or `own = table.other`."""
    own = cursor.column(before="columns")
    if not (cursor.at(Kind.OPERATOR) and cursor.peek().text == "="):
        return own, own
    cursor.take()
    start = cursor.peek()
    named = cursor.dotted_name(f"a column of the other table, such as {shortened('.'.join(table))}.id")
    before, theirs = named[:-1], named[-1]
    if before and [each.casefold() for each in before] != [each.casefold() for each in table]:
        raise cursor.error(f"a column of {shortened('.'.join(table))}, with which the table is compared", start)
    return own, theirs
