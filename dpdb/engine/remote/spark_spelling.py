"""Spark's spelling of our SQL. Each rule has its fuzz in `tests/remote/test_remote_spark_spelling.py`.

Spark has no TRY and no whole numbers of 128 bits; its decimals go to 38 digits, its LIKE has an escape character of its
own, its parser reads backslashes and ``${...}`` in texts, and lower and upper case are Java's. What could differ is
refused: it is better done in a view.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from sqlglot import exp

from dpdb.engine.duckdb.database import Database
from dpdb.engine.sql.comparison import evaluated, shown_as
from dpdb.predicates import (
    And,
    Arithmetic,
    Call,
    Column,
    Comparison,
    Constant,
    Flag,
    Like,
    Literal,
    Membership,
    Node,
    Not,
    NullTest,
    Or,
    Term,
    TermComparison,
)

__all__ = ["SparkSpelling"]

_BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}
_WHOLE = (*_BITS, "HUGEINT")
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_MOST = 10**38
"""Above all decimals of 38 digits, which stand for HUGEINT."""
_EXACT_DIGITS = 15
"""Decimals of so few digits are a quotient of two exact DOUBLEs, which every engine rounds alike."""
_WIDENED = {
    ("FLOAT", "DOUBLE"),
    *((source, wanted) for source in ("DATE", "TIMESTAMP") for wanted in ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE")),
}
_OWN_TYPES = frozenset(
    [*_WHOLE, "FLOAT", "DOUBLE", "BOOLEAN", "VARCHAR", "BLOB", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"]
)
_MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?: ([0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?))?(?:\+00)?")
_ESCAPES = "!#~^|@;?<>=&*/()[]abcdefghijklmnopqrstuvwxyz"
_PLAIN_TEXT = re.compile(rf"[A-Z0-9 _.,:+\-{re.escape(_ESCAPES)}]*")
"""No quotes, backslashes or dollar signs: other texts are written as bytes."""
_SPECIAL = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}
_VIEW = "compute it in a view of the table"


class SparkSpelling:
    """Spark 4's SQL (implements `dpdb.engine.remote.spelling.Spelling`)."""

    def why_not_compared(self, kind: str, wanted: str) -> str | None:
        """Say why columns of a type cannot be compared in another with the same outcome."""
        if _casts_alike(kind, wanted):
            return None
        return f"{kind} compared as {wanted} is not certain to be the same in Spark; {_VIEW}"

    def why_not(self, part: Node | Term) -> str | None:  # noqa: C901, PLR0911, PLR0912 - one line per kind of node
        """Say why a predicate or term has not the same value in Spark."""
        match part:
            case Constant() | Column() | Flag():
                return None
            case Literal():
                return self._literal(part)
            case Comparison(_, term, literal):
                return self._first([(term, literal.type)], literal)
            case TermComparison(_, left, right, kind):
                return self._first([(left, kind), (right, kind)])
            case Membership(term, literals):
                return self._first([(term, literal.type) for literal in literals], *literals)
            case NullTest(term):
                return self.why_not(term)
            case Like(term, pattern):
                return self.why_not(term) or _pattern(pattern)
            case Not(inner):
                return self.why_not(inner)
            case And(parts) | Or(parts):
                return next((why for each in parts if (why := self.why_not(each))), None)
            case Arithmetic(sign, left, right, left_as, right_as):
                if sign not in {"+", "-", "*"} or part.type != "HUGEINT":
                    return f"{sign} is computed in Spark for + - * of whole numbers only; {_VIEW}"
                why = self._first([(left, left_as), (right, right_as)])
                return why or (None if _largest(part) < _MOST else f"a result of {sign} may have above 38 digits")
            case Call(function, argument, taken_as):
                if function in {"trim", "length"} or (function == "abs" and taken_as == "HUGEINT"):
                    return self._first([(argument, taken_as)])
                return f"{function} is not certain to be the same in Spark; {_VIEW}"

    def _first(self, taken: Sequence[tuple[Term, str]], *literals: Literal) -> str | None:
        for term, kind in taken:
            why = self.why_not(term) or self.why_not_compared(term.type, kind)
            if why:
                return why
        return next((why for literal in literals if (why := self._literal(literal))), None)

    def _literal(self, literal: Literal) -> str | None:
        kind, value = literal.type, literal.value
        if kind == "HUGEINT" and abs(int(value)) >= _MOST:
            return f"{literal.text} has above 38 digits, which Spark lacks"
        if kind in {"DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"} and not _MOMENT.fullmatch(str(value)):
            return f"{literal.text!r} is outside the years 1 to 9999, which Spark lacks"
        return None

    def spelled(self, database: Database, tree: exp.Expr) -> exp.Expr:
        """Spell a tree; what it means has been admitted by `why_not`."""
        root = exp.Paren(this=tree.copy())  # so that the tree itself may be replaced, too
        for like in list(root.find_all(exp.Like)):
            sign = next(sign for sign in _ESCAPES if sign not in like.expression.name)
            like.replace(exp.Escape(this=like.copy(), expression=exp.Literal.string(sign)))
        literals = [cast for cast in root.find_all(exp.Cast) if _is_literal(cast)]
        shown = evaluated(database, [(shown_as(_kind(cast), cast.copy()),) for cast in literals])
        for cast, (value,) in zip(literals, shown, strict=True):
            cast.replace(_value(value, _kind(cast)))
        for node in reversed(list(root.walk())):
            spelled = _node(node)
            if spelled is not node:
                node.replace(spelled)
        spelled_tree: exp.Expr = root.this
        return spelled_tree

    def row_hash(self, columns: Sequence[exp.Expr]) -> exp.Expr:
        """Hash by XXH64, whose seed Spark has fixed; it passes over NULL, so that is hashed beside each value."""
        beside = [exp.Is(this=column.copy(), expression=exp.null()) for column in columns]
        taken = [part for pair in zip(columns, beside, strict=True) for part in pair]
        return exp.Anonymous(this="xxhash64", expressions=taken)

    def hash_sum(self, row_hash: exp.Expr) -> exp.Expr:
        """Add up as decimals of 38 digits: enough for 10^19 rows."""
        return exp.Sum(this=exp.cast(row_hash, "DECIMAL(38, 0)"))


