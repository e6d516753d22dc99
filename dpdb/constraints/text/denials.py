"""Read denial constraints: the predicates of `not(...)`, and conditions alone.

Predicates are comparisons joined by `and`, infix or HoloClean's functions. Conditions alone say that no two rows may
satisfy `t1.a = t2.a and t1.b != t2.b`, or that every row must satisfy `a <= b`: the number of tuple names decides.
Conditions with two names are the inside of `not(...)`, with none that of `CHECK (...)`. With one name either could be
meant, so it is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import NamedTuple

from dpdb.constraints.column_ref import ColumnRef
from dpdb.constraints.denial import MAX_PREDICATES, Constant, DenialConstraint, Moment, Operator, Predicate
from dpdb.constraints.text.cursor import Cursor, TupleNames, normal_tuple_name
from dpdb.constraints.text.lexer import Kind, Token
from dpdb.constraints.text.sql_fragment import TIME_WORDS, is_dotted_column, is_rich
from dpdb.errors import ConstraintSyntaxError, ParameterError, UnknownColumnError

_OPERATORS = {op.value: op for op in Operator} | {
    "==": Operator.EQ,
    "<>": Operator.NE,
    "≠": Operator.NE,
    "≤": Operator.LE,
    "≥": Operator.GE,
}
_FUNCTIONS = {
    "eq": Operator.EQ,
    "iq": Operator.NE,
    "lt": Operator.LT,
    "lte": Operator.LE,
    "gt": Operator.GT,
    "gte": Operator.GE,
}
_OPERAND = "a column such as t1.name, a number or a 'text'"


class _Column(NamedTuple):
    """A column whose tuple name is not yet resolved."""

    tuple_name: str
    column: str


_Operand = _Column | Constant


class _Comparison(NamedTuple):
    """A predicate whose tuple names are not yet resolved; one side is a column."""

    left: _Operand
    op: Operator
    right: _Operand


def denied(cursor: Cursor, tuples: TupleNames, end: Kind) -> DenialConstraint:
    """Take the predicates of `not(...)` up to its last parenthesis, or whatever else is their `end`.

    Comparisons of columns and constants are read here; only where that fails and the text has more, such as
    `t1.a > t2.b + 60` or `t1.a IS NULL`, the whole text is read as SQL conditions.

    Parameters
    ----------
    cursor
        At the first predicate.
    """
    start = cursor.position
    rich = is_rich(cursor)
    try:
        constraint = conjunction(cursor, tuples, comparison)
        if not rich or cursor.at(end):
            return constraint
    except (ConstraintSyntaxError, UnknownColumnError):
        if not rich:
            raise
    from dpdb.constraints.text.conditions import conditions  # loads sqlglot

    cursor.position = start
    return DenialConstraint(conditions(cursor, tuples.without_uses(), bare=False))


def conjunction(
    cursor: Cursor, tuples: TupleNames, parse: Callable[[Cursor, TupleNames], _Comparison]
) -> DenialConstraint:
    """Take predicates joined by any spelling of `and`.

    Parameters
    ----------
    cursor
        At the first predicate.
    """
    comparisons = [parse(cursor, tuples)]
    while cursor.at(Kind.AND) or cursor.at_word("and"):
        if len(comparisons) == MAX_PREDICATES:
            raise cursor.error(f"at most {MAX_PREDICATES} predicates")
        cursor.take()
        comparisons.append(parse(cursor, tuples))

    def placed(operand: _Operand) -> ColumnRef | Constant:
        if isinstance(operand, Constant):
            return operand
        return ColumnRef(tuples.index(operand.tuple_name), operand.column)

    return DenialConstraint(tuple(Predicate.of(placed(c.left), c.op, placed(c.right)) for c in comparisons))


def comparison(cursor: Cursor, tuples: TupleNames) -> _Comparison:
    """Take `t1.a = t2.a`."""
    start = cursor.peek()
    left = _operand(cursor, tuples)
    op = _OPERATORS[cursor.expect(Kind.OPERATOR, "a comparison (= != < <= > >=)").text]
    return _checked(left, op, _operand(cursor, tuples), cursor, start)


def function(cursor: Cursor, tuples: TupleNames) -> _Comparison:
    """Take `EQ(t1.a, t2.a)`."""
    if not cursor.at_word(*_FUNCTIONS):
        raise cursor.error("EQ, IQ, LT, GT, LTE or GTE")
    op = _FUNCTIONS[cursor.take().text.lower()]
    cursor.expect(Kind.LPAREN, "'('")
    start = cursor.peek()
    left = _quotable_operand(cursor, tuples)
    cursor.expect(Kind.COMMA, "','")
    right = _quotable_operand(cursor, tuples)
    cursor.expect(Kind.RPAREN, "')'")
    return _checked(left, op, right, cursor, start)


def _quotable_operand(cursor: Cursor, tuples: TupleNames) -> _Operand:
    """Take an operand; in this notation a constant may be in double quotes."""
    is_text = cursor.at(Kind.QUOTED) and cursor.peek().text[0] == '"'
    return Constant(cursor.take().content) if is_text else _operand(cursor, tuples)


def _checked(left: _Operand, op: Operator, right: _Operand, cursor: Cursor, start: Token) -> _Comparison:
    if isinstance(left, Constant) and isinstance(right, Constant):
        raise cursor.source.syntax_error(start.offset, "a column on at least one side", "two constants")
    return _Comparison(left, op, right)


def _operand(cursor: Cursor, tuples: TupleNames) -> _Operand:
    if cursor.at(Kind.NAME) and cursor.at(Kind.DOT, ahead=1):
        tuple_name = tuples.use(cursor.take())
        cursor.take()
        return _Column(tuple_name, cursor.column(stop_at_and=True))
    return _constant(cursor)


def _constant(cursor: Cursor) -> Constant:
    if cursor.at(Kind.NUMBER):
        return _number(cursor)
    if cursor.at(Kind.DATE):
        return _date(cursor)
    if cursor.at_word("true", "false"):
        return Constant(cursor.take().text.lower() == "true")
    if cursor.at_word("null"):
        raise cursor.error("a constant other than NULL (a comparison with NULL is never true)")
    if cursor.at_word(*TIME_WORDS) and cursor.at(Kind.TEXT, ahead=1):
        cursor.take()
        return Constant(Moment(cursor.expect(Kind.TEXT, _OPERAND).content))
    return Constant(cursor.expect(Kind.TEXT, _OPERAND).content)


def _number(cursor: Cursor) -> Constant:
    token = cursor.take()
    try:
        return Constant(Decimal(token.text))
    except (ParameterError, InvalidOperation):
        raise cursor.error("a number with at most 100 digits and an exponent within 400", token) from None


def _date(cursor: Cursor) -> Constant:
    token = cursor.take()
    try:
        date.fromisoformat(token.text)
    except ValueError:
        raise cursor.error("a date that exists (YYYY-MM-DD)", token) from None
    return Constant(Moment(token.text))


_OF_ONE_ROW = (
    "not(...) around what no row may be, or CHECK (...) around what every row must be, as a condition on one tuple "
    "could mean either"
)
_CONDITION_WORDS = ("is", "in", "like", "between", "isnull", "notnull", "or")
_CONDITION_FUNCTIONS = ("matches", "regexp_matches", "regexp_full_match", "regexp_like", "has_format")


def at_bare_conditions(cursor: Cursor) -> bool:
    """Return whether an operator, a word such as `in` or a function such as `matches` makes it a condition."""
    part = cursor.up_to_word("where")
    rest = part.tokens[part.position :]
    return any(
        token.kind in (Kind.OPERATOR, Kind.MATCH)
        or token.is_word(*_CONDITION_WORDS)
        or (token.is_word(*_CONDITION_FUNCTIONS) and after.kind is Kind.LPAREN)
        for token, after in pairwise(rest)
    )


def bare_conditions(cursor: Cursor) -> tuple[DenialConstraint, ...]:
    """Take conditions up to WHERE."""
    part = cursor.up_to_word("where")
    named = _tuple_names_of(part)
    if len({normal_tuple_name(token.text) for token in named}) > 1:
        constraint = denied(part, TupleNames(part.source), Kind.END)
    elif named:
        raise part.error(_OF_ONE_ROW, named[0])
    else:
        from dpdb.constraints.text.conditions import violations_of_bare  # loads sqlglot

        constraint = DenialConstraint(violations_of_bare(part, TupleNames(part.source)))
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
