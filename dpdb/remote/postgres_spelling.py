"""PostgreSQL's spelling of our SQL. Its rules have a fuzz in `tests/remote/test_remote_postgres_spelling.py`.

PostgreSQL has no TRY; its NUMERIC holds whole numbers of any length; its lower and upper case are those of a collation.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from decimal import Decimal

import pyarrow as pa
from sqlglot import exp

from dpdb.predicates import Literal
from dpdb.remote.foreign_spelling import MOMENT, ForeignSpelling

__all__ = ["PostgresSpelling", "with_extremes", "written_table"]

_WRITTEN = {pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.bool_(): "BOOLEAN", pa.string(): "TEXT"}
_NUMERIC = exp.DataType.build("NUMERIC", dialect="postgres")


class PostgresSpelling(ForeignSpelling):
    """The SQL of PostgreSQL 14 and later."""

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