def _casts_alike(kind: str, wanted: str) -> bool:
    if kind == wanted or (kind, wanted) in _WIDENED:
        return kind in _OWN_TYPES or _DECIMAL.fullmatch(kind) is not None
    if kind in _BITS:  # the common type holds every value
        return wanted in {*_WHOLE, "DOUBLE"} or _DECIMAL.fullmatch(wanted) is not None
    decimal = _DECIMAL.fullmatch(kind)
    if decimal is not None:
        exact = wanted == "DOUBLE" and int(decimal[1]) <= _EXACT_DIGITS
        return exact or _DECIMAL.fullmatch(wanted) is not None
    return False


def _largest(term: Term) -> int:
    """Bound the absolute value of a term of whole numbers."""
    match term:
        case Literal(_, _, value):
            return abs(int(value))
        case Column(_, kind):
            return int(2 ** (_BITS[kind] - 1))
        case Call(_, argument):
            return _largest(argument) if argument.type != "VARCHAR" else 2**31
        case Arithmetic(sign, left, right):
            one, other = _largest(left), _largest(right)
            return max(one * other if sign == "*" else one + other, one, other)


def _pattern(pattern: str) -> str | None:
    """Spark takes patterns apart by UTF-16 units, of which characters beyond the first plane have two."""
    if any(ord(character) > 0xFFFF for character in pattern) or not any(sign not in pattern for sign in _ESCAPES):
        return f"LIKE {pattern!r} is not certain to be the same in Spark; {_VIEW}"
    return None


# -- trees ----------------------------------------------------------------------------------------------------------


def _is_literal(cast: exp.Cast) -> bool:
    return not isinstance(cast, exp.TryCast) and isinstance(cast.this, exp.Literal) and cast.this.is_string


def _kind(cast: exp.Cast) -> str:
    """Name the type of a literal as a schema does."""
    names = {exp.DType.TIMESTAMPTZ: "TIMESTAMP WITH TIME ZONE", exp.DType.VARBINARY: "BLOB", exp.DType.FLOAT: "FLOAT"}
    kind: exp.DataType = cast.args["to"]
    return names.get(kind.this, kind.sql("duckdb"))


def _value(value: object, kind: str) -> exp.Expr:
    """Write a value that our own database has shown, so that nothing is left to the other one's reading of texts."""
    spark = exp.DataType.build(kind, dialect="duckdb")
    if isinstance(value, float):
        double = exp.cast(exp.Literal.string(_SPECIAL.get(repr(value), repr(value))), "DOUBLE")
        return exp.cast(double, spark) if kind == "FLOAT" else double
    if kind == "BLOB":
        return exp.HexString(this=str(value))
    text = f"{value:f}" if isinstance(value, Decimal) else str(value)
    moment = _MOMENT.fullmatch(text)
    if moment is not None and kind == "TIMESTAMP WITH TIME ZONE":
        text = f"{moment[1]} {moment[2] or '00:00:00'}+00:00"
    return exp.cast(exp.Literal.string(text), spark)


def _node(node: exp.Expr) -> exp.Expr:
    """Spell one node, whose parts are spelled already."""
    if isinstance(node, exp.DataType):
        return exp.DataType.build("DECIMAL(38, 0)") if node.this is exp.DType.INT128 else node
    if isinstance(node, exp.Literal) and node.is_string and not _PLAIN_TEXT.fullmatch(node.name):
        return exp.cast(exp.HexString(this=node.name.encode().hex().upper()), "TEXT")
    return _function(node) if isinstance(node, exp.Anonymous) else node


def _function(node: exp.Anonymous) -> exp.Expr:
    """Spell a function. TRY is left out: what is admitted has a value for every row."""
    parts = [part.copy() for part in node.expressions]
    match node.name.lower():
        case "try":
            return exp.paren(parts[0])
        case "trim":
            return exp.Trim(this=parts[0], expression=parts[1], position="BOTH")
        case "length":
            return exp.Anonymous(this="char_length", expressions=parts)
        case "abs" | "bit_xor" | "char_length" | "xxhash64":
            return node
    raise AssertionError(f"not admitted: {node.name}")
