"""`ClickHouseSpelling`: trees of our own DuckDB's SQL in the SQL of ClickHouse, with the same value for every row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from sqlglot import exp

from dpdb.predicates import Arithmetic, Call, Literal, Node, Term
from dpdb.remote.foreign_spelling import VIEW, ForeignSpelling

_SECONDS = exp.DataType.build("DateTime64(6, 'UTC')", dialect="clickhouse")
_DAYS = exp.DataType.build("Date32", dialect="clickhouse")
_MOMENTS = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, exp.DType.TIMESTAMPTZ)
_TYPES = {**dict.fromkeys(_MOMENTS, _SECONDS), exp.DType.DATE: _DAYS}
_ESCAPES = "!#~^|@;?<>=&*/()[]abcdefghijklmnopqrstuvwxyz"
_PLAIN_TEXT = re.compile(rf"[A-Z0-9 _.,:+\-{re.escape(_ESCAPES)}]*")
"""No quotes and backslashes: other texts are written as bytes."""


class ClickHouseSpelling(ForeignSpelling):
    """The SQL of ClickHouse 26, under the settings of `dpdb.remote.clickhouse.table`.

    ClickHouse has no TRY and no bytes beside texts; its times are of one zone here, UTC; its whole numbers go round
    where they are too large, so that `most` bounds them; its dates do, too, so that none are computed.
    """

    engine = "ClickHouse"
    most = 10**38
    types = ForeignSpelling.types - {"BLOB", "HUGEINT"}
    functions = frozenset(
        ["groupbitxor", "ifnull", "isnull", "reinterpretasint64", "todatetime64", "todate32", "toint64", "tostring"]
    ) | {"trimboth", "unhex", "xxhash64"}

    def why_not(self, part: Node | Term) -> str | None:
        """Say why a predicate or term has not the same value there; see the base class."""
        match part:
            case Arithmetic("+" | "-", _, _, "DATE"):
                return f"in {self.engine} days beyond its calendar are other days; {VIEW}"
            case Call("make_date"):
                return f"make_date is not certain to be the same in {self.engine}; {VIEW}"
            case Call("trim", (_, Literal() as signs)) if not str(signs.value).isascii():
                return f"trim of these signs is not certain to be the same in {self.engine}; {VIEW}"
        return super().why_not(part)

    def row_hash(self, columns: Sequence[exp.Expr]) -> exp.Expr:
        """Hash by XXH64 the texts of values, which are the same for equal ones; NULL, which has no hash, beside."""
        taken: list[exp.Expr] = []
        for column in columns:
            text = exp.Anonymous(this="toString", expressions=[column.copy()])
            taken.append(exp.Anonymous(this="ifNull", expressions=[text, exp.Literal.string("")]))
            taken.append(exp.Anonymous(this="isNull", expressions=[column.copy()]))
        hashed = exp.Anonymous(this="xxHash64", expressions=taken)
        return exp.Anonymous(this="reinterpretAsInt64", expressions=[hashed])

    def hash_sum(self, row_hash: exp.Expr) -> exp.Expr:
        """Add up in 128 bits."""
        return exp.Sum(this=exp.cast(row_hash, exp.DType.INT128))

    def _pattern(self, pattern: str) -> str | None:
        """Refuse the sign that escapes whatever ESCAPE says."""
        if "\\" in pattern or not any(sign not in pattern for sign in _ESCAPES):
            return f"LIKE {pattern!r} is not certain to be the same in {self.engine}; {VIEW}"
        return None

    def _escape(self, pattern: str) -> str:
        """Return a sign that the pattern lacks."""
        return next(sign for sign in _ESCAPES if sign not in pattern)

    def _value(self, value: object, kind: str) -> exp.Expr:
        if isinstance(value, float):
            text = repr(value + 0.0)  # of two zeros one is no other in a list
            double = exp.cast(exp.Literal.string(text), "DOUBLE")
            return exp.cast(double, "FLOAT") if kind == "FLOAT" else double
        text = f"{value:f}" if isinstance(value, Decimal) else str(value)
        if kind == "DATE":
            return exp.Anonymous(this="toDate32", expressions=[exp.Literal.string(text)])
        if kind.startswith("TIMESTAMP"):
            parts = [exp.Literal.string(text.removesuffix("+00")), exp.convert(6), exp.Literal.string("UTC")]
            return exp.Anonymous(this="toDateTime64", expressions=parts)
        return exp.cast(exp.Literal.string(text), exp.DataType.build(kind, dialect="duckdb"))

    def _node(self, node: exp.Expr) -> exp.Expr:
        """Spell one node, whose parts are spelled already. All whole numbers get a sign, which counts have not."""
        around = (exp.Filter, exp.Window)
        if not isinstance(node.parent, around) and isinstance(_counted(node, around), exp.Count):
            return exp.cast(node.copy(), "BIGINT")
        if isinstance(node, exp.Literal) and node.is_int and isinstance(node.parent, (exp.If, exp.Case)):
            return exp.Anonymous(this="toInt64", expressions=[node.copy()])
        if isinstance(node, exp.Cast) and isinstance(node.this, exp.Null) and node.to.this is exp.DType.ARRAY:
            return exp.Cast(this=exp.Array(expressions=[]), to=node.to.copy())  # no list is NULL there
        if isinstance(node, exp.DataType):
            return _TYPES.get(node.this, node).copy() if node.this in _TYPES else node
        if isinstance(node, exp.Literal) and node.is_string and not _PLAIN_TEXT.fullmatch(node.name):
            return exp.Anonymous(this="unhex", expressions=[exp.Literal.string(node.name.encode().hex())])
        return super()._node(node)

    def _function(self, node: exp.Anonymous) -> exp.Expr:
        if node.name.lower() == "bit_xor":
            return exp.Anonymous(this="groupBitXor", expressions=[part.copy() for part in node.expressions])
        return super()._function(node)

    def _trim(self, text: exp.Expr, signs: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this="trimBoth", expressions=[text, signs])


def _counted(node: exp.Expr, around: tuple[type[exp.Expr], ...]) -> exp.Expr:
    """Return the aggregate within what may stand around it."""
    while isinstance(node, around):
        node = node.this
    return node
