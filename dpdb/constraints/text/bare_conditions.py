"""Conditions alone: no two rows may satisfy `t1.a = t2.a and t1.b != t2.b`, every row must satisfy `a <= b`.

The number of tuple names decides: conditions with two names are the inside of `not(...)`, with none that of
`CHECK (...)`. With one name either could be meant, so it is refused.
"""

from __future__ import annotations

from dpdb.constraints.denial import DenialConstraint
from dpdb.constraints.text.conjunction import denied
from dpdb.constraints.text.cursor import Cursor
from dpdb.constraints.text.lexer import Kind, Token
from dpdb.constraints.text.names import TupleNames, normal_tuple_name
from dpdb.constraints.text.sql_fragment import is_dotted_column

__all__ = ["at_bare_conditions", "bare_conditions"]

_OF_ONE_ROW = (
    "not(...) around what no row may be, or CHECK (...) around what every row must be, as a condition on one tuple "
    "could mean either"
)
_CONDITION_WORDS = ("is", "in", "like", "between", "isnull", "notnull", "or")


def at_bare_conditions(cursor: Cursor) -> bool:
    """Return whether an operator or a word such as `in` makes a condition of the names."""
    part, ahead = cursor.up_to_word("where"), 0
    while not part.at(Kind.END, ahead):
        if part.at(Kind.OPERATOR, ahead) or part.at_word(*_CONDITION_WORDS, ahead=ahead):
            return True
        ahead += 1
    return False


def bare_conditions(cursor: Cursor) -> tuple[DenialConstraint, ...]:
    """Take conditions up to WHERE."""
    part = cursor.up_to_word("where")
    named = _tuple_names_of(part)
    if len({normal_tuple_name(token.text) for token in named}) > 1:
        constraint = denied(part, TupleNames(part.source), Kind.END)
    elif named:
        raise part.error(_OF_ONE_ROW, named[0])
    else:
        from dpdb.constraints.text.conditions import violations_of_check  # loads sqlglot

        constraint = DenialConstraint(violations_of_check(part, TupleNames(part.source)))
    cursor.position = part.position
    return (constraint,)


def _tuple_names_of(cursor: Cursor) -> list[Token]:
    """Return the names of tuples before columns from here on."""
    start, found = cursor.position, []
    while not cursor.at(Kind.END):
        token = cursor.take()
        if token.kind is Kind.NAME and cursor.at(Kind.DOT):
            cursor.position -= 1
            if not is_dotted_column(cursor):
                found.append(token)
            cursor.take()
            while cursor.accept(Kind.DOT):
                cursor.take()
    cursor.position = start
    return found
