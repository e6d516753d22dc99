"""Predicates from text into sqlglot's tree, and from the bound tree into SQL over unqualified columns.

What is written has total casts: no row can make it fail. What is read is refused if it is too large or more than one
predicate.
"""

from __future__ import annotations

from functools import cache

from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpdb.bounded_parser import NotOneConditionError, TooMuchWorkError, parse_condition
from dpdb.constraints import COMPARISONS, shortened
from dpdb.errors import PredicateError
from dpdb.names import is_encodable
from dpdb.predicates.nodes import (
    And,
    Arithmetic,
    Call,
    CheckDigits,
    Column,
    Comparison,
    Constant,
    Flag,
    Like,
    Literal,
    Matches,
    Membership,
    Node,
    Not,
    NullTest,
    Or,
    Term,
    TermComparison,
)
from dpdb.predicates.terms import IN_NANOSECONDS, MOMENTS, NANOSECONDS, ZONED, ZONED_NANOSECONDS


def condition(tree: Node) -> exp.Expr:  # noqa: C901, PLR0911, PLR0912 - one line per kind of node
    """Write a tree as SQL."""
    match tree:
        case Constant(None):
            return exp.cast(exp.null(), "BOOLEAN")
        case Constant(value):
            return exp.convert(value)
        case Comparison(operator, term, literal):
            return COMPARISONS[operator](this=_operand(term, literal.type), expression=literal_sql(literal))
        case TermComparison(operator, left, right, kind):
            return COMPARISONS[operator](this=_operand(left, kind), expression=_operand(right, kind))
        case Membership(term, literals):
            return _membership(term, literals)
        case NullTest(term):
            return exp.Is(this=term_sql(term), expression=exp.null())
        case Like(term, pattern):
            return exp.Like(this=_operand(term, "VARCHAR"), expression=exp.Literal.string(pattern))
        case Matches(term, pattern):
            return exp.RegexpLike(this=_operand(term, "VARCHAR"), expression=exp.Literal.string(pattern))
        case CheckDigits(term, name):
            from dpdb.predicates.formats import check_digits

            return check_digits(name, _operand(term, "VARCHAR"))
        case Flag(column):
            return _operand(column, column.type)
        case Not(part):
            return exp.Not(this=exp.paren(condition(part), copy=False))
        case And(parts):
            return exp.and_(*(exp.paren(condition(part), copy=False) for part in parts), copy=False)
        case Or(parts):
            return exp.or_(*(exp.paren(condition(part), copy=False) for part in parts), copy=False)


def literal_sql(literal: Literal) -> exp.Expr:
    """Write a literal in its type."""
    if literal.type == "VARCHAR":
        return exp.Literal.string(literal.text)
    if literal.type == "BOOLEAN":
        return exp.convert(literal.value)
    return exp.Cast(this=exp.Literal.string(literal.text), to=data_type(literal.type))


def in_type(operand: exp.Expr, current: str, wanted: str) -> exp.Expr:
    """Cast an operand for a comparison; no cast where the type is already right."""
    if current == wanted:
        return operand
    if current in MOMENTS and wanted == NANOSECONDS:
        return _nanoseconds(operand, current)
    if current in IN_NANOSECONDS and wanted in MOMENTS:
        return _in_microseconds(operand, wanted)
    return exp.TryCast(this=operand, to=data_type(wanted))


def _nanoseconds(moment: exp.Expr, kind: str) -> exp.Expr:
    """Count the nanoseconds since 1970, in UTC, in 128 bits: exact, and in the order of the moments.

    The ends of time, of which the engine has no count, lie beyond all others.
    """
    if kind not in (*IN_NANOSECONDS, ZONED):
        moment, kind = in_type(moment, kind, "TIMESTAMP"), "TIMESTAMP"
    in_kind = kind in IN_NANOSECONDS
    count = (
        _count("epoch_ns", moment) if in_kind else exp.Mul(this=_count("epoch_us", moment), expression=_number(1_000))
    )
    ends = [
        exp.If(this=moment.copy().eq(exp.Cast(this=exp.Literal.string(end), to=data_type(kind))), true=_number(far))
        for end, far in (("infinity", _FAR), ("-infinity", -_FAR))
    ]
    return exp.Case(ifs=ends, default=count)


