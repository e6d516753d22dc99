"""Read rules across tables: inclusions, look-ups and absences.

An inclusion is `customer_id IN customers.id`, or SQL's `FOREIGN KEY (...) REFERENCES customers(id)`. Behind WHERE
columns of the parent say which of its rows count, and columns of the row which rows the rule is about; so does
`customer_id IN (SELECT id FROM customers WHERE active)`.

A look-up is `CHECK (visit_start <= person.death_date) BY person_id = person.person_id`. The absences `EXISTS visits BY
person_id` and `person IN visits BY person_id` (whatever the measured table is called) are the inclusion `person_id IN
visits.person_id`: every row must be found there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from dpdb.constraints.column_ref import Across, Inclusion, LookUp, computed
from dpdb.constraints.denial import MAX_PREDICATES, Constant, DenialConstraint, Operator, Predicate
from dpdb.constraints.text.cursor import Cursor, TupleNames
from dpdb.constraints.text.lexer import Kind, Token
from dpdb.constraints.text.sql_fragment import ParentColumns

_PARENT = "a table and its column, such as customers.id or customers(id), or values in parentheses"


def at_inclusion(cursor: Cursor) -> bool:
    """Return whether a rule across tables begins here: `in` outside parentheses before a name, and no arrow.

    Before a parenthesis it is the `IN (...)` of a condition, and behind WHERE the rule has begun.
    """
    if cursor.at_words("foreign", "key", before=Kind.LPAREN):
        return True
    ahead, depth, found = 0, 0, False
    while not cursor.at(Kind.END, ahead) and not cursor.at(Kind.ARROW, ahead):
        depth += cursor.at(Kind.LPAREN, ahead) - cursor.at(Kind.RPAREN, ahead)
        is_in = ahead > 0 and depth == 0 and cursor.at_word("in", ahead=ahead)
        has_values = cursor.at(Kind.LPAREN, ahead=ahead + 1) and not cursor.at_word("select", ahead=ahead + 2)
        found = found or (is_in and not has_values)
        if not found and ahead and depth == 0 and cursor.at_word("where", ahead=ahead):
            return False
        ahead += 1
    return found and cursor.at(Kind.END, ahead)


def inclusion(cursor: Cursor) -> tuple[DenialConstraint, ...]:
    """Take the rule: no row may have values that the parent lacks."""
    word, expected = "in", "IN"
    if cursor.at_words("foreign", "key", before=Kind.LPAREN):
        cursor.position += 2
        word, expected = "references", "REFERENCES"
    if cursor.at(Kind.LPAREN):
        columns = _in_parentheses(cursor)
    else:
        columns = [_qualified(cursor)]
        expected = "IN (put conditions behind WHERE, and names with spaces or signs in double quotes)"
    if not cursor.accept_words(word):
        raise cursor.error(expected)
    start = cursor.peek()
    among = None
    if cursor.at(Kind.LPAREN) and cursor.at_word("select", ahead=1):
        from dpdb.constraints.text.conditions import selected  # loads sqlglot

        parent, theirs, among = selected(cursor)
    else:
        parent, theirs = parent_columns(cursor)
    if len(theirs) != len(columns):
        raise cursor.error(f"as many columns of {parent} as on the left ({len(columns)})", start)
    if len(set(columns)) < len(columns):
        raise cursor.error("each column once on the left", start)
    return across(cursor, Inclusion(tuple(columns), parent, theirs, among))


def across(cursor: Cursor, rule: Across) -> tuple[DenialConstraint, ...]:
    """Take what stands behind WHERE, and return the constraint that no row may satisfy a condition across tables."""
    conditions: tuple[Predicate, ...] = ()
    if cursor.accept_words("where"):
        from dpdb.constraints.text.conditions import conditions_among  # loads sqlglot

        parent = ParentColumns(tuple(rule.parent.casefold().split(".")), "unknown")
        conditions, among = conditions_among(cursor, TupleNames(cursor.source), parent)
        if among is not None and rule.among is not None:
            raise cursor.error("all conditions on the parent inside SELECT")
        rule = replace(rule, among=rule.among or among)
    made = DenialConstraint((Predicate(computed(0, rule), Operator.EQ, Constant(True)),))
    return (made.among(conditions) if conditions else made,)


def _in_parentheses(cursor: Cursor) -> list[str]:
    cursor.expect(Kind.LPAREN, "'('")
    columns = [_qualified(cursor)]
    while cursor.accept(Kind.COMMA):
        columns.append(_qualified(cursor))
        if len(columns) == MAX_PREDICATES:
            raise cursor.error(f"at most {MAX_PREDICATES - 1} columns")
    cursor.expect(Kind.RPAREN, "',' or ')'")
    return columns


def _qualified(cursor: Cursor) -> str:
    """Take a column of the measured table, maybe after the table's name, as in `orders.customer_id`."""
    cursor.skip_table()
    return cursor.column(before="in")


