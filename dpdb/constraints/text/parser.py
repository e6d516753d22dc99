"""Constraint text -> `DenialConstraint` values, in every notation people already have.

Columns stand in it alone or in lists: `A, B`, `[A, B]`, `{A B}`, `(t.A, t.B)`, `[]`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from dpdb.constraints.column_ref import ColumnRef, RowExpression, computed
from dpdb.constraints.denial import MAX_PREDICATES, Constant, DenialConstraint, Operator, Predicate
from dpdb.constraints.text.across_text import at_inclusion, at_look_up, inclusion, look_up
from dpdb.constraints.text.cursor import CLOSED_BY, OPENING, ColumnNames, Cursor, TupleNames, normal_tuple_name
from dpdb.constraints.text.denials import at_bare_conditions, bare_conditions, conjunction, denied, function
from dpdb.constraints.text.lexer import Kind, Source, Token
from dpdb.names import LONGEST_NAME

_FORMS = (
    "not(...), a dependency such as A -> B, a key such as UNIQUE(A), a condition such as A <= B, A IN parents.B, or "
    "t1&t2&EQ(...)"
)
_JOINING = ("and", "or", "is", "in", "like", "not", "between", "where", "isnull", "notnull")
_NO_ARROW = "',' or '->' (put commas between columns, and names with spaces or signs in double quotes)"
_LITERALS = frozenset([Kind.NUMBER, Kind.DATE, Kind.TEXT])
_SIGN_OF = {Kind.RPAREN: ")", Kind.RBRACKET: "]", Kind.RBRACE: "}"}
_NAMED_FORMS = ("check", "unique", "primary", "foreign", "not")


def parse_constraint(text: str, columns: Sequence[str] | None = None, *, line: int = 1) -> tuple[DenialConstraint, ...]:
    """Read one constraint.

    Accepted are denial constraints (`not(t1.a=t2.a&t1.b!=t2.b)`, `¬{t0.A == t1.A ^ t0.B <> t1.B}`,
    `!(t.A == s.A and t.B != s.B)`), HoloClean's (`t1&t2&EQ(t1.A,t2.A)&IQ(t1.B,t2.B)`), functional
    dependencies (`A, B -> C`, `[A B] => C`), keys (`UNIQUE(A, B)`), constraints on single tuples (`not(t1.age < 0)`,
    `CHECK (age >= 0)`, `NOT NULL (age)`), conditions alone (see `bare_conditions`), foreign keys (`A IN parents.B`;
    see `across_text`) and look-ups (`CHECK (A <= parents.C) BY B = parents.B`; see `across_text`).

    Predicates may be any condition over one tuple that `where` allows (`t1.a IS NULL`, `t1.a IN (1, 2)`), and compare
    terms (`t1.a > t2.b + 60`, `lower(t1.a) = lower(t2.a)`). A condition before a colon or after WHERE restricts any
    constraint to the rows that satisfy it (`cc = 44: zip -> street`, `UNIQUE(id) WHERE active`). One word or a text in
    double quotes, and a colon, before all of that is a name (`city_by_zip: zip -> city`), as in SQL
    (`CONSTRAINT adult CHECK (age >= 18)`).

    Parameters
    ----------
    text
        The constraint; spaces, line breaks and comments (`#`, `--`) between its parts do not matter.
    columns
        The table's columns. When given, names are resolved to the table's spelling: an exact match, else the
        only match up to case. When not, names are taken as they are written.
    line
        The number of the first line, for error messages.

    Returns
    -------
    tuple of DenialConstraint
        One constraint, or one per right-hand column of a functional dependency.

    Raises
    ------
    ConstraintSyntaxError
        If the text is not a constraint.
    UnknownColumnError
        If `columns` has no such column, or several that differ in case only.
    """
    names = None if columns is None else ColumnNames(columns)
    return parse_from(Cursor(Source(text, line), names))


def parse_from(cursor: Cursor) -> tuple[DenialConstraint, ...]:
    """Read one constraint from a cursor, up to the end of its text."""
    name = take_name(cursor)
    start = cursor.position
    among = _condition_before(cursor)
    form = cursor.position
    constraints = _form(cursor)(cursor)
    after = cursor.position
    if cursor.accept_words("where"):
        among += _condition(cursor)
    end = cursor.position
    cursor.accept(Kind.SEMICOLON)
    cursor.expect(Kind.END, "the end of the constraint")
    if among:
        constraints = tuple(constraint.among(among) for constraint in constraints)
    if len(constraints) == 1:
        return (replace(constraints[0], name=name, text=cursor.written(start, end)),)
    # One text of several constraints: each is shown by its own part of the text.
    before, behind = cursor.written(start, form), cursor.written(after, end)
    return tuple(
        replace(one, name=name, text=" ".join(part for part in (before, one.text, behind) if part))
        for one in constraints
    )


def take_name(cursor: Cursor) -> str | None:
    """Take `city_by_zip:` or `"city-by zip":`, never a condition, or SQL's `CONSTRAINT name` before its forms."""
    if cursor.at_word("constraint") and cursor.at_column(ahead=1) and cursor.at_word(*_NAMED_FORMS, ahead=2):
        cursor.take()
        if not cursor.peek().content.isidentifier():
            raise cursor.error("a name of one word")
        return cursor.take().content
    quoted = cursor.at(Kind.QUOTED) and cursor.peek().text[0] == '"'
    if not ((quoted or cursor.at(Kind.NAME)) and cursor.at(Kind.COLON, ahead=1)):
        return None
    if quoted:
        _refuse_as_name(cursor)
    name = cursor.take().content
    cursor.take()
    return name


