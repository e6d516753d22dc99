"""Read the condition of a rule's rows by itself, where it has members, `x IN (SELECT ...)`."""

from __future__ import annotations

from collections.abc import Sequence

from dpdb.constraints.column_ref import RowExpression
from dpdb.constraints.text.cursor import ColumnNames, Cursor, TupleNames
from dpdb.constraints.text.lexer import Kind, Source


def condition_with_members(text: str, columns: Sequence[str] | None = None) -> RowExpression | None:
    """Read a condition on one row that has members; return None if it has none.

    Parameters
    ----------
    text
        The condition, as it stands behind WHERE of a rule that has been read.
    columns
        As of `parse_constraint`.

    Raises
    ------
    ConstraintSyntaxError, UnknownColumnError
        If it is no condition, or there is no such column.
    """
    if "select" not in text.casefold():
        return None
    from dpdb.constraints.text.conditions import row_condition  # loads sqlglot

    cursor = Cursor(Source(text), None if columns is None else ColumnNames(columns))
    found = row_condition(cursor, TupleNames(cursor.source))
    cursor.expect(Kind.END, "the end of the condition")
    return found if found.members else None