def parent_columns(cursor: Cursor) -> tuple[str, tuple[str, ...]]:
    """Take `customers.id`, `customers(id)` or `sales.customers(id, region)`: names of another table, as written."""
    names = cursor.dotted_name(_PARENT)
    if cursor.accept(Kind.LPAREN):
        columns = cursor.listed(lambda: cursor.written_name(_PARENT))
        cursor.expect(Kind.RPAREN, "',' or ')'")
        return ".".join(names), tuple(columns)
    if len(names) == 1:
        raise cursor.error(_PARENT)
    return ".".join(names[:-1]), (names[-1],)


def at_look_up(cursor: Cursor) -> bool:
    """Return whether `CHECK (...) BY`, `not(...) BY`, `EXISTS table BY` or `word IN table BY` begins here."""
    if cursor.at_word("check", "not") and cursor.at(Kind.LPAREN, ahead=1):
        return cursor.at_word("by", ahead=behind_parentheses(cursor, 1))
    ahead = 0
    if not cursor.at_word("exists"):
        ahead = behind_names(cursor, 0)
        if ahead == 0 or not cursor.at_word("in", ahead=ahead):
            return False
    end = behind_names(cursor, ahead + 1)
    return end > ahead + 1 and cursor.at_word("by", ahead=end)


def behind_parentheses(cursor: Cursor, ahead: int) -> int:
    """Return how far ahead the token is behind a parenthesis and what it encloses; at the end if it is not closed."""
    depth = 0
    while not cursor.at(Kind.END, ahead):
        depth += cursor.at(Kind.LPAREN, ahead) - cursor.at(Kind.RPAREN, ahead)
        ahead += 1
        if depth == 0:
            break
    return ahead


def behind_names(cursor: Cursor, ahead: int) -> int:
    """Return how far ahead the token is behind a name with dots; `ahead` itself if there is none."""
    if not cursor.at_column(ahead) or cursor.at_word("in", ahead=ahead):
        return ahead
    ahead += 1
    while cursor.at(Kind.DOT, ahead) and cursor.at_column(ahead + 1):
        ahead += 2
    return ahead


_BY = "the key in both tables behind BY, such as BY person_id = person.person_id AND year = person.year"


def look_up(cursor: Cursor) -> tuple[DenialConstraint, ...]:
    """Take a look-up: no row of the parent with a row's key may make the condition false; of `not(...)`, true.

    Or take an absence.
    """
    if not cursor.at_word("check", "not"):
        return _absence(cursor)
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


def _absence(cursor: Cursor) -> tuple[DenialConstraint, ...]:
    """Take the rule: the parent must have every row's key."""
    if not cursor.at_word("exists"):
        cursor.position += behind_names(cursor, 0)
    cursor.take()
    parent = ".".join(cursor.dotted_name())
    cursor.take()
    key = _key(cursor, parent)
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
    while not columns or cursor.accept(Kind.AND) or cursor.accept(Kind.COMMA) or cursor.accept_words("and"):
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
    token, names = cursor.peek(), cursor.dotted_name()
    return _Side(".".join(names[:-1]) or None, names[-1], token)


def _own(cursor: Cursor) -> str:
    """Take a column of the measured table, maybe behind the table's name."""
    cursor.skip_table()
    return cursor.column(stop_at_and=True)