def _refuse_as_name(cursor: Cursor) -> None:
    """Refuse a text in quotes as a name if it is too long or not printable, or could be meant as a condition."""
    name = cursor.peek().content
    if not (name.isprintable() and 0 < len(name) <= LONGEST_NAME):
        raise cursor.error(f"a name of 1 to {LONGEST_NAME} printable characters")
    if cursor.at_known_column():
        raise cursor.error("a name that no column has, or a condition such as active = TRUE")


def _condition_before(cursor: Cursor) -> tuple[Predicate, ...]:
    """Take `cc = 44:`, the condition of a conditional dependency, if there is one."""
    if _at_quantifier(cursor) or not cursor.has(Kind.COLON):
        return ()
    among = _condition(cursor)
    cursor.expect(Kind.COLON, "':'")
    return among


def _condition(cursor: Cursor) -> tuple[Predicate, ...]:
    from dpdb.constraints.text.conditions import conditions  # loads sqlglot

    return conditions(cursor, TupleNames(cursor.source), bare=True)


def _form(cursor: Cursor) -> Callable[[Cursor], tuple[DenialConstraint, ...]]:
    """Return the parser of the notation that the first tokens announce."""
    _refuse_without_parentheses(cursor)
    found = next((parse for announced, parse in _NOTATIONS if announced(cursor)), None)
    if found is None:
        raise cursor.error(_FORMS)
    return found


def _refuse_without_parentheses(cursor: Cursor) -> None:
    """Name what `CHECK a > 0`, `UNIQUE a`, `PRIMARY KEY a` and `NOT NULL a` lack."""
    for words in (("check",), ("unique",), ("primary", "key"), ("not", "null")):
        if cursor.at_words(*words):
            is_name = cursor.at_column(ahead=len(words)) and not cursor.at_word(*_JOINING, ahead=len(words))
            if is_name and not cursor.begins_known_column():
                raise cursor.error(f"parentheses: {' '.join(words).upper()} (...)", cursor.peek(len(words)))


def _at(*forms: str) -> Callable[[Cursor], bool]:
    """Return the question whether one of some forms, such as `primary key`, stands before a parenthesis."""
    return lambda cursor: any(cursor.at_words(*form.split(), before=Kind.LPAREN) for form in forms)


def _at_holoclean(cursor: Cursor) -> bool:
    return cursor.at(Kind.NAME) and cursor.at(Kind.AND, ahead=1)


def _at_list(cursor: Cursor) -> bool:
    return cursor.peek().kind in OPENING or cursor.at_column()


def _at_dependency(cursor: Cursor) -> bool:
    return _at_list(cursor) and cursor.has(Kind.ARROW)


def _at_denial(cursor: Cursor) -> bool:
    if cursor.at_word("not"):
        return cursor.peek(1).kind in OPENING or cursor.at(Kind.DOT, ahead=2)
    return cursor.at(Kind.NOT) or _at_quantifier(cursor)


def _at_quantifier(cursor: Cursor) -> bool:
    return cursor.at(Kind.FORALL) or (cursor.at_word("forall") and cursor.at(Kind.NAME, ahead=1))


def _denial(cursor: Cursor) -> tuple[DenialConstraint, ...]:
    """Take `not(...)`, maybe after `forall t1, t2:`."""
    tuples = TupleNames(cursor.source)
    if cursor.accept(Kind.FORALL) or cursor.accept_words("forall"):
        _quantifier(cursor, tuples)
    if not (cursor.accept(Kind.NOT) or cursor.accept_words("not")):
        raise cursor.error("'not('")
    closing = CLOSED_BY.get(cursor.peek().kind)
    if closing is None:
        raise cursor.error("'('")
    cursor.take()
    constraint = denied(cursor, tuples, closing)
    cursor.expect(closing, f"'&' or '{_SIGN_OF[closing]}'")
    return (constraint,)


