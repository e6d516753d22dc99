"""Spellings of engines behind ADBC: our own SQL for DuckDB; for Snowflake and BigQuery by default what is refused."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from decimal import Decimal

from sqlglot import exp

from dpdb.database import Database
from dpdb.predicates import Arithmetic, Call, Node, Term
from dpdb.remote.foreign_spelling import VIEW, ForeignSpelling

_PLAIN_TEXT = re.compile(r"[A-Za-z0-9 _.,:+\-!#~^|@;?<>=&*/()\[\]%]*")
"""No quotes, backslashes and dollar signs: other texts are written as bytes."""


class DuckDBSpelling:
    """Our own SQL in another DuckDB (implements what `ForeignSpelling` says)."""

    engine = "DuckDB"
    hashes_keys = True

    def why_not_compared(self, kind: str, wanted: str) -> str | None:
        """Return None: it is where comparisons come from."""
        del kind, wanted
        return None

    def why_not(self, part: Node | Term) -> str | None:
        """Return None."""
        del part
        return None

    def spelled(self, database: Database, tree: exp.Expr) -> exp.Expr:
        """Return the tree."""
        del database
        return tree

    def row_hash(self, columns: Sequence[exp.Expr]) -> exp.Expr:
        """Hash as the canonical order does."""
        return exp.Anonymous(this="hash", expressions=list(columns))

    def hash_sum(self, row_hash: exp.Expr) -> exp.Expr:
        """Add up in 128 bits."""
        return exp.Sum(this=exp.cast(row_hash, "HUGEINT", dialect="duckdb"))

    def spread(self, query: exp.Select, column: exp.Column) -> exp.Select:
        """Return the query: all rows are in one place."""
        del column
        return query

    def written(self, value: str | bytes) -> exp.Expr:
        """Write a text or bytes of a made table."""
        if isinstance(value, str):
            return exp.Literal.string(value)
        return exp.Anonymous(this="unhex", expressions=[exp.Literal.string(value.hex())])


class _WarehouseSpelling(ForeignSpelling):
    """What no test of ours has asked a server: days and decimals are not computed with, patterns have no backslash."""

    most = 10**38
    types = ForeignSpelling.types - {"FLOAT"}
    whole: exp.DataType
    """Of whole numbers that stand for HUGEINT."""

    def why_not(self, part: Node | Term) -> str | None:
        """Say why a predicate or term has not the same value there; see the base class."""
        match part:
            case Arithmetic("+" | "-", _, _, "DATE"):
                return f"days of a date are not computed in {self.engine}; {VIEW}"
            case Call("make_date"):
                return f"make_date is not certain to be the same in {self.engine}; {VIEW}"
        return super().why_not(part)

    def _casts_alike(self, kind: str, wanted: str) -> bool:
        """Refuse to round: who does it how is not certain."""
        return super()._casts_alike(kind, wanted) and (wanted != "DOUBLE" or kind == "DOUBLE")

    def _pattern(self, pattern: str) -> str | None:
        if "\\" in pattern or not _PLAIN_TEXT.fullmatch(pattern):
            return f"LIKE {pattern!r} is not certain to be the same in {self.engine}; {VIEW}"
        return None

    def _escape(self, pattern: str) -> str:
        """Return nothing: a pattern without a backslash escapes nothing, and `_node` leaves ESCAPE out."""
        del pattern
        return ""

    def _value(self, value: object, kind: str) -> exp.Expr:
        if isinstance(value, float):
            return exp.cast(exp.Literal.string(repr(value + 0.0)), "DOUBLE")
        if kind == "BLOB":
            return self._bytes(str(value))
        text = f"{value:f}" if isinstance(value, Decimal) else str(value)
        if kind == "TIMESTAMP WITH TIME ZONE":
            text = f"{text.removesuffix('+00')}+00:00"
        return exp.cast(exp.Literal.string(text), self._type(exp.DataType.build(kind, dialect="duckdb")))

    def _type(self, kind: exp.DataType) -> exp.DataType:
        return self.whole.copy() if kind.this is exp.DType.INT128 else kind

    def _node(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.DataType):
            return self._type(node)
        if isinstance(node, exp.Escape):
            like: exp.Expr = node.this.copy()
            return like
        if isinstance(node, exp.Literal) and node.is_string and not _PLAIN_TEXT.fullmatch(node.name):
            return self._text(node.name.encode().hex())
        return super()._node(node)

    def written(self, value: str | bytes) -> exp.Expr:
        """Write a text or bytes of a made table."""
        return self._text(value.encode().hex()) if isinstance(value, str) else self._bytes(value.hex())

    @abstractmethod
    def _bytes(self, digits: str) -> exp.Expr:
        """Write bytes."""

    @abstractmethod
    def _text(self, digits: str) -> exp.Expr:
        """Write a text by its bytes."""

    def _trim(self, text: exp.Expr, signs: exp.Expr) -> exp.Expr:
        return exp.Trim(this=text, expression=signs)


class SnowflakeSpelling(_WarehouseSpelling):
    """Snowflake's SQL."""

    engine = "Snowflake"
    whole = exp.DataType.build("DECIMAL(38, 0)")
    functions = frozenset({"hash", "hex_decode_string", "to_binary", "bitxor_agg", "length"})

    def row_hash(self, columns: Sequence[exp.Expr]) -> exp.Expr:
        """Hash by Snowflake's own function, which may change with a release of it: one answer is of one."""
        return exp.Anonymous(this="HASH", expressions=list(columns))

    def hash_sum(self, row_hash: exp.Expr) -> exp.Expr:
        """Add up as decimals of 38 digits."""
        return exp.Sum(this=exp.cast(row_hash, "DECIMAL(38, 0)"))

    def _bytes(self, digits: str) -> exp.Expr:
        parts = [exp.Literal.string(digits), exp.Literal.string("HEX")]
        return exp.Anonymous(this="TO_BINARY", expressions=parts)

    def _text(self, digits: str) -> exp.Expr:
        return exp.Anonymous(this="HEX_DECODE_STRING", expressions=[exp.Literal.string(digits)])

    def _node(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Boolean):
            # Snowflake has no IS TRUE, and sqlglot would leave it out: the condition may be NULL.
            met = node.this.copy() if node.expression.this else exp.not_(node.this.copy())
            return exp.Coalesce(this=met, expressions=[exp.false()])
        return super()._node(node)

    def _function(self, node: exp.Anonymous) -> exp.Expr:
        parts = [part.copy() for part in node.expressions]
        match node.name.lower():
            case "bit_xor":
                return exp.Anonymous(this="BITXOR_AGG", expressions=parts)
            case "length":
                return exp.Anonymous(this="LENGTH", expressions=parts)
        return super()._function(node)