def _in_microseconds(moment: exp.Expr, wanted: str) -> exp.Expr:
    """Convert a moment of nanoseconds to another type: the microsecond or day in which it lies; a cast would round."""
    shift = 10**19  # which makes every count positive: then integer division rounds down
    count = _count("epoch_ns", moment)
    whole = exp.IntDiv(this=exp.paren(count + _number(1_000 * shift)), expression=_number(1_000)) - _number(shift)
    made = exp.Anonymous(this="make_timestamp", expressions=[exp.cast(exp.paren(whole), "BIGINT", dialect="duckdb")])
    value = made if wanted == "TIMESTAMP" else exp.TryCast(this=made, to=data_type(wanted))
    endless = exp.TryCast(this=moment.copy(), to=data_type(wanted))
    return exp.Case(ifs=[exp.If(this=count.copy().is_(exp.null()), true=endless)], default=value)


def _count(function: str, moment: exp.Expr) -> exp.Expr:
    return exp.cast(exp.Anonymous(this=function, expressions=[moment.copy()]), NANOSECONDS, dialect="duckdb")


def _number(value: int) -> exp.Expr:
    return exp.cast(exp.Literal.string(str(value)), NANOSECONDS, dialect="duckdb")


def data_type(name: str) -> exp.DataType:
    """Name a type of the engine's; each tree gets a node of its own."""
    return _parsed_type(name).copy()


@cache
def _parsed_type(name: str) -> exp.DataType:
    return exp.DataType.build(name, dialect="duckdb", udt=name == ZONED_NANOSECONDS)


def term_sql(term: Term) -> exp.Expr:
    """Write a term: NULL for every row for which its type has no value.

    Expressions that can fail are in TRY, which gives NULL instead and reads no other row (tested at the ends of every
    type). No setting changes a value: DOUBLE is IEEE 754's, `lower` and `upper` use fixed tables of Unicode, `trim`
    removes spaces only, `length` counts code points, and a division by zero is NULL. `year`, `month` and `day` are of
    the proleptic Gregorian calendar, in UTC; `make_date` gives days of the years 1 to 9999, of which all engines say
    the same.
    """
    match term:
        case Column(name):
            return exp.column(name, quoted=True)
        case Literal():
            return literal_sql(term)
        case Arithmetic(sign, left, right, left_as, right_as):
            return _total(_calculated(sign, _inside(left, left_as), _inside(right, right_as)))
        case Call(function, arguments, taken_as, kind):
            return _total(_called(function, [_inside(argument, taken_as) for argument in arguments], kind))


def _called(function: str, taken: list[exp.Expr], kind: str) -> exp.Expr:
    """Write a function of terms, which may fail."""
    match function:
        case "cast":
            return exp.Cast(this=taken[0], to=data_type(kind))
        case "coalesce":
            return exp.Coalesce(this=taken[0], expressions=taken[1:])
        case "make_date":
            return _made_date(*taken)
    spaces = [exp.Literal.string(" ")] if function == "trim" else []
    return exp.Anonymous(this=function, expressions=[*taken, *spaces])


def _made_date(year: exp.Expr, month: exp.Expr, day: exp.Expr) -> exp.Expr:
    """Write a day of the calendar, NULL if there is none: no engine is asked for one that does not exist."""

    def left_over(divisor: int) -> exp.Expr:
        return exp.EQ(this=exp.Mod(this=year.copy(), expression=exp.convert(divisor)), expression=exp.convert(0))

    leap = exp.and_(left_over(4), exp.or_(exp.Not(this=left_over(100)), left_over(400)))
    in_february = exp.Case(ifs=[exp.If(this=leap, true=exp.convert(29))], default=exp.convert(28))
    short = exp.In(this=month.copy(), expressions=[exp.convert(number) for number in (4, 6, 9, 11)])
    is_february = exp.EQ(this=month.copy(), expression=exp.convert(2))
    last = exp.Case(
        ifs=[exp.If(this=is_february, true=in_february), exp.If(this=short, true=exp.convert(30))],
        default=exp.convert(31),
    )
    parts = [(year, exp.convert(9999)), (month, exp.convert(12)), (day, last)]
    exists = exp.and_(*(exp.Between(this=part.copy(), low=exp.convert(1), high=most) for part, most in parts))
    whole = [exp.cast(part.copy(), "INT") for part, _ in parts]
    made = exp.Anonymous(this="make_date", expressions=whole)
    return exp.Case(ifs=[exp.If(this=exists, true=made)])


