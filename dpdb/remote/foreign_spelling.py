"""`ForeignSpelling`: what is admitted in other engines than our own, and how trees are spelled there.

What could differ is refused: it is better done in a view.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from sqlglot import exp

from dpdb.database import Database
from dpdb.engine.sql import evaluated, shown_as
from dpdb.predicates import (
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

_BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}
_WHOLE = (*_BITS, "HUGEINT")
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_EXACT_DIGITS = 15
"""Decimals of so few digits are a quotient of two exact DOUBLEs, which every engine rounds alike."""
_MOST_DAYS = 1_000_000
"""Added to a day of the years 1 to 9999 they reach no end of any engine's calendar."""
_WIDENED = {
    ("FLOAT", "DOUBLE"),
    *((source, wanted) for source in ("DATE", "TIMESTAMP") for wanted in ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE")),
}
MOMENT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?: ([0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?))?(?:\+00)?")
_TIMES = {"DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"}
_ALIKE = frozenset(["trim", "length", "year", "month", "day", "cast", "coalesce", "make_date"])
VIEW = "compute it in a view of the table"


class ForeignSpelling(ABC):
    """The SQL of an engine that is not our own.

    Attributes
    ----------
    most : int
        Above all whole numbers that stand for HUGEINT.
    hashes_keys : bool
        Whether the rows of a key are sooner counted by their hashes than by their values, as measured. `row_hash` then
        gives all values that GROUP BY puts together one hash.
    types : frozenset of str
        Those in which values compare as in our own database, besides decimals.
    functions : frozenset of str
        Names, spelled as they are, of functions beside `abs`, `bit_xor`, `char_length` and `make_date`.
    """

    engine: ClassVar[str]
    most: ClassVar[int]
    hashes_keys: ClassVar[bool] = False
    types: ClassVar[frozenset[str]] = frozenset(
        [*_WHOLE, "FLOAT", "DOUBLE", "BOOLEAN", "VARCHAR", "BLOB", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"]
    )
    endless: ClassVar[frozenset[str]] = frozenset()
    functions: ClassVar[frozenset[str]]

    def why_not_compared(self, kind: str, wanted: str) -> str | None:
        """Say why columns of a type cannot be compared in another; None if they can, with the same outcome."""
        if self._casts_alike(kind, wanted):
            return None
        return f"{kind} compared as {wanted} is not certain to be the same in {self.engine}; {VIEW}"

    def why_not(self, part: Node | Term) -> str | None:  # noqa: C901, PLR0911, PLR0912 - one line per kind of node
        """Say why a predicate or term has not the same value there; None if it has."""
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
                return self.why_not(term) or self._pattern(pattern)
            case Matches() | CheckDigits():
                return f"a regular expression or format is not certain to be the same in {self.engine}; {VIEW}"
            case Not(inner):
                return self.why_not(inner)
            case And(parts) | Or(parts):
                return next((why for each in parts if (why := self.why_not(each))), None)
            case Arithmetic("+" | "-", left, Literal() as days, "DATE", "INTEGER") if (
                abs(int(days.value)) <= _MOST_DAYS
            ):
                return self._first([(left, "DATE")])
            case Arithmetic(sign, left, right, left_as, right_as):
                if sign not in {"+", "-", "*"} or part.type != "HUGEINT":
                    return f"in {self.engine} {sign} is computed of whole numbers and of days of a date only; {VIEW}"
                why = self._first([(left, left_as), (right, right_as)])
                return why or (None if _largest(part) < self.most else f"a result of {sign} may have above 38 digits")
            case Call("cast", _, taken_as, kind) if not _casts_without_loss(taken_as, kind):
                return f"CAST from {taken_as} to {kind} is not certain to be the same in {self.engine}; {VIEW}"
            case Call(function, arguments, taken_as):
                if function in _ALIKE or (function == "abs" and taken_as == "HUGEINT"):
                    return self._first([(argument, taken_as) for argument in arguments])
                return f"{function} is not certain to be the same in {self.engine}; {VIEW}"

    def _first(self, taken: Sequence[tuple[Term, str]], *literals: Literal) -> str | None:
        for term, kind in taken:
            why = self.why_not(term) or self.why_not_compared(term.type, kind)
            if why:
                return why
        return next((why for literal in literals if (why := self._literal(literal))), None)

    def _literal(self, literal: Literal) -> str | None:
        kind, value = literal.type, literal.value
        if kind == "HUGEINT" and abs(int(value)) >= self.most:
            return f"{literal.text} has above 38 digits, which {self.engine} lacks"
        if kind in _TIMES and not (MOMENT.fullmatch(str(value)) or value in self.endless):
            return f"{literal.text!r} is outside the years 1 to 9999, the only ones that are read of {self.engine}"
        return None

    def spelled(self, database: Database, tree: exp.Expr) -> exp.Expr:
        """Spell a tree, which `why_not` has admitted; `database` is our own, which says what literals mean."""
        root = exp.Paren(this=tree.copy())  # so that the tree itself may be replaced, too
        for like in list(root.find_all(exp.Like)):
            sign = exp.Literal.string(self._escape(like.expression.name))
            like.replace(exp.Escape(this=like.copy(), expression=sign))
        literals = [cast for cast in root.find_all(exp.Cast) if _is_literal(cast)]
        shown = evaluated(database, [(shown_as(_kind(cast), cast.copy()),) for cast in literals])
        for cast, (value,) in zip(literals, shown, strict=True):
            cast.replace(self._value(value, _kind(cast)))
        for node in reversed(list(root.walk())):
            spelled = self._node(node)
            if spelled is not node:
                node.replace(spelled)
        spelled_tree: exp.Expr = root.this
        return spelled_tree

    def _casts_alike(self, kind: str, wanted: str) -> bool:
        if kind == wanted or (kind, wanted) in _WIDENED:
            return kind in self.types or _DECIMAL.fullmatch(kind) is not None
        if kind in _BITS:  # the common type holds every value
            return wanted in {*_WHOLE, "DOUBLE"} or _DECIMAL.fullmatch(wanted) is not None
        decimal = _DECIMAL.fullmatch(kind)
        if decimal is not None:
            exact = wanted == "DOUBLE" and int(decimal[1]) <= _EXACT_DIGITS
            return exact or _DECIMAL.fullmatch(wanted) is not None
        return False

    @abstractmethod
    def row_hash(self, columns: Sequence[exp.Expr]) -> exp.Expr:
        """Hash values into a whole number of 64 bits that is the same on every day."""

    @abstractmethod
    def hash_sum(self, row_hash: exp.Expr) -> exp.Expr:
        """Add up hashes of rows without overflow."""

    def spread(self, query: exp.Select, column: exp.Column) -> exp.Select:
        """Let a query bring equal values of a column to one place, if few are equal and it is to be grouped by them.

        Most engines find the way themselves.
        """
        del column
        return query

    @abstractmethod
    def _pattern(self, pattern: str) -> str | None:
        """Say why a LIKE pattern has not the same matches there."""

    @abstractmethod
    def _escape(self, pattern: str) -> str:
        """Return the ESCAPE that lets a pattern be read as ours, in which nothing escapes."""

    @abstractmethod
    def _value(self, value: object, kind: str) -> exp.Expr:
        """Write a value that our own database has shown, so that nothing is left to the other's reading of texts."""

    def _node(self, node: exp.Expr) -> exp.Expr:
        """Spell one node, whose parts are spelled already."""
        return self._function(node) if isinstance(node, exp.Anonymous) else node

    def _function(self, node: exp.Anonymous) -> exp.Expr:
        """Spell a function. TRY is left out: what is admitted has a value for every row."""
        parts = [part.copy() for part in node.expressions]
        match node.name.lower():
            case "try":
                return exp.paren(parts[0])
            case "trim":
                return self._trim(*parts)
            case "length":
                return exp.Anonymous(this="char_length", expressions=parts)
            case "year" | "month" | "day":
                return self._part_of_date(node.name.lower(), parts[0])
            case name if name in {"abs", "bit_xor", "char_length", "make_date", *self.functions}:
                return node
        raise AssertionError(f"not admitted: {node.name}")

    def _part_of_date(self, part: str, moment: exp.Expr) -> exp.Expr:
        """Take the year, month or day of a date or timestamp; none of one beyond the calendar."""
        return exp.Anonymous(this=part, expressions=[moment])

    @abstractmethod
    def _trim(self, text: exp.Expr, signs: exp.Expr) -> exp.Expr:
        """Cut signs off both ends of a text."""


def _largest(term: Term) -> int:
    """Bound the absolute value of a term of whole numbers."""
    match term:
        case Literal(_, _, value):
            return abs(int(value))
        case Column(_, kind):
            return int(2 ** (_BITS[kind] - 1))
        case Call("cast", (argument,), _, kind):
            return _largest(argument) if kind == "HUGEINT" else int(2 ** (_BITS[kind] - 1))
        case Call("abs" | "coalesce", arguments):
            return max(map(_largest, arguments))
        case Call():
            return 2**31  # a length, or a part of a date
        case Arithmetic(sign, left, right):
            one, other = _largest(left), _largest(right)
            return max(one * other if sign == "*" else one + other, one, other)


def _casts_without_loss(kind: str, wanted: str) -> bool:
    """Return whether a cast cannot fail, nor round: there is no TRY_CAST, and engines round in their own ways.

    Of times it may cut off the time of day, which all of them do toward the past. Infinite ones stay.
    """
    if {kind, wanted} == {"DATE", "TIMESTAMP"}:
        return True
    if kind not in _BITS:
        return False
    decimal = _DECIMAL.fullmatch(wanted)
    if decimal is not None:
        return bool(10 ** (int(decimal[1]) - int(decimal[2])) >= 2 ** (_BITS[kind] - 1))
    return wanted == "HUGEINT" or _BITS.get(wanted, 0) >= _BITS[kind]


def _is_literal(cast: exp.Cast) -> bool:
    return not isinstance(cast, exp.TryCast) and isinstance(cast.this, exp.Literal) and cast.this.is_string


def _kind(cast: exp.Cast) -> str:
    """Name the type of a literal as a schema does."""
    names = {exp.DType.TIMESTAMPTZ: "TIMESTAMP WITH TIME ZONE", exp.DType.VARBINARY: "BLOB", exp.DType.FLOAT: "FLOAT"}
    kind: exp.DataType = cast.args["to"]
    return names.get(kind.this, kind.sql("duckdb"))
