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

from dpdb.remote.foreign_spelling import MOMENT, VIEW, ForeignSpelling

__all__ = ["SparkSpelling"]

_ESCAPES = "!#~^|@;?<>=&*/()[]abcdefghijklmnopqrstuvwxyz"
_PLAIN_TEXT = re.compile(rf"[A-Z0-9 _.,:+\-{re.escape(_ESCAPES)}]*")
"""No quotes, backslashes or dollar signs: other texts are written as bytes."""
_SPECIAL = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}


class SparkSpelling(ForeignSpelling):
    """Spark 4's SQL."""

    engine = "Spark"
    most = 10**38
    """Above all decimals of 38 digits, which stand for HUGEINT."""
    hashes_keys = True
    functions = frozenset({"xxhash64"})

    def row_hash(self, columns: Sequence[exp.Expr]) -> exp.Expr:
        """Hash by XXH64, whose seed Spark has fixed; it passes over NULL, so that is hashed beside each value.

        All that Spark groups together has one hash: 0.0 and -0.0 (since Spark 3.2, see its migration guide), and NaN of
        whatever bits.
        """
        beside = [column.is_(exp.null()) for column in columns]
        taken = [part for pair in zip(columns, beside, strict=True) for part in pair]
        return exp.Anonymous(this="xxhash64", expressions=taken)

    def hash_sum(self, row_hash: exp.Expr) -> exp.Expr:
        """Add up as decimals of 38 digits: enough for 10^19 rows."""
        return exp.Sum(this=exp.cast(row_hash, "DECIMAL(38, 0)"))

    def spread(self, query: exp.Select, column: exp.Column) -> exp.Select:
        """Shuffle rows as they are: by itself Spark would group them before, too, in vain where few are equal."""
        spread: exp.Select = query.copy()
        spread.set("distribute", exp.Distribute(expressions=[column.copy()]))
        return spread

    def _pattern(self, pattern: str) -> str | None:
        """Refuse characters beyond the first plane: they are two UTF-16 units, by which Spark takes patterns apart."""
        if any(ord(character) > 0xFFFF for character in pattern) or not any(sign not in pattern for sign in _ESCAPES):
            return f"LIKE {pattern!r} is not certain to be the same in Spark; {VIEW}"
        return None

    def _escape(self, pattern: str) -> str:
        """Return a sign that the pattern lacks: Spark has an escape character of its own."""
        return next(sign for sign in _ESCAPES if sign not in pattern)

    def _value(self, value: object, kind: str) -> exp.Expr:
        """Write a value that our own database has shown, so that nothing is left to Spark's reading of texts."""
        spark = exp.DataType.build(kind, dialect="duckdb")
        if isinstance(value, float):
            double = exp.cast(exp.Literal.string(_SPECIAL.get(repr(value), repr(value))), "DOUBLE")
            return exp.cast(double, spark) if kind == "FLOAT" else double
        if kind == "BLOB":
            return exp.HexString(this=str(value))
        text = f"{value:f}" if isinstance(value, Decimal) else str(value)
        moment = MOMENT.fullmatch(text)
        if moment is not None and kind == "TIMESTAMP WITH TIME ZONE":
            text = f"{moment[1]} {moment[2] or '00:00:00'}+00:00"
        return exp.cast(exp.Literal.string(text), spark)

    def _node(self, node: exp.Expr) -> exp.Expr:
        """Spell one node, whose parts are spelled already."""
        if isinstance(node, exp.DataType):
            return exp.DataType.build("DECIMAL(38, 0)") if node.this is exp.DType.INT128 else node
        if isinstance(node, exp.Literal) and node.is_string and not _PLAIN_TEXT.fullmatch(node.name):
            return exp.cast(exp.HexString(this=node.name.encode().hex().upper()), "TEXT")
        return super()._node(node)

    def _trim(self, text: exp.Expr, signs: exp.Expr) -> exp.Expr:
        return exp.Trim(this=text, expression=signs, position="BOTH")