def _total(value: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="TRY", expressions=[value])


def _inside(term: Term, kind: str) -> exp.Expr:
    return exp.paren(_operand(term, kind), copy=False)


def _operand(term: Term, kind: str) -> exp.Expr:
    """Write a term in a type. Casts of times fail beyond the calendar, even TRY_CAST: columns do not reach there."""
    if isinstance(term, Column) or term.type == kind:
        return in_type(term_sql(term), term.type, kind)
    if term.type in MOMENTS and kind == NANOSECONDS:
        return _total(in_type(term_sql(term), term.type, kind))
    return _total(exp.Cast(this=term_sql(term), to=data_type(kind)))


def _calculated(sign: str, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    divides = sign in ("/", "//", "%")
    return _OF_SIGN[sign](this=left, expression=exp.func("nullif", right, exp.convert(0)) if divides else right)


SIGNS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "//",
    exp.Mod: "%",
}
_FAR = 10**30  # nanoseconds, more than any type of moments reaches
_OF_SIGN = {sign: kind for kind, sign in SIGNS.items()}


def _membership(term: Term, literals: tuple[Literal, ...]) -> exp.Expr:
    """Write a membership as one IN list per type of comparison."""
    kinds = dict.fromkeys(literal.type for literal in literals)
    lists = [
        exp.In(this=_operand(term, kind), expressions=[literal_sql(item) for item in literals if item.type == kind])
        for kind in kinds
    ]
    return exp.or_(*(exp.paren(items, copy=False) for items in lists), copy=False) if len(lists) > 1 else lists[0]


_ALLOWED = (
    "columns, literals, comparisons, AND, OR, NOT, IN (list), BETWEEN, IS [NOT] NULL, LIKE with a literal, "
    "regexp_matches, regexp_full_match, matches, ~, has_format, + - * / // %, lower, upper, trim, length, abs, year, "
    "month, day, make_date, coalesce, CAST"
)
_MAX_LENGTH = 100_000
_MAX_NODES = 10_000
# The arguments that nodes of the grammar may have; a node with any other argument is refused.
_KNOWN_ARGS = {
    "this", "expression", "expressions", "low", "high", "to", "negate", "is_string", "quoted", "nested", "unit", "safe",
    "year", "month", "day", "flag",
}  # fmt: skip


def parse(text: str) -> exp.Expr:
    """Parse one predicate.

    This is the first half of a default-deny grammar of row-local, deterministic, total predicates: anything else could
    read another row (`a > (SELECT avg(a) ...)` breaks every sensitivity proof), fail on a private value, or differ
    between two readings. The second half, `dpdb.predicates.bind`, takes the tree node by node; no text of the user
    reaches SQL.
    """
    if not isinstance(text, str) or not text.strip():
        raise PredicateError("where: expected a predicate such as \"state = 'CA'\"")
    if not is_encodable(text):
        raise PredicateError(f"where: {shortened(text)} has a character that is not valid Unicode")
    if len(text) > _MAX_LENGTH:
        raise PredicateError(f"where: more than {_MAX_LENGTH} characters; shorten the predicate")
    tree = _condition(text)
    if sum(1 for _ in tree.walk()) > _MAX_NODES:
        raise PredicateError(f"where: more than {_MAX_NODES} parts; shorten the predicate")
    for node in tree.walk():
        if any(value for key, value in node.args.items() if key not in _KNOWN_ARGS):
            raise refused(node)
    return tree


def refused(node: exp.Expr) -> PredicateError:
    """Return the error of a part of a predicate that is outside the grammar."""
    shown = shortened(node.sql("duckdb", comments=False))
    return PredicateError(f"where: {shown} is not allowed; allowed are {_ALLOWED}")


def _condition(text: str) -> exp.Expr:
    try:
        return parse_condition(text)
    except NotOneConditionError:
        raise PredicateError(f"where: {shortened(text)} is more than one predicate; allowed are {_ALLOWED}") from None
    except TooMuchWorkError as error:
        raise PredicateError(f"where: {shortened(text)} {error}") from None
    except (SqlglotError, RecursionError) as error:
        details = getattr(error, "errors", None)
        said = f": {details[0]['description']}" if details and "<class" not in details[0]["description"] else ""
        where = f"{said}, near {shortened(details[0]['highlight'])}" if details else ""
        raise PredicateError(f"where: {shortened(text)} is not a predicate{where}") from None