def _quantifier(cursor: Cursor, tuples: TupleNames) -> None:
    tuples.declare(cursor.expect(Kind.NAME, "a tuple name"))
    while cursor.accept(Kind.COMMA):
        tuples.declare(cursor.expect(Kind.NAME, "a tuple name"))
    cursor.expect(Kind.COLON, "',' or ':'")


def _holoclean(cursor: Cursor) -> tuple[DenialConstraint, ...]:
    """Take `t1&t2&EQ(...)&IQ(...)`: declarations, then functions."""
    tuples = TupleNames(cursor.source)
    while cursor.at(Kind.NAME) and not cursor.at(Kind.LPAREN, ahead=1):
        tuples.declare(cursor.take())
        cursor.expect(Kind.AND, "'&'")
    return (conjunction(cursor, tuples, function),)


def _dependency(cursor: Cursor) -> tuple[DenialConstraint, ...]:
    """Take `A, B -> C`."""
    start, row = cursor.position, RowName()
    lhs = distinct_columns(column_list(cursor, row))
    left = cursor.written(start)
    if cursor.at(Kind.OPERATOR):
        raise cursor.error(
            "columns beside an arrow (for conditions, write not(t1.a = t2.a & t1.b != t2.b), or a = 1: b = 2)"
        )
    if cursor.at_words("not", "null"):
        raise cursor.error(f"NOT NULL({left}) or {left} IS NOT NULL")
    arrow = cursor.expect(Kind.ARROW, _NO_ARROW)
    if arrow.text == "=>" and (cursor.peek().kind in _LITERALS) and not cursor.begins_known_column():
        raise cursor.error("a column after the arrow => (greater or equal is >=)")
    rhs = column_list(cursor, row)
    for each in rhs:
        if each.name in lhs:
            raise cursor.error("a column that is not on the left of the arrow", each.token)
    if not rhs:
        raise cursor.error("a column name on the right of the arrow")
    equal = [_between(column, Operator.EQ) for column in lhs]
    return tuple(
        DenialConstraint((*equal, _between(column, Operator.NE)), text=f"{left} -> {written}")
        for column, written in distinct_columns(rhs).items()
    )


def _key(cursor: Cursor) -> tuple[DenialConstraint, ...]:
    """Take `UNIQUE(A, B)`, `KEY(...)` or `PRIMARY KEY (...)`."""
    columns = _columns_in_parentheses(cursor)
    return (DenialConstraint(tuple(_between(column, Operator.EQ) for column in columns)),)


def _columns_in_parentheses(cursor: Cursor) -> dict[str, str]:
    """Take the columns in the next parentheses, and what stands before them."""
    while not cursor.accept(Kind.LPAREN):
        cursor.take()
    columns = distinct_columns(columns_of(cursor))
    cursor.expect(Kind.RPAREN, "',' or ')'")
    return columns


def _check(cursor: Cursor) -> tuple[DenialConstraint, ...]:
    """Take `CHECK (a < b OR c IS NULL)`: as in SQL a row violates it if it is false, not if it is NULL."""
    from dpdb.constraints.text.conditions import violations_of_check  # loads sqlglot

    cursor.position += 2
    violations = violations_of_check(cursor, TupleNames(cursor.source))
    cursor.expect(Kind.RPAREN, "')'")
    return (DenialConstraint(violations),)


def _not_null(cursor: Cursor) -> tuple[DenialConstraint, ...]:
    """Take `NOT NULL (A, B)`."""
    return tuple(
        DenialConstraint(
            (Predicate(computed(0, _is_missing(column)), Operator.EQ, Constant(True)),), text=f"NOT NULL({written})"
        )
        for column, written in _columns_in_parentheses(cursor).items()
    )


def _is_missing(column: str) -> RowExpression:
    return RowExpression(("", " IS NULL"), (column,), is_condition=True)


def _between(column: str, op: Operator) -> Predicate:
    return Predicate(ColumnRef(0, column), op, ColumnRef(1, column))


_NOTATIONS = (
    (_at("not null"), _not_null),
    (at_look_up, look_up),
    (_at("check"), _check),
    (_at_denial, _denial),
    (_at("primary key", "unique", "key"), _key),
    (_at_holoclean, _holoclean),
    (at_inclusion, inclusion),
    (_at_dependency, _dependency),
    (at_bare_conditions, bare_conditions),
    (_at_list, _dependency),  # for its error message
)


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
        cursor.position += 2


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
