"""Conditions as PostgreSQL, dbt and others write them, in the words that dpdb has; what they mean stays.

`x IS TRUE`, `IS [NOT] DISTINCT FROM`, `= ANY (ARRAY[..])`, ILIKE, casts of literals, and equality of two conditions
become comparisons, IN, LIKE and NULL tests. Each is the same for every row, TRUE, FALSE and NULL alike.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpdb.bounded_parser import HasFormat, parse_condition
from dpdb.constraints import Across, DenialConstraint, RowExpression, parse_constraint
from dpdb.errors import DpdbError
from dpdb.predicates import refuse_unknown_parts

_TEXT_TYPES = ("TEXT", "VARCHAR", "CHAR", "NCHAR", "NVARCHAR", "BPCHAR", "NAME")
_MOMENTS = ("DATE", "TIME", "TIMESTAMP", "TIMESTAMPNTZ", "TIMESTAMPTZ")
_CONSTANTS = (exp.Literal, exp.Boolean, exp.Var)
_CONDITIONS = (
    exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.And, exp.Or, exp.Not,
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.RegexpLike, exp.RegexpILike, exp.RegexpFullMatch, HasFormat,
)  # fmt: skip


def plain_condition(text: str, line: str) -> str:
    """Return a condition in words that dpdb reads; the line itself if it reads that, or knows no other words.

    Parameters
    ----------
    text
        The condition as its file has it, with its comments.
    """
    has_comment = "--" in line or "/*" in line
    if not has_comment and _reads(line):
        return line
    try:
        written = _bare(plain(parse_condition(text))).sql("duckdb", comments=False)
    except (SqlglotError, RecursionError):
        return line
    return written if _reads(written) else line


def _reads(condition: str) -> bool:
    try:
        read_rule(f"CHECK ({condition})")
    except DpdbError:
        return False
    return True


def read_rule(text: str) -> tuple[DenialConstraint, ...]:
    """Read a constraint's text; refuse SQL that dpdb refuses for every table.

    Raises
    ------
    ConstraintSyntaxError, ParameterError, PredicateError
        If it is no constraint, or has other SQL in it than dpdb evaluates.
    """
    constraints = parse_constraint(text)
    for constraint in constraints:
        for computed in constraint.computed:
            part = computed.expression
            if isinstance(part, RowExpression):
                called: dict[Across, str] = {member: member.written() for member in part.members}
                refuse_unknown_parts(part.sql(called), is_condition=part.is_condition)
    return constraints


def plain(node: exp.Expr) -> exp.Expr:
    """Return a tree in dpdb's words, of a condition or a part of it."""
    return _rewritten(node.copy())


def _rewritten(node: exp.Expr) -> exp.Expr:
    for child in list(node.iter_expressions()):
        if (written := _rewritten(child)) is not child:
            child.replace(written)
    write = _WRITERS.get(type(node))
    return node if write is None else write(node)


def literal_cast(node: exp.Expr) -> exp.Expr:
    """Write `'2020-01-31'::date` as the literal that it is, and a text or an array of texts without its type."""
    inner, kind = _bare(node.this), node.args["to"]
    if isinstance(inner, exp.Array):
        return inner
    if isinstance(inner, exp.Literal) and inner.is_string:
        if kind.is_type(*_TEXT_TYPES):
            return inner
        if kind.is_type(*_MOMENTS):
            return exp.Var(this=f"{kind.sql('duckdb')} {inner.sql('duckdb')}")
    return node


def _compared(node: exp.Expr) -> exp.Expr:
    """Write `= ANY (ARRAY[..])`, `<> ALL (ARRAY[..])`, and the equality of two conditions."""
    right = _bare(node.expression)
    values = _quantified(right, exp.Any if isinstance(node, exp.EQ) else exp.All)
    if isinstance(values, exp.Array):
        among = exp.In(this=node.this, expressions=values.expressions)
        return among if isinstance(node, exp.EQ) else exp.Not(this=among)
    sides = [_bare(node.this), right]
    if not any(isinstance(side, _CONDITIONS) for side in sides):
        return node
    for side, other in (sides, sides[::-1]):
        if isinstance(other, exp.Boolean):
            return _grouped(side) if other.this == isinstance(node, exp.EQ) else _not(side)
    one, other = sides
    pairs = [(one, other), (_not(one), _not(other))] if isinstance(node, exp.EQ) else [
        (one, _not(other)), (_not(one), other)
    ]  # fmt: skip
    return _grouped(exp.or_(*(exp.and_(*pair) for pair in pairs)))