class BigQuerySpelling(_WarehouseSpelling):
    """BigQuery's SQL. All decimals are BIGNUMERIC, which has 38 digits on each side of the point."""

    engine = "BigQuery"
    whole = exp.DataType.build("BIGDECIMAL")
    functions = frozenset({"farm_fingerprint", "to_json_string", "from_hex", "safe_convert_bytes_to_string", "length"})

    def row_hash(self, columns: Sequence[exp.Expr]) -> exp.Expr:
        """Hash by FarmHash, which BigQuery promises to keep, the values of a row as JSON."""
        named = [exp.alias_(column.copy(), f"v{place}") for place, column in enumerate(columns)]
        written = exp.Anonymous(this="TO_JSON_STRING", expressions=[exp.Struct(expressions=named)])
        return exp.Anonymous(this="FARM_FINGERPRINT", expressions=[written])

    def hash_sum(self, row_hash: exp.Expr) -> exp.Expr:
        """Add up as BIGNUMERIC."""
        return exp.Sum(this=exp.cast(row_hash, self.whole.copy()))

    def _type(self, kind: exp.DataType) -> exp.DataType:
        return self.whole.copy() if kind.this in (exp.DType.DECIMAL, exp.DType.INT128) else kind

    def _bytes(self, digits: str) -> exp.Expr:
        return exp.Anonymous(this="FROM_HEX", expressions=[exp.Literal.string(digits)])

    def _text(self, digits: str) -> exp.Expr:
        return exp.Anonymous(this="SAFE_CONVERT_BYTES_TO_STRING", expressions=[self._bytes(digits)])

    def _function(self, node: exp.Anonymous) -> exp.Expr:
        if node.name.lower() == "length":
            return exp.Anonymous(this="LENGTH", expressions=[part.copy() for part in node.expressions])
        return super()._function(node)

    def _part_of_date(self, part: str, moment: exp.Expr) -> exp.Expr:
        """Write EXTRACT."""
        return exp.Extract(this=exp.var(part.upper()), expression=moment)
