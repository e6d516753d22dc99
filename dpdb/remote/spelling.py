"""Spellings: trees of our own DuckDB's SQL in the SQL of another engine, with the same value for every row.

What a spelling does not know to be the same is refused when a constraint or predicate is bound, before anything is
spent: default deny.

Each rule has its fuzz: `tests/remote/test_remote_postgres_spelling.py`, `tests/remote/test_remote_spark_spelling.py`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import cast

import pyarrow as pa
from sqlglot import exp

from dpdb.predicates import Literal
from dpdb.remote.adbc.spelling import BigQuerySpelling, DuckDBSpelling, SnowflakeSpelling
from dpdb.remote.clickhouse.spelling import ClickHouseSpelling
from dpdb.remote.foreign_spelling import MOMENT, VIEW, ForeignSpelling

_WRITTEN: dict[pa.DataType, str | exp.DType] = {
    pa.int64(): "BIGINT",
    pa.uint64(): exp.DType.UBIGINT,
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
    pa.string(): "TEXT",
}
_NUMERIC = exp.DataType.build("NUMERIC", dialect="postgres")


class PostgresSpelling(ForeignSpelling):
    """The SQL of PostgreSQL 14 and later.

    PostgreSQL has no TRY; its NUMERIC holds whole numbers of any length; its lower and upper case are those of a
    collation.
    """

    engine = "PostgreSQL"
    most = 2**127
    types = ForeignSpelling.types | {"UUID"}
    endless = frozenset({"infinity", "-infinity"})
    functions = frozenset({"btrim", "decode", "hash_record_extended", "row"})

    def row_hash(self, columns: Sequence[exp.Expr]) -> exp.Expr:
        """Hash as partitioning by hash does, whose functions PostgreSQL keeps; by values, not by their texts."""
        row = exp.Anonymous(this="row", expressions=list(columns))
        return exp.Anonymous(this="hash_record_extended", expressions=[row, exp.convert(0)])

    def hash_sum(self, row_hash: exp.Expr) -> exp.Expr:
        """Add up: a sum of BIGINT is NUMERIC."""
        return exp.Sum(this=row_hash)

    def _literal(self, literal: Literal) -> str | None:
        if literal.type == "VARCHAR" and "\0" in str(literal.value):
            return "a text with the character U+0000 is no text in PostgreSQL"
        return super()._literal(literal)

    def _pattern(self, pattern: str) -> str | None:
        return "a LIKE pattern with the character U+0000 is no text in PostgreSQL" if "\0" in pattern else None

    def _escape(self, pattern: str) -> str:
        """Return nothing, by which nothing escapes."""
        del pattern
        return ""

    def _value(self, value: object, kind: str) -> exp.Expr:
        if kind == "BLOB":
            return exp.Anonymous(this="decode", expressions=[exp.Literal.string(str(value)), exp.Literal.string("hex")])
        text = f"{value:f}" if isinstance(value, Decimal) else str(value)
        moment = MOMENT.fullmatch(text)
        if moment is not None and kind == "TIMESTAMP WITH TIME ZONE":
            text = f"{moment[1]} {moment[2] or '00:00:00'}+00:00"
        written: exp.Expr = exp.Literal.string(text)
        if kind == "FLOAT":  # shown as the DOUBLE that it is
            written = exp.cast(written, "DOUBLE")
        return exp.cast(written, exp.DataType.build(kind, dialect="duckdb"))

    def _node(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.DataType):
            return _NUMERIC.copy() if node.this is exp.DType.INT128 else node
        return super()._node(node)

    def _part_of_date(self, part: str, moment: exp.Expr) -> exp.Expr:
        """Write EXTRACT, which has infinite years; NULL for those."""
        taken = exp.cast(exp.Extract(this=exp.var(part.upper()), expression=moment), "BIGINT")
        is_finite = exp.Anonymous(this="isfinite", expressions=[moment.copy()])
        return exp.Case(ifs=[exp.If(this=is_finite, true=taken)])

    def _trim(self, text: exp.Expr, signs: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this="btrim", expressions=[text, signs])


def with_extremes(tree: exp.Expr, unordered: Collection[str]) -> exp.Expr:
    """Write MIN and MAX of what comes of some columns as that of arrays of one value: there is no other of their types.

    Parameters
    ----------
    unordered
        Names of the table's columns whose types have neither. Under which names a tree passes them on is seen there,
        and what it computes that is true or false.
    """
    root = exp.Paren(this=tree.copy())
    computed = {alias.alias for alias in root.find_all(exp.Alias) if _is_truth(alias.this)}
    names, more = set[str](), set(unordered) | computed
    while more - names:
        names |= more
        more = {alias.alias for alias in root.find_all(exp.Alias) if _reads(alias, names)}
    extremes = [each for each in root.find_all(exp.Min, exp.Max) if _reads(each, names)]
    for extreme in extremes:
        value = extreme.this
        unknown = exp.If(this=value.is_(exp.null()), true=exp.null())
        extreme.set("this", exp.Case(ifs=[unknown], default=exp.Array(expressions=[value.copy()])))
    for extreme in extremes:
        whole = extreme.parent if isinstance(extreme.parent, exp.Window) else extreme
        assert whole is not None
        whole.replace(exp.Bracket(this=exp.paren(whole.copy()), expressions=[exp.convert(0)]))
    plain: exp.Expr = root.this
    return plain


def _is_truth(value: exp.Expr) -> bool:
    """Return whether a value is true, false or NULL by its form."""
    if isinstance(value, exp.Case):
        return all(_is_truth(each.args["true"]) for each in value.args["ifs"])
    return isinstance(value.unnest(), (exp.Predicate, exp.Connector, exp.Not))


def _reads(part: exp.Expr, names: Collection[str]) -> bool:
    return any(column.name in names for column in part.find_all(exp.Column))


def written_table(table: pa.Table) -> exp.Select:
    """Write a small table of whole numbers, doubles, booleans and texts as a query."""
    kinds = [_WRITTEN[kind] for kind in table.schema.types]
    rows = [tuple(row.values()) for row in table.to_pylist()] or [(None,) * len(kinds)]
    cells = [[exp.cast(_constant(value), kind) for value, kind in zip(row, kinds, strict=True)] for row in rows]
    values = exp.Values(expressions=[exp.Tuple(expressions=row) for row in cells])
    names = [exp.to_identifier(name, quoted=True) for name in table.column_names]
    values.set("alias", exp.TableAlias(this=exp.to_identifier("written"), columns=names))
    query = exp.select("*").from_(values)
    return query if table.num_rows else query.where(exp.false())


def _constant(value: object) -> exp.Expr:
    return exp.null() if value is None else exp.Literal.string(str(value))


_ESCAPES = "!#~^|@;?<>=&*/()[]abcdefghijklmnopqrstuvwxyz"
_PLAIN_TEXT = re.compile(rf"[A-Z0-9 _.,:+\-{re.escape(_ESCAPES)}]*")
"""No quotes, backslashes or dollar signs: other texts are written as bytes."""
_SPECIAL = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}


class SparkSpelling(ForeignSpelling):
    """Spark 4's SQL.

    Spark has no TRY and no whole numbers of 128 bits; its decimals go to 38 digits, its LIKE has an escape character of
    its own, its parser reads backslashes and ``${...}`` in texts, and lower and upper case are Java's. What could
    differ is refused: it is better done in a view.
    """

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


SPELLINGS: dict[str, ForeignSpelling] = {
    "bigquery": BigQuerySpelling(),
    "duckdb": cast("ForeignSpelling", DuckDBSpelling()),  # nothing has to be spelled
    "snowflake": SnowflakeSpelling(),
    "clickhouse": ClickHouseSpelling(),
    "postgres": PostgresSpelling(),
    "spark": SparkSpelling(),
}