def _quantified(node: exp.Expr, kind: type[exp.Expr]) -> exp.Expr | None:
    """Return what stands in `ANY (..)` or `ALL (..)`, which DuckDB's dialect reads as a function."""
    if isinstance(node, exp.Anonymous) and node.name.upper() == "ALL" and kind is exp.All and node.expressions:
        return _bare(node.expressions[0])
    return _bare(node.this) if isinstance(node, kind) else None


def _is(node: exp.Expr) -> exp.Expr:
    """Write `IS TRUE`, `IS FALSE`, and `IS UNKNOWN` (NULL) of a condition; behind NOT they are `IS NOT TRUE`."""
    said = node.expression
    if isinstance(said, exp.Boolean):
        return _surely(node.this, bool(said.this))
    if isinstance(said, exp.Null) and isinstance(_bare(node.this), _CONDITIONS):
        return _grouped(exp.and_(_not(_surely(node.this, True)), _not(_surely(node.this, False))))
    return node


def _surely(node: exp.Expr, truth: bool) -> exp.Expr:
    """Return a condition that is TRUE where another one has a truth value, and FALSE elsewhere, NULL included."""
    node = _bare(node)
    if isinstance(node, exp.Not):
        return _surely(node.this, not truth)
    if isinstance(node, exp.Between):
        low = exp.GTE(this=node.this.copy(), expression=node.args["low"])
        return _surely(exp.and_(low, exp.LTE(this=node.this.copy(), expression=node.args["high"])), truth)
    if isinstance(node, exp.In) and not all(isinstance(value, _CONSTANTS) for value in node.expressions):
        return _surely(exp.or_(*(exp.EQ(this=node.this.copy(), expression=each) for each in node.expressions)), truth)
    if isinstance(node, (exp.And, exp.Or)):
        join = exp.and_ if isinstance(node, exp.And) == truth else exp.or_
        return _grouped(join(_surely(node.this, truth), _surely(node.expression, truth)))
    said = node.copy() if truth else _not(node)
    if isinstance(node, exp.Is):
        return said
    parts: list[exp.Expr] = [*node.iter_expressions()] if isinstance(node, _CONDITIONS) else [node]
    return _grouped(exp.and_(*(_present(part) for part in parts if not isinstance(part, _CONSTANTS)), said))


def _distinct(node: exp.Expr) -> exp.Expr:
    """Write `IS NOT DISTINCT FROM`."""
    sides = [node.this, node.expression]
    values = [side for side in sides if isinstance(side, exp.Null)]
    if values:
        other = next((side for side in sides if not isinstance(side, exp.Null)), exp.Null())
        return exp.Is(this=other.copy(), expression=exp.Null())
    equal = _surely(exp.EQ(this=sides[0].copy(), expression=sides[1].copy()), True)
    if any(isinstance(side, exp.Literal) for side in sides):
        return equal
    absent = [exp.Is(this=side.copy(), expression=exp.Null()) for side in sides]
    return _grouped(exp.or_(exp.and_(*absent), equal))


def _like(node: exp.Expr) -> exp.Expr:
    """Write ILIKE, of patterns in ASCII: other letters have no case that all databases agree on."""
    pattern = node.expression
    if not (isinstance(pattern, exp.Literal) and pattern.is_string and pattern.name.isascii()):
        return node
    like = exp.Like(this=exp.Lower(this=node.this), expression=exp.Literal.string(pattern.name.lower()))
    return exp.Not(this=like) if node.args.get("negate") else like


_WRITERS: dict[type[exp.Expr], Callable[[exp.Expr], exp.Expr]] = {
    exp.Cast: literal_cast,
    exp.EQ: _compared,
    exp.NEQ: _compared,
    exp.Is: _is,
    exp.NullSafeEQ: _distinct,
    exp.NullSafeNEQ: lambda node: _not(_distinct(node)),
    exp.ILike: _like,
}


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _present(term: exp.Expr) -> exp.Expr:
    return exp.Is(this=term.copy(), expression=exp.Not(this=exp.Null()))


def _grouped(node: exp.Expr) -> exp.Expr:
    """Write brackets around what AND and OR join."""
    return exp.paren(node.copy()) if isinstance(node, (exp.And, exp.Or)) else node


def _not(node: exp.Expr) -> exp.Expr:
    node = _bare(node).copy()
    return exp.Not(this=node if isinstance(node, exp.Column) else exp.paren(node))
