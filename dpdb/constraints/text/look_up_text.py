"""Read look-ups, `CHECK (visit_start <= person.death_date) BY person_id = person.person_id`, and absences.

`EXISTS visits BY person_id` and `person IN visits BY person_id` (whatever the measured table is called) are the
inclusion `person_id IN visits.person_id`: every row must be found there.
"""

from __future__ import annotations

from typing import NamedTuple

from dpdb.constraints.across import Inclusion, LookUp
from dpdb.constraints.denial import MAX_PREDICATES, DenialConstraint
from dpdb.constraints.text.cursor import Cursor
from dpdb.constraints.text.inclusion_text import across, behind_names, behind_parentheses
from dpdb.constraints.text.lexer import Kind, Token
from dpdb.constraints.text.names import TupleNames
from dpdb.constraints.text.sql_fragment import ParentColumns

__all__ = ["absence", "look_up"]

_BY = "the key in both tables behind BY, such as BY person_id = person.person_id AND year = person.year"


def look_up(cursor: Cursor) -> tuple[DenialConstraint, ...]:
    """Take the rule: no row of the parent with a row's key may make the condition false; of `not(...)`, true."""
    from dpdb.constraints.text.conditions import check_across  # loads sqlglot

    is_denial = cursor.take().text.lower() == "not"
    condition_at = cursor.position + 1
    cursor.position += behind_parentheses(cursor, 0) + 1
    key = _key(cursor, None)
    after, cursor.position = cursor.position, condition_at
    parent = ParentColumns(tuple(key.parent.casefold().split(".")))
    condition = check_across(cursor, TupleNames(cursor.source), parent, is_denial=is_denial)
    cursor.expect(Kind.RPAREN, "')'")
    cursor.position = after
    return across(cursor, LookUp(key.columns, key.parent, key.parent_columns, condition=condition))


def absence(cursor: Cursor) -> tuple[DenialConstraint, ...]:
    """Take the rule: the parent must have every row's key."""
    if not cursor.at_word("exists"):
        cursor.position += behind_names(cursor, 0)
    cursor.take()
    names = [cursor.written_name()]
    while cursor.accept(Kind.DOT):
        names.append(cursor.written_name())
    cursor.take()
    key = _key(cursor, ".".join(names))
    return across(cursor, Inclusion(key.columns, key.parent, key.parent_columns))


class _Key(NamedTuple):
    parent: str
    columns: tuple[str, ...]
    parent_columns: tuple[str, ...]


class _Side(NamedTuple):
    """A side of an equation behind BY: what stands before its column, the column, its first token."""

    table: str | None
    column: str
    token: Token


def _key(cursor: Cursor, parent: str | None) -> _Key:
    """Take what stands behind BY; `parent` is the table that is known already, where columns may have one name."""
    columns: list[str] = []
    theirs: list[str] = []
    while not columns or cursor.accept(Kind.AND) or cursor.accept(Kind.COMMA) or _accepts_and(cursor):
        start = cursor.peek()
        own, their = _pair(cursor, parent)
        table = their.table or parent
        if table is None:
            raise cursor.error(_BY, start)
        parent = table if parent is None else parent
        if table.casefold() != parent.casefold():
            raise cursor.error(f"columns of {parent}, as before (a look-up has one parent)", their.token)
        if own in columns:
            raise cursor.error("each column of the row once behind BY", start)
        columns.append(own)
        theirs.append(their.column)
        if len(columns) == MAX_PREDICATES - 1 and not (cursor.at(Kind.END) or cursor.at_word("where")):
            raise cursor.error(f"at most {MAX_PREDICATES - 1} columns")
    assert parent is not None, "each pair has a table"
    return _Key(parent, tuple(columns), tuple(theirs))


def _accepts_and(cursor: Cursor) -> bool:
    found = cursor.at_word("and")
    if found:
        cursor.take()
    return found


def _pair(cursor: Cursor, parent: str | None) -> tuple[str, _Side]:
    """Take `a = person.a` or `person.a = a`; of two columns with a table before them the right one is the parent's.

    Where the parent is known it is the side that is called so, and `a` alone is a column of both tables.
    """
    start = cursor.position
    left = _side(cursor)
    if not cursor.at(Kind.OPERATOR):
        cursor.position = start
        own = _own(cursor)
        if parent is None or left.table is not None:
            raise cursor.error(_BY, left.token)
        return own, _Side(None, left.column, left.token)
    if cursor.peek().text not in {"=", "=="}:
        raise cursor.error("'=' (keys are equal)")
    cursor.take()
    middle = cursor.position
    right = _side(cursor)
    if right.table is None and left.table is None and parent is None:
        raise cursor.error(_BY, left.token)
    is_left = right.table is None and left.table is not None
    if parent is not None and left.table is not None and right.table is not None:
        is_left = left.table.casefold() == parent.casefold() != right.table.casefold()
    after = cursor.position
    cursor.position = middle if is_left else start
    own = _own(cursor)
    cursor.position = after
    return own, left if is_left else right


def _side(cursor: Cursor) -> _Side:
    token, names = cursor.peek(), [cursor.written_name()]
    while cursor.accept(Kind.DOT):
        names.append(cursor.written_name())
    return _Side(".".join(names[:-1]) or None, names[-1], token)


def _own(cursor: Cursor) -> str:
    """Take a column of the measured table, maybe behind the table's name."""
    while cursor.at_column() and cursor.at(Kind.DOT, ahead=1) and not cursor.at_dotted_column():
        cursor.take()
        cursor.take()
    return cursor.column(stop_at_and=True)
